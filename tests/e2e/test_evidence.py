"""Tagged documents from the client's call to the answer's citations: what the model sees, what the client is told."""

from __future__ import annotations

import json
from typing import Any

import httpx
import openai
import pytest

from tests.e2e.conftest import PARCELS, QUESTION, REFUNDS, record_of
from tests.proxy import RunningProxy
from tests.upstream import DONE, WAIT, FakeUpstream, answer_json, answer_stream, chunk, completion, streamed

DOCUMENTS = [REFUNDS, PARCELS, {"id": "blank", "text": " "}, {**REFUNDS, "id": "copy", "score": 0.1}]
EXPLAINED: dict[str, Any] = {"documents": DOCUMENTS, "context": {"explain": True, "conversation_id": "talk-7"}}
ANSWER = "退款 in fourteen days [S1], and [S9] never."
START = ANSWER.index("[S1]")
ANNOTATION = {
    "url": "https://kb.example/refunds",
    "title": "Refund policy",
    "start_index": START,
    "end_index": START + 4,
    "source_id": "kb-1",
    "label": "S1",
    "status": "verified",
}


def check_report(report: Any) -> None:
    fates = {fate["id"]: fate["reason"] or fate["decision"] for fate in report["documents"]}
    assert fates == {"kb-1#1": "admitted", "kb-2#1": "admitted", "blank": "empty", "copy": "duplicate"}
    assert report["dropped"] == {"empty": 1, "duplicate": 1}
    assert report["accepted_chunk_ids"][0] == "kb-1#1"
    assert report["conversation_id"] == "talk-7"
    assert report["counted"]["tokens"] > report["evidence_tokens"] > 0
    assert {"answers", "subject", "tenant"}.isdisjoint(report)
    assert "fourteen" not in json.dumps(report)


def test_a_whole_answer_has_its_annotations_and_the_report(
    client: openai.OpenAI, proxy: RunningProxy, upstream: FakeUpstream
):
    upstream.answers(answer_json(completion(ANSWER)))
    answer = client.chat.completions.create(model="fake", messages=[QUESTION], extra_body=EXPLAINED)
    message = answer.choices[0].message
    assert message.content == ANSWER
    assert message.annotations is not None
    (annotation,) = message.annotations
    assert (annotation.type, annotation.url_citation.model_dump()) == ("url_citation", ANNOTATION)
    check_report((answer.model_extra or {})["context_report"])
    record = record_of(proxy, answer._request_id)
    assert record["cited"] == {"verified": ["S1"], "invented": ["S9"], "uncited": ["S2"]}


@pytest.mark.parametrize("usage", [False, True])
def test_the_stream_helper_finds_both(client: openai.OpenAI, upstream: FakeUpstream, usage: bool):
    upstream.answers(streamed(*ANSWER, usage=True))
    more: Any = {"stream_options": {"include_usage": True}} if usage else {}
    with client.chat.completions.stream(model="fake", messages=[QUESTION], extra_body=EXPLAINED, **more) as stream:
        final = stream.get_final_completion()
    message = final.choices[0].message
    assert message.content == ANSWER
    (annotation,) = message.annotations or []
    assert annotation.url_citation.model_dump() == ANNOTATION
    check_report((final.model_extra or {})["context_report"])
    assert (final.usage is not None) is usage


async def test_the_stream_helper_finds_both_without_blocking(async_client: openai.AsyncOpenAI, upstream: FakeUpstream):
    upstream.answers(streamed(*ANSWER))
    async with async_client.chat.completions.stream(model="fake", messages=[QUESTION], extra_body=EXPLAINED) as stream:
        final = await stream.get_final_completion()
    assert len(final.choices[0].message.annotations or []) == 1
    check_report((final.model_extra or {})["context_report"])


def test_the_order_of_the_stream_is_the_one_that_clients_can_take(proxy: RunningProxy, upstream: FakeUpstream):
    upstream.answers(streamed(*ANSWER, usage=True))
    asked = {"model": "fake", "messages": [QUESTION], "stream": True, **EXPLAINED}
    asked["stream_options"] = {"include_usage": True}
    text = httpx.post(f"{proxy.base_url}/chat/completions", json=asked, timeout=WAIT).text
    *events, done, nothing = text.split("\n\n")
    assert (done, nothing) == ("data: [DONE]", "")
    assert all(event.startswith("data: {") for event in events)
    chunks = [json.loads(event[6:]) for event in events]
    assert [index for index, one in enumerate(chunks) if "context_report" in one] == [0]
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    *contents, notes, finish, usage = chunks
    assert "".join(one["choices"][0]["delta"].get("content", "") for one in contents) == ANSWER
    (note,) = notes["choices"][0]["delta"]["annotations"]
    assert note == {"index": 0, "type": "url_citation", "url_citation": ANNOTATION}
    assert finish["choices"][0]["finish_reason"] == "stop"
    assert (usage["choices"], usage["usage"]["prompt_tokens"]) == ([], 7)


def test_explain_by_header_and_the_body_wins(client: openai.OpenAI, upstream: FakeUpstream):
    header = {"x-elbowroom-explain": "true", "x-elbowroom-conversation": "talk-7", "x-elbowroom-class": "how_to"}
    asked: Any = {"model": "fake", "messages": [QUESTION], "extra_headers": header}
    said = client.chat.completions.create(**asked, extra_body={"documents": DOCUMENTS})
    report = (said.model_extra or {})["context_report"]
    check_report(report)
    assert report["query_class"] == "how_to"
    quiet = client.chat.completions.create(
        **asked, extra_body={"documents": DOCUMENTS, "context": {"explain": False, "class": "comparison"}}
    )
    assert "context_report" not in (quiet.model_extra or {})
    assert not any(name.startswith("x-elbowroom") for name in upstream.request().headers)


def test_a_report_about_no_documents(client: openai.OpenAI, upstream: FakeUpstream):
    answer = client.chat.completions.create(
        model="fake", messages=[QUESTION], extra_body={"context": {"explain": True}}
    )
    assert (answer.model_extra or {})["context_report"]["documents"] == []
    assert "context" not in upstream.request().json


def test_annotations_that_a_client_sends_back_go_no_further(client: openai.OpenAI, upstream: FakeUpstream):
    upstream.answers(answer_json(completion(ANSWER)))
    first = client.chat.completions.create(model="fake", messages=[QUESTION], extra_body=EXPLAINED).choices[0].message
    talk: Any = [QUESTION, first.model_dump(), {"role": "user", "content": "And parcels?"}]
    client.chat.completions.create(model="fake", messages=talk, extra_body={"documents": DOCUMENTS})
    sent = upstream.request(1).json["messages"]
    assert sent[1]["content"] == ANSWER
    assert "annotations" not in sent[1]


def test_an_upstream_s_own_annotations_stay(client: openai.OpenAI, upstream: FakeUpstream):
    theirs = {
        "type": "url_citation",
        "url_citation": {"url": "https://theirs.example", "title": "t", "start_index": 0, "end_index": 1},
    }
    upstream.answers(answer_json(completion(ANSWER, annotations=[theirs])))
    message = client.chat.completions.create(model="fake", messages=[QUESTION], extra_body=EXPLAINED).choices[0].message
    assert [one.url_citation.title for one in message.annotations or []] == ["t", "Refund policy"]
    upstream.answers(
        answer_stream(chunk({"content": ANSWER}), chunk({"annotations": [theirs]}), chunk(finish="stop"), DONE)
    )
    with client.chat.completions.stream(model="fake", messages=[QUESTION], extra_body=EXPLAINED) as stream:
        (only,) = stream.get_final_completion().choices[0].message.annotations or []
    assert only.url_citation.title == "t"


def test_several_answers_to_one_question_have_their_own_citations(client: openai.OpenAI, upstream: FakeUpstream):
    def part(index: int, delta: dict[str, Any], finish: str | None = None) -> bytes:
        return chunk(choices=[{"index": index, "delta": delta, "finish_reason": finish}])

    upstream.answers(
        answer_stream(
            part(0, {"role": "assistant", "content": "[S"}),
            part(1, {"role": "assistant", "content": "x [S2"}),
            part(0, {"content": "1]"}),
            part(1, {"content": "]"}),
            part(1, {}, "stop"),
            part(0, {}, "stop"),
            DONE,
        )
    )
    documents = [REFUNDS, {**PARCELS, "url": "https://kb.example/parcels"}]
    with client.chat.completions.stream(
        model="fake", messages=[QUESTION], n=2, extra_body={"documents": documents}
    ) as stream:
        first, second = stream.get_final_completion().choices
    assert (first.message.content, second.message.content) == ("[S1]", "x [S2]")
    (one,), (two,) = first.message.annotations or [], second.message.annotations or []
    assert one.url_citation.url.endswith("/refunds")
    assert two.url_citation.url.endswith("/parcels")
    assert (two.url_citation.start_index, two.url_citation.end_index) == (2, 6)


def test_a_trace_is_found_by_the_client_s_own_id(client: openai.OpenAI, proxy: RunningProxy, upstream: FakeUpstream):
    raw = client.chat.completions.with_raw_response.create(
        model="fake", messages=[QUESTION], extra_body=EXPLAINED, extra_headers={"x-client-request-id": "mine-1"}
    )
    assert record_of(proxy, raw.headers["x-request-id"])["client_request_id"] == "mine-1"
    assert upstream.request().headers["x-client-request-id"] == "mine-1"


def test_a_trace_holds_no_text(client: openai.OpenAI, proxy: RunningProxy, upstream: FakeUpstream):
    upstream.answers(answer_json(completion("Their words.")))
    raw = client.chat.completions.with_raw_response.create(
        model="fake",
        messages=[{"role": "system", "content": "Our instructions."}, QUESTION],
        extra_body={"documents": DOCUMENTS},
    )
    told = json.dumps(record_of(proxy, raw.headers["x-request-id"]), ensure_ascii=False)
    for text in ("fourteen", "Mondays", "refunds paid", "Our instructions", "Their words"):
        assert text not in told
