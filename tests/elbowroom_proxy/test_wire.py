"""Errors as OpenAI writes them, and headers that may pass."""

from __future__ import annotations

import json

import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from elbowroom import errors
from elbowroom.records import Basis, Classified, Count, Decision, Drop, Fate, Mode, Refused
from elbowroom_proxy import wire


def every_error() -> list[type[errors.ElbowroomError]]:
    return [errors.ElbowroomError, *errors.ElbowroomError.__subclasses__()]


@pytest.mark.parametrize("kind", every_error())
def test_every_error_has_openais_shape(kind: type[errors.ElbowroomError]):
    response = wire.error_response(kind("What is wrong.", param="messages[0].content"))
    assert response.status == kind.status_hint
    assert response.headers["content-type"] == "application/json"
    error = json.loads(response.body)["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert (error["message"], error["param"], error["code"]) == ("What is wrong.", "messages[0].content", kind.code)


@pytest.mark.parametrize(
    ("status", "code", "kind", "raised"),
    [
        (400, "invalid_document", "invalid_request_error", openai.BadRequestError),
        (401, "invalid_api_key", "authentication_error", openai.AuthenticationError),
        (402, "insufficient_quota", "insufficient_quota", openai.APIStatusError),
        (403, "class_not_allowed", "permission_error", openai.PermissionDeniedError),
        (404, "model_not_found", "invalid_request_error", openai.NotFoundError),
        (413, "request_too_large", "invalid_request_error", openai.APIStatusError),
        (429, "insufficient_quota", "insufficient_quota", openai.RateLimitError),
        (429, "rate_limit_exceeded", "rate_limit_error", openai.RateLimitError),
        (500, "internal_error", "server_error", openai.InternalServerError),
        (503, "count_unavailable", "server_error", openai.InternalServerError),
    ],
)
def test_the_type_goes_by_status_and_the_sdk_reads_it(status: int, code: str, kind: str, raised: type[Exception]):
    response = wire.problem(status, code, "Why.")
    reply = httpx2.Response(
        response.status, headers=response.headers, content=response.body, request=httpx2.Request("POST", "http://x/")
    )
    error = openai.OpenAI(api_key="k", base_url="http://x/")._make_status_error_from_response(reply)
    assert isinstance(error, raised)
    assert (error.code, error.type, error.param) == (code, kind, None)


@pytest.mark.parametrize(
    ("code", "after", "again"),
    [
        ("overloaded", "1", None),
        ("count_unavailable", "1", None),
        ("ledger_unavailable", "1", None),
        ("insufficient_quota", None, "false"),
        ("internal_error", None, "false"),
        ("invalid_config", None, "false"),
        ("upstream_unavailable", None, None),
        ("rate_limit_exceeded", None, None),
    ],
)
def test_what_a_client_is_told_about_trying_again(code: str, after: str | None, again: str | None):
    headers = wire.problem(503, code, "").headers
    assert (headers.get("retry-after"), headers.get("x-should-retry")) == (after, again)


def test_a_refusal_answers_like_the_error_it_came_from():
    error = errors.ContextLengthExceeded("Too long.", param="messages")
    refused = Refused(error.code, error.message, error.param, error.status_hint, None)
    assert wire.error_response(refused) == wire.error_response(error)


def test_an_error_that_nobody_foresaw_says_nothing():
    response = wire.error_response(KeyError("sk-secret"))
    assert response.status == 500
    assert b"secret" not in response.body
    assert b"KeyError" not in response.body


def test_an_error_can_name_what_cannot_be_written():
    body = wire.error_body(404, "model_not_found", "No model '\ud800中'.", "\udfff")
    error = json.loads(body)["error"]
    assert (error["message"], error["param"]) == ("No model '?中'.", "?")


# --- headers ----------------------------------------------------------------------------------------------------------


def test_only_the_allowed_go_up():
    client = {
        "authorization": "Bearer sk-1",
        "x-api-key": "sk-2",
        "cookie": "a=b",
        "x-elbowroom-class": "point_lookup",
        "x-stainless-lang": "python",
        "openai-organization": "org",
        "host": "here",
        "accept-encoding": "br",
        "content-length": "3",
        "content-type": "text/plain",
        "traceparent": "00-1-2-01",
        "x-client-request-id": "mine",
    }
    assert wire.upstream_headers(client) == {
        "content-type": "application/json",
        "traceparent": "00-1-2-01",
        "x-client-request-id": "mine",
    }


def test_what_comes_down():
    upstream = {
        "content-type": "application/json",
        "connection": "keep-alive, X-Hop",
        "x-hop": "1",
        "keep-alive": "timeout=5",
        "transfer-encoding": "chunked",
        "content-length": "9",
        "content-encoding": "gzip",
        "set-cookie": "a=b",
        "server": "x",
        "x-request-id": "theirs",
        "openai-organization": "the-operators",
        "x-elbowroom-mode": "forged",
        "x-ratelimit-remaining-requests": "5",
        "x-should-retry": "true",
    }
    passed = {
        "content-type": "application/json",
        "x-ratelimit-remaining-requests": "5",
        "x-should-retry": "true",
        "x-request-id": "ours",
    }
    ours = {"x-request-id": "ours"}
    assert wire.client_headers(upstream, decoded=True, ours=ours) == passed
    assert wire.client_headers(upstream, decoded=False, ours=ours) == {**passed, "content-encoding": "gzip"}


DATE = "Mon, 02 Nov 2026 08:00:00 GMT"


@pytest.mark.parametrize(
    ("name", "value", "date", "expected"),
    [
        ("retry-after", "5", None, "5"),
        ("retry-after", "0.5", None, "0.5"),
        ("retry-after", "60", None, "60"),
        ("retry-after", "3600", None, "60"),
        ("retry-after", "inf", None, "60"),
        ("retry-after", "nan", None, None),
        ("retry-after", "-1", None, None),
        ("retry-after", "soon", DATE, None),
        ("retry-after", "Mon, 02 Nov 2026 08:00:20 GMT", DATE, "20"),
        ("retry-after", "Mon, 02 Nov 2026 08:00:20 -0000", DATE, "20"),
        ("retry-after", "Mon, 02 Nov 2026 09:00:00 GMT", DATE, "60"),
        ("retry-after", "Mon, 02 Nov 2026 07:00:00 GMT", DATE, "0"),
        ("retry-after", "Mon, 02 Nov 2026 08:00:20 GMT", None, "60"),
        ("retry-after", "Mon, 02 Nov 99999999999999999999 08:00:20 GMT", DATE, None),
        ("retry-after-ms", "700", None, "700"),
        ("retry-after-ms", "70000", None, "60000"),
    ],
)
def test_nobody_is_told_to_wait_more_than_a_minute(name: str, value: str, date: str | None, expected: str | None):
    upstream = {name: value} | ({} if date is None else {"date": date})
    assert wire.client_headers(upstream, decoded=False, ours={}).get(name) == expected


@given(st.text(max_size=30))
def test_any_time_to_wait_is_limited_or_left_out(value: str):
    wait = wire.client_headers({"retry-after": value, "date": DATE}, decoded=False, ours={}).get("retry-after")
    assert wait is None or 0 <= float(wait) <= wire.RETRY_AFTER_MAX


def decision(counted: Count | None) -> Decision:
    return Decision(
        mode=Mode.ENFORCE,
        model="m",
        policy_id="p",
        policy_version="1",
        policy_digest="d",
        query_class=Classified("point_lookup", "default"),
        window=None,
        counted=counted,
        documents=(
            Fate(0, "a", "admitted", label="S1"),
            Fate(1, "b", "dropped", reason=Drop.EMPTY),
            Fate(2, "c", "dropped", reason=Drop.DUPLICATE),
        ),
        evidence_tokens=120,
        reranked_count=0,
        tool_results=(),
        history_dropped=(),
        examples_dropped=(),
        edits=(),
        notes=(),
        answers=(),
    )


def test_the_decision_in_headers():
    headers = wire.decision_headers("trace-1", "req-1", decision(Count(900, Basis.MODELLED, 3)))
    assert headers == {
        "x-request-id": "req-1",
        "x-elbowroom-trace-id": "trace-1",
        "x-elbowroom-mode": "enforce",
        "x-elbowroom-class": "point_lookup",
        "x-elbowroom-evidence-tokens": "120",
        "x-elbowroom-admitted": "1",
        "x-elbowroom-dropped": "2",
        "x-elbowroom-prompt-tokens": "900",
        "x-elbowroom-count-basis": "modelled",
    }


def test_what_is_not_known_has_no_header():
    assert set(wire.decision_headers("t", "r", None)) == {"x-request-id", "x-elbowroom-trace-id"}
    assert "x-elbowroom-prompt-tokens" not in wire.decision_headers("t", "r", decision(None))


@pytest.mark.parametrize(("sufficient", "said"), [(True, "true"), (False, "false"), (None, None)])
def test_whether_the_evidence_is_sufficient_is_said_where_any_was_tagged(sufficient, said):
    told = structs.replace(decision(None), evidence_sufficient=sufficient)
    assert wire.decision_headers("t", "r", told).get("x-elbowroom-evidence-sufficient") == said


def test_how_many_labels_could_not_be_read_is_said_where_any_could_not():
    told = structs.replace(decision(None), label_incomplete=3)
    assert wire.decision_headers("t", "r", told)["x-elbowroom-label-incomplete"] == "3"
    assert "x-elbowroom-label-incomplete" not in wire.decision_headers("t", "r", decision(None))


def test_limits_are_ours_where_we_have_any():
    upstream = {"x-ratelimit-remaining-tokens": "5", "x-ratelimit-limit-images": "3", "x-other": "1"}
    ours = {"x-request-id": "r"}
    assert wire.client_headers(upstream, decoded=False, ours=ours) == {**upstream, "x-request-id": "r"}
    for told in (ours, {"x-ratelimit-remaining-requests": "9"}):
        assert wire.client_headers(upstream, decoded=False, ours=told, limited=True) == {"x-other": "1", **told}
