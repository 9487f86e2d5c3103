"""Whom a policy asks beside the model that answers: a reranker, a retriever, models that say things in fewer words.

Knows: their entries in elbowroom.yaml, that whoever a policy asks must be there, and which labels each accepts.
Does not know: what is asked or when (the engine), or how (`rerankers/`, `retrievers/`, `asides`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping
from typing import Annotated, Literal

from msgspec import Meta, structs

from elbowroom.errors import InvalidConfig
from elbowroom.read.policy import Config, Policy
from elbowroom.records import Model

Seconds = Annotated[float, Meta(gt=0, le=86_400)]
Fault = Callable[[str, str], InvalidConfig]  # (path, what is wrong) -> the error that names file and line
Resolve = Callable[[str, str | None], str | None]  # (path, word) -> the word, or what the environment has for it


class Reranker(Config, frozen=True):
    """`reranker`: whom a policy's `rerank: {by: http}` asks. Prices in USD, as LiteLLM says them."""

    api_base: str
    shape: Literal["cohere", "jina", "tei"]
    model: str | None = None
    api_key: str | None = None
    timeout: Seconds = 2.0
    input_cost_per_query: Annotated[float, Meta(ge=0)] = 0.0
    input_cost_per_token: Annotated[float, Meta(ge=0)] = 0.0
    accepts: tuple[str, ...] | None = None  # as of a model


class Retriever(Config, frozen=True):
    """`retriever`: whom a class's `on_insufficient: second_pass` asks."""

    url: str
    api_key: str | None = None
    timeout: Seconds = 2.0
    max_documents: Annotated[int, Meta(gt=0, le=100)] = 20


def check(policy: Policy, models: Container[str], fault: Fault) -> None:
    """Raises for a model that the policy asks by name and that nobody listed."""
    asked = {"history.summary": policy.history.summary.model, "evidence.compress": policy.evidence.compress.model}
    for name, model in asked.items():
        if model is not None and model not in models:
            raise fault("model_list", f"the policy's {name}.model is {model}, which is not listed")


def reranker(row: Reranker | None, policies: Iterable[Policy], fault: Fault, resolve: Resolve) -> Reranker | None:
    """The entry, ready to use. Raises where a policy asks whom there is no entry for."""
    if row is None:
        if any(policy.rerank.by == "http" for policy in policies):
            raise fault("reranker", "the policy's rerank.by is http, and there is no such entry")
        return None
    base = _address("reranker.api_base", row.api_base, fault, resolve).rstrip("/")
    return structs.replace(row, api_base=base, api_key=resolve("reranker.api_key", row.api_key))


def retriever(row: Retriever | None, policies: Iterable[Policy], fault: Fault, resolve: Resolve) -> Retriever | None:
    """The same of the retriever."""
    if row is None:
        for one in (one for policy in policies for one in policy.classes):
            if one.on_insufficient == "second_pass":
                raise fault("retriever", f"class {one.name} wants a second_pass, and there is no such entry")
        return None
    url = _address("retriever.url", row.url, fault, resolve)
    return structs.replace(row, url=url, api_key=resolve("retriever.api_key", row.api_key))


def accepting(
    row: Reranker | None, policies: Iterable[Policy], known: Collection[str]
) -> Mapping[str, tuple[str, ...]]:
    """Which labels each of the `known` rerankers accepts, where that is known: those that ask nobody accept all."""
    labels = tuple(dict.fromkeys(label for policy in policies for label in policy.access.labels))
    found = {name: labels for name in known if name != "http"}
    return found if row is None or row.accepts is None else {**found, "http": row.accepts}


def accepted_by(models: Mapping[str, Model], name: str | None) -> tuple[str, ...] | None:
    """Which labels a model accepts that is asked by name; None: nobody said, or nobody is asked."""
    model = models.get(name or "")
    return None if model is None else model.accepts


def _address(path: str, word: str, fault: Fault, resolve: Resolve) -> str:
    url = resolve(path, word) or ""
    if not url.startswith(("http://", "https://")):
        raise fault(path, "must begin with http:// or https://")
    return url
