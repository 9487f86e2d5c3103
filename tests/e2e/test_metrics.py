"""A storm of hostile requests leaves /metrics as it was: no label is anything that a client, a document or an upstream
made up, and no series is added by making up more. The log has one line each, without a word of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.holders import ORG, TEAM, row, written
from tests.promql import Scrape, scrape
from tests.proxy import config, wait_until
from tests.servers import Elbowroom
from tests.upstream import DONE, WAIT, FakeUpstream, answer_json, answer_stream, chunk, completion

KEY = "sk-eb-e2e-storm-0000000000000000"
NAME = "bot-with-a-name"
WORD = "zorn"  # every word that somebody makes up begins with it


class Storm:
    """A proxy with keys, in a process of its own, and whoever speaks to it."""

    def __init__(self, folder: Path, upstream: FakeUpstream, process: Elbowroom) -> None:
        self._upstream = upstream
        self._numbers = count()
        self.folder = folder
        self.process = process
        self.url = process.base_url.removesuffix("/v1")

    def word(self) -> str:
        """One that nobody has said before."""
        return f"{WORD}{next(self._numbers)}"

    def post(self, body: Any, path: str = "/v1/chat/completions", key: str = KEY) -> int:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {
            "authorization": f"Bearer {key}",
            "x-client-request-id": self.word(),
            "user-agent": self.word(),
            f"x-{self.word()}": self.word(),
        }
        return httpx.post(self.url + path, content=content, headers=headers, timeout=WAIT).status_code

    def ask(self, **more: Any) -> int:
        word = self.word
        body: dict[str, Any] = {
            "model": "gpt-4o",
            "messages": [{"role": "system", "content": word()}, {"role": "user", "content": word()}],
            "documents": [{"id": word(), "text": f"{word()} is {word()}.", "title": word(), "source": word()}],
            "user": word(),
            "metadata": {word(): word()},
            "context": {"conversation_id": word()},
        }
        return self.post({**body, **more})

    def said(self, text: str, **more: Any) -> None:
        """What the upstream answers next."""
        self._upstream.answers(answer_json(completion(text, **more)))

    def blow(self) -> list[int]:
        """One of everything; the statuses."""
        word, tool = self.word, {"type": "function", "function": {"name": self.word(), "parameters": {}}}
        found = [self.ask(), self.ask(tools=[tool]), self.ask(tools=[tool], tool_choice=word())]
        found += [self.ask(model=word()), self.ask(context={"query_class": word()}), self.ask(**{word(): word()})]
        found += [self.ask(response_format={"type": word()}), self.ask(messages=[{"role": word(), "content": word()}])]
        found += [self.post(word().encode()), self.post({"model": word()}), self.post({word(): word()})]
        found += [self.post({}, key=f"sk-eb-{word()}"), self.post({}, f"/v1/{word()}"), self.post({}, f"/{word()}")]
        found += [
            self.post({"model": word(), "input": word()}, f"/v1/{route}") for route in ("embeddings", "responses")
        ]
        found.append(httpx.request(word().upper(), self.url + "/v1/chat/completions", timeout=WAIT).status_code)
        calls = [{"id": word(), "type": "function", "function": {"name": word(), "arguments": "{}"}}]
        self.said(f"[S1] [S9] {word()} [x](https://{word()}.example/) ![y](https://{word()}.example/y.png)")
        found.append(self.ask())
        self.said(word(), tool_calls=calls)
        found.append(self.ask())
        finished = chunk({"content": word()}, finish=word(), model=word(), **{word(): word()})
        self._upstream.answers(answer_stream(finished, DONE, **{f"x_{word()}": word()}))
        found.append(self.ask(stream=True))
        for status in (400, 404, 429, 500, 503):
            error = {"message": word(), "type": word(), "code": word(), "param": word()}
            self._upstream.answers(answer_json({"error": error}, status))
            found.append(self.ask())
        return found

    def shown(self) -> Scrape:
        return scrape(httpx.get(f"{self.url}/metrics", timeout=WAIT).text)

    def lines(self) -> list[dict[str, Any]]:
        """What was logged of requests."""
        logged = [json.loads(line) for line in list(self.process.output) if line.startswith("{")]
        return [line for line in logged if line["event"] == "request"]

    def records(self) -> int:
        return sum(len(file.read_bytes().splitlines()) for file in (self.folder / "traces").glob("*.jsonl"))


@pytest.fixture
def storm(tmp_path: Path, fake_upstream: FakeUpstream) -> Iterator[Storm]:
    said = written(tmp_path, row(NAME, KEY), max_tokens=10_000_000, max_parallel_requests=50)
    text = config(fake_upstream, traces=str(tmp_path / "traces"), ledger={"volatile": True}, **said)  # type: ignore[arg-type]
    (tmp_path / "elbowroom.yaml").write_text(text)
    with Elbowroom(tmp_path, "--config", "elbowroom.yaml") as process:
        yield Storm(tmp_path, fake_upstream, process)


def test_nobody_adds_a_series_or_a_word_to_the_metrics(storm: Storm):
    statuses = storm.blow()
    assert {200, 400, 401, 404, 429, 500} <= set(statuses)  # it blew from everywhere
    first = storm.shown()
    assert storm.blow() == statuses
    assert storm.blow() == statuses
    last = storm.shown()
    assert set(last) == set(first)
    asked = [number for labels, number in last.items() if ("__name__", "elbowroom_requests_total") in labels]
    values = {value for labels in last for name, value in labels if name not in {"__name__", "le"}}
    assert [value for value in values if WORD in value.lower()] == []
    assert values.isdisjoint({ORG, TEAM, NAME, f"{ORG}/{TEAM}", f"{ORG}/{TEAM}/{NAME}", KEY, KEY[:12]})

    # One line and one record each, and not a word of anybody's in a line.
    requests = int(sum(asked))
    wait_until(lambda: storm.records() == len(storm.lines()) == requests)
    lines = storm.lines()
    assert len({line["trace_id"] for line in lines}) == requests
    assert len({line["status"] for line in lines}) > 5
    output = "".join(storm.process.output)
    assert WORD not in output.lower()
    assert KEY not in output
    assert "Traceback" not in output
