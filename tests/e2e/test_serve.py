"""`elbowroom serve` as a command: with nothing configured, and when it is told to stop."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.e2e.conftest import CLIENT_KEY, PARCELS, QUESTION, REFUNDS
from tests.proxy import config, wait_until
from tests.servers import Elbowroom
from tests.upstream import WAIT, FakeUpstream, answer_stream, streamed

ZH: Any = {"role": "user", "content": "退款多久到账？"}
ZH_DOCUMENT = {"id": "zh", "text": "退款在十四天内到账。包裹每周一发出。", "url": "https://kb.example/zh"}


def sdk(process: Elbowroom) -> openai.OpenAI:
    return openai.OpenAI(base_url=process.base_url, api_key=CLIENT_KEY, max_retries=0, timeout=WAIT)


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in folder.glob("*.jsonl") for line in file.read_text().splitlines()]


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("empty")


@pytest.fixture(scope="module")
def demo(empty: Path) -> Iterator[openai.OpenAI]:
    """A server that was told nothing at all, in a folder with nothing in it."""
    with Elbowroom(empty, env={"REDIS_URL": "", "ELBOWROOM_SECRET": ""}) as process, sdk(process) as client:
        yield client


def test_without_a_configuration_the_demo_answers_from_the_evidence(demo: openai.OpenAI, empty: Path):
    raw = demo.chat.completions.with_raw_response.create(
        model="demo-small", messages=[QUESTION], extra_body={"documents": [REFUNDS, PARCELS]}
    )
    answer = raw.parse()
    message = answer.choices[0].message
    assert "fourteen days" in (message.content or "")
    assert [one.url_citation.url for one in message.annotations or []] == ["https://kb.example/refunds"]
    assert answer.usage is not None
    assert str(answer.usage.prompt_tokens) == raw.headers["x-elbowroom-prompt-tokens"]
    traces = empty / ".elbowroom" / "traces"
    wait_until(lambda: len(records(traces)) == 1)
    (record,) = records(traces)
    assert (record["status"], record["count_error"]) == (200, 0)
    assert stat.S_IMODE((empty / ".elbowroom" / "secret").stat().st_mode) == 0o600


def test_the_demo_streams_in_chinese(demo: openai.OpenAI):
    with demo.chat.completions.stream(
        model="demo-large", messages=[ZH], extra_body={"documents": [ZH_DOCUMENT], "context": {"explain": True}}
    ) as stream:
        final = stream.get_final_completion()
    message = final.choices[0].message
    assert "十四天" in (message.content or "")
    (note,) = message.annotations or []
    cited = (message.content or "")[note.url_citation.start_index : note.url_citation.end_index]
    assert cited == "[S1]"
    assert (final.model_extra or {})["context_report"]["documents"][0]["decision"] == "admitted"


def test_the_demo_has_its_models_and_its_window(demo: openai.OpenAI):
    assert [model.id for model in demo.models.list()] == ["demo-small", "demo-large"]
    long: Any = {**QUESTION, "content": "word " * 9_000}
    with pytest.raises(openai.BadRequestError) as error:
        demo.chat.completions.create(model="demo-small", messages=[long])
    assert error.value.code == "context_length_exceeded"


def test_without_tags_the_demo_says_that_it_has_no_evidence(demo: openai.OpenAI):
    answer = demo.chat.completions.create(model="demo-small", messages=[QUESTION])
    assert "evidence" in (answer.choices[0].message.content or "")
    assert answer.choices[0].message.annotations is None


# --- the end ----------------------------------------------------------------------------------------------------------


def refused(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


@pytest.fixture
def served(module_upstream: FakeUpstream, tmp_path: Path) -> Iterator[Elbowroom]:
    file = tmp_path / "elbowroom.yaml"
    file.write_text(config(module_upstream, traces=str(tmp_path / "traces"), drain_timeout=1))
    with Elbowroom(tmp_path, "--config", str(file)) as process:
        yield process


@pytest.mark.parametrize("tagged", [False, True])
def test_on_sigterm_an_open_stream_is_finished_and_written_down(
    served: Elbowroom, upstream: FakeUpstream, tmp_path: Path, tagged: bool
):
    good, gate = streamed("to", " the", " end"), upstream.gate()
    upstream.answers(answer_stream(*good.parts[:2], gate, *good.parts[2:]))
    with sdk(served) as client:
        stream = client.chat.completions.create(
            model="fake", messages=[QUESTION], stream=True, extra_body={"documents": [REFUNDS]} if tagged else {}
        )
        assert next(stream).choices[0].delta.role == "assistant"
        os.kill(served.pid, signal.SIGTERM)
        wait_until(lambda: refused(served.port))
        gate.open()
        assert "".join(part.choices[0].delta.content or "" for part in stream) == "to the end"
    assert served.stop() in (0, -signal.SIGTERM)
    (record,) = records(tmp_path / "traces")
    assert (record["status"], record["finish_reason"], record["disconnected"]) == (200, "stop", False)


def test_at_the_deadline_an_open_stream_is_told_and_written_down(
    served: Elbowroom, upstream: FakeUpstream, tmp_path: Path
):
    gate = upstream.gate()
    upstream.answers(answer_stream(*streamed("cut").parts[:2], gate))
    with sdk(served) as client:
        stream = client.chat.completions.create(model="fake", messages=[QUESTION], stream=True)
        next(stream)
        stopping = threading.Thread(target=served.stop)
        stopping.start()
        with pytest.raises(openai.APIError) as error:
            list(stream)
        stopping.join(WAIT)
    assert error.value.code == "overloaded"
    assert upstream.request().gone.wait(WAIT)
    (record,) = records(tmp_path / "traces")
    assert record["error"]["code"] == "overloaded"
