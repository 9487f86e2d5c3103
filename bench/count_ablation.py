"""What each counting rule is worth: the recorded bills with the rule off, one after the other.

    python -m bench.count_ablation [SHARED_FOLDER]

Knows: how to switch one rule off. Does not know: any other measure than recorded bills (`bills`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from msgspec.structs import replace

from bench.bills import chat_rows, claimed, responses_rows, score
from elbowroom.count import openai_chat, openai_responses
from elbowroom.count.openai import calls, families, messages, schema, tools
from elbowroom.count.openai.bill import Bill
from elbowroom.count.openai.images import Tiles
from elbowroom.count.openai.tools import _Schema
from elbowroom.read.families import Family, family_of

Rule = Callable[[], Any]


def _setting(target: Any, name: str, value: Any) -> Rule:
    return lambda: patch.object(target, name, value)


@contextmanager
def _families(**changes: Any) -> Iterator[None]:
    """Every known family with these fields."""
    with patch.dict(
        families.FAMILIES, {n: replace(f, **changes) for n, f in families.FAMILIES.items() if n != "unknown"}
    ):
        yield


def _singly(self: calls.Calls, bill: Bill, made: Any) -> None:
    for call in made:
        _ADD(self, bill, [call])


def _nameless(bill: Bill, found: Any, family: Any, **options: Any) -> bool:
    return _ADD_MESSAGES(bill, [{k: v for k, v in m.items() if k != "name"} for m in found], family, **options)


def _without_break(bill: Bill, found: Any, family: Any, **options: Any) -> bool:
    return _ADD_MESSAGES(bill, found, family, **{**options, "with_tools": False})


def _as_is(description: Any) -> list[str]:
    return [f"// {line}" for line in description.split("\n")] if isinstance(description, str) and description else []


def _no_default(self: _Schema, schema: Any, depth: int) -> str:
    bare = {k: {n: v for n, v in self.resolve(s).items() if n != "default"} for k, s in schema["properties"].items()}
    return _MEMBERS(self, {**schema, "properties": bare}, depth)


def _always_newer(functions: Any, **_: bool) -> str:
    return tools.namespace(functions)


def _always_older(functions: Any, **_: bool) -> str:
    return tools.namespace(functions, older=True)


@contextmanager
def _newer_form() -> Iterator[None]:
    with patch.object(openai_chat, "namespace", _always_newer), patch.object(openai_chat, "_NAMED_FUNCTION", 7):
        yield


def _no_prefix(self: calls.Calls, bill: Bill, made: Any) -> None:
    _ADD(self, bill, made)
    if len(made) == 1:
        bill.texts[-2] = bill.texts[-2].removeprefix("functions.")
        bill.constant += 1  # so that a name of one piece costs the same


_ADD, _ADD_MESSAGES, _MEMBERS = calls.Calls.add, messages.add_messages, _Schema.members

RULES: dict[str, Rule] = {
    "a name costs its tokens and one": _setting(openai_chat, "add_messages", _nameless),
    "priming of o-series and gpt-5 is two, not three": lambda: _families(priming=3),
    "tools cost nine beside their text": _setting(openai_chat, "namespace", lambda *_, **__: ""),
    "tools save four beside a system message": _setting(openai_chat, "_SYSTEM_SAVES", 0),
    "a system message above tools ends in a line break": _setting(openai_chat, "add_messages", _without_break),
    "an object without comments takes one line": _setting(openai_chat, "namespace", _always_older),
    "comments lose indentation and the last dot": _setting(tools, "_comment", _as_is),
    "defaults are written": _setting(_Schema, "members", _no_default),
    "references are written out": _setting(_Schema, "target", lambda *_: {}),
    "the functions field has an older form": _newer_form,
    "a named choice costs seven": _setting(openai_chat, "_NAMED_CHOICE", 0),
    "tools of gpt-5 cost 81 more": lambda: _families(tools=9),
    "described or strict tools of gpt-5 cost one more": lambda: _families(described=0),
    "a choice costs gpt-5 nothing": lambda: _families(choice_counts=True),
    "a call of gpt-5 costs six more": lambda: _families(call=7),
    "a called name is read behind its prefix": _setting(calls.Calls, "add", _no_prefix),
    "arguments lose their white space": _setting(calls, "_compact", lambda arguments: arguments),
    "parallel calls are one call of a wrapper": _setting(calls.Calls, "add", _singly),
    "a schema for the answer loses what strictness needs": _setting(schema, "_LEFT_OUT", ()),
    "pictures are billed by family": lambda: _families(images=Tiles(85, 170)),
}


def _untitled(functions: Any, **_: bool) -> str:
    return tools.namespace(functions)


RESPONSES: dict[str, Rule] = {
    "tools cost three beside their text, of gpt-5 eight": lambda: _families(responses_tools=0),
    "titles, and descriptions of objects, are written": _setting(openai_responses, "namespace", _untitled),
    "a described tool of gpt-5 costs one more": lambda: _families(described=0),
}


def main() -> None:
    shared = Path(sys.argv[1] if sys.argv[1:] else os.environ.get("ELBOWROOM_SHARED", "../shared"))
    rows = [row for row in chat_rows(shared) if claimed(row)]
    print("| rule off | rows | exact | inside | under | worst under | worst over |\n|---|---|---|---|---|---|---|")
    print(f"| (none) | {score(rows)} |")
    for name, rule in RULES.items():
        with rule():
            print(f"| {name} | {score(rows)} |")
    print("\n| rule of the Responses form off | rows | exact | inside | under | worst under | worst over |")
    print("|---|---|---|---|---|---|---|")
    responses = responses_rows(shared)
    print(f"| (none) | {score(responses)} |")
    for name, rule in RESPONSES.items():
        with rule():
            print(f"| {name} | {score(responses)} |")
    print()
    print("| family left out | counted as | rows | exact | inside | under | worst under | worst over |")
    print("|---|---|---|---|---|---|---|---|")
    for name in sorted({family_of(row["model"]).family for row in rows} - {"unknown"}):
        mine = [row for row in rows if family_of(row["model"]).family == name]
        for stand_in in ("o3" if name in {"o1", "o3"} or name.startswith("gpt-5") else "gpt-4.1", "unknown"):
            print(f"| {name} | {stand_in} | {score(mine, _standing_in(stand_in))} |")


def _standing_in(name: str) -> Callable[[str], Family]:
    def family(model: str) -> Family:
        return Family(name, family_of(model).vocabulary, known=name != "unknown")

    return family


if __name__ == "__main__":
    main()
