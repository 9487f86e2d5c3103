"""Upstreams that speak OpenAI's protocol over HTTP: connections, timeouts, a bounded queue, one retry.

Knows: aiohttp, and which failures may be tried again without doing the work twice.
Does not know: what a body says, which headers the client sent, SSE.

A whole answer's head comes with its end, so the first-byte timeout holds for streams only; the total timeout for both.
"""

from __future__ import annotations

import asyncio
import io
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Self
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from elbowroom.errors import UpstreamTimeout, UpstreamUnavailable, UpstreamUnreached
from elbowroom_proxy.addresses import Endpoint, Meter
from elbowroom_proxy.places import Places
from elbowroom_proxy.ports import Call, Reply, Upstream

# Decoded by aiohttp before we see the body, so the header would be untrue.
DECODED = frozenset({"gzip", "deflate", "br", "zstd"})
# aiohttp warns of larger bodies in one piece, and reads them from a file in pieces instead.
LARGE = 1 << 20


class HttpReply:
    """One answer. Its place in the queue is free again as soon as it is read or closed."""

    def __init__(self, response: aiohttp.ClientResponse, leave: Callable[[], None]) -> None:
        self.status = response.status
        headers = {name.lower(): value for name, value in response.headers.items()}
        if headers.get("content-encoding", "").lower() in DECODED:
            del headers["content-encoding"]
            headers.pop("content-length", None)
        self.headers: Mapping[str, str] = headers
        self._response = response
        self._leave: Callable[[], None] | None = leave

    def chunks(self) -> AsyncIterator[bytes]:
        return self

    # No generator: one that is left half-way is cleaned up by the loop, some time later.
    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await self._response.content.readany()
        except TimeoutError as error:
            raise UpstreamTimeout("The upstream did not finish its answer in time.") from error
        except (aiohttp.ClientError, OSError) as error:
            chunk = self._before(error)
            if not chunk:
                raise UpstreamUnavailable("The upstream broke off its answer.") from error
        if not chunk:
            raise StopAsyncIteration
        return chunk

    def _before(self, failure: Exception) -> bytes:
        """What had come and was not read yet. aiohttp tells the failure first, and what came before it never; but it
        was generated, so it is billed, and the client is to have it.
        """
        content: Any = self._response.content  # its types know no exception that is taken back
        content.set_exception(None)
        try:
            rest: bytes = content.read_nowait()
        except TimeoutError:  # it is too late for that as well
            return b""
        finally:
            content.set_exception(failure)
        return rest

    async def close(self) -> None:
        # Nothing here waits, so a cancelled task cannot be interrupted half-way.
        self._response.close()
        if self._leave is not None:
            self._leave()
            self._leave = None


class OpenAI:
    """One base address with its own connections and its own limit."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        base = (endpoint.api_base or "").rstrip("/")
        self._base = base
        self._proxy = proxy_for(URL(base))
        self._places = Places(endpoint.max_concurrency, endpoint.max_queue, endpoint.first_byte_timeout)
        self._session: aiohttp.ClientSession | None = None

    async def start(self) -> None:
        """Connections are made when they are needed."""

    def _open(self) -> aiohttp.ClientSession:
        """Made with the first request, since it belongs to the loop that is running then."""
        if self._session is None:
            tls = ssl.create_default_context() if self._base.startswith("https:") else False  # reads SSL_CERT_FILE
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ssl=tls),  # places are the limit; their queue has an end
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(
                    total=self._endpoint.total_timeout, connect=self._endpoint.connect_timeout
                ),
                skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding"),
            )
        return self._session

    async def send(self, call: Call) -> Reply:
        """Waits for a place and for the head. Raises as the port says."""
        await self._places.enter()
        call.begins()
        try:
            async with asyncio.timeout(self._endpoint.first_byte_timeout if call.stream else None):
                response = await self._head(call)
        except TimeoutError as error:
            self._places.leave()
            raise UpstreamTimeout("The upstream did not begin its answer in time.") from error
        except (aiohttp.ClientError, OSError) as error:
            self._places.leave()
            raise UpstreamUnavailable(f"The upstream did not answer ({type(error).__name__}).") from error
        except BaseException:
            self._places.leave()
            raise
        return HttpReply(response, self._places.leave)

    async def _head(self, call: Call, *, again: bool = True) -> aiohttp.ClientResponse:
        """One try, and a second where the first cannot have begun any work: no connection, or a plain 503."""
        try:
            response = await self._post(call)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            if again:
                return await self._head(call, again=False)
            raise UpstreamUnreached(f"The upstream cannot be reached ({type(error).__name__}).") from error
        # An upstream that says when, or whether, to come back says it to the client.
        says_when = "retry-after" in response.headers or "x-should-retry" in response.headers
        if again and response.status == 503 and not says_when:
            response.close()
            return await self._head(call, again=False)
        if 300 <= response.status < 400:
            response.close()
            # Followed, it would carry the key to another host; handed on, the client's.
            raise UpstreamUnreached(f"The upstream answered with a redirect ({response.status}).")
        return response

    async def _post(self, call: Call) -> aiohttp.ClientResponse:
        headers = dict(call.headers)
        # A compressing proxy in between may hold a stream's chunks back.
        headers["accept-encoding"] = "identity" if call.stream else "gzip, deflate"
        if self._endpoint.api_key and self._endpoint.api_version:
            headers["api-key"] = self._endpoint.api_key  # Azure's deployments
        elif self._endpoint.api_key:
            headers["authorization"] = f"Bearer {self._endpoint.api_key}"
        version = self._endpoint.api_version
        return await self._open().post(
            self._base + call.path + (f"?api-version={version}" if version else ""),
            data=call.body if len(call.body) < LARGE else io.BytesIO(call.body),
            headers=headers,
            allow_redirects=False,
            proxy=self._proxy,
        )

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()


def proxy_for(url: URL) -> str | None:
    """The proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name for this address. aiohttp's own way reads netrc too."""
    if url.host is None or proxy_bypass(url.host):
        return None
    return getproxies().get(url.scheme)


def build(endpoint: Endpoint, _: Meter) -> Upstream:
    """An upstream of that address; what it bills, it counts itself."""
    return OpenAI(endpoint)
