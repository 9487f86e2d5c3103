"""One chat request on its way through the service: read, decided, sent, answered, recorded.

Knows: the order of the steps, that every way out ends in exactly one trace record, and that what was held is settled
before the last byte.
Does not know: ASGI, any concrete upstream, store or sink, what is recorded, or how the engine decides.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing
from functools import partial
from typing import NamedTuple, Protocol

import structlog

from elbowroom.budget.worst import NOTHING, worst
from elbowroom.errors import ElbowroomError, InventedCitation, Overloaded
from elbowroom.records import Packed, Principal, Refused, Request
from elbowroom.write.answer import Watch
from elbowroom_proxy import wire
from elbowroom_proxy.budget import Budget
from elbowroom_proxy.deciding import asking, decided
from elbowroom_proxy.ownreply import OwnReply
from elbowroom_proxy.ports import Call, Reply
from elbowroom_proxy.principal import OPEN
from elbowroom_proxy.quiet import settled, with_silences
from elbowroom_proxy.shared import Shared
from elbowroom_proxy.story import Said, Story
from elbowroom_proxy.streamed import INVENTED, Streamed
from elbowroom_proxy.whole import whole, with_report

PING = b": ping\n\n"
SETTLE = 0.2  # seconds to wait for the end of a body whose last event was relayed, so that its connection is kept
SHUTDOWN = Overloaded("The proxy is shutting down.")

log = structlog.get_logger("elbowroom")


class ClientGone(Exception):
    """The client left before its request was complete."""


class InternalError(ElbowroomError):
    """Nobody foresaw it; the log has it, the client learns no more than that."""

    code = "internal_error"
    status_hint = 500


class Head(NamedTuple):
    status: int
    headers: Mapping[str, str]


Part = Head | bytes


class Stream(Said, Protocol):
    """A streamed answer: the upstream's bytes in, the client's out."""

    ended: bool  # nothing more will come out
    failed: str | None  # an error's code

    def feed(self, chunk: bytes) -> bytes: ...

    def finish(self) -> bytes:
        """What is left at the upstream's end of file."""

    def fail(self, error: ElbowroomError) -> bytes:
        """The error in the stream's own words, and its end."""


class Exchange:
    """One request and its answer: `refusal()`, and `parts()` where there is none, are asked for once."""

    def __init__(self, flow: Shared, headers: Mapping[str, str]) -> None:
        """Its headers are read (names in lower case), its body is not yet."""
        self._flow = flow
        self._headers = headers
        self._story = Story(headers, flow.metrics, flow.sink, flow.calibration, flow.keeper, flow.clock)
        self._principal = OPEN
        self._reply: Reply | None = None
        self._streamed: Stream | None = None
        self._answered = False
        self._watch = Watch()

    def client_left(self) -> bool:
        """Whether the work is to be cancelled for it: who has the whole answer has left nothing behind."""
        self._story.disconnected = not self._answered
        return not self._answered

    async def refusal(self) -> tuple[Part, ...]:
        """The whole answer where nothing of the body need be read for it: who asks may not, or has nothing left."""
        try:
            self._principal = await asking(self._flow, self._story, self._headers)
        except Exception as error:  # noqa: BLE001 -- whatever went wrong, the client is told in its own terms
            return self._failure(error)
        return ()

    async def parts(self, read_body: Callable[[], Awaitable[bytes]]) -> AsyncGenerator[Part, None]:
        """The head, then the body as it comes. Whatever happens, a record is written in the end."""
        story = self._story
        try:
            body = await read_body()
            story.restart()
            async with aclosing(self._respond(self._principal, body)) as parts:
                async for part in parts:
                    yield part
        except ClientGone:
            story.disconnected = True
        except (asyncio.CancelledError, GeneratorExit):
            if not story.disconnected:
                story.fail(SHUTDOWN.status_hint, SHUTDOWN.code, SHUTDOWN.message)
            raise
        except Exception as error:  # noqa: BLE001 -- whatever went wrong, the client is told in its own terms
            await story.settled()
            await story.budget.look()
            for part in self._failure(error):
                yield part
        finally:
            if self._reply is not None:
                await self._reply.close()
            story.end()

    def cut_off(self) -> Iterator[Part]:
        """What is still to be said where the server cannot wait for the end."""
        if self._streamed is not None:
            yield self._streamed.fail(SHUTDOWN)
        elif not self._answered:
            yield from self._failure(SHUTDOWN)

    async def _respond(self, principal: Principal, body: bytes) -> AsyncGenerator[Part, None]:
        request, outcome, self._watch = await decided(self._flow, self._story, principal, self._headers, body)
        if isinstance(outcome, Refused):
            await self._story.budget.look()
            for part in self._failure(outcome):
                yield part
            return
        reply = await self._send(request, outcome, self._story.budget)
        async with aclosing(self._answer(reply, request.stream, partial(self._begin, outcome), self._read)) as parts:
            async for part in parts:
                yield part

    async def _answer(
        self, reply: Reply, wanted: bool, begin: Callable[[], Stream], read: Callable[[bytes], bytes]
    ) -> AsyncGenerator[Part, None]:
        """The reply on its way to the client: as a stream where one was `wanted` and came, else whole."""
        self._reply = reply
        is_stream = reply.headers.get("content-type", "").startswith("text/event-stream")
        if not (wanted and is_stream and reply.status < 300):
            for part in await self._whole(reply, read):
                yield part
            return
        streamed = self._streamed = begin()
        self._story.said = streamed
        yield self._head(reply, wire.STREAM_HEADERS)
        self._story.begun()
        chunks, ping = aiter(reply.chunks()), self._flow.ping_interval
        async for chunk in chunks if ping is None else with_silences(chunks, ping):
            part = streamed.feed(chunk) if chunk else PING
            if streamed.ended:
                await self._story.settled()  # before the last byte: who has the answer may send the next request
            if part:
                yield part
            if streamed.ended:
                break
        if part := streamed.finish():
            await self._story.settled()
            yield part
        if streamed.failed:
            self._story.fail(reply.status, streamed.failed, "The stream ended in an error.")
        self._answered = True
        await settled(chunks, SETTLE)

    async def _send(self, request: Request, packed: Packed, budget: Budget) -> Reply:
        """What it may come to is held first, where anything is limited."""
        story, flow = self._story, self._flow
        model = flow.catalog.find(packed.decision.model)
        if budget.limited:
            own = packed.reply is not None
            held = NOTHING if own else worst(request, packed, model, flow.counters[model.name])
            await budget.hold(held, model)
        story.mark("overhead")
        if packed.reply is not None:
            story.own = True
            return OwnReply(packed.reply, request.params, ident=story.trace_id, created=int(flow.clock()))
        await story.promise()
        headers = wire.upstream_headers(self._headers)
        call = Call("/chat/completions", packed.body, headers, model.name, request.stream, budget.begins)
        reply = await budget.reached(flow.upstreams[model.name].send(call))
        story.mark("first_byte")
        return reply

    def _begin(self, packed: Packed) -> Streamed:
        story = self._story
        return Streamed(
            hide_usage=packed.usage_asked,
            report=story.report(),
            watch=self._watch,
            came=story.budget.pieces(),
            keeps_text=story.keeps_answer,
        )

    def _read(self, body: bytes) -> bytes:
        """A whole chat completion as the client gets it."""
        story = self._story
        story.said = said = whole(body, self._watch)
        if said.refused:
            raise InventedCitation(INVENTED)
        report = story.report()
        return said.body if report is None else with_report(said, report)

    async def _whole(self, reply: Reply, read: Callable[[bytes], bytes]) -> tuple[Head, bytes]:
        story = self._story
        body = b"".join([chunk async for chunk in reply.chunks()])
        story.budget.came(body)
        if reply.status < 300:
            body = read(body)
        else:
            story.fail(reply.status, "upstream_error", f"The upstream answered with status {reply.status}.")
            story.refusal = body
        await story.settled()
        head = self._head(reply, {"content-length": str(len(body))})
        self._answered = True
        story.begun()
        story.end()  # before the last byte: who has the answer finds the record
        return head, body

    def _head(self, reply: Reply, more: Mapping[str, str]) -> Head:
        story = self._story
        story.status = reply.status
        ours, limited = {**story.headers(), **more}, story.budget.limited
        return Head(reply.status, wire.client_headers(reply.headers, decoded=False, ours=ours, limited=limited))

    def _failure(self, error: Exception | Refused) -> tuple[Part, ...]:
        """What the client is told: a whole error, or the stream's last event where it has begun."""
        story = self._story
        if not isinstance(error, ElbowroomError | Refused):
            log.error("unforeseen", trace_id=story.trace_id, exc_info=error)
            error = InternalError("The proxy failed while it was handling this request.")
        story.fail(error.status_hint, error.code, error.message, error.param)
        if self._streamed is not None and not isinstance(error, Refused):
            return (self._streamed.fail(error),)
        self._answered = True
        response = wire.error_response(error)
        story.end()
        length = {"content-length": str(len(response.body))}
        return Head(response.status, {**response.headers, **length, **story.headers()}), response.body
