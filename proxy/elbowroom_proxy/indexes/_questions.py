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
_HOUR = 3_600_000  # ms
_ERRORS = (None, -100, -10, -1, 0, 1, 10, 100, None)  # edges, tokens
_OVERHEADS = (None, 1, 2, 3, 5, 10, 25, 50, 100, 250, 1000, None)  # edges, ms


def where(filters: Filters, scope: Scope) -> tuple[str, list[Any]]:
    """The condition, and the values for its question marks. The scope always holds."""
    terms = [f"{column} = ?" for name, column in _EQUAL.items() if getattr(filters, name) is not None]
    values = [getattr(filters, name) for name in _EQUAL if getattr(filters, name) is not None]

    def also(term: str, *more: Any) -> None:
        terms.append(term)
        values.extend(more)

    for column, own in (("tenant", scope.tenant), ("org", scope.org)):
        if own is not None:
            also(f"{column} = ?", own)
    # By a subquery, so that the index of that column is used whatever else is asked.
    if filters.id is not None:
        also(
            "rows.id IN (SELECT id FROM rows WHERE trace_id = ? UNION ALL SELECT id FROM rows WHERE request_id = ?"
            " UNION ALL SELECT id FROM rows WHERE client_request_id = ?)",
            *[filters.id] * 3,
        )
    if filters.conversation is not None:
        also("rows.id IN (SELECT id FROM rows WHERE conversation_id = ?)", filters.conversation)
    if filters.policy is not None:
        also("(policy = ? OR substr(policy_digest, 1, ?) = ?)", filters.policy, len(filters.policy), filters.policy)
    if filters.reason is not None:
        also("rows.id IN (SELECT row FROM drops WHERE reason = ?)", filters.reason)
    if filters.invented is not None:
        also("(invented > 0) = ?", filters.invented)
    if filters.tainted is not None:
        also("(tainted > 0) = ?", filters.tainted)
    if filters.status is not None:
        also("status = ?" if filters.status > 9 else "status / 100 = ?", filters.status)
    if filters.since is not None:
        also("at >= ?", filters.since)
    if filters.until is not None:
        also("at < ?", filters.until)
    return " AND ".join(terms), values


def overview(ask: Ask, filters: Filters, scope: Scope, indexed: Indexed) -> Overview:
    """All that fits, in one page."""
    holds, values = where(filters, scope)

    def named(column: str) -> tuple[Named, ...]:
        return tuple(
            Named(name, n)
            for name, n in ask(
                f"SELECT {column}, count(*) FROM rows WHERE {holds} AND {column} IS NOT NULL"
                " GROUP BY 1 ORDER BY 2 DESC, 1",
                values,
            )
        )

    sums = ask(
        "SELECT count(*), sum(status >= 400), sum(over_budget), sum(disconnected), sum(admitted),"
        f" sum(documents), sum(verified), sum(invented), sum(uncited), sum(invented > 0) FROM rows WHERE {holds}",
        values,
    )
    requests, failed, over, gone, admitted, documents, verified, invented, uncited, with_invented = (
        one or 0 for one in sums[0]
    )
    orgs = ask(
        "SELECT org, count(*), ifnull(sum(billed), 0), ifnull(sum(completion), 0), ifnull(sum(micro_usd), 0)"
        f" FROM rows WHERE {holds} GROUP BY 1 ORDER BY 5 DESC, 3 DESC, 1",
        values,
    )
    hours = ask(
        f"SELECT at - at % {_HOUR}, count(*), ifnull(sum(status >= 400), 0) FROM rows WHERE {holds}"
        " GROUP BY 1 ORDER BY 1",
        values,
    )
    reasons = ask(
        f"SELECT reason, sum(n) FROM drops WHERE row IN (SELECT rows.id FROM rows WHERE {holds})"
        " GROUP BY 1 ORDER BY 2 DESC, 1",
        values,
    )
    return Overview(
        requests=requests,
        failed=failed,
        over_budget=over,
        disconnected=gone,
        admitted=admitted,
        documents=documents,
        orgs=tuple(Spent(*one) for one in orgs),
        reasons=tuple(Named(*one) for one in reasons),
        classes=named("query_class"),
        modes=named("mode"),
        models=named("model"),
        codes=named("code"),
        count_error=_spread(ask, "count_error", _ERRORS, holds, values),
        overhead_ms=_spread(ask, "overhead_ms", _OVERHEADS, holds, values),
        verified=verified,
        invented=invented,
        uncited=uncited,
        with_invented=with_invented,
        hours=tuple(Hour(*one) for one in hours),
        indexed=indexed,
    )


def _spread(ask: Ask, column: str, edges: Sequence[float | None], holds: str, values: Sequence[Any]) -> Spread:
    of = f"FROM rows WHERE {holds} AND {column} IS NOT NULL"
    ((n, least, most),) = ask(f"SELECT count(*), min({column}), max({column}) {of}", values)
    if not n:
        return Spread()
    # The nearest rank: at least so many hundredths of all values are no greater.
    ranks = [-(-n * share // 100) for share in (50, 95, 99)]
    ranked = f"SELECT {column} AS value, row_number() OVER (ORDER BY {column}) AS rank {of}"
    found = ask(f"SELECT rank, value FROM ({ranked}) WHERE rank IN (?, ?, ?)", [*values, *ranks])
    at: dict[int, float] = {rank: value for rank, value in found}  # noqa: C416 - a row is any sequence
    sums = ", ".join(f"sum({_between(column, *pair)})" for pair in pairwise(edges))
    (counts,) = ask(f"SELECT {sums} {of}", values)
    buckets = tuple(Bucket(*pair, found) for pair, found in zip(pairwise(edges), counts, strict=True))
    p50, p95, p99 = (at[rank] for rank in ranks)
    return Spread(n, least, p50, p95, p99, most, buckets)


def _between(column: str, low: float | None, high: float | None) -> str:
    ends = (f"{column} >= {low}" if low is not None else "", f"{column} < {high}" if high is not None else "")
    return " AND ".join(filter(None, ends))
