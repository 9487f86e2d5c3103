"""POST /v1/chat/completions, and what is relayed: one HTTP request is one exchange, whose parts are the response.

Knows: ASGI, the body limit, and how to notice that the client has gone, from before the first upstream byte on.
Does not know: what is in a body, or what the exchange does with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any, cast

from starlette.types import Receive, Scope, Send

from elbowroom.errors import RequestTooLarge
from elbowroom_proxy.flow import ClientGone, Exchange, Head
from elbowroom_proxy.shared import Shared


class Chat:
    """The plain ASGI endpoint."""

    def __init__(
        self, flow: Callable[[], Shared], exchange: Callable[[Shared, dict[str, str]], Exchange] = Exchange
    ) -> None:
        """`flow` is asked for with each request, which then keeps what it was told."""
        self._flow = flow
        self._exchange = exchange

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        flow = self._flow()
        exchange = self._exchange(flow, headers)
        work = cast("asyncio.Task[Any]", asyncio.current_task())
        flow.work(work)
        watch = _Watch(exchange, work, receive)
        response = _Response(send, watch)

        async def read_body() -> bytes:
            body = await _body(receive, headers, flow.max_body_bytes)
            watch.start()
            return body

        try:
            for part in (refusal := await exchange.refusal()):
                await response.send(part)
            if not refusal:
                async with aclosing(exchange.parts(read_body)) as parts:
                    async for part in parts:
                        await response.send(part)
        except asyncio.CancelledError:
            work.uncancel()
            if not watch.gone:
                # The server is shutting down and its patience is at an end. Who still waits is told.
                watch.stop()
                for part in exchange.cut_off():
                    await response.send(part)
                await response.end()
        else:
            watch.stop()
            await response.end()
        finally:
            watch.stop()


class _Response:
    def __init__(self, send: Send, watch: _Watch) -> None:
        self._send = send
        self._watch = watch
        self._length = ""
        self._ended = False

    async def send(self, part: Head | bytes) -> None:
        if isinstance(part, bytes):
            if self._length == str(len(part)):
                self._watch.stop()  # once it has ended, it looks as if the client were gone
                self._ended = True
            await self._send({"type": "http.response.body", "body": part, "more_body": not self._ended})
            return
        self._length = part.headers.get("content-length", "")
        headers = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in part.headers.items()]
        await self._send({"type": "http.response.start", "status": part.status, "headers": headers})

    async def end(self) -> None:
        if not self._ended:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})


class _Watch:
    """Waits for the client's leaving beside the work, and then cancels the work."""

    def __init__(self, exchange: Exchange, work: asyncio.Task[Any], receive: Receive) -> None:
        self.gone = False
        self._exchange = exchange
        self._work = work
        self._receive = receive
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """To be called once the body is read: whatever is received then is a disconnect."""
        self._task = asyncio.create_task(self._wait())

    async def _wait(self) -> None:
        await self._receive()
        if self._task is not None and self._exchange.client_left():
            self.gone = True
            self._work.cancel()

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None


async def _body(receive: Receive, headers: dict[str, str], limit: int) -> bytes:
    """The whole body. Raises `RequestTooLarge` as soon as it is known to be, `ClientGone` where it breaks off."""
    announced = headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > limit:
        raise RequestTooLarge(f"The body has {announced} bytes; at most {limit} are allowed.")
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            raise RequestTooLarge(f"The body has more than the {limit} bytes that are allowed.")
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)
