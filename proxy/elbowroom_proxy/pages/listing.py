"""The list of records: the words that a form and an address say, the filters that hold, and what stands out in a row.

Knows: the filters' words and their names on the page.
Does not know: what a word means to the search (`read_filters` does), how records are found, or who may see which.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import urlencode

from msgspec import Struct

from elbowroom.account.row import READ, SHADOW, Row
from elbowroom.account.search import NAMES
from elbowroom.records import Drop, Mode

LIST = "/ui"
LABELS = {
    "id": "id",
    "tenant": "tenant",
    "org": "organisation",
    "team": "team",
    "subject": "key",
    "class": "class",
    "mode": "mode",
    "model": "model",
    "policy": "policy",
    "conversation": "conversation",
    "reason": "drop reason",
    "status": "status",
    "code": "error",
    "since": "from",
    "until": "to",
    "invented": "invented citation",
    "tainted": "tainted call",
    "over_budget": "over budget",
    "kind": "kind",
}
REASONS = tuple(one.value for one in Drop)
KINDS = {"": "requests", READ: "readings", SHADOW: "proposals in shadow"}
MODES = tuple(one.value for one in Mode)


class Chip(Struct, frozen=True):
    """A filter that holds, and the address without it."""

    name: str
    value: str
    without: str


def words(query: Mapping[str, str]) -> dict[str, str]:
    """What an address or a form says of filters, in the filters' order; what it says beside is somebody else's."""
    return {name: query[name].strip() for name in NAMES if query.get(name, "").strip()}


def chips(said: Mapping[str, str]) -> list[Chip]:
    """Each filter that holds."""
    return [
        Chip(LABELS.get(name, name), value, address({other: word for other, word in said.items() if other != name}))
        for name, value in said.items()
    ]


def address(query: Mapping[str, str], at: str = LIST) -> str:
    """Where that is shown."""
    return f"{at}?{urlencode(query, errors='replace')}" if query else at


def onward(said: Mapping[str, str], after: str | None) -> str | None:
    """Where the list goes on; None where it does not."""
    return None if after is None else address({**said, "after": after})


def flags(row: Row) -> Iterator[tuple[str, str]]:
    """What a reviewer should notice of a row: (warn or bad; words)."""
    if row.invented:
        yield "bad", "invented citation"
    if row.tainted:
        yield "warn", "tainted call"  # most are harmless
    if row.over_budget:
        yield "bad", "over budget"
    if row.code:
        yield "warn", row.code
    if row.disconnected:
        yield "warn", "client left"
    if row.count_error:
        yield "warn", "bill differs"
