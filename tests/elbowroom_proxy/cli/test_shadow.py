from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog

from elbowroom_proxy.__main__ import main
from tests.proxy import Run, config
from tests.upstream import WAIT, FakeUpstream, answer_json, completion

DOCUMENTS = [
    {"id": "a", "text": "Refunds take fourteen days.", "score": 0.9},
    {"id": "copy", "text": "Refunds take fourteen days.", "score": 0.8},
]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """A command that reads says where to log; whoever comes after it in this process logs as before."""
    previous = structlog.get_config()
    yield
    structlog.configure(**previous)


@pytest.fixture
def folder(running_proxy: Run, fake_upstream: FakeUpstream, tmp_path: Path) -> Path:
    """The traces of two requests in shadow; the first one's answer cites its first document."""
    (tmp_path / "policy.yaml").write_text("mode: shadow\n")
    proxy = running_proxy(config(fake_upstream, policy=str(tmp_path / "policy.yaml")))
    fake_upstream.answers(answer_json(completion("Fourteen days [S1].")), answer_json(completion("Fine.")))
    for asked in ("How long do refunds take?", "Which of the two offices in Bonn is the larger one?"):
        body: dict[str, Any] = {"model": "fake", "messages": [{"role": "user", "content": asked}]}
        answer = httpx.post(f"{proxy.base_url}/chat/completions", json={**body, "documents": DOCUMENTS}, timeout=WAIT)
        assert answer.status_code == 200
    proxy.stop()
    return proxy.traces_folder


def report(folder: Path, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    assert main(["shadow", "report", "--traces", str(folder), *more]) == 0
    return capsys.readouterr().out


def test_the_report_adds_up_what_enforcing_would_have_changed(folder: Path, capsys):
    whole = json.loads(report(folder, capsys, "--json"))["together"]
    assert (whole["requests"], whole["missing"], whole["counted"]) == (2, 0, 2)
    assert whole["proposed_tokens"] < whole["baseline_tokens"]
    assert (whole["cited"], whole["kept"], whole["unjudged"]) == (1, 1, 1)
    assert whole["drops"] == {"duplicate": 2}
    text = report(folder, capsys)
    assert text.startswith("class")
    assert "2 duplicate" in text
    assert "1 requests whose answers cite nothing" in text


def test_the_filters_are_those_of_traces(folder: Path, capsys):
    classes = [one["name"] for one in json.loads(report(folder, capsys, "--json"))["classes"]]
    one = json.loads(report(folder, capsys, "--json", "--class", classes[0]))
    assert [row["name"] for row in one["classes"]] == classes[:1]
    assert json.loads(report(folder, capsys, "--json", "--since", "1h", "--until", "0m"))["together"]["missing"] == 0
    assert "no request was in shadow" in report(folder, capsys, "--tenant", "nobody")


def test_a_filter_that_cannot_be_read_is_a_failure(tmp_path: Path, capsys):
    assert main(["shadow", "report", "--traces", str(tmp_path), "--since", "nonsense"]) == 1
    assert "since" in capsys.readouterr().err
