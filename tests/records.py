"""Records of requests as they lie in files, for tests of whoever reads them.

Knows: how to make a record whose fields a test names, and how to put some into a file.
Does not know: what a test expects of its readers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from elbowroom.account.trace import Facts, record
from elbowroom.records import Principal

FIRST = "2026-03-01-1-0000.jsonl"


def told(
    trace_id: str, hour: int = 10, *, dropped: Sequence[str] = (), admitted: int = 0, **more: Any
) -> dict[str, Any]:
    """One that ended well at that hour of 1 March 2026. `dropped`: a reason for each document that was."""
    facts: dict[str, Any] = {
        "status": 200,
        "request_id": f"req_{trace_id}",
        "timings_ms": {"overhead": 2.5, "total": 40.0},
    }
    documents: list[dict[str, Any]] = [
        {"decision": "dropped", "reason": reason, "id": f"d{at}"} for at, reason in enumerate(dropped)
    ]
    documents += [{"decision": "admitted", "reason": None, "id": f"a{at}"} for at in range(admitted)]
    empty = record(None, Facts(trace_id=trace_id, time=f"2026-03-01T{hour:02}:00:00.000+00:00"))
    value = {**empty, **facts, "mode": "enforce", "model": "gpt-4o", "documents": documents, **more}
    return json.loads(json.dumps(value))


def owned(tenant: str | None, org: str | None = None, team: str | None = None) -> dict[str, Any]:
    """The fields of a record that say whose it is."""
    principal = {"subject": "bot", "org": org, "team": team}
    return {"tenant": tenant, "subject": "bot", "principal": principal}


def put(folder: Path, *records: Mapping[str, Any], name: str = FIRST, torn: str = "") -> Path:
    """Adds them to that file of the folder."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    with path.open("ab") as file:
        file.write(b"".join(json.dumps(one).encode() + b"\n" for one in records) + torn.encode())
    return path


AUDITOR = Principal(subject="ann", role="auditor", keyed=True)
