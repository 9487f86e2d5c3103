"""The pages over HTTP: what is on each, for whom, and that reading is recorded."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import httpx
import pytest

from elbowroom.records import Principal
from elbowroom_proxy.sinks.line import encode
from tests.desk import KEY, Open, RunningDesk, SomeKeys, unread
from tests.upstream import WAIT

ASKED: dict[str, Any] = {
    "model": "demo-small",
    "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How loud is the FH-300?"}],
    "documents": [
        {"id": "loud", "text": "The FH-300 is heard with 41 dB.", "title": "噪声", "score": 0.9},
        {"id": "copy", "text": "The FH-300 is heard with 41 dB!", "score": 0.8},
        {"id": "motor", "text": "The FH-300 needs the fan motor M-7.", "score": 0.4},
    ],
}
BODY = json.dumps(ASKED).encode()
TRACE = "b" * 32


def get(desk: RunningDesk, path: str, expected: int = 200, **query: str) -> str:
    answer = httpx.get(desk.url + path, params=query or None, timeout=WAIT)
    assert answer.status_code == expected, words(answer.text)
    return words(answer.text)


def post(desk: RunningDesk, path: str, **said: str) -> str:
    return words(
        httpx.post(desk.url + path, data=said or {"token": ""}, headers={"origin": desk.url}, timeout=WAIT).text
    )


def words(page: str) -> str:
    """The page without its tags, and with single spaces."""
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)))


@pytest.fixture
def desk(running_desk: Open) -> RunningDesk:
    desk = running_desk()
    desk.write([unread("a" * 32), desk.decided(BODY, TRACE, conversation_id="c-1", tenant="acme", subject="bot")])
    return desk


def test_the_list_shows_each_request_and_how_far_it_reaches(desk):
    told = get(desk, "/ui")
    assert "Indexed up to 2026-11-02 08:00:00 UTC , 2 records" in told
    assert "aaaaaaaa" in told
    assert "bbbbbbbb" in told
    assert "invalid_request" in told
    assert "This is the end." in told


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"id": TRACE}, "b"), ({"id": f"req_{'b' * 24}"}, "b"), ({"tenant": "acme"}, "b"), ({"tenant": "other"}, ""),
        ({"reason": "duplicate"}, "b"), ({"status": "4xx"}, "a"), ({"code": "invalid_request"}, "a"),
        ({"class": "comparison"}, ""), ({"class": "general"}, "b"), ({"mode": "enforce"}, "b"),
        ({"conversation": "c-1"}, "b"),
        ({"invented": "yes"}, ""), ({"since": "2026-11-02T08:00"}, "ab"), ({"until": "2026-11-02T08:00"}, ""),
        ({"tenant": "", "mode": " "}, "ab"),
    ],
)  # fmt: skip
def test_each_filter_narrows_the_list(desk, query, found):
    told = get(desk, "/ui", **query)
    for letter in "ab":
        assert (letter * 8 in told) == (letter in found), query
    if any(word.strip() for word in query.values()):
        assert "Clear all" in told
        assert found or "No request fits all of these filters." in told


def test_a_row_that_failed_midway_and_one_that_cost_nothing(desk):
    desk.write([desk.decided(BODY, "c" * 32, error={"code": "upstream_unavailable", "message": "broke off"})])
    told = get(desk, "/ui", id="c" * 32)
    assert "✕ 200 ! upstream_unavailable" in told
    assert "$0" not in told + get(desk, "/ui/overview")


def test_a_filter_that_cannot_be_is_said(desk):
    assert "mode is one of" in get(desk, "/ui", 400, mode="strange")
    assert "That cannot be asked" in get(desk, "/ui/overview", 400, since="never")


def test_the_list_goes_on_page_by_page_with_its_filters(running_desk: Open):
    desk = running_desk()
    desk.write(
        [unread(f"{n:032x}", time=f"2026-11-02T08:{n:02}:00.000+00:00") for n in range(60)] + [unread("f" * 32)] * 55
    )
    seen: list[str] = []
    path = "/ui?status=400"
    while path:
        page = httpx.get(desk.url + path, timeout=WAIT).text
        seen += re.findall(r'href="/ui/traces/([0-9a-f]+)"', page)
        onward = re.search(r'rel="next" href="([^"]+)"', page)
        path = html.unescape(onward[1]) if onward else ""
        assert not path or "status=400" in path
        assert ("Newest" in page) == (len(seen) > 50)
    assert len(seen) == 115
    assert seen[0] == f"{59:032x}"


def test_an_empty_store_says_so(running_desk: Open):
    told = get(running_desk(), "/ui")
    assert "There are no requests yet." in told
    assert "Nothing is indexed yet" in told


def test_the_trace_answers_the_four_questions(desk):
    told = get(desk, f"/ui/traces/{TRACE}")
    for said in (
        "Which instruction governed it Policy default version 1",
        "Which sources supported it 2 admitted; no answer says which it used S1 loud",
        "Which tool result changed it None: no tool result was in the request.",
        "What was left out, and why 1 of 3 passages",
        "1 duplicate says what another passage says",
        "of 8,192 tokens",
        "not kept (capture: hash)",
        "Its text is not kept (capture: hash), so it cannot be decided again from the record alone.",
    ):
        assert said in told
    assert "41 dB" not in told


def test_a_request_that_could_not_be_read_has_a_page_too(desk):
    told = get(desk, "/ui/traces/" + "a" * 32)
    for said in (
        "Which instruction governed it None: the request was refused before anything was decided.",
        "Which sources supported it Not known: the request was refused",
        "Which tool result changed it Not known: the request was refused",
        "What was left out, and why Not known: the request was refused",
        "Not planned: the request was refused",
    ):
        assert said in told
    assert "there is none to take again" in told
    assert "Supply the request" not in told


def test_all_that_is_cited_is_named_however_much_was_shown(running_desk: Open):
    desk = running_desk()
    texts = "It hums. Motor M-7 fits. Parts take two days. Filters last long. Doors open left. Feet are steel. Lids go."
    body = {**ASKED, "documents": [{"id": f"d{n}", "text": text} for n, text in enumerate(texts.split(". "))]}
    told = desk.decided(json.dumps(body).encode(), TRACE)
    labels = [one["label"] for one in told["documents"] if one["label"]]
    assert len(labels) > 6
    told["cited"] = {"verified": labels[-1:], "invented": [], "uncited": labels[:-1]}
    desk.write([told])
    assert f"1 of {len(labels)} admitted is cited {labels[-1]} d" in get(desk, f"/ui/traces/{TRACE}")


def test_a_request_in_shadow_shows_what_the_policy_would_have_sent(running_desk: Open):
    desk = running_desk()
    proposed = desk.decided(BODY, TRACE)
    sent = {**proposed, "mode": "shadow", "shadow": "queued"}
    copy = next(one for one in proposed["documents"] if one["id"] == "copy")
    others = [one for one in proposed["documents"] if one is not copy]
    sent["documents"] = [*others, {**copy, "decision": "admitted", "label": "S3", "reason": None, "detail": ""}]
    desk.write([sent])
    assert "its record is not in the index yet, or was lost" in get(desk, f"/ui/traces/{TRACE}")
    desk.write([{**proposed, "kind": "shadow", "status": None}])
    told = get(desk, f"/ui/traces/{TRACE}")
    assert "What the policy would have sent 1 passage would fare otherwise, 2 as they did; prompt" in told
    assert "copy ✕ dropped S3" in told
    assert "dropped, duplicate same text as loud" in told
    assert f"shadow {TRACE[:8]}" in get(desk, "/ui", kind="shadow")
    desk.write([{**sent, "trace_id": "d" * 32, "shadow": "skipped"}])
    assert "Nothing was worked out" in get(desk, "/ui/traces/" + "d" * 32)
    desk.write([{**sent, "trace_id": "e" * 32, "shadow": None}])
    assert "What the policy would have sent" not in get(desk, "/ui/traces/" + "e" * 32)


def test_a_shadow_that_would_have_been_refused(running_desk: Open):
    desk = running_desk()
    desk.write([desk.decided(BODY, TRACE, mode="shadow", shadow="queued")])
    desk.write([unread(TRACE, kind="shadow", error={"code": "insufficient_evidence", "message": "Too little."})])
    assert "Nothing: it would have been refused. Too little." in get(desk, f"/ui/traces/{TRACE}")


def test_the_list_of_readings_says_what_was_read(running_desk: Open):
    desk = running_desk()
    read = {"action": "show", "found": 1, "filters": {}, "id": TRACE}
    desk.write([unread("f" * 32, kind="read", read=read, subject="ann", status=None, error=None)])
    assert f"read show {TRACE}: 1 ann" in get(desk, "/ui", kind="read")
    page = httpx.get(f"{desk.url}/ui", params={"kind": "read"}, timeout=WAIT).text
    assert '<option value="read" selected>readings</option>' in page  # so the form does not lose it


def test_a_tainted_call_is_said_with_the_results(running_desk: Open):
    desk = running_desk()
    desk.write([desk.decided(BODY, TRACE, calls_tainted=1)])
    assert "! tainted 1 call of the answer that only documents and results ask for" in get(desk, f"/ui/traces/{TRACE}")


def test_the_kill_switch_is_named_where_the_mode_is(running_desk: Open):
    desk = running_desk()
    desk.write([desk.decided(BODY, TRACE, mode="passthrough", killed=True)])
    assert "mode passthrough, the kill switch was on" in get(desk, f"/ui/traces/{TRACE}")


def test_it_is_found_by_the_requests_id_as_well(desk):
    assert TRACE in get(desk, f"/ui/traces/req_{'b' * 24}")
    desk.write([unread("f" * 32, client_request_id="case/7?x")])
    assert "f" * 32 in get(desk, "/ui/traces/case%2F7%3Fx")
    assert httpx.get(f"{desk.url}/ui/", timeout=WAIT).headers["location"] == "/ui"
    assert "There is no trace with that id." in get(desk, "/ui/traces/nobody", 404)
    assert "There is no such page." in get(desk, "/ui/nothing/here", 404)


def test_a_supplied_body_is_decided_again_and_kept_nowhere(desk):
    told = post(desk, f"/ui/traces/{TRACE}/replay", body=json.dumps(ASKED))
    assert "Nothing changes: all 3 passages fare as before" in told
    assert "the recorded decision came out again, exactly" in told
    assert "the one that governed it" in told
    assert "41 dB" not in get(desk, f"/ui/traces/{TRACE}")


def test_another_body_is_found_out(desk):
    other = {**ASKED, "documents": [*ASKED["documents"][:2], {"id": "motor", "text": "Another text."}]}
    told = post(desk, f"/ui/traces/{TRACE}/replay", body=json.dumps(other))
    assert "the recorded decision did not come out again" in told


@pytest.mark.parametrize("body", ["{", "", "null", '{"model": "gpt-4o"}', "[" * 5000])
def test_what_is_no_request_is_said(desk, body):
    told = post(desk, f"/ui/traces/{TRACE}/replay", body=body)
    assert "Replay with the current policy ✕" in told


def test_without_a_body_and_without_a_capture_there_is_nothing_to_replay(desk):
    assert "it has to be supplied" in post(desk, f"/ui/traces/{TRACE}/replay")


def test_where_texts_are_kept_what_is_not_says_why(running_desk: Open):
    kept = {"body": ASKED, "headers": {}, "answer": "", "redacted": False}
    desk = running_desk(captured={TRACE: kept})
    story = json.loads(encode(desk.decided(BODY, TRACE)))
    denied, returned, _ = story["documents"]
    denied.update(id=None, label=None, decision="dropped", reason="not_permitted")
    returned["message"] = 0
    desk.write([story])
    told = get(desk, f"/ui/traces/{TRACE}")
    assert "not kept: whoever asked may not see it" in told
    assert "not kept apart from its message" in told
    assert "The answer, as it was captured No text." in told
    assert "capture: hash" not in told


def test_what_was_captured_is_shown_and_replayed(running_desk: Open):
    kept = {"body": ASKED, "headers": {}, "answer": "It is heard with 41 dB [S1].", "redacted": False}
    desk = running_desk(captured={TRACE: kept})
    desk.write([desk.decided(BODY, TRACE)])
    told = get(desk, f"/ui/traces/{TRACE}")
    assert "噪声" in told
    assert "It is heard with 41 dB [S1]." in told
    assert "The FH-300 needs the fan motor M-7." in told
    assert "The request was captured" in told
    assert "came out again, exactly" in post(desk, f"/ui/traces/{TRACE}/replay")


def test_what_redaction_left_need_not_be_decided_about_as_the_whole_was(running_desk: Open):
    left = {**ASKED, "documents": []}
    kept = {"body": left, "headers": {}, "answer": "", "redacted": True}
    desk = running_desk(captured={TRACE: kept})
    desk.write([desk.decided(BODY, TRACE)])
    told = post(desk, f"/ui/traces/{TRACE}/replay")
    assert "the recorded decision was not repeated" in told
    assert "only what redaction or rights left of the request is kept" in told


def test_another_policy_is_told_passage_by_passage(running_desk: Open, tmp_path):
    from elbowroom_proxy.settings import load_policy

    (tmp_path / "p.yaml").write_text("id: strict\npacker: topk\nevidence: {rerank_keep: 1}\ngates: [over_budget]\n")
    desk = running_desk()
    desk.write([desk.decided(BODY, TRACE)])
    desk.policy = load_policy(tmp_path / "p.yaml")
    told = post(desk, f"/ui/traces/{TRACE}/replay", body=json.dumps(ASKED))
    assert "2 passages fare otherwise, 1 as before" in told
    assert "Current policy: strict" in told
    assert "copy • reason dropped, duplicate same text as loud dropped, over_count" in told
    assert "motor ✕ dropped S2" in told


def test_the_overview_adds_up(desk):
    told = get(desk, "/ui/overview")
    for said in (
        "requests 2",
        "failed 1 50.0 %",
        "nobody's 2",
        "duplicate",
        "demo-small",
        "invalid_request",
        "12.5 ms",
    ):
        assert said in told
    assert "requests 1 failed 0" in get(desk, "/ui/overview", tenant="acme", reason="ignored here")
    assert "No requests in the range." in get(desk, "/ui/overview", tenant="nobody")
    assert "left off" not in told


def test_an_overview_of_very_many_says_that_it_is_not_all(desk, monkeypatch):
    monkeypatch.setattr("elbowroom_proxy.indexes._questions.MOST", 1)
    told = get(desk, "/ui/overview")
    assert "All numbers below are of the latest 1 requests;" in told
    assert "earlier ones are left off" in told


def test_the_sweep_is_shown_where_one_was_drawn(desk):
    assert "Nothing was drawn yet." in get(desk, "/ui/sweep")
    get(desk, "/ui/sweep.svg", 404)
    assert "Sweep" not in get(desk, "/ui")
    desk.sweep.mkdir()
    (desk.sweep / "sweep.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    assert "Sweep" in get(desk, "/ui")
    assert "Nothing was drawn" not in get(desk, "/ui/sweep")
    (desk.sweep / "sweep.md").write_text("| top-k | recall |\n|--|--|\n| 8 | 90.1 |\n\nThe elbow: <b>")
    assert "top-k recall 8 90.1 The elbow: <b>" in get(desk, "/ui/sweep")
    answer = httpx.get(desk.url + "/ui/sweep.svg")
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")


def test_every_reading_is_recorded(desk):
    get(desk, "/ui", tenant="acme")
    get(desk, f"/ui/traces/{TRACE}")
    get(desk, "/ui/overview")
    post(desk, f"/ui/traces/{TRACE}/replay", body="{}")
    assert [(read["read"]["action"], read["subject"]) for read in desk.reads] == [
        ("list", "open"), ("show", "open"), ("overview", "open"), ("show", "open"),
    ]  # fmt: skip


def test_a_tenants_auditor_sees_its_own_on_every_page(running_desk: Open):
    held = SomeKeys(**{KEY: Principal("eve", "other", role="auditor", keyed=True)})
    desk = running_desk(held)
    desk.write([desk.decided(BODY, TRACE, tenant="acme", conversation_id="c-1"), unread("c" * 32, tenant="other")])
    with httpx.Client(base_url=desk.url, headers={"origin": desk.url}, timeout=WAIT) as browser:
        browser.post("/ui/login", data={"key": KEY})
        listed = browser.get("/ui").text
        assert "cccccccc" in listed
        assert "bbbbbbbb" not in listed
        assert "readonly" in listed
        for query in ("?tenant=acme", "?conversation=c-1", f"?id={TRACE}"):
            assert "bbbbbbbb" not in browser.get("/ui" + query).text.replace(TRACE, "")
        assert browser.get(f"/ui/traces/{TRACE}").status_code == 404
        token = re.search(r'name="token" value="([0-9a-f]+)"', listed)
        assert token
        said = {"token": token[1], "body": json.dumps(ASKED)}
        assert browser.post(f"/ui/traces/{TRACE}/replay", data=said).status_code == 404
        assert browser.post(f"/ui/traces/{'c' * 32}/replay", data={**said, "token": ""}).status_code == 403
        assert "demo-small" not in browser.get("/ui/overview").text


def test_a_pages_characters_may_be_any(desk):
    hostile = {"conversation_id": "\ud800\u202e<&\"'", "subject": "<script>", "time": "not a time", "tenant": "\x00"}
    desk.write([desk.decided(BODY, "d" * 32, **hostile), unread("e" * 32, error={"code": "<x>", "message": "\x1b[0m"})])
    for path in ("/ui", f"/ui/traces/{'d' * 32}", f"/ui/traces/{'e' * 32}", "/ui/overview"):
        answer = httpx.get(desk.url + path, timeout=WAIT)
        assert answer.status_code == 200, path
        assert "<script>" not in answer.text
        assert not set(answer.text) & set("\x00\x1b\u202e\ud800")


def test_readings_are_listed_and_lead_nowhere(desk):
    read = {
        "version": 2,
        "kind": "read",
        "trace_id": "9" * 32,
        "time": "2026-11-02T09:00:00.000+00:00",
        "subject": "eve",
    }
    desk.write([{**read, "read": {"action": "list", "found": 2, "filters": {}}}])
    assert "read" not in get(desk, "/ui").split("Time (UTC)")[1]
    page = httpx.get(f"{desk.url}/ui?kind=read", timeout=WAIT).text
    assert "eve" in page
    assert "/ui/traces/" not in page
