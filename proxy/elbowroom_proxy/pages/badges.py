"""What stands out in a record: a few words each, and how much they should worry whoever reads them.

Knows: which fields say that something went wrong, or was not as usual.
Does not know: how a badge looks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Badge = tuple[str, str]  # (good, note, warn or bad; words)


def badges(record: Mapping[str, Any]) -> Iterator[Badge]:
    """Of one record, the most usual first. `record` has None for what it does not say."""
    status, cohort = record["status"], record["cohort"]
    if status is not None:
        yield ("good" if status < 400 else "bad"), f"status {status}"
    if record["mode"]:
        yield "note", str(record["mode"])
    if cohort:
        yield "note", f"{'inside' if cohort['inside'] else 'outside'} the {cohort['percent']:g} % cohort"
    if record["killed"]:
        yield "warn", "kill switch pulled"
    if record["disconnected"]:
        yield "warn", "client left"
    yield from _of_evidence(record)
    yield from _of_answer(record)
    for word in record["degradations"] or ():
        yield "warn", word.replace("_", " ")
    if record["count_error"]:
        less = record["count_error"] < 0
        yield "warn", f"billed {abs(record['count_error']):,} {'less' if less else 'more'} than counted"


def _of_evidence(record: Mapping[str, Any]) -> Iterator[Badge]:
    if record["evidence_sufficient"] is False:
        yield "warn", "evidence insufficient"
    if record["label_incomplete"]:
        yield "warn", _many(record["label_incomplete"], "unreadable access label")


def _of_answer(record: Mapping[str, Any]) -> Iterator[Badge]:
    if record["cited"] and record["cited"]["invented"]:
        yield "bad", "cites what nobody gave out"
    if record["calls_refused"]:
        yield "bad", f"{_many(record['calls_refused'], 'tool call')} refused"
    if record["calls_tainted"]:
        yield "warn", f"{_many(record['calls_tainted'], 'tool call')} that only documents explain"
    if flagged := sum((record["links_flagged"] or {}).values()):
        yield "warn", f"{_many(flagged, 'link')} to strangers"


def _many(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
