"""The demo's sample requests, made from the pages of an invented handbook.

Knows: the two files in `demo/`, and how their short forms (pages, talk, rows) become a chat body with tagged documents.
Does not know: what is done with a request, or what comes of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct

FOLDER = Path(__file__).parents[1] / "demo"


class Sample(Struct, frozen=True):
    """One request, and what it is there to show."""

    name: str
    look: str
    body: dict[str, Any]


def samples() -> list[Sample]:
    """All of them, in order."""
    pages = {ident: {"id": ident, **page} for ident, page in _read("handbook.yaml").items()}
    return [_sample(written, pages) for written in _read("requests.yaml")]


def _read(name: str) -> Any:
    return yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))


def _sample(written: Mapping[str, Any], pages: Mapping[str, Mapping[str, Any]]) -> Sample:
    body = {name: value for name, value in written.items() if name not in _OURS}
    *before, question = body["messages"]
    for asked, answered in written.get("talk", ()):
        answer = "\n".join(pages[ident]["text"] for ident in answered)
        before += [{"role": "user", "content": asked}, {"role": "assistant", "content": answer}]
    body["messages"] = [*before, question]
    if "rows" in written:
        body["messages"] += _readings(written["rows"])
    documents = [{**pages[ident], "score": score} for ident, score in written.get("documents", {}).items()]
    if whole := written.get("whole"):
        text = "\n".join(pages[ident]["text"] for ident in whole["pages"])
        documents.insert(0, {**{name: value for name, value in whole.items() if name != "pages"}, "text": text})
    if documents:
        body["documents"] = documents
    return Sample(written["name"], written["look"], body)


_OURS = frozenset({"name", "look", "documents", "whole", "talk", "rows"})


def _readings(rows: int) -> list[dict[str, Any]]:
    """A call for the unit's readings, and its result: one an hour, the latest first."""
    asked = {"name": "readings", "arguments": '{"unit":"FH-300"}'}
    table = [
        {
            "hour": -row,
            "outdoor_c": round(4.0 + (row * 7 % 23) / 2 - (row % 24) / 4, 1),
            "flow_c": round(34.0 + (row * 5 % 11) / 4, 1),
            "pressure_bar": round(1.5 - (row % 700) / 2000, 2),
            "state": "defrost" if row % 37 == 0 else "heating",
        }
        for row in range(rows)
    ]
    return [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": asked}]},
        {"role": "tool", "tool_call_id": "call_1", "content": json.dumps(table)},
    ]
