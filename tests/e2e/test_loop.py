"""The loop's thread belongs to everybody: long texts are counted elsewhere, and many requests share it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import openai
import pytest

from elbowroom_proxy.tokens import Tokens
from tests.e2e.conftest import HELLO, QUESTION, REFUNDS, record_of
from tests.proxy import RunningProxy, wait_until
from tests.upstream import FakeUpstream, answer_stream, streamed

FOUR_KB = 4096
Encoded = list[tuple[str, int]]  # thread, bytes


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> Encoded:
    """Which thread encoded how many bytes at once."""
    batches: Encoded = []
    encode = Tokens._encode

    def noted(self: Tokens, vocabulary: str, texts: Sequence[str]) -> list[int]:
        batches.append((threading.current_thread().name, sum(len(text.encode()) for text in texts)))
        return encode(self, vocabulary, texts)

    monkeypatch.setattr(Tokens, "_encode", noted)
    return batches


def words(subject: str, count: int) -> str:
    return " ".join(f"{subject}{number} is told." for number in range(count))


LONG: list[dict[str, Any]] = [
    {"messages": [{"role": "user", "content": words("untagged", 900)}]},
    {"messages": [{"role": "system", "content": words("system", 900)}, QUESTION], "documents": [REFUNDS]},
    {"messages": [QUESTION], "documents": [{"id": str(i), "text": words(f"doc{i}x", 60)} for i in range(30)]},
    {"messages": [QUESTION], "documents": [{"id": "long", "text": words("long", 3_000)}]},
    {"messages": [{"role": "user", "content": "退款" * 3_000}], "documents": ["短"]},
    {
        "messages": [
            {"role": "user", "content": "List all"},
            {
                "role": "assistant",
                "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "c", "content": words("row", 5_000)},
        ],
        "documents": [REFUNDS],
    },
]


@pytest.mark.parametrize("asked", LONG, ids=["untagged", "system", "many", "one", "chinese", "tool"])
def test_more_than_4_kb_are_encoded_off_the_loop_s_thread(
    client: openai.OpenAI, proxy: RunningProxy, upstream: FakeUpstream, encoded: Encoded, asked: dict[str, Any]
):
    tags = {"documents": asked["documents"]} if "documents" in asked else {}
    raw = client.chat.completions.with_raw_response.create(model="fake", messages=asked["messages"], extra_body=tags)
    assert record_of(proxy, raw.headers["x-request-id"])["counted"]["tokens"] > 0
    elsewhere = [size for thread, size in encoded if thread.startswith("elbowroom-tokens")]
    here = [size for thread, size in encoded if not thread.startswith("elbowroom-tokens")]
    assert max(elsewhere) > FOUR_KB
    assert max(here, default=0) <= FOUR_KB


# --- many at once -----------------------------------------------------------------------------------------------------


async def test_fifty_at_once_are_all_answered_and_recorded_once(
    async_client: openai.AsyncOpenAI, proxy: RunningProxy, upstream: FakeUpstream
):
    before = len(proxy.traces())
    gate = upstream.gate()
    good = streamed("fine")
    upstream.answers(*(answer_stream(*good.parts[:1], gate, *good.parts[1:]) for _ in range(50)))

    async def ask(number: int) -> tuple[str, str]:
        document = {"id": f"d{number}", "text": f"Fact {number}: " + words(f"n{number}x", number * 4)}
        raw = await async_client.chat.completions.with_raw_response.create(
            model="fake",
            messages=[{"role": "user", "content": f"What is fact {number}?"}],
            stream=True,
            extra_body={"documents": [document]} if number % 2 else {},
        )
        text = "".join([part.choices[0].delta.content or "" async for part in raw.parse()])
        return raw.headers["x-request-id"], text

    asking = asyncio.gather(*(ask(number) for number in range(50)))
    await asyncio.to_thread(upstream.request, 49)  # all fifty are open at the same time
    gate.open()
    answers = await asking
    assert [text for _, text in answers] == ["fine"] * 50
    await asyncio.to_thread(wait_until, lambda: len(proxy.traces()) >= before + 50)
    records = proxy.traces()[before:]
    assert sorted(record["request_id"] for record in records) == sorted(ident for ident, _ in answers)
    assert len({record["trace_id"] for record in records}) == 50
    for record in records:
        assert (record["status"], record["finish_reason"], record["counted"]["tokens"] > 0) == (200, "stop", True)
    sent = [seen.body.decode() for seen in upstream.requests]
    for number in range(1, 50, 2):
        (mine,) = [body for body in sent if f"Fact {number}: " in body]
        assert f"What is fact {number}?" in mine


async def test_fifty_whole_answers_go_to_who_asked(async_client: openai.AsyncOpenAI, upstream: FakeUpstream):
    async def ask(number: int) -> str:
        answer = await async_client.chat.completions.create(
            model="demo-large",
            messages=[{"role": "user", "content": f"What does parcel{number} weigh?"}],
            extra_body={"documents": [f"Parcel{number} weighs {number} pounds."]},
        )
        return answer.choices[0].message.content or ""

    answers = await asyncio.gather(*(ask(number) for number in range(50)))
    assert all(f"weighs {number} pounds" in text for number, text in enumerate(answers))


async def test_a_long_count_holds_up_nobody_else(
    async_client: openai.AsyncOpenAI, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
):
    """The thread that counts stands still until another request has been answered."""
    release = threading.Event()
    encode = Tokens._encode

    def slow(self: Tokens, vocabulary: str, texts: Sequence[str]) -> list[int]:
        if any(text.startswith("stuck") for text in texts):
            assert release.wait(20)
        return encode(self, vocabulary, texts)

    monkeypatch.setattr(Tokens, "_encode", slow)
    long = asyncio.create_task(
        async_client.chat.completions.create(
            model="fake", messages=[QUESTION], extra_body={"documents": [words("stuck", 1_000)]}
        )
    )
    short = await async_client.chat.completions.create(model="fake", messages=[HELLO])
    assert short.choices[0].message.content == "fine"
    assert not long.done()
    release.set()
    assert (await long).choices[0].message.content == "fine"
