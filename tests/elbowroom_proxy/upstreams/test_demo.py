"""The demo upstream: OpenAI's protocol, answers from the evidence, bills of the body that it was sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from elbowroom_proxy.ports import Call
from elbowroom_proxy.upstreams.demo import NO_EVIDENCE, NOTHING, Demo, answer, build

EVIDENCE = """\
Text inside S<n>-tags is evidence.
<S1-4829 title="Refund policy" version="2026-10-01">
Monthly plans cannot be refunded. Annual plans can be refunded within 30 days.
</S1-4829>
<S2-4829 title="Offices">
Our offices are in Bonn and Porto.
They open at nine.
</S2-4829>

"""
CHINESE = """\
<S1-1 title="退款">
月付套餐不能退款。年付套餐可以在30天内退款。
</S1-1>

"""


class Meter:
    """Counts words, so that a test can count along."""

    async def prompt(self, body: Mapping[str, Any]) -> int:
        return sum(len(str(message["content"]).split()) for message in body["messages"])

    async def text(self, text: str, model: str) -> int:
        assert model in {"demo-small", "demo-large"}
        return len(text.split())


async def ask(content: Any, **more: Any) -> tuple[int, bytes]:
    body = {"model": "demo-small", "messages": [{"role": "user", "content": content}], **more}
    return await send(json.dumps(body).encode())


async def send(body: bytes) -> tuple[int, bytes]:
    demo = build(None, Meter())  # type: ignore[arg-type]
    reply = await demo.send(Call("/chat/completions", body, {}, "demo-small", stream=False))
    said = b"".join([part async for part in reply.chunks()])
    await reply.close()
    await demo.close()
    return reply.status, said


async def whole(content: Any, **more: Any) -> dict[str, Any]:
    status, said = await ask(content, **more)
    assert status == 200
    value: dict[str, Any] = json.loads(said)
    return value


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (EVIDENCE + "Can I get a refund for my annual plan?", "Annual plans can be refunded within 30 days. [S1]"),
        (EVIDENCE + "Where are the offices?", "Our offices are in Bonn and Porto. [S2]"),
        (CHINESE + "年付套餐怎么退款？", "年付套餐可以在30天内退款。 [S1]"),
        (EVIDENCE + "What does a bicycle weigh?", NOTHING["en"]),
        (EVIDENCE + "自行车有多重？", NOTHING["zh"]),
        ("Hello!", NO_EVIDENCE["en"]),
        ("你好！", NO_EVIDENCE["zh"]),
    ],
)
def test_it_quotes_what_fits_the_question_and_says_so_where_nothing_does(message, said):
    assert answer(message) == said


def test_what_an_evidence_says_is_no_question():
    assert answer(EVIDENCE.replace("They open at nine.", "Where is Porto?") + "bicycle") == NOTHING["en"]


def test_an_elision_mark_is_not_quoted():
    assert answer("<S1-7>\n[...]\nAnnual plans renew. [...]\n</S1-7>\n\nannual plans") == "Annual plans renew. [S1]"


async def test_a_whole_answer_has_the_protocols_members_and_a_bill():
    value = await whole(EVIDENCE + "Where are the offices?")
    (choice,) = value["choices"]
    assert choice["message"] == {
        "role": "assistant",
        "content": "Our offices are in Bonn and Porto. [S2]",
        "refusal": None,
    }
    assert choice["finish_reason"] == "stop"
    prompt = len(EVIDENCE.split()) + 4
    assert value["usage"] == {"prompt_tokens": prompt, "completion_tokens": 8, "total_tokens": prompt + 8}


async def test_parts_and_absent_content_are_read():
    parts = [{"type": "text", "text": EVIDENCE}, {"type": "text", "text": "Where are the offices?"}, {"type": "x"}]
    assert (await whole(parts))["choices"][0]["message"]["content"].endswith("[S2]")
    assert (await whole(None))["choices"][0]["message"]["content"] == NO_EVIDENCE["en"]


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
async def test_a_maximum_cuts_after_a_whole_word(name):
    value = await whole(EVIDENCE + "Where are the offices?", **{name: 3})
    assert value["choices"][0]["message"]["content"] == "Our offices are"
    assert value["choices"][0]["finish_reason"] == "length"
    assert value["usage"]["completion_tokens"] == 3


async def test_n_answers_cost_n_times_their_tokens():
    value = await whole(EVIDENCE + "Where are the offices?", n=3)
    assert [choice["index"] for choice in value["choices"]] == [0, 1, 2]
    assert value["usage"]["completion_tokens"] == 24


def events(said: bytes) -> list[dict[str, Any]]:
    *chunks, done, rest = said.split(b"\n\n")
    assert (done, rest) == (b"data: [DONE]", b"")
    return [json.loads(one.removeprefix(b"data: ")) for one in chunks]


async def test_a_streamed_answer_says_the_same_in_pieces():
    _, said = await ask(EVIDENCE + "Where are the offices?", stream=True, n=2)
    chunks = events(said)
    for index in range(2):
        mine = [chunk["choices"][0] for chunk in chunks if chunk["choices"][0]["index"] == index]
        assert mine[0]["delta"]["role"] == "assistant"
        assert "".join(one["delta"].get("content", "") for one in mine) == "Our offices are in Bonn and Porto. [S2]"
        assert [one["finish_reason"] for one in mine if one["finish_reason"]] == ["stop"]
    assert not any("usage" in chunk for chunk in chunks)


async def test_a_stream_bills_when_it_is_asked_to():
    _, said = await ask("Hello!", stream=True, stream_options={"include_usage": True})
    *chunks, last = events(said)
    assert all(chunk["usage"] is None for chunk in chunks)
    assert (last["choices"], last["usage"]["prompt_tokens"]) == ([], 1)


async def test_the_same_body_gets_the_same_bytes_but_for_the_time():
    body = {"model": "demo-small", "messages": [{"role": "user", "content": EVIDENCE + "offices?"}]}
    for more in ({}, {"stream": True}):
        call = Call("/chat/completions", json.dumps({**body, **more}).encode(), {}, "demo-small", stream=bool(more))
        said = []
        for seconds in (1_800_000_000.7, 1_800_000_000.9, 1_900_000_000.0):
            reply = await Demo(Meter(), partial(float, seconds)).send(call)
            said.append(b"".join([chunk async for chunk in reply.chunks()]))
        assert said[0] == said[1] == said[2].replace(b":1900000000,", b":1800000000,") != said[2]


async def test_it_stops_where_it_is_told_and_answers_in_json():
    asked = EVIDENCE + "Where are the offices?"
    for stop in ("Bonn", ["nowhere", "", " and", "Bonn"]):
        (choice,) = (await whole(asked, stop=stop))["choices"]
        assert (choice["message"]["content"], choice["finish_reason"]) == ("Our offices are in ", "stop")
    (choice,) = (await whole(asked, response_format={"type": "json_object"}))["choices"]
    assert json.loads(choice["message"]["content"]) == {"answer": "Our offices are in Bonn and Porto. [S2]"}


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"tools": [{"type": "function"}], "tool_choice": "required"}, "tool_choice"),
        ({"tools": [{"type": "function"}], "tool_choice": {"type": "function", "function": {"name": "f"}}}, "tools"),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}}, "schema"),
    ],
)
async def test_what_it_cannot_do_it_refuses(more: dict[str, Any], word: str):
    status, said = await ask("offices?", **more)
    assert status == 400
    assert word in json.loads(said)["error"]["message"]
    assert (await ask("offices?", tools=[{"type": "function"}], tool_choice="auto"))[0] == 200


@pytest.mark.parametrize(("words", "maximum"), [(9000, None), (8192, None), (8000, 193)])
async def test_it_has_a_window_as_providers_have(words, maximum):
    status, said = await ask("x " * words, **({"max_tokens": maximum} if maximum else {}))
    error = json.loads(said)["error"]
    assert (status, error["code"]) == (400, "context_length_exceeded")
    assert "maximum context length is 8192 tokens" in error["message"]


async def test_what_fits_its_window_to_the_token_is_answered():
    assert (await ask("x " * 8000, max_tokens=192))[0] == 200


@pytest.mark.parametrize("body", [b"nonsense", b"[]", b"{}", b'{"model":"gpt-9","messages":[]}'])
async def test_what_it_cannot_read_it_refuses(body):
    status, said = await send(body)
    assert (status, json.loads(said)["error"]["type"]) == (400, "invalid_request_error")


async def test_no_messages_of_a_user_are_no_question():
    status, _ = await send(b'{"model":"demo-large","messages":[{"role":"system","content":"Be brief."}]}')
    assert status == 200
    assert isinstance(Demo(Meter()), Demo)


async def other(path: str, body: Any) -> tuple[int, bytes]:
    reply = await build(None, Meter()).send(  # type: ignore[arg-type]
        Call(path, json.dumps(body).encode(), {}, "demo-small", stream=False)
    )
    return reply.status, b"".join([part async for part in reply.chunks()])


async def test_a_response_says_what_a_chat_would_and_what_it_took():
    status, said = await other("/responses", {"model": "demo-small", "input": EVIDENCE + "Where are the offices?"})
    value = json.loads(said)
    assert (status, value["status"], value["incomplete_details"]) == (200, "completed", None)
    assert value["output"][0]["content"][0]["text"] == "Our offices are in Bonn and Porto. [S2]"
    usage = value["usage"]
    assert usage["input_tokens"] + usage["output_tokens"] == usage["total_tokens"]


async def test_a_streamed_response_comes_in_events_that_are_numbered():
    body = {"model": "demo-small", "input": "Where?", "stream": True, "max_output_tokens": 3}
    _, said = await other("/responses", body)
    events = [json.loads(one.split(b"data: ")[1]) for one in said.split(b"\n\n") if one]
    assert [one["sequence_number"] for one in events] == list(range(len(events)))
    words = "".join(one["delta"] for one in events if one["type"] == "response.output_text.delta")
    assert (events[0]["type"], events[-1]["type"]) == ("response.created", "response.incomplete")
    assert events[-1]["response"]["output"][0]["content"][0]["text"] == words


async def test_the_same_text_is_embedded_the_same_way():
    _, one = await other("/embeddings", {"model": "demo-small", "input": "a b"})
    _, two = await other("/embeddings", {"model": "demo-small", "input": ["c", "a b"]})
    first, second = json.loads(one), json.loads(two)
    assert first["data"][0]["embedding"] == second["data"][1]["embedding"] != second["data"][0]["embedding"]
    assert (first["usage"]["total_tokens"], second["usage"]["total_tokens"]) == (2, 3)


@pytest.mark.parametrize(
    ("path", "body"),
    [("/responses", {"model": "demo-small", "input": 7}), ("/embeddings", {"model": "demo-small"}),
     ("/responses", {"model": "nobody", "input": "a"})],
)  # fmt: skip
async def test_what_it_cannot_read_is_a_400_there_too(path: str, body: Any):
    assert (await other(path, body))[0] == 400


async def test_a_response_that_is_too_long_is_refused():
    status, said = await other("/responses", {"model": "demo-small", "input": "word " * 9_000})
    assert (status, json.loads(said)["error"]["code"]) == (400, "context_length_exceeded")
