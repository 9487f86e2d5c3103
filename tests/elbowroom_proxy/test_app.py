"""The whole service, put together: what it serves, what it needs to be ready, and that it ends in order."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
from datetime import UTC, datetime

import httpx
import pytest

from elbowroom.account.search import Filters
from elbowroom.errors import InvalidConfig
from elbowroom.records import Principal
from elbowroom_proxy import app, settings
from elbowroom_proxy.app import Service
from elbowroom_proxy.flow import Exchange, Head
from elbowroom_proxy.stores.memory import MemoryCounts
from elbowroom_proxy.stores.redis import RedisCounts
from elbowroom_proxy.upstreams.openai import OpenAI
from tests.proxy import Run, config


def made(tmp_path, text: str) -> settings.Settings:
    file = tmp_path / "elbowroom.yaml"
    value = json.loads(text)
    value["general_settings"]["traces"] = str(tmp_path / "traces")
    file.write_text(json.dumps(value))
    return settings.load(file, {})


async def test_models_that_share_an_address_share_its_connections(tmp_path):
    found = made(tmp_path, config("http://127.0.0.1:1/v1"))
    service = Service(found, settings.keys(found.general))
    upstreams = service.upstreams
    assert upstreams["fake"] is upstreams["org/fake"] is not upstreams["demo-small"] is upstreams["demo-large"]
    assert isinstance(service.cache, MemoryCounts)
    await service.close()


async def test_counts_go_to_redis_where_one_is_configured(tmp_path, redis_url):
    found = made(tmp_path, config("http://127.0.0.1:1/v1", redis_url=redis_url))
    service = Service(found, settings.keys(found.general))
    assert isinstance(service.cache, RedisCounts)
    assert await service.cache.healthy()
    await service.close()


LEFT = ("jwt", "redis", "litellm", "tiktoken", "tokenizers")


def test_what_is_slow_to_load_is_loaded_when_it_is_wanted():
    loaded = f"import elbowroom_proxy.serving, sys; print([name for name in {LEFT} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_path_of_the_service_answers_and_no_other(running_proxy: Run):
    proxy = running_proxy(config("http://127.0.0.1:1/v1"))
    with httpx.Client(base_url=proxy.url) as client:
        for path in ("/livez", "/readyz", "/metrics", "/models", "/v1/models", "/v1/models/org/fake"):
            answer = client.get(path)
            assert answer.status_code == 200, path
            assert "server" not in answer.headers
        for path in ("/docs", "/redoc", "/openapi.json", "/livez/", "/v1", "/v1/completions", "/v1/audio"):
            assert client.get(path).status_code == 404, path
        assert client.get("/docs").json()["error"]["code"] == "not_found"
        for path in ("/v1/chat/completions", "/v1/embeddings", "/responses"):
            assert client.get(path).json()["error"]["code"] == "method_not_allowed"


def test_without_its_vocabularies_it_is_alive_but_not_ready(running_proxy: Run, monkeypatch):
    monkeypatch.setattr("elbowroom_proxy.vocabularies.Vocabularies.verify", lambda _: ("vocabulary x: missing",))
    proxy = running_proxy(config("http://127.0.0.1:1/v1"))
    assert httpx.get(f"{proxy.url}/livez").status_code == 200
    answer = httpx.get(f"{proxy.url}/readyz")
    assert (answer.status_code, answer.json()["faults"]) == (503, ["vocabulary x: missing"])


async def test_before_it_is_started_it_is_not_ready_and_afterwards_garbage_stays_frozen(tmp_path):
    found = made(tmp_path, config("http://127.0.0.1:1/v1"))
    service = Service(found, settings.keys(found.general))
    assert service.faults
    gc.unfreeze()
    await service.start()
    assert service.faults == ()
    assert gc.get_freeze_count() > 0
    gc.unfreeze()
    await service.close()


async def test_a_reranker_accepts_what_its_entry_says_and_one_in_this_process_everything(tmp_path):
    value = json.loads(config("http://127.0.0.1:1/v1"))
    reranker = {"api_base": "http://127.0.0.1:1", "shape": "tei"}
    for accepts, found in ((None, None), (["public"], ("public",))):
        service = Service(*_settings_and_keys(tmp_path, {**value, "reranker": {**reranker, "accepts": accepts}}))
        assert service.flow.rerankers.get("http") == found
        assert service.flow.rerankers["lexical"] == service.flow.policy.access.labels
        await service.close()


async def test_a_swap_that_cannot_be_changes_nothing_and_closes_what_it_made(tmp_path, monkeypatch):
    value = json.loads(config("http://127.0.0.1:1/v1"))
    service = Service(*_settings_and_keys(tmp_path, value))
    flow, closed = service.flow, list[OpenAI]()

    async def close(one: OpenAI) -> None:
        closed.append(one)

    async def start(_: OpenAI) -> None:
        raise InvalidConfig("it cannot be started")

    value["model_list"][0]["litellm_params"]["api_base"] = "http://127.0.0.1:2/v1"
    other = made(tmp_path, json.dumps(value))
    with monkeypatch.context() as patched:
        patched.setattr(OpenAI, "close", close)
        patched.setattr(OpenAI, "start", start)
        with pytest.raises(InvalidConfig):
            await service.swap(other)
    assert service.flow is flow
    assert len(closed) == 2  # gpt-4o at its new address, and at the old one without it
    assert await service.swap(other) == []
    assert service.flow is not flow
    await service.close()


async def test_what_is_still_under_way_when_it_ends_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(app, "LAST_WORDS", 0.01)
    value = json.loads(config("http://127.0.0.1:1/v1"))
    service = Service(*_settings_and_keys(tmp_path, value))
    endless = asyncio.create_task(asyncio.Event().wait())
    service.flow.work(endless)
    value["model_list"][0]["litellm_params"]["api_base"] = "http://127.0.0.1:2/v1"
    await service.swap(made(tmp_path, json.dumps(value)))
    (retiring,) = service._retiring
    await service.close()
    assert retiring.cancelled()
    endless.cancel()


async def test_all_that_is_kept_is_dated_by_the_clock_that_was_passed_in(tmp_path):
    noon = datetime(2031, 5, 6, 12, tzinfo=UTC).timestamp()
    found = made(tmp_path, config("http://127.0.0.1:1/v1"))
    service = Service(found, settings.keys(found.general), lambda: noon)
    body = {"model": "demo-small", "messages": [{"role": "user", "content": "hello"}]}

    async def read() -> bytes:
        return json.dumps(body).encode()

    exchange = Exchange(service.flow, {})
    assert await exchange.refusal() == ()
    parts = [part async for part in exchange.parts(read)]
    assert isinstance(parts[0], Head)
    assert parts[0].status == 200
    await service.desk.overview(Filters(), Principal(role="admin"))
    assert service.books.clock() == service.desk.now / 1000 == service.sessions.clock() == noon
    await service.close()
    (file,) = (tmp_path / "traces").glob("*.jsonl")
    (head,) = (tmp_path / "traces" / "heads").iterdir()
    asked, reading = (json.loads(line) for line in file.read_text().splitlines())
    assert file.name.startswith("2031-05-06-")
    assert asked["time"] == reading["time"] == "2031-05-06T12:00:00.000+00:00"
    assert '"time":"2031-05-06T12:00:00.000+00:00"' in head.read_text()


def _settings_and_keys(tmp_path, value):
    found = made(tmp_path, json.dumps(value))
    return found, settings.keys(found.general)
