"""Secrets in documents, tools' results and messages reach neither the upstream nor anybody else, over the wire."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.conftest import QUESTION, REFUNDS
from tests.planted import FORMS, planted
from tests.proxy import config, wait_until
from tests.servers import Elbowroom
from tests.upstream import WAIT, FakeUpstream, answer_json, answer_stream, chunk, completion

NAMES = ("search", "look")
TOOLS = [{"type": "function", "function": {"name": name}} for name in NAMES]
CALLS = [{"id": name, "type": "function", "function": {"name": name, "arguments": "{}"}} for name in NAMES]
VALUES = [planted(rule, form) for rule, form in FORMS if rule != "private_key"]
POLICY = """
mode: {mode}
input_limit: 60000
evidence: {{max_passages: 100, per_source: 100, ceiling: 40000, max_passage_tokens: 4000}}
tools: {{search: {{returns: documents}}, look: {{max_tokens: 4000}}}}
redact: {{packs: [secrets, pii], messages: true, deadline_ms: {deadline_ms}}}
"""


def body(stream: bool) -> dict[str, Any]:
    """Every kind once, in a document, cut between two, in a part, in two tools' results and in what was said."""
    documents = [
        {
            "id": f"d{at} {text}" if len(text) < 250 else f"d{at}",
            "text": f"Passage {at}: {text}, and more.",
            "title": f"T {text}"[:400],
            "score": 0.5,
        }
        for at, (_, text) in enumerate(VALUES)
    ]
    cut = []
    for at, (value, text) in enumerate(VALUES[:6]):
        middle = text.index(value) + len(value) // 2
        for number, part in enumerate((text[:middle], text[middle:])):
            cut.append({"id": f"c{at}-{number}", "source_id": f"s{at}", "chunk_index": number, "text": part})
    said = "\n".join(text for _, text in VALUES)
    rows = [{"row": at, "note": text} for at, (_, text) in enumerate(VALUES)]
    return {
        "model": "fake",
        "stream": stream,
        "messages": [
            {"role": "user", "content": f"Earlier: {said}"},
            {"role": "assistant", "content": "Thank you."},
            {
                "role": "user",
                "content": [{"type": "document", "document": {"text": said}}, {"type": "text", "text": said}],
            },
            {"role": "assistant", "content": None, "tool_calls": CALLS},
            {"role": "tool", "tool_call_id": "search", "content": json.dumps([{"text": said, "title": said}])},
            {"role": "tool", "tool_call_id": "look", "content": json.dumps(rows)},
        ],
        "tools": TOOLS,
        "documents": [*documents, *cut],
        "context": {"explain": True},
    }


def start(folder: Path, upstream: FakeUpstream, mode: str, deadline_ms: int = 10_000) -> Elbowroom:
    (folder / "policy.yaml").write_text(POLICY.format(mode=mode, deadline_ms=deadline_ms))
    file = folder / "elbowroom.yaml"
    file.write_text(config(upstream, window=100_000, traces=str(folder / "traces"), policy="policy.yaml"))
    return Elbowroom(folder, "--config", str(file))


@pytest.mark.parametrize("mode", ["enforce", "passthrough"])
def test_no_secret_leaves_in_any_direction(mode: str, upstream: FakeUpstream, tmp_path: Path):
    upstream.answers(answer_json(completion("Paid. [S1]")), answer_stream(chunk({"content": "Paid. [S1]"})))
    bad = {"model": "fake", "messages": [QUESTION], "documents": [{"id": "a", "text": text} for _, text in VALUES[:2]]}
    heard: list[str] = []
    with start(tmp_path, upstream, mode) as served:
        with httpx.Client(base_url=served.base_url, timeout=WAIT) as http:
            responses = [http.post("/chat/completions", json=asked) for asked in (body(False), body(True), bad)]
            assert [response.status_code for response in responses] == [200, 200, 400]
            for response in responses:
                heard += [response.text, *(f"{name}: {value}" for name, value in response.headers.items())]
            heard.append(http.get(served.base_url.replace("/v1", "/metrics")).text)
        traces = tmp_path / "traces"
        wait_until(lambda: sum(len(file.read_text().splitlines()) for file in traces.glob("*.jsonl")) == 3)
        assert served.stop() in (0, -signal.SIGTERM)
        heard += [*(file.read_text("utf-8", "replace") for file in traces.rglob("*") if file.is_file()), *served.output]
    assert len(upstream.requests) == 2
    heard += [seen.body.decode() for seen in upstream.requests]
    everything = "\n".join(heard)
    for value, _ in VALUES:
        assert value not in everything
        assert json.dumps(value)[1:-1] not in everything
    for seen in upstream.requests:
        assert "[REDACTED:github_token#1]" in seen.body.decode()
    record = json.loads(next(traces.glob("*.jsonl")).read_text().splitlines()[0])
    assert "redacted" in record["edits"]
    assert all(one["redactions"] for one in record["documents"][: len(VALUES)])


def test_what_is_not_searched_in_time_is_not_sent(upstream: FakeUpstream, tmp_path: Path):
    upstream.answers(answer_json(completion("None.")))
    slow = {"id": "slow", "text": f"{REFUNDS['text']} " + "4111 " * 300_000}
    asked = {"model": "fake", "messages": [QUESTION], "documents": [slow, REFUNDS], "context": {"explain": True}}
    with start(tmp_path, upstream, "passthrough", deadline_ms=30) as served:
        response = httpx.post(f"{served.base_url}/chat/completions", json=asked, timeout=WAIT)
    assert response.status_code == 200, response.text
    fates = {one["id"]: one["reason"] or one["decision"] for one in response.json()["context_report"]["documents"]}
    assert fates == {"slow": "redaction_failed", "kb-1#1": "admitted"}
    assert "4111" not in upstream.requests[0].body.decode()
