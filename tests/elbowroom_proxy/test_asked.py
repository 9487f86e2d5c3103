"""Entries of elbowroom.yaml for those whom a policy asks: resolved, and there where they are needed."""

from __future__ import annotations

import pytest
from msgspec import structs

from elbowroom.errors import InvalidConfig
from elbowroom.read.policy import Access, Compress, Evidence, Policy, QueryClass, Rerank
from elbowroom_proxy.asked import Reranker, Retriever, accepted_by, accepting, check, reranker, retriever
from tests.walk import MODEL

AGAIN = Policy(classes=(QueryClass("general", on_insufficient="second_pass"),))
RERANKER = Reranker(api_base="os.environ/URL", shape="tei", api_key="os.environ/KEY")
RETRIEVER = Retriever(url="os.environ/URL", api_key="os.environ/KEY")


def fault(path: str, what: str) -> InvalidConfig:
    return InvalidConfig(f"{path}: {what}")


def resolve(_: str, word: str | None) -> str | None:
    return {"os.environ/URL": "http://r/", "os.environ/KEY": "key"}.get(word or "", word)


def test_words_of_the_environment_are_put_in():
    assert reranker(RERANKER, [Policy()], fault, resolve) == structs.replace(
        RERANKER, api_base="http://r", api_key="key"
    )
    assert retriever(RETRIEVER, [AGAIN], fault, resolve) == structs.replace(RETRIEVER, url="http://r/", api_key="key")


def test_whom_no_policy_asks_need_not_be_there():
    assert reranker(None, [Policy()], fault, resolve) is None
    assert retriever(None, [Policy()], fault, resolve) is None
    check(Policy(), (), fault)
    check(Policy(evidence=Evidence(compress=Compress("small"))), ("small",), fault)


def test_and_whom_one_asks_must():
    with pytest.raises(InvalidConfig, match=r"reranker: the policy's rerank.by is http, and there is no such entry"):
        reranker(None, [Policy(rerank=Rerank("http"))], fault, resolve)
    with pytest.raises(InvalidConfig, match=r"retriever: class general wants a second_pass, and there is no such"):
        retriever(None, [AGAIN], fault, resolve)
    with pytest.raises(InvalidConfig, match=r"model_list: the policy's evidence.compress.model is small, which is not"):
        check(Policy(evidence=Evidence(compress=Compress("small"))), ("big",), fault)


def test_an_address_begins_like_one():
    with pytest.raises(InvalidConfig, match=r"reranker.api_base: must begin with http"):
        reranker(structs.replace(RERANKER, api_base="ftp://r"), [Policy()], fault, resolve)
    with pytest.raises(InvalidConfig, match=r"retriever.url: must begin with http"):
        retriever(structs.replace(RETRIEVER, url="r.example"), [Policy()], fault, resolve)


def test_who_accepts_which_labels():
    policies = [Policy(), Policy(access=Access(labels=("public", "secret"), inside=()))]
    every = ("public", "internal", "confidential", "restricted", "secret")
    assert accepting(None, policies, ("http", "lexical")) == {"lexical": every}
    assert accepting(RERANKER, policies, ("http", "lexical")) == {"lexical": every}
    some = structs.replace(RERANKER, accepts=("public",))
    assert accepting(some, policies, ("http",)) == {"http": ("public",)}
    models = {"m": structs.replace(MODEL, accepts=("secret",))}
    assert (accepted_by(models, "m"), accepted_by(models, "x"), accepted_by(models, None)) == (("secret",), None, None)
