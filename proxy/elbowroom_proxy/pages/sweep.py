"""The table of the sweep that was drawn last, out of the Markdown that the command wrote.

Knows: how a Markdown table is written: cells between bars, a line of dashes below the names.
Does not know: what was measured, or how.
"""

from __future__ import annotations

import re

from msgspec import Struct

_RULE = re.compile(r"\|?[\s|:-]+\|?")


class Table(Struct, frozen=True):
    """Names, rows of as many cells, and what is said below."""

    names: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    words: str = ""


def table(markdown: str) -> Table:
    """The first table of the text; a row that has not as many cells as there are names is passed over."""
    lines = [line.strip() for line in markdown.splitlines()]
    cells = [_cells(line) for line in lines if line.startswith("|") and not _RULE.fullmatch(line)]
    names, *rows = cells or [()]
    words = " ".join(line for line in lines if line and not line.startswith("|"))
    return Table(names, tuple(row for row in rows if len(row) == len(names)), words)


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip().strip("*") for cell in line.strip("|").split("|"))
