"""How Anthropic and Google put an answer on the wire, for a scripted upstream to say.

Knows: Anthropic's Messages and Gemini's generateContent, whole and streamed, and their errors.
Does not know: litellm, the proxy, or OpenAI's form of the same.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from tests.upstream import DONE, Answer, Break, Gate, answer_json, chunk, completion, usage_chunk

Part = bytes | Gate | Break
CALL = {"name": "weather", "arguments": {"city": "Porto"}}


class Provider(Protocol):
    """What one says: "Hello" then " there", 12 tokens in (3 of them cached), 7 out; or a call of `CALL`."""

    model: str
    base: str  # to be put behind the server's address
    written: int  # of the tokens in, into the cache
    reasoned: int  # of the tokens out, where they are told apart

    def whole(self) -> Answer: ...
    def call(self) -> Answer: ...
    def begin(self) -> list[bytes]: ...  # up to and with "Hello"
    def rest(self) -> list[bytes]: ...  # " there", the reason and the bill
    def called(self) -> list[bytes]: ...  # a call, streamed, all of it
    def error(self, status: int, message: str, **headers: str) -> Answer: ...
    def tools_sent(self, body: Any) -> list[str]: ...


class OpenAISays:
    model, base, written, reasoned = "gpt-4o", "/v1", 0, 2
    _usage: ClassVar[dict[str, Any]] = {"usage": {
        "prompt_tokens": 12, "completion_tokens": 7, "total_tokens": 19,
        "prompt_tokens_details": {"cached_tokens": 3}, "completion_tokens_details": {"reasoning_tokens": 2},
    }}  # fmt: skip

    def _call(self) -> dict[str, Any]:
        function = {"name": CALL["name"], "arguments": json.dumps(CALL["arguments"])}
        return {"id": "call_1", "type": "function", "function": function}

    def whole(self) -> Answer:
        return answer_json({**completion("Hello there"), **self._usage})

    def call(self) -> Answer:
        return answer_json({**completion(None, tool_calls=[self._call()]), **self._usage})  # type: ignore[arg-type]

    def begin(self) -> list[bytes]:
        return [chunk({"role": "assistant", "content": "Hello"})]

    def rest(self) -> list[bytes]:
        return [chunk({"content": " there"}), chunk(finish="stop"), chunk(choices=[], **self._usage), DONE]

    def called(self) -> list[bytes]:
        call = {"index": 0, **self._call()}
        return [chunk({"role": "assistant", "tool_calls": [call]}), chunk(finish="tool_calls"), usage_chunk(), DONE]

    def error(self, status: int, message: str, **headers: str) -> Answer:
        return answer_json({"error": {"message": message, "type": "x", "param": None, "code": None}}, status, **headers)

    def tools_sent(self, body: Any) -> list[str]:
        return [tool["function"]["name"] for tool in body["tools"]]


class AnthropicSays:
    """https://docs.anthropic.com/en/api/messages and /en/api/messages-streaming."""

    model, base, written, reasoned = "anthropic/claude-sonnet-4-5", "", 2, 0
    _usage: ClassVar = {"input_tokens": 7, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 3}

    def _message(self, content: Sequence[Any], reason: str | None, output: int) -> dict[str, Any]:
        return {
            "id": "msg_01XFDUDYJgAACzvnptvVoYEL",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5-20250929",
            "content": content,
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": {**self._usage, "output_tokens": output, "service_tier": "standard"},
        }

    def whole(self) -> Answer:
        return answer_json(self._message([{"type": "text", "text": "Hello there"}], "end_turn", 7))

    def call(self) -> Answer:
        block = {"type": "tool_use", "id": "toolu_01", "name": CALL["name"], "input": CALL["arguments"]}
        return answer_json(self._message([block], "tool_use", 7))

    @staticmethod
    def _events(*events: dict[str, Any]) -> list[bytes]:
        return [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events]

    def begin(self) -> list[bytes]:
        return self._events(
            {"type": "message_start", "message": self._message([], None, 1)},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "ping"},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}},
        )

    def rest(self) -> list[bytes]:
        return self._events(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": " there"}},
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn", "stop_sequence": None},
                "usage": {"output_tokens": 7},
            },
            {"type": "message_stop"},
        )

    def called(self) -> list[bytes]:
        block = {"type": "tool_use", "id": "toolu_01", "name": CALL["name"], "input": {}}
        said = json.dumps(CALL["arguments"])
        return self._events(
            {"type": "message_start", "message": self._message([], None, 1)},
            {"type": "content_block_start", "index": 0, "content_block": block},
            *(
                {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": part}}
                for part in ("", said[:5], said[5:])
            ),
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": {"stop_reason": "tool_use", "stop_sequence": None},
                "usage": {"output_tokens": 7},
            },
            {"type": "message_stop"},
        )

    def error(self, status: int, message: str, **headers: str) -> Answer:
        kind = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error"}.get(status)
        error = {"type": kind or "api_error", "message": message}
        return answer_json({"type": "error", "error": error, "request_id": "req_1"}, status, **headers)

    def event_error(self) -> list[bytes]:
        return self._events({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})

    def tools_sent(self, body: Any) -> list[str]:
        return [tool["name"] for tool in body["tools"]]


class GeminiSays:
    """https://ai.google.dev/api/generate-content."""

    model, base, written, reasoned = "gemini/gemini-2.5-flash", "", 0, 2

    @staticmethod
    def _response(*parts: dict[str, Any], reason: str | None = None, bill: bool = False) -> dict[str, Any]:
        candidate: dict[str, Any] = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
        usage = {"promptTokenCount": 12, "cachedContentTokenCount": 3, "totalTokenCount": 12}
        if reason:
            candidate["finishReason"] = reason
        if bill:
            usage |= {"candidatesTokenCount": 5, "thoughtsTokenCount": 2, "totalTokenCount": 19}
        return {
            "candidates": [candidate],
            "usageMetadata": usage,
            "modelVersion": "gemini-2.5-flash",
            "responseId": "Zk1oaKz",
        }

    def whole(self) -> Answer:
        return answer_json(self._response({"text": "Hello there"}, reason="STOP", bill=True))

    def call(self) -> Answer:
        call = {"functionCall": {"name": CALL["name"], "args": CALL["arguments"]}}
        return answer_json(self._response(call, reason="STOP", bill=True))

    @staticmethod
    def _events(*events: dict[str, Any]) -> list[bytes]:
        return [f"data: {json.dumps(one)}\r\n\r\n".encode() for one in events]

    def begin(self) -> list[bytes]:
        return self._events(self._response({"text": "Hello"}))

    def rest(self) -> list[bytes]:
        return self._events(self._response({"text": " there"}, reason="STOP", bill=True))

    def called(self) -> list[bytes]:
        call = {"functionCall": {"name": CALL["name"], "args": CALL["arguments"]}}
        return self._events(self._response(call, reason="STOP", bill=True))

    def error(self, status: int, message: str, **headers: str) -> Answer:
        words = {400: "INVALID_ARGUMENT", 403: "PERMISSION_DENIED", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}
        error = {"code": status, "message": message, "status": words.get(status, "INTERNAL")}
        return answer_json({"error": error}, status, **headers)

    def tools_sent(self, body: Any) -> list[str]:
        return [one["name"] for tool in body["tools"] for one in tool["function_declarations"]]


PROVIDERS: dict[str, Provider] = {"openai": OpenAISays(), "anthropic": AnthropicSays(), "gemini": GeminiSays()}
