"""Which words a configuration may have at a place: what is told to somebody who wrote another one.

Knows: how types are looked into, by the path that their converter names.
Does not know: files, lines, or what any of the words means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import inspect

_STEP = re.compile(r"\.([^.\[]+)|\[[^\]]*\]")  # a member, or an element or value whose name is not told


def choices(kind: Any, path: str) -> tuple[str, ...]:
    """The words that are allowed at `path` of a `kind`, in their order; none where it is not a matter of words.

    The path is msgspec's, as in `.redact.packs[0]` or `.tools[...].returns`.
    """
    found = [inspect.type_info(kind)]
    for step in _STEP.finditer(path):
        found = [inside for one in found for inside in _inside(one, step[1])]
    words = (str(word) for one in found for each in _each(one) for word in _words(each))
    return tuple(dict.fromkeys(words))


def _each(one: inspect.Type) -> Iterator[inspect.Type]:
    """It, or of a union all that it may be."""
    if isinstance(one, inspect.UnionType):
        for each in one.types:
            yield from _each(each)
    else:
        yield one


def _inside(one: inspect.Type, name: str | None) -> Iterator[inspect.Type]:
    for each in _each(one):
        if isinstance(each, inspect.StructType) and name is not None:
            yield from (field.type for field in each.fields if field.encode_name == name)
        elif isinstance(each, inspect.DictType):
            yield each.value_type
        elif isinstance(each, inspect.ListType | inspect.VarTupleType | inspect.SetType | inspect.FrozenSetType):
            yield each.item_type


def _words(one: inspect.Type) -> Iterator[Any]:
    if isinstance(one, inspect.LiteralType):
        yield from one.values
    elif isinstance(one, inspect.EnumType):
        yield from (each.value for each in one.cls)
