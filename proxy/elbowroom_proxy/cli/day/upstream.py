"""The model's server of the demo day: the demo model behind real sockets, which says what it is told at its cues.

Knows: how an answer with calls looks, how an answer stops half-way, and that a cue is the end of the last user message.
Does not know: the proxy, or what the day is about. What it bills, it counts as the proxy does.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import uvicorn
from msgspec import Struct
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from elbowroom_proxy.addresses import Meter
from elbowroom_proxy.ports import Call
from elbowroom_proxy.upstreams import demo

EVENTS = "text/event-stream"
BEFORE_IT_STOPS = 4  # events of an answer that stops half-way


class Script(Struct, frozen=True):
    """What is said to one question."""

    ask: str
    says: str = ""
    calls: tuple[Mapping[str, str], ...] = ()  # {"name", "arguments"}
    status: int = 200  # another one is an error
    holds: bool = False  # a stream stops half-way, and waits until its client has gone
    breaks: bool = False  # a stream stops half-way, and its connection is torn down


class Model:
    """The application."""

    def __init__(self, scripts: Sequence[Script], meter: Meter) -> None:
        self._scripts = scripts
        self._meter = meter
        self._demo = demo.Demo(meter)

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/v1/chat/completions", self.chat, methods=["POST"])])

    async def chat(self, request: Request) -> Response:
        """One completion."""
        data = await request.body()
        body = json.loads(data)
        question = demo.question_of(body["messages"])
        script = next((one for one in self._scripts if question.endswith(one.ask)), None)
        if script is not None and script.status != 200:
            headers = {"x-should-retry": "false"}
            error = {"message": "The model has too much to do.", "type": "server_error", "code": None, "param": None}
            return Response(json.dumps({"error": error}), script.status, headers, "application/json")
        if script is not None and (script.says or script.calls):
            return Response(await self._said(script, body), media_type="application/json")
        reply = await self._demo.send(Call("/chat/completions", data, {}, body["model"], bool(body.get("stream"))))
        parts = [part async for part in reply.chunks()]
        kind = reply.headers["content-type"]
        if script is not None:
            return StreamingResponse(self._half(script, parts, request), reply.status, media_type=kind)
        return Response(b"".join(parts), reply.status, media_type=kind)

    async def _said(self, script: Script, body: Mapping[str, Any]) -> bytes:
        """A whole completion."""
        calls = [
            {"id": f"call_a{n}", "type": "function", "function": dict(call)} for n, call in enumerate(script.calls)
        ]
        message = {"role": "assistant", "content": script.says or None, **({"tool_calls": calls} if calls else {})}
        prompt = await self._meter.prompt(body)
        told = script.says + "".join(call["name"] + call["arguments"] for call in script.calls)
        answer = await self._meter.text(told, body["model"])
        return demo.encode({
            "id": "chatcmpl-day",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
            "usage": {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer},
        })  # fmt: skip

    async def _half(self, script: Script, parts: Sequence[bytes], request: Request) -> AsyncIterator[bytes]:
        for part in parts[:BEFORE_IT_STOPS]:
            yield part
        if script.holds:
            await request.receive()  # its body was read: all that can come is that it leaves
        if script.breaks:
            raise ConnectionResetError("as the script has it")


def server(scripts: Sequence[Script], meter: Meter) -> uvicorn.Server:
    """Not started yet; on a free loopback port."""
    app = Model(scripts, meter).app()
    return uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=0, ws="none", lifespan="off", log_level="critical", access_log=False)
    )
