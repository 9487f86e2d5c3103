from __future__ import annotations

import json

from elbowroom_proxy.ownreply import OwnReply

PARAMS = {"model": "m"}


async def said(params) -> tuple[OwnReply, bytes]:
    reply = OwnReply("Which one? 哪个？", params, ident="abc", created=7)
    body = b"".join([part async for part in reply.chunks()])
    await reply.close()
    return reply, body


async def test_a_whole_answer_is_a_chat_completion_that_cost_nothing():
    reply, body = await said(PARAMS)
    value = json.loads(body)
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    assert (value["id"], value["object"], value["created"], value["model"]) == (
        "chatcmpl-abc",
        "chat.completion",
        7,
        "m",
    )
    (choice,) = value["choices"]
    assert choice["message"] == {"role": "assistant", "content": "Which one? 哪个？", "refusal": None}
    assert choice["finish_reason"] == "stop"
    assert value["usage"]["total_tokens"] == 0


async def test_each_choice_gets_the_answer():
    _, body = await said({**PARAMS, "n": 2})
    assert [one["index"] for one in json.loads(body)["choices"]] == [0, 1]


async def test_a_stream_says_the_same_in_events():
    reply, body = await said({**PARAMS, "stream": True, "n": 2})
    assert reply.headers["content-type"] == "text/event-stream"
    *events, done, end = body.split(b"\n\n")
    assert (done, end) == (b"data: [DONE]", b"")
    values = [json.loads(event.removeprefix(b"data: ")) for event in events]
    assert all(value["object"] == "chat.completion.chunk" for value in values)
    texts = [one["delta"].get("content") for value in values for one in value["choices"]]
    assert texts == ["Which one? 哪个？", None] * 2
    assert values[-1]["choices"] == []
    assert values[-1]["usage"]["prompt_tokens"] == 0
