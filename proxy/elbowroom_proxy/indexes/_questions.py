"""What is asked of an index, in SQL.

Knows: the columns of `rows` and `drops`, which condition each filter is, and how an overview is added up. Values are
always bound to question marks; only names that stand here become part of a statement.
Does not know: which database answers, or how rows come into it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from elbowroom.account.search import Bucket, Filters, Hour, Indexed, Named, Overview, Scope, Spent, Spread

Ask = Callable[[str, Sequence[Any]], Sequence[Sequence[Any]]]  # (statement, values) -> rows

_EQUAL = {
    "kind": "kind",
    "tenant": "tenant",
    "org": "org",
    "team": "team",
    "subject": "subject",
    "query_class": "query_class",
    "mode": "mode",
    "model": "model",
    "code": "code",
    "over_budget": "over_budget",
}
# By a subquery where that column has an index, so that it is used whatever else is asked.
_ELSE = {
    "conversation": "rows.id IN (SELECT id FROM rows WHERE conversation_id = ?)",
    "reason": "rows.id IN (SELECT row FROM drops WHERE reason = ?)",
    "invented": "(invented > 0) = ?",
    "tainted": "(tainted > 0) = ?",
    "since": "at >= ?",
    "until": "at < ?",
}
MOST = 100_000  # requests in an overview: what one takes is bounded, however long records are kept
_PICKED = (
    "at, org, query_class, mode, model, code, status, over_budget, disconnected, admitted, documents, verified,"
    " invented, uncited, billed, completion, micro_usd, count_error, overhead_ms"
)
_HOUR = 3_600_000  # ms
_ERRORS = (None, -100, -10, -1, 0, 1, 10, 100, None)  # edges, tokens
_OVERHEADS = (None, 1, 2, 3, 5, 10, 25, 50, 100, 250, 1000, None)  # edges, ms


def where(filters: Filters, scope: Scope) -> tuple[str, list[Any]]:
    """The condition, and the values for its question marks. The scope always holds."""
    terms: list[str] = []
    values: list[Any] = []

    def also(term: str, *more: Any) -> None:
        terms.append(term)
        values.extend(more)

    for name, term in {**{name: f"{column} = ?" for name, column in _EQUAL.items()}, **_ELSE}.items():
        if (value := getattr(filters, name)) is not None:
            also(term, value)
    for column, own in (("tenant", scope.tenant), ("org", scope.org)):
        if own is not None:
            also(f"{column} = ?", own)
    if filters.id is not None:
        also(
            "rows.id IN (SELECT id FROM rows WHERE trace_id = ? UNION ALL SELECT id FROM rows WHERE request_id = ?"
            " UNION ALL SELECT id FROM rows WHERE client_request_id = ?)",
            *[filters.id] * 3,
        )
    if filters.policy is not None:
        also("(policy = ? OR substr(policy_digest, 1, ?) = ?)", filters.policy, len(filters.policy), filters.policy)
    if filters.status is not None:
        also("status = ?" if filters.status > 9 else "status / 100 = ?", filters.status)
    return " AND ".join(terms), values


def overview(ask: Ask, filters: Filters, scope: Scope, indexed: Indexed) -> Overview:
    """The latest `MOST` that fit, in one page. The wide table is read once; the rest is asked of what was picked, in a
    temporary table that goes with the connection.
    """
    holds, values = where(filters, scope)
    ask(
        f"CREATE TEMPORARY TABLE picked AS SELECT rows.id AS row, {_PICKED} FROM rows WHERE {holds}"
        " ORDER BY at DESC, rows.id DESC LIMIT ?",
        [*values, MOST],
    )
    sums = ask(
        "SELECT count(*), sum(status >= 400), sum(over_budget), sum(disconnected), sum(admitted),"
        " sum(documents), sum(verified), sum(invented), sum(uncited), sum(invented > 0) FROM picked",
        (),
    )
    requests, failed, over, gone, admitted, documents, verified, invented, uncited, with_invented = (
        one or 0 for one in sums[0]
    )
    all_of_them = requests
    if requests == MOST:
        ((all_of_them,),) = ask(f"SELECT count(*) FROM rows WHERE {holds}", values)
    orgs = ask(
        "SELECT org, count(*), ifnull(sum(billed), 0), ifnull(sum(completion), 0), ifnull(sum(micro_usd), 0)"
        " FROM picked GROUP BY 1 ORDER BY 5 DESC, 3 DESC, 1",
        (),
    )
    hours = ask(
        f"SELECT at - at % {_HOUR}, count(*), ifnull(sum(status >= 400), 0) FROM picked GROUP BY 1 ORDER BY 1", ()
    )
    # The order of a cross join stands: what was picked has no index that drops could be looked up in.
    reasons = ask(
        "SELECT reason, sum(n) FROM picked CROSS JOIN drops WHERE drops.row = picked.row GROUP BY 1 ORDER BY 2 DESC, 1",
        (),
    )
    return Overview(
        requests=requests,
        left_off=all_of_them - requests,
        failed=failed,
        over_budget=over,
        disconnected=gone,
        admitted=admitted,
        documents=documents,
        orgs=tuple(Spent(*one) for one in orgs),
        reasons=tuple(Named(*one) for one in reasons),
        classes=_named(ask, "query_class"),
        modes=_named(ask, "mode"),
        models=_named(ask, "model"),
        codes=_named(ask, "code"),
        count_error=_spread(ask, "count_error", _ERRORS),
        overhead_ms=_spread(ask, "overhead_ms", _OVERHEADS),
        verified=verified,
        invented=invented,
        uncited=uncited,
        with_invented=with_invented,
        hours=tuple(Hour(*one) for one in hours),
        indexed=indexed,
    )


def _named(ask: Ask, column: str) -> tuple[Named, ...]:
    said = f"SELECT {column}, count(*) FROM picked WHERE {column} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1"
    return tuple(Named(name, n) for name, n in ask(said, ()))


def _spread(ask: Ask, column: str, edges: Sequence[float | None]) -> Spread:
    of = f"FROM picked WHERE {column} IS NOT NULL"
    sums = ", ".join(f"sum({_between(column, *pair)})" for pair in pairwise(edges))
    ((n, least, most, *counts),) = ask(f"SELECT count(*), min({column}), max({column}), {sums} {of}", ())
    if not n:
        return Spread()
    # The nearest rank: at least so many hundredths of all values are no greater.
    ranks = [-(-n * share // 100) for share in (50, 95, 99)]
    ranked = f"SELECT {column} AS value, row_number() OVER (ORDER BY {column}) AS rank {of}"
    found = ask(f"SELECT rank, value FROM ({ranked}) AS ranked WHERE rank IN (?, ?, ?)", ranks)
    at: dict[int, float] = {rank: value for rank, value in found}  # noqa: C416 - a row is any sequence
    buckets = tuple(Bucket(*pair, found) for pair, found in zip(pairwise(edges), counts, strict=True))
    p50, p95, p99 = (at[rank] for rank in ranks)
    return Spread(n, least, p50, p95, p99, most, buckets)


def _between(column: str, low: float | None, high: float | None) -> str:
    ends = (f"{column} >= {low}" if low is not None else "", f"{column} < {high}" if high is not None else "")
    return " AND ".join(filter(None, ends))
