"""Every way to be refused, as the SDK's exceptions have it, and how often anybody tries again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest

from tests.e2e.conftest import CLIENT_KEY, HELLO, QUESTION, REFUNDS, record_of
from tests.proxy import Run, RunningProxy, config
from tests.servers import free_port
from tests.upstream import WAIT, Answer, Break, FakeUpstream, answer_json, answer_stream, streamed

LIMIT = 300_000  # bytes of a body
DOCUMENTS = {"documents": [REFUNDS]}
AUDIO: Any = {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}]}


@pytest.fixture(scope="module")
def proxy(module_upstream: FakeUpstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningProxy]:
    """A smaller body limit, and a model whose upstream is not there."""
    settings = json.loads(config(module_upstream, max_body_bytes=LIMIT))
    nowhere = {"model": "openai/gpt-4o", "api_base": f"http://127.0.0.1:{free_port()}/v1"}
    settings["model_list"].append({"model_name": "gone", "litellm_params": nowhere})
    with RunningProxy(json.dumps(settings), tmp_path_factory.mktemp("proxy")) as running:
        yield running


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK tries again as often as ever, and at once."""
    for module in ("openai._base_client", "openai._constants"):
        monkeypatch.setattr(f"{module}.INITIAL_RETRY_DELAY", 0.001)


def refused(client: openai.OpenAI, **asked: Any) -> openai.APIStatusError:
    with pytest.raises(openai.APIStatusError) as error:
        client.chat.completions.create(**{"model": "fake", "messages": [HELLO], **asked})
    return error.value


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("asked", "kind", "status", "code", "param"),
    [
        ({"model": "nobody"}, openai.NotFoundError, 404, "model_not_found", "model"),
        ({"model": ""}, openai.BadRequestError, 400, "invalid_request", "model"),
        ({"messages": []}, openai.BadRequestError, 400, "invalid_request", "messages"),
        ({"temperature": "warm"}, openai.BadRequestError, 400, "invalid_request", "temperature"),
        ({"extra_body": {"documents": [{"id": "a"}]}}, openai.BadRequestError, 400, "invalid_document", "documents[0]"),
        (
            {"extra_body": {"documents": [{"text": "a", "score": "high"}]}},
            openai.BadRequestError,
            400,
            "invalid_document",
            "documents[0].score",
        ),
        (
            {"messages": [{"role": "system", "content": "Be brief."}], "extra_body": DOCUMENTS},
            openai.BadRequestError,
            400,
            "no_user_message",
            "messages",
        ),
        (
            {"messages": [{"role": "user", "content": "word " * 20_000}]},
            openai.BadRequestError,
            400,
            "context_length_exceeded",
            "messages",
        ),
        (
            {"extra_body": {"context": {"class": "nonsense"}}},
            openai.BadRequestError,
            400,
            "invalid_request",
            "context.class",
        ),
        (
            {"messages": [{**HELLO, "content": "x" * LIMIT}]},
            openai.APIStatusError,
            413,
            "request_too_large",
            None,
        ),
        (
            {"messages": [AUDIO], "extra_body": DOCUMENTS},
            openai.InternalServerError,
            503,
            "count_unavailable",
            "messages",
        ),
        ({"model": "gone"}, openai.InternalServerError, 502, "upstream_unavailable", None),
    ],
)
def test_a_refusal_has_its_class_code_and_param(
    client: openai.OpenAI,
    proxy: RunningProxy,
    upstream: FakeUpstream,
    stream: bool,
    asked: dict[str, Any],
    kind: type[Exception],
    status: int,
    code: str,
    param: str | None,
):
    error = refused(client, stream=stream, **asked)
    assert isinstance(error, kind)
    assert (error.status_code, error.code, error.param) == (status, code, param)
    assert upstream.requests == []
    record = record_of(proxy, error.request_id)
    assert (record["status"], record["error"]["code"], record["error"]["param"]) == (status, code, param)


def test_an_overflow_is_told_with_its_numbers(client: openai.OpenAI):
    error = refused(client, messages=[{"role": "user", "content": "word " * 20_000}])
    said = error.body["message"] if isinstance(error.body, dict) else ""
    assert said.startswith(
        "context_length_exceeded: This model's maximum context length is 16000 tokens. "
        "However, your messages resulted in "
    )


def test_a_body_far_beyond_the_limit_still_gets_its_answer(client: openai.OpenAI):
    for times in (2, 20, 100):
        error = refused(client, messages=[{"role": "user", "content": "x" * (times * LIMIT)}])
        assert (error.status_code, error.code) == (413, "request_too_large")


def test_untagged_audio_is_forwarded_and_not_counted(
    client: openai.OpenAI, proxy: RunningProxy, upstream: FakeUpstream
):
    raw = client.chat.completions.with_raw_response.create(model="fake", messages=[AUDIO])
    assert raw.parse().choices[0].message.content == "fine"
    assert "x-elbowroom-prompt-tokens" not in raw.headers
    assert record_of(proxy, raw.headers["x-request-id"])["counted"] is None


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (403, openai.PermissionDeniedError),
        (409, openai.ConflictError),
        (422, openai.UnprocessableEntityError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
    ],
)
def test_the_upstream_s_own_error_comes_through_as_it_is(
    client: openai.OpenAI, upstream: FakeUpstream, stream: bool, status: int, kind: type[openai.APIStatusError]
):
    said = {"error": {"message": "theirs", "type": "t", "param": "p", "code": "their_code"}}
    upstream.answers(answer_json(said, status, retry_after="3600", x_should_retry="false"))
    error = refused(client, stream=stream)
    assert isinstance(error, kind)
    assert (error.code, error.param, error.body) == ("their_code", "p", said["error"])
    assert (error.response.headers["retry-after"], error.response.headers["x-should-retry"]) == ("60", "false")


# --- trying again -----------------------------------------------------------------------------------------------------


def plain(status: int) -> Answer:
    return answer_json({"error": {"message": "no", "code": None}}, status)


def retrying(proxy: RunningProxy, times: int) -> openai.OpenAI:
    return openai.OpenAI(base_url=proxy.base_url, api_key=CLIENT_KEY, max_retries=times, timeout=WAIT)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("status", "tries"),
    [(503, 2), (500, 1), (502, 1), (429, 1), (409, 1), (408, 1)],
    ids=lambda value: str(value),
)
@pytest.mark.parametrize("stream", [False, True])
def test_ours_is_one_more_try_at_most_so_that_retries_do_not_multiply(
    proxy: RunningProxy, upstream: FakeUpstream, status: int, tries: int, stream: bool
):
    upstream.answers(*[plain(status)] * 3 * tries)
    with retrying(proxy, 2) as sdk:
        error = refused(sdk, stream=stream)
    assert error.status_code == status
    assert len(upstream.requests) == 3 * tries
    assert "x-stainless-retry-count" not in upstream.request(2 * tries).headers


@pytest.mark.usefixtures("impatient")
def test_a_refusal_of_ours_is_not_tried_again(proxy: RunningProxy, upstream: FakeUpstream):
    with retrying(proxy, 2) as sdk:
        error = refused(sdk, model="nobody", extra_headers={"x-client-request-id": "once"})
    record_of(proxy, error.request_id)
    assert [record["client_request_id"] for record in proxy.traces()].count("once") == 1


def test_an_upstream_that_says_when_is_left_in_peace(client: openai.OpenAI, upstream: FakeUpstream):
    upstream.answers(answer_json({"error": {}}, 503, retry_after="1"))
    assert refused(client).status_code == 503
    assert len(upstream.requests) == 1


def test_one_503_is_not_noticed(client: openai.OpenAI, upstream: FakeUpstream):
    upstream.answers(plain(503), streamed("fine"))
    stream = client.chat.completions.create(model="fake", messages=[HELLO], stream=True)
    assert "".join(part.choices[0].delta.content or "" for part in stream) == "fine"


def test_an_upstream_that_hangs_up_is_not_asked_twice(client: openai.OpenAI, upstream: FakeUpstream):
    """It may have begun to work: only a connection that never was may be tried again."""
    upstream.answers(Answer(before=Break()))
    error = refused(client)
    assert (error.status_code, error.code) == (502, "upstream_unavailable")
    assert len(upstream.requests) == 1


def test_an_upstream_that_is_too_late_is_a_504(running_proxy: Run, upstream: FakeUpstream):
    proxy = running_proxy(config(upstream, first_byte_timeout=0.2))
    upstream.answers(Answer(before=upstream.gate()))
    with retrying(proxy, 0) as sdk:
        error = refused(sdk, stream=True)
    assert (type(error), error.status_code, error.code) == (openai.InternalServerError, 504, "upstream_timeout")
    assert upstream.request().gone.wait(WAIT)


def test_a_full_queue_is_a_503_that_says_when_to_come_back(running_proxy: Run, upstream: FakeUpstream):
    proxy = running_proxy(config(upstream, max_concurrency=1, max_queue=0))
    gate = upstream.gate()
    good = streamed("fine")
    upstream.answers(answer_stream(*good.parts[:2], gate, *good.parts[2:]))
    with retrying(proxy, 0) as sdk:
        stream = sdk.chat.completions.create(model="fake", messages=[HELLO], stream=True)
        error = refused(sdk)
        assert (error.status_code, error.code) == (503, "overloaded")
        assert float(error.response.headers["retry-after"]) <= 60
        gate.open()
        assert "".join(part.choices[0].delta.content or "" for part in stream) == "fine"
        assert sdk.chat.completions.create(model="fake", messages=[QUESTION]).choices[0].message.content == "fine"
