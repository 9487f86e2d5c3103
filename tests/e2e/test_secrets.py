"""Keys and cookies stay where they belong: never up, never down, never in a log, a trace or a metric."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.conftest import QUESTION, REFUNDS
from tests.proxy import config, wait_until
from tests.servers import Elbowroom, free_port
from tests.upstream import WAIT, FakeUpstream, answer_json, answer_stream, chunk, completion

PLANTED = {
    "authorization": "Bearer sk-planted-in-authorization",
    "proxy-authorization": "Basic planted-in-proxy-authorization",
    "cookie": "session=planted-in-cookie",
    "x-api-key": "sk-planted-in-x-api-key",
    "api-key": "sk-planted-in-api-key",
    "x-forwarded-for": "planted-in-forwarded-for",
    "openai-organization": "planted-in-organization",
    "x-own-secret": "planted-in-own-header",
}
OPERATORS = ("sk-operators-key", "the-operators-own-long-secret")


@pytest.fixture
def served(module_upstream: FakeUpstream, tmp_path: Path) -> Iterator[Elbowroom]:
    settings = json.loads(config(module_upstream, secret="os.environ/SECRET", traces=str(tmp_path / "traces")))
    for model in settings["model_list"][:3]:
        model["litellm_params"]["api_key"] = "os.environ/KEY"
    gone = {"model": "openai/gpt-4o", "api_base": f"http://127.0.0.1:{free_port()}/v1", "api_key": "os.environ/KEY"}
    settings["model_list"].append({"model_name": "gone", "litellm_params": gone})
    file = tmp_path / "elbowroom.yaml"
    file.write_text(json.dumps(settings))
    env = dict(zip(("KEY", "SECRET"), OPERATORS, strict=True))
    with Elbowroom(tmp_path, "--config", str(file), env=env) as process:
        yield process


def test_no_secret_goes_anywhere(served: Elbowroom, upstream: FakeUpstream, tmp_path: Path):
    echo = {"error": {"message": "Incorrect API key provided", "type": "t", "param": None, "code": "invalid_api_key"}}
    theirs: dict[str, Any] = {
        "set_cookie": "upstream=planted-in-set-cookie",
        "openai_organization": "planted-in-their-organization",
    }
    upstream.answers(
        answer_json(completion("fine"), **theirs),
        answer_stream(chunk({"content": "cut"}), **theirs),
        answer_json(echo, 401, **theirs),
    )
    asked: dict[str, Any] = {"model": "fake", "messages": [QUESTION], "documents": [REFUNDS]}
    bodies = [
        asked,
        {**asked, "stream": True},
        asked,
        {**asked, "model": "gone"},
        {**asked, "model": "nobody"},
        {**asked, "messages": 3},
        {**asked, "documents": [{"text": 3}]},
    ]
    heard: list[str] = []
    with httpx.Client(base_url=served.base_url, headers=PLANTED, timeout=WAIT) as http:
        for body in bodies:
            response = http.post("/chat/completions", json=body)
            heard += [response.text, *(f"{name}: {value}" for name, value in response.headers.items())]
        heard.append(http.get(served.base_url.replace("/v1", "/metrics")).text)
        heard.append(http.get("/models").text)

    traces = tmp_path / "traces"
    wait_until(lambda: sum(len(file.read_text().splitlines()) for file in traces.glob("*.jsonl")) == len(bodies))
    assert served.stop() in (0, -signal.SIGTERM)
    heard += [file.read_text("utf-8", "replace") for file in traces.rglob("*") if file.is_file()]
    heard += served.output
    everything = "\n".join(heard)
    assert "planted-in" not in everything
    for secret in OPERATORS:
        assert secret not in everything

    assert len(upstream.requests) == 3
    for seen in upstream.requests:
        assert "planted-in" not in json.dumps(seen.headers) + seen.body.decode()
        assert seen.headers["authorization"] == f"Bearer {OPERATORS[0]}"
        assert set(seen.headers) <= {
            "host",
            "accept",
            "accept-encoding",
            "authorization",
            "content-type",
            "content-length",
        }
