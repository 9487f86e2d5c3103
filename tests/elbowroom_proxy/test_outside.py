from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from elbowroom_proxy import outside, settings
from elbowroom_proxy.outside import Outside
from elbowroom_proxy.settings import Settings
from elbowroom_proxy.tokens import Tokens
from elbowroom_proxy.vocabularies import Vocabularies
from tests.proxy import config

TOKENS = Tokens(Vocabularies(), secret=b"tests")


def made(folder: Path, **more: Any) -> Settings:
    value = json.loads(config("http://127.0.0.1:1/v1", **more.pop("general", {})))
    file = folder / "elbowroom.yaml"
    file.write_text(json.dumps({**value, **more}))
    return settings.load(file, {})


def built(found: Settings, before: tuple[Settings, Outside] | None = None) -> Outside:
    return outside.build(found, TOKENS, b"secret", None, before)


async def closed(one: Outside, other: Outside | None) -> int:
    closing = outside.only_in(one, other)
    for close in closing:
        await close()
    return len(closing)


async def test_what_is_as_it_was_is_the_same_object(tmp_path: Path):
    first = made(tmp_path)
    old = built(first)
    again = made(tmp_path, general={"ping_interval": 3})
    new = built(again, (first, old))
    assert new.asides is old.asides
    assert all(new.upstreams[name] is one for name, one in old.upstreams.items())
    assert await closed(old, new) == await closed(new, old) == 0


async def test_another_address_is_another_adapter_and_the_others_stay(tmp_path: Path):
    first = made(tmp_path)
    old = built(first)
    models = json.loads((tmp_path / "elbowroom.yaml").read_text())["model_list"]
    models[0]["litellm_params"]["api_base"] = "http://127.0.0.1:2/v1"
    new = built(made(tmp_path, model_list=models), (first, old))
    assert new.upstreams["gpt-4o"] is not old.upstreams["gpt-4o"]
    assert new.upstreams["demo-small"] is old.upstreams["demo-small"]
    assert new.asides is not old.asides
    assert await closed(old, new) == 2  # the adapter that now has other models, and the asides
    assert await closed(new, None) == 4


async def test_an_adapter_whose_models_change_is_another_one(tmp_path: Path):
    first = made(tmp_path)
    old = built(first)
    models = json.loads((tmp_path / "elbowroom.yaml").read_text())["model_list"]
    models[3]["model_info"]["context_window"] = 4_096  # of a demo model, which bills by its models' counters
    new = built(made(tmp_path, model_list=models), (first, old))
    assert new.upstreams["demo-large"] is not old.upstreams["demo-large"]
    assert new.upstreams["fake"] is old.upstreams["fake"]
    await closed(old, None)
    await closed(new, old)


async def test_another_reranker_or_retriever_is_asked_by_others(tmp_path: Path):
    first = made(tmp_path)
    old = built(first)
    reranker = {"api_base": "http://127.0.0.1:1", "shape": "tei", "accepts": ["internal"]}
    with_both = made(tmp_path, reranker=reranker, retriever={"url": "http://127.0.0.1:1/q"})
    new = built(with_both, (first, old))
    assert new.asides is not old.asides
    assert outside.accepting(with_both)["http"] == ("internal",)
    assert "http" not in outside.accepting(first)
    await closed(old, None)
    await closed(new, old)


def test_a_reranker_in_this_process_accepts_the_labels_of_every_policy(tmp_path: Path):
    (tmp_path / "other.yaml").write_text("access: {labels: [public, secret], inside: []}\n")
    found = outside.accepting(made(tmp_path, general={"policies": {"other": "other.yaml"}}))
    assert found["lexical"] == ("public", "internal", "confidential", "restricted", "secret")
