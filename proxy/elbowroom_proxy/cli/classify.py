"""`elbowroom classify`: what routing makes of each question of a file.

Knows: the lines, and the three numbers that matter where the lines bring labels: short reserves wrongly given,
procedures and follow-ups wrongly seen.
Does not know: any cue; the policy has them.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from elbowroom.read.classify import classify
from elbowroom.read.policy import Policy
from elbowroom_proxy import settings
from elbowroom_proxy.cli import lines
from elbowroom_proxy.cli.render import clipped, line, printable
from elbowroom_proxy.principal import OPEN

COLUMNS = "{:<40} {:<16} {:>7} {:<9} {:<8} {}"
SHORT = 300  # tokens of reserve that only a question for one fact may get
FACT, PROCEDURE, FOLLOW_UP = "Factoid", "How-To", "Follow-up"  # labels


class Routed(Struct, frozen=True):
    """One question, routed."""

    id: str | None
    query_class: str
    by: str
    cue: str | None
    follow_up: bool
    answer_reserve: int


def arguments(parser: ArgumentParser) -> None:
    """Adds the options."""
    parser.add_argument("file", metavar="FILE.jsonl", help='{"id", "question", "n_history" or "history"} a line')
    parser.add_argument("--policy", type=Path, metavar="FILE", help="another policy, classes/ beside it")
    parser.add_argument("--json", action="store_true", help="an object a line")


def run(args: Namespace) -> int:
    """0: every line was a question. 1: one was none, and was skipped. 2: there is nothing to read."""
    policy = settings.load().policy if args.policy is None else settings.load_policy(args.policy)

    def judge(row: lines.Row) -> Routed | str:
        question = row.get("question")
        return route(row, question, policy) if isinstance(question, str) else "there is no question"

    if not args.json:
        print(COLUMNS.format("id", "class", "reserve", "follow-up", "by", "cue"))
    status, done = lines.judged(args.file, judge, lambda _, one: print(_json(one) if args.json else _line(one)))
    if not args.json and done:
        print("", *table(done), sep="\n")
    return status


def route(row: Mapping[str, Any], question: str, policy: Policy) -> Routed:
    """What a request with this question would be."""
    found = classify(question, bool(row.get("n_history") or row.get("history")), policy, None, OPEN)
    reserve = policy.query_class(found.name).answer_reserve
    ident = row.get("id")
    return Routed(None if ident is None else str(ident), found.name, found.by, found.cue, found.follow_up, reserve)


def table(done: Sequence[tuple[Mapping[str, Any], Routed]]) -> Iterator[str]:
    """How many of each class, and how often routing was wrong where that can be told."""
    n = len(done)
    counted = Counter(routed.query_class for _, routed in done)
    yield line("classes", ", ".join(f"{name} {many}" for name, many in counted.most_common()))
    labelled = [(row, routed) for row, routed in done if isinstance(row.get("labels"), list)]
    if labelled:
        wrong = sum(one.answer_reserve <= SHORT and FACT not in row["labels"] for row, one in labelled)
        yield line("short", f"a reserve of {SHORT} wrongly given in {_share(wrong, len(labelled))} of turns")
        procedures = [PROCEDURE in row["labels"] for row, one in labelled if one.query_class == "how_to"]
        yield line("how-to", f"precision {_share(sum(procedures), len(procedures))}")
    turned = [(row, one) for row, one in done if isinstance(row.get("multi_turn"), list)]
    if turned:
        follow_ups = [FOLLOW_UP in row["multi_turn"] for row, one in turned if one.follow_up]
        yield line("follow-up", f"precision {_share(sum(follow_ups), len(follow_ups))}")
    yield line("turns", str(n))


def _share(some: int, whole: int) -> str:
    return f"{some / whole:.1%} ({some} of {whole})" if whole else "- (0 of 0)"


def _json(routed: Routed) -> str:
    value = structs.asdict(routed)
    value["class"] = value.pop("query_class")
    return json.dumps(value, ensure_ascii=False)


def _line(routed: Routed) -> str:
    ident = clipped(printable(routed.id or "-"), 40)
    follow_up = "yes" if routed.follow_up else ""
    cue = clipped(printable(routed.cue or ""), 48)
    return COLUMNS.format(ident, routed.query_class, routed.answer_reserve, follow_up, routed.by, cue).rstrip()
