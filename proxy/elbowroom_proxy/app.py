"""The composition root: settings become a running service. The only file that knows concrete adapters.

Knows: what is built from what, what must be there before the first request, and in which order all of it ends.
Does not know: what any part does with a request.
"""

from __future__ import annotations

import asyncio
import gc
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from fastapi import FastAPI
from starlette.routing import Route

from elbowroom.budget.limits import Limits
from elbowroom.clean.known import Known
from elbowroom.needs import Answer, Need, NeedCounts, NeedEndpointCount, NeedRedaction
from elbowroom.read.policy import Policy
from elbowroom.read.relayed import Route as Relayed
from elbowroom.records import Principal
from elbowroom_proxy import endpoints, outside, stores, tracing
from elbowroom_proxy.answering import offline
from elbowroom_proxy.books import Books
from elbowroom_proxy.calibration import Calibration
from elbowroom_proxy.crawl import Crawl, Indexer
from elbowroom_proxy.desk import Desk
from elbowroom_proxy.endpoint_counts import EndpointCounts
from elbowroom_proxy.indexes.sqlite import SqliteIndex
from elbowroom_proxy.kill import Kill
from elbowroom_proxy.ledgerconfig import check_running
from elbowroom_proxy.metrics import TOGETHER, Metrics
from elbowroom_proxy.outside import Outside
from elbowroom_proxy.ports import CountCache, EndpointCounter, KillSwitch, TraceSink, Upstream
from elbowroom_proxy.principal import Identify, Identity
from elbowroom_proxy.pulse import Pulse
from elbowroom_proxy.redactor import Redactor
from elbowroom_proxy.relay import Relaying
from elbowroom_proxy.reload import Reload, live_part
from elbowroom_proxy.replaying import Again
from elbowroom_proxy.rerankers.lexical import bm25
from elbowroom_proxy.routes import budgets, errors, health, kill, metrics, models, traces, ui
from elbowroom_proxy.routes.chat import Chat
from elbowroom_proxy.routes.door import Door
from elbowroom_proxy.routes.hot import Hot
from elbowroom_proxy.session import ENDED, Sessions
from elbowroom_proxy.settings import STATE, Keys, Settings
from elbowroom_proxy.shadow import Shadows
from elbowroom_proxy.shared import LAST_WORDS, Shared
from elbowroom_proxy.sinks.beside import Beside
from elbowroom_proxy.sinks.jsonl import JsonlSink
from elbowroom_proxy.sinks.keeping import Keeping
from elbowroom_proxy.sinks.kept import Kept
from elbowroom_proxy.stores.keys import WatchedKeys
from elbowroom_proxy.stores.killfile import KillFile
from elbowroom_proxy.stores.memory import MemoryCounts
from elbowroom_proxy.tally import Tally
from elbowroom_proxy.texts import Keeper
from elbowroom_proxy.tokens import Tokens
from elbowroom_proxy.vocabularies import Vocabularies, live

CHAT_PATHS = ("/v1/chat/completions", "/chat/completions")
RELAYED: tuple[Relayed, ...] = ("embeddings", "responses")
KNOWN_BYTES = 64 << 20  # of document texts whose analysis is kept


class Service:
    """Everything that one process runs. Nothing is opened before it is used; `close` ends it all."""

    def __init__(self, settings: Settings, keys: Keys, clock: Callable[[], float] = time.time) -> None:
        """`clock`: seconds since 1970. Records, limits, labels, keys and sessions are all dated by it."""
        general = settings.general
        self.vocabularies = Vocabularies(files=settings.tokenizers)
        self.faults: tuple[str, ...] = ("the vocabularies are not checked yet",)
        self._shared = stores.redis_counts(general.redis_url) if general.redis_url else None
        self.cache: CountCache = self._shared or MemoryCounts()
        self.tokens = Tokens(self.vocabularies, secret=keys.counts, cache=self.cache)
        self.endpoint_counts = EndpointCounts(
            _count_endpoints(settings),
            secret=keys.counts,
            cache=self.cache,
            timeout=general.count_timeout,
            concurrency=general.count_concurrency,
        )
        self.ledger = stores.load_ledger(general.ledger.store)(general.ledger, clock)
        self.redactor = Redactor()
        self.calibration = Calibration(self._shared)
        folder = Path(general.traces)
        content = tracing.content_keys(folder, settings.traces.hash_key_id, keys.hash)
        self.sink: TraceSink = JsonlSink(
            folder,
            keys.chain,
            beside=Beside(folder, content.texts),
            keeping=Keeping(
                folder, keys.chain, days=settings.traces.retention_days, size=settings.traces.retention_bytes
            ),
            clock=clock,
        )
        self.metrics = Metrics()
        self.metrics.watch(self.tokens)
        self.metrics.watch_endpoints(self.endpoint_counts)
        self.metrics.watch_sink(self.sink)
        self.metrics.watch_ledger(self.ledger)
        self.pulse = Pulse(self.metrics.look)
        self.books = Books(
            self.ledger, self.metrics.holds, general.ledger, lambda: self.keys.directory.orgs.orgs, clock
        )
        together = TOGETHER in os.environ
        self.keys = WatchedKeys(
            settings.directory,
            settings.keys_file,
            clock=clock,
            fits=lambda found: check_running(general.ledger, together=together, accounts=found.accounts),
        )
        self.index = SqliteIndex(folder)
        crawl = Crawl(self.index)
        self.indexer = Indexer(crawl)
        ready = self.sink.healthy
        self.desk = Desk(self.index, crawl, self.sink.write, ready=ready, limits=self._limits, now=clock)
        self.sessions = Sessions(self.keys, keys.desk, ended=folder / ENDED, clock=clock)
        store = general.ledger.store
        self.tally = Tally(
            self.ledger, lambda: self.keys.directory, self.sink.write, store=store, ready=ready, now=clock
        )
        switches: dict[str, KillSwitch] = {"file": KillFile(Path(general.kill_file))}
        if general.redis_url:
            switches["redis"] = stores.kill_key(general.redis_url)
        self.kill = Kill(switches, self.metrics, configured=general.killed)
        self.known = Known(KNOWN_BYTES, live(settings.tokenizers.values()))
        apart = Tokens(self.vocabularies, secret=keys.counts)  # a memory of its own, for a thread of its own
        self.shadows = Shadows(apart.count_now, self.known.apart(), self.sink, self.metrics, free=outside.FREE)
        self._clock = clock
        self._secrets = keys
        self._content = content
        self.kept = Kept(folder, keys.hash, self.index.folders)
        self.again = self._again(settings)
        self.settings = settings  # in force
        self.outside = self._outside(settings, None)
        self.flow = self._flow(settings, self._identity(settings))
        self._retiring: set[asyncio.Task[None]] = set()
        self.reload = Reload(settings, self.swap, self.metrics)

    @property
    def upstreams(self) -> Mapping[str, Upstream]:
        """By model name."""
        return self.outside.upstreams

    async def identify(self, headers: Mapping[str, str]) -> Principal:
        """Who asks, as the configuration is now. Raises what any `Identify` may."""
        return await self.flow.identify(headers)

    def _identity(self, settings: Settings) -> Identity:
        issuer = settings.identities.jwt
        public = stores.public_keys(issuer.jwks, max_age=issuer.max_age) if issuer is not None else None
        return Identity(self.keys, issuer, public)

    def _outside(self, settings: Settings, before: tuple[Settings, Outside] | None) -> Outside:
        return outside.build(settings, self.tokens, self._secrets.counts, self._shared, before)

    def _flow(self, settings: Settings, identify: Identify) -> Shared:
        """What those requests share that begin under these settings."""
        return Shared(
            catalog=settings.catalog,
            policy=settings.policy,
            identify=identify,
            accounts=self.keys.account,
            label_keys=settings.identities.label_keys,
            rerankers=outside.accepting(settings),
            counters=settings.counters,
            upstreams=self.outside.upstreams,
            count=self._count,
            aside=self.outside.asides.answer,
            count_endpoints=self.endpoint_counts.models,
            calibration=self.calibration,
            known=self.known,
            nonce_key=self._secrets.nonce,
            hash_key=self._content.hash,
            clock=self._clock,
            keeper=Keeper(settings.traces, self._content),
            sink=self.sink,
            books=self.books,
            metrics=self.metrics,
            ping_interval=settings.general.ping_interval,
            policies=settings.policies,
            cohort_key=self._secrets.cohort,
            killed=self.kill.killed,
            propose=self.shadows.propose,
            max_body_bytes=settings.general.max_body_bytes,
        )

    async def swap(self, settings: Settings) -> Sequence[str]:
        """These settings hold from the next request on; those under way keep what they began with. The names of what
        needs a restart, and stays as it was.

        Raises `InvalidConfig`, and nothing has changed, for what cannot hold in part.
        """
        was, old_flow, old = self.settings, self.flow, self.outside
        settings, needs = live_part(was, settings)
        new = await asyncio.to_thread(self._outside, settings, (was, old))
        try:
            for adapter in new.adapters.values():
                if adapter.upstream not in old.upstreams.values():
                    await adapter.upstream.start()
            self.keys.swap(settings.directory)
        except BaseException:
            for close in outside.only_in(new, old):
                await close()
            raise
        same = settings.identities.jwt == was.identities.jwt
        identify = old_flow.identify if same else self._identity(settings)
        self.endpoint_counts.swap(_count_endpoints(settings))
        self.settings, self.outside = settings, new
        self.again = self._again(settings)
        self.kill.configure(killed=settings.general.killed)
        self.flow = self._flow(settings, identify)
        task = asyncio.create_task(_retire(old_flow, outside.only_in(old, new)))
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)
        return needs

    async def _count(self, need: Need, notes: set[str]) -> Answer:
        """Whoever can answer that need."""
        if isinstance(need, NeedCounts):
            return await self.tokens.count(need, notes)
        if isinstance(need, NeedEndpointCount):
            return await self.endpoint_counts.count(need)
        if isinstance(need, NeedRedaction):
            return await self.redactor.answer(need)
        return ()

    def _again(self, settings: Settings) -> Again:
        """Replays have a memory of counts of their own: they run on threads, and no request waits for one."""
        policies = (settings.policy, *settings.policies.values())
        keys = self._secrets
        answer = offline(Tokens(self.vocabularies, secret=keys.counts).count_now, {"lexical": bm25})
        return Again(settings, keys, policies, answer, content=self.kept.keys, kept=self.kept.policy)

    def review(self) -> ui.Review:
        """What the pages of the review desk are made from."""
        return ui.Review(
            desk=self.desk,
            door=Door(self.identify, self.sessions),
            again=lambda: self.again,
            policy=self._policy_of,
            captured=self.kept.texts,
            instruction=self.kept.instruction,
            most=self.settings.general.max_body_bytes,
            sweep=STATE / "sweep",
        )

    def parts(self) -> health.Parts:
        """What /readyz looks at."""
        return health.Parts(
            faults=lambda: self.faults,
            shared=self.cache.healthy,
            ledger=self.ledger,
            sink=self.sink,
            refuses_unheld=lambda: self.settings.general.ledger.on_failure == "deny",
            refuses_unrecorded=lambda: self.settings.traces.on_trace_failure == "reject",
        )

    def _policy_of(self, principal: Principal) -> Policy:
        """In force now. A name that is no longer configured is the default's."""
        return self.settings.policies.get(principal.policy or "", self.settings.policy)

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
        await self.books.start()
        await self.redactor.start()
        await self.keys.start()
        await self.calibration.start()
        self.indexer.start()
        for upstream in set(self.upstreams.values()):
            await upstream.start()
        await self.kill.start()
        await self.reload.start()
        await self.pulse.start()
        # What is there now stays: the collector need not look at it again with every request.
        gc.collect()
        gc.freeze()

    async def close(self) -> None:
        """All requests have ended by now; what they left is finished, then written."""
        await self.pulse.close()
        await self.reload.close()
        await self.kill.close()
        await self.flow.drained()
        await _ended(self._retiring)
        await self.shadows.close()
        for close in outside.only_in(self.outside, None):
            await close()
        await self.tokens.close()
        await self.endpoint_counts.close()
        self.redactor.close()
        await self.keys.close()
        await self.calibration.close()
        await self.books.close()
        await self.cache.close()
        await self.sink.close()
        await asyncio.to_thread(self.indexer.close)
        self.index.close()


def create_app(settings: Settings, keys: Keys, clock: Callable[[], float] = time.time) -> FastAPI:
    """The ASGI application; one process runs one. `clock`: seconds since 1970."""
    service = Service(settings, keys, clock)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await service.start()
        try:
            yield
        finally:
            await service.close()

    app = Hot(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.state.service = service
    errors.install(app)
    chat = Chat(lambda: service.flow)
    hot = dict.fromkeys(CHAT_PATHS, chat)
    for route in RELAYED:
        relayed = Chat(lambda: service.flow, partial(Relaying, route=route))
        hot |= dict.fromkeys((f"/v1/{route}", f"/{route}"), relayed)
    app.answer_first(hot)
    # So that any other method is known to be wrong there.
    app.router.routes.extend(Route(path, one, methods=["POST"], include_in_schema=False) for path, one in hot.items())
    app.include_router(models.routes(lambda: service.flow.catalog, service.identify))
    app.include_router(health.routes(service.parts()))
    app.include_router(metrics.routes(service.metrics))
    app.include_router(kill.routes(service.kill, service.identify, service.sink.write, clock))
    app.include_router(traces.routes(service.desk, service.identify))
    app.include_router(budgets.routes(service.tally, service.identify))
    app.include_router(ui.routes(service.review()))
    return app


def _count_endpoints(settings: Settings) -> Mapping[str, EndpointCounter]:
    return {name: endpoints.load(one.endpoint)(one) for name, one in settings.count_endpoints.items()}


async def _retire(flow: Shared, closing: Sequence[Callable[[], Awaitable[None]]]) -> None:
    """Closes what only those requests used, when the last of them has ended."""
    try:
        await flow.idle()
    finally:
        for close in closing:
            await close()


async def _ended(retiring: Collection[asyncio.Task[None]]) -> None:
    """What is being retired has `LAST_WORDS` seconds, as all requests have."""
    if retiring:
        await asyncio.wait(retiring, timeout=LAST_WORDS)
        left = list(retiring)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
