"""The whole service, put together: what it serves, what it needs to be ready, and that it ends in order."""

from __future__ import annotations

import gc
import json
import os
import signal
import sys

import httpx
import pytest
import structlog

from elbowroom_proxy import app, settings
from elbowroom_proxy.app import Service, serve
from elbowroom_proxy.stores.memory import MemoryCounts
from elbowroom_proxy.stores.redis import RedisCounts
from tests.proxy import Run, config, wait_until
from tests.servers import Process, free_port
from tests.upstream import WAIT, answer_stream, streamed


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


def test_every_path_of_the_service_answers_and_no_other(running_proxy: Run):
    proxy = running_proxy(config("http://127.0.0.1:1/v1"))
    with httpx.Client(base_url=proxy.url) as client:
        for path in ("/livez", "/readyz", "/metrics", "/models", "/v1/models", "/v1/models/org/fake"):
            answer = client.get(path)
            assert answer.status_code == 200, path
            assert "server" not in answer.headers
        for path in ("/docs", "/redoc", "/openapi.json", "/livez/", "/v1", "/v1/completions", "/v1/embeddings"):
            assert client.get(path).status_code == 404, path
        assert client.get("/docs").json()["error"]["code"] == "not_found"
        assert client.get("/v1/chat/completions").json()["error"]["code"] == "method_not_allowed"


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


def test_serve_serves_until_it_is_told_to_stop(tmp_path, monkeypatch, capsys):
    found = made(tmp_path, config("http://127.0.0.1:1/v1"))
    server = app.server(found, "127.0.0.1", free_port())
    server.should_exit = True  # it starts, and is told so at once
    monkeypatch.setattr(app, "server", lambda *_: server)
    previous = structlog.get_config()
    try:
        serve(found, "127.0.0.1", free_port())
        structlog.get_logger("elbowroom").info("request", text="退款")
    finally:
        structlog.configure(**previous)
    assert server.started
    line = json.loads(capsys.readouterr().err.splitlines()[-1])
    assert (line["event"], line["level"], line["text"]) == ("request", "info", "退款")


def test_sigterm_lets_streams_end_and_records_reach_the_disk(tmp_path, fake_upstream):
    made(tmp_path, config(fake_upstream))
    port = free_port()
    program = (
        "import sys; from pathlib import Path; from elbowroom_proxy import app, settings; "
        f"app.serve(settings.load(Path('elbowroom.yaml')), '127.0.0.1', {port})"
    )
    gate, whole = fake_upstream.gate(), streamed("a", "b")
    fake_upstream.answers(answer_stream(*whole.parts[:2], gate, *whole.parts[2:]))
    body = {"model": "fake", "stream": True, "messages": [{"role": "user", "content": "hello"}]}
    with Process([sys.executable, "-c", program], "Uvicorn running on", cwd=tmp_path) as process:
        url = f"http://127.0.0.1:{port}/v1/chat/completions"
        with httpx.stream("POST", url, json=body, timeout=WAIT) as answer:
            os.kill(process.pid, signal.SIGTERM)
            wait_until(lambda: any("Shutting down" in line for line in process.output))
            gate.open()
            text = answer.read()
        assert process.stop() in {0, -signal.SIGTERM}
    assert text.endswith(b"data: [DONE]\n\n")
    (file,) = (tmp_path / "traces").glob("*.jsonl")
    (record,) = map(json.loads, file.read_text().splitlines())
    assert (record["finish_reason"], record["disconnected"]) == ("stop", False)
    logged = [json.loads(line) for line in process.output if line.startswith("{")]
    assert [line["trace_id"] for line in logged if line["event"] == "request"] == [record["trace_id"]]


@pytest.mark.parametrize(
    ("host", "alone"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False),
     ("10.0.0.5", False), ("proxy.example", False), ("", False)],
)  # fmt: skip
def test_which_addresses_only_this_machine_can_reach(host: str, alone: bool):
    assert app.is_loopback(host) is alone


async def test_a_reranker_accepts_what_its_entry_says_and_one_in_this_process_everything(tmp_path):
    value = json.loads(config("http://127.0.0.1:1/v1"))
    reranker = {"api_base": "http://127.0.0.1:1", "shape": "tei"}
    for accepts, found in ((None, None), (["public"], ("public",))):
        service = Service(*_settings_and_keys(tmp_path, {**value, "reranker": {**reranker, "accepts": accepts}}))
        assert service.flow.rerankers.get("http") == found
        assert service.flow.rerankers["lexical"] == service.flow.policy.access.labels
        await service.close()


def _settings_and_keys(tmp_path, value):
    found = made(tmp_path, json.dumps(value))
    return found, settings.keys(found.general)
