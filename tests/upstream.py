"""A scripted OpenAI-compatible upstream on a loopback port, for tests that need one to misbehave on cue.

Knows: HTTP/1.1, what it was told to answer, and what it was sent.
Does not know: the proxy. Nothing in it waits for time to pass: a `Gate` holds it back until the test opens it.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import httptools
import pytest

WAIT = 20.0  # seconds until a test gives up on something that should long have happened


class Gate:
    """Holds an answer back until `open()`; may be opened from any thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._event = asyncio.Event()
        self.reached = threading.Event()  # set once the upstream stands before it

    def open(self) -> None:
        self._loop.call_soon_threadsafe(self._event.set)

    async def passed(self) -> None:
        self.reached.set()
        await self._event.wait()


class Break:
    """In an answer's parts: the connection is torn down here."""


@dataclass
class Answer:
    """One scripted answer. `before` holds back the head; `sized` sends Content-Length instead of chunks."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "application/json"})
    parts: Sequence[bytes | Gate | Break] = ()
    before: Gate | Break | None = None
    sized: bool = True


@dataclass
class Seen:
    """One request as it came; `gone` is set when its client closed the connection before the answer's end."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    gone: threading.Event = field(default_factory=threading.Event)

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def answer_json(value: Any, status: int = 200, **headers: str) -> Answer:
    """A whole JSON body; header names take underscores for hyphens."""
    named = {name.replace("_", "-"): said for name, said in headers.items()}
    return Answer(status, {"content-type": "application/json", **named}, [json.dumps(value).encode()])


def completion(text: str = "fine", *, prompt_tokens: int = 7, **message: Any) -> dict[str, Any]:
    """The body of a chat completion."""
    finish = "tool_calls" if "tool_calls" in message else "stop"
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "upstream-model",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}
        ],
        "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": 2, "total_tokens": prompt_tokens + 2},
    }


def chunk(delta: Mapping[str, Any] | None = None, *, finish: str | None = None, **more: Any) -> bytes:
    """One event of a streamed completion; `choices=[]` and `usage=...` make the usage chunk."""
    value = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "upstream-model",
        "choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}],
        **more,
    }
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def usage_chunk(prompt_tokens: int = 7) -> bytes:
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": 2, "total_tokens": prompt_tokens + 2}
    return chunk(choices=[], usage=usage)


DONE = b"data: [DONE]\n\n"


def answer_stream(*parts: bytes | Gate | Break, **headers: str) -> Answer:
    """An event stream of exactly these parts."""
    named = {name.replace("_", "-"): said for name, said in headers.items()}
    return Answer(200, {"content-type": "text/event-stream", **named}, parts, sized=False)


def streamed(*words: str, usage: bool = False) -> Answer:
    """A well-behaved stream of these pieces of text."""
    events = [chunk({"role": "assistant", "content": ""}), *(chunk({"content": word}) for word in words)]
    return answer_stream(*events, chunk(finish="stop"), *([usage_chunk()] if usage else []), DONE)


class FakeUpstream:
    """The server, in a thread with a loop of its own. Answers what it was told, in order; then `completion()`."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Seen] = []
        self.connections = 0
        self.open: set[asyncio.Transport] = set()
        self._tls = tls
        self._script: deque[Answer] = deque()
        self._arrived = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    @property
    def url(self) -> str:
        """Its base address, as `api_base` wants it."""
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}/v1"

    def gate(self) -> Gate:
        return Gate(self._loop)

    def answers(self, *answers: Answer) -> None:
        """What the next requests get."""
        self._script.extend(answers)

    def request(self, number: int = 0) -> Seen:
        """The request of that number, as soon as it is there."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: len(self.requests) > number, WAIT), "the upstream was not asked"
            return self.requests[number]

    def next_answer(self, seen: Seen) -> Answer:
        with self._arrived:
            self.requests.append(seen)
            self._arrived.notify_all()
        return self._script.popleft() if self._script else answer_json(completion())

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(WAIT)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def _listen(self) -> asyncio.Server:
        return await self._loop.create_server(lambda: _Connection(self), "127.0.0.1", 0, ssl=self._tls)

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(WAIT)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(WAIT)
        self._loop.close()

    async def _stop(self) -> None:
        self._server.close()
        for transport in list(self.open):
            transport.abort()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Connection(asyncio.Protocol):
    """One client connection; httptools calls the `on_` methods."""

    def __init__(self, upstream: FakeUpstream) -> None:
        self.upstream = upstream
        self.task: asyncio.Task[None] | None = None
        self.seen: Seen | None = None
        self._reset()

    def _reset(self) -> None:
        self.path, self.body = "", b""
        self.headers: dict[str, str] = {}
        self.parser = httptools.HttpRequestParser(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.upstream.open.add(transport)
        self.upstream.connections += 1

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def connection_lost(self, _: Exception | None) -> None:
        self.upstream.open.discard(self.transport)
        if self.task is not None and not self.task.done():
            self.task.cancel()
            if self.seen is not None:
                self.seen.gone.set()

    def on_url(self, url: bytes) -> None:
        self.path += url.decode()

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode().lower()] = value.decode()

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        method = self.parser.get_method().decode()
        self.seen = seen = Seen(method, self.path, self.headers, self.body)
        self._reset()
        self.task = asyncio.get_running_loop().create_task(self._answer(self.upstream.next_answer(seen)))

    async def _answer(self, answer: Answer) -> None:
        if isinstance(answer.before, Gate):
            await answer.before.passed()
        if isinstance(answer.before, Break):
            return self.transport.abort()
        lines = [f"HTTP/1.1 {answer.status} Scripted", *(f"{name}: {said}" for name, said in answer.headers.items())]
        size = sum(len(part) for part in answer.parts if isinstance(part, bytes))
        lines.append(f"content-length: {size}" if answer.sized else "transfer-encoding: chunked")
        self.transport.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        for part in answer.parts:
            if isinstance(part, Gate):
                await part.passed()
            elif isinstance(part, Break):
                return self.transport.close()
            else:
                self.transport.write(part if answer.sized else b"%x\r\n%s\r\n" % (len(part), part))
                await asyncio.sleep(0)  # each part in a packet of its own
        if not answer.sized:
            self.transport.write(b"0\r\n\r\n")
        return None


@pytest.fixture
def fake_upstream() -> Iterator[FakeUpstream]:
    """A scripted upstream of this test's own."""
    with FakeUpstream() as upstream:
        yield upstream
