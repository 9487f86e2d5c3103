"""Whom one configuration asks: upstreams, rerankers, a retriever. Built from it, and used again by the next one.

Knows: which adapter answers for which models, and that an adapter is the same as long as its endpoint and its models
are; what nobody needs after a swap.
Does not know: when a configuration is swapped, or when the last request that uses an adapter has ended (`app`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from elbowroom.records import Model
from elbowroom_proxy import asked, rerankers, upstreams
from elbowroom_proxy.addresses import Endpoint
from elbowroom_proxy.answering import Till
from elbowroom_proxy.asides import Asides
from elbowroom_proxy.ports import TextCache, Upstream
from elbowroom_proxy.retrievers.http import Http as Retriever
from elbowroom_proxy.settings import RERANKERS, Settings
from elbowroom_proxy.tokens import Tokens

RERANK_TIMEOUT = 2.0  # seconds, where nothing is configured
FREE = RERANKERS - {"http"}  # the rerankers that ask nobody


class Adapter(NamedTuple):
    """One upstream, and all models that it answers for."""

    models: tuple[Model, ...]
    upstream: Upstream


class Outside(Struct, frozen=True):
    """All of one configuration's."""

    adapters: Mapping[Endpoint, Adapter]
    upstreams: Mapping[str, Upstream]  # by model name
    asides: Asides


def build(
    settings: Settings, tokens: Tokens, secret: bytes, cache: TextCache | None, before: tuple[Settings, Outside] | None
) -> Outside:
    """What these settings need. What is as it was before is the same object."""
    kept = before[1].adapters if before is not None else {}
    adapters = _adapters(settings, tokens, kept)
    found = {name: adapters[endpoint].upstream for name, endpoint in settings.endpoints.items()}
    if before is not None and found == before[1].upstreams and _asked(settings) == _asked(before[0]):
        return Outside(adapters, found, before[1].asides)
    asides = Asides(
        {name: rerankers.load(name)(settings.reranker) for name in _rerankers(settings)},
        found,
        settings.catalog.by_name,
        rerank_timeout=settings.reranker.timeout if settings.reranker else RERANK_TIMEOUT,
        secret=secret,
        cache=cache,
        retriever=Retriever(settings.retriever) if settings.retriever else None,
        retrieve_timeout=settings.retriever.timeout if settings.retriever else 0.0,
    )
    return Outside(adapters, found, asides)


def only_in(one: Outside, other: Outside | None) -> Sequence[Callable[[], Awaitable[None]]]:
    """How what only `one` has is closed."""
    kept = {id(adapter.upstream) for adapter in other.adapters.values()} if other is not None else set()
    closing = [adapter.upstream.close for adapter in one.adapters.values() if id(adapter.upstream) not in kept]
    return closing if other is not None and one.asides is other.asides else [*closing, one.asides.close]


def accepting(settings: Settings) -> Mapping[str, tuple[str, ...]]:
    """Which labels each reranker accepts, where that is known: those that ask nobody accept all."""
    return asked.accepting(settings.reranker, (settings.policy, *settings.policies.values()), RERANKERS)


def _rerankers(settings: Settings) -> frozenset[str]:
    """Those that a policy may name: all that need nothing, and the one that is configured."""
    return RERANKERS if settings.reranker is not None else FREE


def _asked(settings: Settings) -> tuple[object, ...]:
    return settings.reranker, settings.retriever, settings.catalog.by_name


def _adapters(settings: Settings, tokens: Tokens, kept: Mapping[Endpoint, Adapter]) -> Mapping[Endpoint, Adapter]:
    """One adapter an endpoint, however many models it has."""
    counters = {model.upstream_model: settings.counters[model.name] for model in settings.catalog.models}
    till = Till(counters, tokens.count)
    models: dict[Endpoint, tuple[Model, ...]] = {}
    for name, endpoint in settings.endpoints.items():
        models[endpoint] = (*models.get(endpoint, ()), settings.catalog.by_name[name])
    return {
        endpoint: kept[endpoint]
        if endpoint in kept and kept[endpoint].models == those
        else Adapter(those, upstreams.load(endpoint.upstream)(endpoint, till))
        for endpoint, those in models.items()
    }
