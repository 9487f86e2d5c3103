"""The composition root: settings become a running service. The only file that knows concrete adapters.

Knows: what is built from what, what must be there before the first request, and in which order all of it ends.
Does not know: what any part does with a request.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from starlette.routing import Route

from elbowroom.budget.limits import Limits
from elbowroom.clean.known import Known
from elbowroom.needs import Answer, Need, NeedCounts, NeedEndpointCount, NeedRedaction
from elbowroom_proxy import endpoints, rerankers, stores, upstreams
from elbowroom_proxy.addresses import Endpoint
from elbowroom_proxy.answering import Till
from elbowroom_proxy.asides import Asides
from elbowroom_proxy.calibration import Calibration
from elbowroom_proxy.crawl import Crawl, Indexer
from elbowroom_proxy.desk import Desk
from elbowroom_proxy.endpoint_counts import EndpointCounts
from elbowroom_proxy.indexes.sqlite import SqliteIndex
from elbowroom_proxy.metrics import Metrics
from elbowroom_proxy.ports import CountCache, TraceSink, Upstream
from elbowroom_proxy.principal import Identity
from elbowroom_proxy.redactor import Redactor
from elbowroom_proxy.retrievers.http import Http as Retriever
from elbowroom_proxy.routes import errors, health, metrics, models, traces
from elbowroom_proxy.routes.chat import Chat
from elbowroom_proxy.settings import RERANKERS, Keys, Settings
from elbowroom_proxy.shared import Shared
from elbowroom_proxy.sinks.jsonl import JsonlSink
from elbowroom_proxy.stores.jwks import Jwks
from elbowroom_proxy.stores.keys import WatchedKeys
from elbowroom_proxy.stores.memory import MemoryCounts
from elbowroom_proxy.stores.redis import RedisCounts
from elbowroom_proxy.tokens import Tokens
from elbowroom_proxy.vocabularies import Vocabularies, live

CHAT_PATHS = ("/v1/chat/completions", "/chat/completions")
KNOWN_BYTES = 64 << 20  # of document texts whose analysis is kept
RERANK_TIMEOUT = 2.0  # seconds, where nothing is configured


class Service:
    """Everything that one process runs. Nothing is opened before it is used; `close` ends it all."""

    def __init__(self, settings: Settings, keys: Keys) -> None:
        general = settings.general
        self.vocabularies = Vocabularies(files=settings.tokenizers)
        self.faults: tuple[str, ...] = ("the vocabularies are not checked yet",)
        self.cache: CountCache = RedisCounts(general.redis_url) if general.redis_url else MemoryCounts()
        self.tokens = Tokens(self.vocabularies, secret=keys.counts, cache=self.cache)
        self.endpoint_counts = EndpointCounts(
            {name: endpoints.load(one.endpoint)(one) for name, one in settings.count_endpoints.items()},
            secret=keys.counts,
            cache=self.cache,
            timeout=general.count_timeout,
            concurrency=general.count_concurrency,
        )
        self.ledger = stores.load_ledger(general.ledger.store)(general.ledger)
        self.redactor = Redactor()
        self.calibration = Calibration(self.cache if isinstance(self.cache, RedisCounts) else None)
        self.sink: TraceSink = JsonlSink(Path(general.traces))
        self.metrics = Metrics()
        self.metrics.watch(self.tokens)
        self.metrics.watch_endpoints(self.endpoint_counts)
        self.upstreams = _upstreams(settings, self.tokens)
        self.keys = WatchedKeys(settings.directory, settings.keys_file)
        issuer = settings.identities.jwt
        public = Jwks(issuer.jwks, max_age=issuer.max_age) if issuer is not None else None
        self.identify = Identity(self.keys, issuer, public)
        self.index = SqliteIndex(Path(general.traces))
        crawl = Crawl(self.index)
        self.indexer = Indexer(crawl)
        self.desk = Desk(self.index, crawl, self.sink.write, limits=self._limits)
        self.asides = Asides(
            {name: rerankers.load(name)(settings.reranker) for name in _asked_rerankers(settings)},
            self.upstreams,
            settings.catalog.by_name,
            rerank_timeout=settings.reranker.timeout if settings.reranker else RERANK_TIMEOUT,
            secret=keys.counts,
            cache=self.cache if isinstance(self.cache, RedisCounts) else None,
            retriever=Retriever(settings.retriever) if settings.retriever else None,
            retrieve_timeout=settings.retriever.timeout if settings.retriever else 0.0,
        )
        self.flow = Shared(
            catalog=settings.catalog,
            policy=settings.policy,
            identify=self.identify,
            accounts=self.keys.account,
            label_keys=settings.identities.label_keys,
            rerankers=_accepting(settings),
            counters=settings.counters,
            upstreams=self.upstreams,
            count=self._count,
            aside=self.asides.answer,
            count_endpoints=self.endpoint_counts.models,
            calibration=self.calibration,
            known=Known(KNOWN_BYTES, live(settings.tokenizers.values())),
            nonce_key=keys.nonce,
            hash_key=keys.hash,
            sink=self.sink,
            ledger=self.ledger,
            metrics=self.metrics,
            ping_interval=general.ping_interval,
        )

    async def _count(self, need: Need, notes: set[str]) -> Answer:
        """Whoever can answer that need."""
        if isinstance(need, NeedCounts):
            return await self.tokens.count(need, notes)
        if isinstance(need, NeedEndpointCount):
            return await self.endpoint_counts.count(need)
        if isinstance(need, NeedRedaction):
            return await self.redactor.answer(need)
        return ()

    def _limits(self, org: str) -> Limits | None:
        """An organisation's, as they are configured now."""
        unit = self.keys.directory.orgs.find(org, None)
        return unit.account.entities[0].limits if unit is not None else None

    async def start(self) -> None:
        """Ready when it returns; not ready, and saying why, where a vocabulary is missing."""
        self.faults = await asyncio.to_thread(self.vocabularies.verify)
        if not self.faults:
            # Half a second each, which the first request would pay.
            for name in {counter.vocabulary for counter in self.flow.counters.values()}:
                await asyncio.to_thread(self.vocabularies.tokens, name, "x")
        await self.ledger.start()
        await self.redactor.start()
        await self.keys.start()
        await self.calibration.start()
        self.indexer.start()
        for upstream in set(self.upstreams.values()):
            await upstream.start()
        # What is there now stays: the collector need not look at it again with every request.
        gc.collect()
        gc.freeze()

    async def close(self) -> None:
        """All requests have ended by now; what they left is finished, then written."""
        await self.flow.drained()
        for upstream in set(self.upstreams.values()):
            await upstream.close()
        await self.tokens.close()
        await self.endpoint_counts.close()
        self.redactor.close()
        await self.asides.close()
        await self.keys.close()
        await self.calibration.close()
        await self.ledger.close()
        await self.cache.close()
        await self.sink.close()
        await asyncio.to_thread(self.indexer.close)
        self.index.close()


def create_app(settings: Settings, keys: Keys) -> FastAPI:
    """The ASGI application; one process runs one."""
    service = Service(settings, keys)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await service.start()
        try:
            yield
        finally:
            await service.close()

    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.state.service = service
    errors.install(app)
    chat = Chat(service.flow, settings.general.max_body_bytes)
    app.router.routes.extend(Route(path, chat, methods=["POST"], include_in_schema=False) for path in CHAT_PATHS)
    app.include_router(models.routes(settings.catalog, service.identify))
    app.include_router(health.routes(lambda: service.faults, service.cache.healthy, service.ledger))
    app.include_router(metrics.routes(service.metrics))
    app.include_router(traces.routes(service.desk, service.identify))
    return app


def _accepting(settings: Settings) -> Mapping[str, tuple[str, ...]]:
    """Which labels each reranker accepts, where that is known: those that ask nobody accept all."""
    found = dict.fromkeys(RERANKERS - {"http"}, settings.policy.access.labels)
    if settings.reranker is not None and settings.reranker.accepts is not None:
        found["http"] = settings.reranker.accepts
    return found


def _asked_rerankers(settings: Settings) -> frozenset[str]:
    """Those that a policy may name: all that need nothing, and the one that is configured."""
    return RERANKERS if settings.reranker is not None else RERANKERS - {"http"}


def _upstreams(settings: Settings, tokens: Tokens) -> Mapping[str, Upstream]:
    """One adapter an endpoint, however many models it has."""
    counters = {model.upstream_model: settings.counters[model.name] for model in settings.catalog.models}
    till = Till(counters, tokens.count)
    built: dict[Endpoint, Upstream] = {}
    for endpoint in settings.endpoints.values():
        if endpoint not in built:
            built[endpoint] = upstreams.load(endpoint.upstream)(endpoint, till)
    return {name: built[endpoint] for name, endpoint in settings.endpoints.items()}
