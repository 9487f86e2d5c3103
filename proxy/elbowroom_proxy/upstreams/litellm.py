"""Upstreams that speak another protocol than OpenAI's, through litellm's SDK: OpenAI's body in, OpenAI's answer out.

Knows: how litellm is called and kept quiet, what its exceptions mean, and what happened on the wire beneath it.
Does not know: any provider's protocol (litellm does), which members of a chat are OpenAI's (`sdk`), what was decided.

litellm takes seconds and some 200 MB, so it is imported by `start`, and nowhere else. It gets no say beyond
translating: no retries, caches, callbacks, logs or downloads, and it sends through a client of ours, which sees the
true status and can close the connection.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextvars import ContextVar
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Self, cast

import httpx

from elbowroom.errors import UpstreamTimeout, UpstreamUnavailable, UpstreamUnreached
from elbowroom_proxy import sdk, wire
from elbowroom_proxy.addresses import Endpoint, Meter
from elbowroom_proxy.places import Places
from elbowroom_proxy.ports import Call, Reply, Upstream

CODES = {400: "invalid_request", 401: "invalid_api_key", 403: "permission_denied", 404: "model_not_found",
         413: "request_too_large", 429: "rate_limit_exceeded", 503: "overloaded", 529: "overloaded"}  # fmt: skip
NAMED = {
    "ContextWindowExceededError": "context_length_exceeded",
    "ContentPolicyViolationError": "content_filter",
    "UnsupportedParamsError": "unsupported_parameter",
}
GOOGLE_ENDS = re.compile(rb'"(?:finish|block)Reason"')
UNTOLD = re.compile(r"does not support parameters: \['(\w+)'")
CHAT = "/chat/completions"
HANDED_ON = ("date", "retry-after", "retry-after-ms", "x-should-retry")


class Line:
    """What one call did on the wire."""

    def __init__(self, connect_timeout: float) -> None:
        self.timeout = httpx.Timeout(None, connect=connect_timeout)  # the other times are measured from outside
        self.response: httpx.Response | None = None
        self.error: httpx.HTTPError | None = None
        self.google: GoogleStream | None = None

    async def close(self) -> None:
        if self.response is not None:
            await self.response.aclose()


class GoogleStream(httpx.AsyncByteStream):
    """A streamGenerateContent body on its way to litellm, which makes up a reason for the end where it was cut."""

    def __init__(self, body: httpx.AsyncByteStream) -> None:
        self._body = body
        self.ended = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        tail = b""
        async for part in self._body:
            tail = tail[-16:] + part
            self.ended = self.ended or GOOGLE_ENDS.search(tail) is not None
            yield part

    async def aclose(self) -> None:
        await self._body.aclose()


LINE: ContextVar[Line] = ContextVar("line")


class Client(httpx.AsyncClient):
    """Sends what litellm made of a request: once, and a second time where the first cannot have begun any work."""

    def __init__(self) -> None:
        super().__init__(
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            headers={"user-agent": "elbowroom"},
            limits=httpx.Limits(max_connections=None, keepalive_expiry=60),
            follow_redirects=False,  # a key must not travel to another host
        )

    async def send(self, request: httpx.Request, **how: Any) -> httpx.Response:
        line = LINE.get()
        request.extensions["timeout"] = line.timeout.as_dict()
        how["follow_redirects"] = False
        if how.get("stream"):
            request.headers["accept-encoding"] = "identity"  # a compressing proxy in between may hold chunks back
        try:
            line.response = response = await self._twice(request, how)
            if response.is_error:
                await response.aread()
            elif how.get("stream") and request.url.path.endswith(":streamGenerateContent"):
                response.stream = line.google = GoogleStream(cast("httpx.AsyncByteStream", response.stream))
        except httpx.HTTPError as error:
            line.error = error
            # By this name litellm does not try again.
            raise httpx.ReadError(str(error), request=request) from error
        return response

    async def _twice(self, request: httpx.Request, how: dict[str, Any]) -> httpx.Response:
        try:
            response = await super().send(request, **how)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            return await super().send(request, **how)
        if response.status_code != 503 or "retry-after" in response.headers or "x-should-retry" in response.headers:
            return response
        await response.aclose()
        return await super().send(request, **how)


class Litellm:
    """One address and key, with its own connections and its own limit, for every provider that litellm can reach."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._places = Places(endpoint.max_concurrency, endpoint.max_queue, endpoint.first_byte_timeout)
        self._client: Client | None = None
        self._litellm: Any = None
        self._sender: Any = None

    async def start(self) -> None:
        """Imports litellm, in a thread. `send` does it where nobody did."""
        if self._sender is None:
            self._litellm = litellm = await asyncio.to_thread(imported)
            self._client = Client()
            sender = litellm.AsyncHTTPHandler(transport=httpx.AsyncHTTPTransport())
            sender.client = self._client
            self._sender = sender

    async def send(self, call: Call) -> Reply:
        """Waits for a place and for the first piece. Raises as the port says."""
        if call.path != CHAT:
            said = f"The upstream of {call.model} answers chat completions alone, and not {call.path}."
            return SdkReply(400, {}, wire.error_body(400, "unsupported_endpoint", said, "model"))
        await self.start()
        try:
            asked = sdk.arguments(call.body)
        except sdk.Untold as error:
            return untold(error)
        await self._places.enter()
        call.begins()
        line = Line(self._endpoint.connect_timeout)
        try:
            return await self._answer(asked, line)
        except BaseException:
            self._places.leave()
            await line.close()
            raise

    async def _answer(self, asked: dict[str, Any], line: Line) -> Reply:
        endpoint, stream = self._endpoint, bool(asked.get("stream"))
        end = asyncio.get_running_loop().time() + endpoint.total_timeout
        LINE.set(line)
        try:
            async with asyncio.timeout(endpoint.first_byte_timeout if stream else endpoint.total_timeout):
                answer = await self._litellm.acompletion(
                    **asked,
                    api_base=endpoint.api_base,
                    api_key=endpoint.api_key,
                    api_version=endpoint.api_version,
                    client=self._sender,
                    timeout=endpoint.total_timeout,
                    max_retries=0,
                    num_retries=0,
                )
                first = await anext(answer, None) if stream else None
        except Exception as error:  # noqa: BLE001 -- whatever a provider's translation raises, it is no answer
            refused = refusal(error, line)
            self._places.leave()
            return refused
        headers = handed_on(line)
        if not stream:
            self._places.leave()
            return SdkReply(200, headers, encode(sdk.completion(answer.model_dump(exclude_none=True))))
        billed = bool((asked.get("stream_options") or {}).get("include_usage"))
        return SdkStream(headers, answer, first, billed=billed, line=line, end=end, leave=self._places.leave)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()


class SdkReply:
    """An answer that is there as a whole."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status = status
        self.headers: Mapping[str, str] = {"content-type": "application/json", **headers}
        self._body = body

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self._body

    async def close(self) -> None:
        """Holds nothing."""


class SdkStream:
    """litellm's chunks as OpenAI's events. Its place is free again as soon as it is closed."""

    def __init__(
        self,
        headers: Mapping[str, str],
        stream: Any,
        first: Any,
        *,
        billed: bool,
        line: Line,
        end: float,
        leave: Callable[[], None],
    ) -> None:
        """`billed`: usage was asked for. `end`: when, by the loop's clock, the answer must be complete."""
        self.status = 200
        self.headers: Mapping[str, str] = {"content-type": "text/event-stream", **headers}
        self._stream, self._next, self._billed, self._line, self._end = stream, first, billed, line, end
        self._leave: Callable[[], None] | None = leave
        self._done = False

    def chunks(self) -> AsyncIterator[bytes]:
        return self

    # No generator: one that is left half-way is cleaned up by the loop, some time later.
    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if self._done:
            raise StopAsyncIteration
        while (chunk := self._next or await self._read()) is not None:
            self._next = None
            said = sdk.piece(chunk.model_dump(exclude_none=True), billed=self._billed)
            if any(one["finish_reason"] for one in said["choices"]) and not self._ended:
                break
            if said["choices"] or "usage" in said:
                return b"data: " + encode(said) + b"\n\n"
        self._done = True
        if not self._ended:
            raise UpstreamUnavailable("The upstream broke off its answer.")
        return b"data: [DONE]\n\n"

    @property
    def _ended(self) -> bool:
        """Whether the provider itself gave a reason for the end."""
        if self._line.google is not None:
            return self._line.google.ended
        return bool(self._stream.received_finish_reason or self._stream.intermittent_finish_reason)

    async def _read(self) -> Any:
        try:
            async with asyncio.timeout_at(self._end):
                return await anext(self._stream, None)
        except TimeoutError as error:
            raise UpstreamTimeout("The upstream did not finish its answer in time.") from error
        except Exception as error:
            # litellm has a name for each way to break off, and all mean the same here.
            raise UpstreamUnavailable("The upstream broke off its answer.") from error

    async def close(self) -> None:
        leave, self._leave, self._done = self._leave, None, True
        if leave is not None:
            leave()
            self._closing = asyncio.create_task(self._hang_up())
            await asyncio.shield(self._closing)

    async def _hang_up(self) -> None:
        await self._line.close()
        await self._stream.aclose()


def imported() -> Any:
    """litellm, set up to do nothing but translate."""
    # Else it reads a .env file into this process's environment, and asks the network for headers and prices.
    for name, value in (
        ("LITELLM_MODE", "PRODUCTION"),
        ("LITELLM_LOCAL_MODEL_COST_MAP", "True"),
        ("LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "True"),
    ):
        os.environ.setdefault(name, value)
    import litellm  # noqa: PLC0415 -- seconds, and only where a model needs it

    litellm.suppress_debug_info = True
    litellm.disable_token_counter = True  # it would make up a bill where the provider sent none
    for name in ("LiteLLM", "LiteLLM Proxy", "LiteLLM Router"):
        logging.getLogger(name).disabled = True
    return litellm


def refusal(error: Exception, line: Line) -> Reply:
    """The provider's no as a reply. Raises what stands for no answer at all."""
    response, name = line.response, type(error).__name__
    if isinstance(error, TimeoutError):
        raise UpstreamTimeout("The upstream did not begin its answer in time.") from error
    if isinstance(line.error, httpx.ConnectError | httpx.ConnectTimeout):
        raise UpstreamUnreached(f"The upstream cannot be reached ({type(line.error).__name__}).") from error
    if line.error is not None:
        raise UpstreamUnavailable(f"The upstream did not answer ({type(line.error).__name__}).") from error
    if response is not None and response.is_redirect:
        raise UpstreamUnreached(f"The upstream answered with a redirect ({response.status_code}).") from error
    if response is not None and response.is_error:
        status, headers, message = response.status_code, handed_on(line), sdk.reason(response.text)
    elif name in NAMED or (response is None and 400 <= getattr(error, "status_code", 500) < 500):
        # It was not sent at all, or answered by a word that litellm knows for a no.
        if names := UNTOLD.search(str(error)):
            return untold(sdk.Untold(names[1]))
        status, headers, message = getattr(error, "status_code", 400), {}, str(error).partition(": ")[2] or str(error)
    else:
        raise UpstreamUnavailable(f"The upstream's answer cannot be read ({name}).") from error
    code = NAMED.get(name) or CODES.get(status, "upstream_error")
    return SdkReply(status, headers, wire.error_body(status, code, message))


def untold(error: sdk.Untold) -> Reply:
    """A 400 that names what it is about."""
    return SdkReply(400, {}, wire.error_body(400, "unsupported_parameter", str(error), error.param))


def handed_on(line: Line) -> dict[str, str]:
    """The provider's headers that a client can use."""
    if line.response is None:
        return {}
    headers = line.response.headers
    return {name: value for name, value in headers.items() if name in HANDED_ON or name.startswith("x-ratelimit-")}


def encode(value: Any) -> bytes:
    """Compact JSON in ASCII: half a character that a provider sent can go on."""
    return json.dumps(value, separators=(",", ":")).encode()


def build(endpoint: Endpoint, _: Meter) -> Upstream:
    """An upstream of that address and key; what it bills, the provider counts."""
    return Litellm(endpoint)
