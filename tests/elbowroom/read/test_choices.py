"""Whoever wrote a wrong word is told the right ones, wherever it stands."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta, Struct

from elbowroom.read.choices import choices


class Mode(StrEnum):
    ON = "on"
    OFF = "off"


class Inner(Struct):
    word: Literal["a", "b"] | None = None
    many: Annotated[tuple[Literal["x", "y"], ...], Meta(max_length=3)] = ()
    number: int = 0
    either: Mode | int = 1


class Outer(Struct):
    mode: Mode = Mode.ON
    inner: Inner | None = None
    rows: list[Inner] = []
    by_name: dict[str, Inner] = {}
    some: frozenset[Mode] = frozenset()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"mode": "of"}, ("on", "off")),
        ({"inner": {"word": "c"}}, ("a", "b")),
        ({"inner": {"many": ["x", "z"]}}, ("x", "y")),
        ({"rows": [{}, {"word": "c"}]}, ("a", "b")),
        ({"by_name": {"m.n": {"word": "c"}}}, ("a", "b")),
        ({"some": ["of"]}, ("on", "off")),
    ],
)
def test_the_words_at_the_path_that_the_converter_names(value: object, words: tuple[str, ...]):
    with pytest.raises(msgspec.ValidationError, match="Invalid enum value") as caught:
        msgspec.convert(value, Outer)
    path = str(caught.value).rpartition("`$")[2].rstrip("`")
    assert choices(Outer, path) == words


@pytest.mark.parametrize("path", ["", ".inner", ".inner.number", ".nowhere.word", ".mode.word", ".inner[0]"])
def test_where_it_is_no_matter_of_words_there_are_none(path: str):
    assert choices(Outer, path) == ()


def test_words_beside_something_else_are_told():
    assert choices(Outer, ".inner.either") == ("on", "off")
