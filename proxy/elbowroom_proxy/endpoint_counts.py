"""Prompts counted by their providers: what the engine asks where its own count is not sure enough.

Knows: HTTP through httpx, how long an answer may take, how many questions may be under way, and that equal questions
are one question, remembered in the same cache as all counts.
Does not know: any provider's protocol (`endpoints/`), or what follows where there is no answer (the policy says).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Mapping
from typing import Any, TypeGuard

import httpx
import structlog

from elbowroom.errors import CountUnavailable
from elbowroom.needs import Answer, NeedEndpointCount
from elbowroom_proxy.ports import CountCache, EndpointCounter, Question

PAUSE = 1.0  # seconds for which an endpoint that failed is left alone
LARGEST = 1 << 40  # tokens; more is no count
TRANSPORT_FAILED = (httpx.HTTPError, httpx.InvalidURL, TimeoutError)

log = structlog.get_logger("elbowroom")


class Unanswered(Exception):
    """Why there is no number."""


class EndpointCounts:
    """Answers `NeedEndpointCount`. The public integers only ever grow; the service publishes them as metrics."""

    def __init__(
        self,
        counters: Mapping[str, EndpointCounter],
        *,
        secret: bytes,
        cache: CountCache,
        timeout: float,
        concurrency: int,
    ) -> None:
        """`counters` by model name. `secret` keys the hashes in `cache`; `timeout` in seconds, waiting included."""
        self._counters = counters
        self._cache = cache
        self._hash_key = hashlib.blake2b(secret, digest_size=32, person=b"elbowroom counts").digest()
        self._timeout = timeout
        self._places = asyncio.Semaphore(concurrency)
        self._client: httpx.AsyncClient | None = None
        self._flying: dict[str, asyncio.Task[int | None]] = {}
        self._failed_until: dict[str, float] = {}  # model -> monotonic seconds
        self.models = frozenset(counters)
        self.asked = 0  # questions that went out
        self.remembered = 0  # answered by the cache or by a question under way
        self.failed = 0  # without an answer

    def swap(self, counters: Mapping[str, EndpointCounter]) -> None:
        """Others, by model name, as from the next question on."""
        self._counters = counters
        self.models = frozenset(counters)

    async def count(self, need: NeedEndpointCount) -> Answer:
        """One integer; none where the provider does not say, which is logged."""
        counter = self._counters.get(need.model)
        if counter is None:
            return ()
        try:
            question = counter.question(json.loads(need.body))
        except CountUnavailable as error:
            return self._none(need.model, error.message)
        key = self.key(question)
        found = await self._cache.get([key])
        if found is not None and _plausible(found[0]):
            self.remembered += 1
            return (found[0],)
        task = self._flying.get(key)
        if task is None:
            if time.monotonic() < self._failed_until.get(need.model, 0.0):
                return self._none(need.model, "it failed a moment ago")
            task = asyncio.create_task(self._ask(need.model, key, counter, question))
            self._flying[key] = task
            task.add_done_callback(lambda _: self._flying.pop(key, None))
        else:
            self.remembered += 1
        # Whoever gives up does not take the answer from the others.
        tokens = await asyncio.shield(task)
        return () if tokens is None else (tokens,)

    async def close(self) -> None:
        """Questions under way end by their own timeout."""
        if self._flying:
            await asyncio.wait(list(self._flying.values()))
        if self._client is not None:
            await self._client.aclose()

    def key(self, question: Question) -> str:
        """The cache's key: keyed BLAKE2b (160 bits) of where is asked and what."""
        told = json.dumps([question.url, question.value], sort_keys=True, separators=(",", ":"))
        digest = hashlib.blake2b(told.encode("ascii"), digest_size=20, key=self._hash_key)
        return f"eb:end:1:{digest.hexdigest()}"

    async def _ask(self, model: str, key: str, counter: EndpointCounter, question: Question) -> int | None:
        try:
            async with asyncio.timeout(self._timeout), self._places:
                self.asked += 1
                tokens = await self._post(counter, question)
        except (*TRANSPORT_FAILED, Unanswered) as error:
            self._failed_until[model] = time.monotonic() + PAUSE
            self._none(model, str(error) or type(error).__name__)
            return None
        self._failed_until.pop(model, None)
        await self._cache.put({key: tokens})
        return tokens

    async def _post(self, counter: EndpointCounter, question: Question) -> int:
        if self._client is None:
            self._client = httpx.AsyncClient(timeout=self._timeout, follow_redirects=False)
        # ASCII: a lone surrogate has no other form on the wire.
        content = json.dumps(question.value).encode("ascii")
        headers = {**question.headers, "content-type": "application/json"}
        response = await self._client.post(question.url, content=content, headers=headers)
        if response.status_code != 200:
            raise Unanswered(f"it answered with status {response.status_code}")
        try:
            value = response.json()
        except (ValueError, RecursionError):
            raise Unanswered("its answer is not JSON") from None
        tokens = counter.answer(value) if isinstance(value, dict) else None
        if not _plausible(tokens):
            raise Unanswered("its answer holds no number of tokens")
        return tokens

    def _none(self, model: str, why: str) -> Answer:
        self.failed += 1
        log.warning("count_endpoint", model=model, error=why)
        return ()


def _plausible(tokens: Any) -> TypeGuard[int]:
    return isinstance(tokens, int) and not isinstance(tokens, bool) and 0 < tokens < LARGEST
