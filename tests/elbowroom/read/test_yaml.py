"""What an operator writes wrong is named by file and line; what YAML could misread is refused."""

from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, field

from elbowroom.errors import InvalidConfig
from elbowroom.read.policy import Config
from elbowroom.read.yaml import load, read


class Inner(Config, frozen=True):
    number: Annotated[int, Meta(gt=0)] = 1
    share: float = 0.0
    word: str | None = None
    kind: Literal["a", "b"] | None = None


class Outer(Config, frozen=True):
    name: str = ""
    on: bool = False
    inner: Inner = Inner()
    rows: tuple[Inner, ...] = ()
    by_name: dict[str, Inner] = field(default_factory=dict)


def test_a_whole_file():
    text = """
# comment
name: "no"
on: true
inner: {number: 1000, share: 2.5e-1}
rows:
  - number: 12
    share: 3
  - {word: 2026-01-01, number: 7}
by_name:
  no: {word: null}
  1: {word: '010'}
"""
    assert load(text, "f", Outer) == Outer(
        name="no",
        on=True,
        inner=Inner(1000, 0.25),
        rows=(Inner(12, 3.0), Inner(7, word="2026-01-01")),
        by_name={"no": Inner(), "1": Inner(word="010")},
    )


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"])
def test_an_empty_file_is_all_defaults(text):
    assert load(text, "f", Outer) == Outer()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: x\nnmae: y\n", "f:2: there is no such key (nmae)"),
        ("inner:\n  number: 1\n  numbr: 2\n", "f:3: there is no such key (inner.numbr)"),
        ("rows:\n- word: x\n-\n  wrd: y\n", "f:4: there is no such key (rows[1].wrd)"),
        ("name: 1\n", "f:1: expected `str`, got `int` (name)"),
        ("\ninner:\n  number: 0\n", "f:3: expected `int` >= 1 (inner.number)"),
        ("\ninner:\n  number: many\n", "f:3: expected `int`, got `str` (inner.number)"),
        ("inner: {kind: c}\n", "f:1: 'c' is none of a, b (inner.kind)"),
        ("by_name:\n  x: {kind: c}\n", "f:1: 'c' is none of a, b (by_name)"),
        ("on: 1\n", "f:1: expected `bool`, got `int` (on)"),
        ("rows: {}\n", "f:1: expected `array`, got `object` (rows)"),
        ("\n\nby_name:\n  a: {number: -1}\n", "f:3: expected `int` >= 1 (by_name)"),
        ("- a\n", "f:1: expected `object`, got `array` (top level)"),
        ("name: x\non: false\nname: y\n", "f:3: name is given twice, first on line 1 (name)"),
        ("inner:\n  word: x\n  word: x\n", "f:3: word is given twice, first on line 2 (inner.word)"),
        ("\ninner: {share: .inf}\n", "f:2: .inf is no plain value"),
        ("\ninner: {share: -.INF}\n", "f:2: -.INF is no plain value"),
        ("inner: {share: .nan}\n", "f:1: .nan is no plain value"),
        ("inner: {share: 1.0e+999}\n", "f:1: 1.0e+999 is no plain value"),
        ("inner: {number: 010}\n", "f:1: 010 is no plain value"),
        ("inner: {number: 1:30}\n", "f:1: 1:30 is no plain value"),
        ("inner: {number: 0x10}\n", "f:1: 0x10 is no plain value"),
        ("inner: {share: 1:30.5}\n", "f:1: 1:30.5 is no plain value"),
        (
            "inner: {share: 1e-06}\n",
            "f:1: expected `float`, got `str`; a power is written with a point and a sign, as 1.0e-6 (inner.share)",
        ),
        ("name: no\n", "f:1: no is no plain value"),
        ("on: yes\n", "f:1: yes is no plain value"),
        ("name: !!python/object:os.system x\n", "f:1: tags are not supported (name)"),
        ("name: !mine x\n", "f:1: tags are not supported (name)"),
        ("inner: !!set {a}\n", "f:1: tags are not supported (inner)"),
        ("rows: !!omap [a: 1]\n", "f:1: tags are not supported (rows)"),
        ("inner: &a {number: 1}\nrows:\n- *a\n", "f:1: aliases are not supported; write the value again (rows[0])"),
        ("inner: &a\n  word: *a\n", "f:2: aliases are not supported"),
        ("by_name: {<<: {a: {}}}\n", "f:1: a key must be a plain word (by_name)"),
        ("? [a]\n: b\n", "f:1: a key must be a plain word (top level)"),
        ("name: 'x\n", "f:2: found unexpected end of stream"),
        ("a: b: c\n", "f:1: mapping values are not allowed here"),
        ("name: a\n---\nname: b\n", "f:2: but found another document"),
        ("name: *nobody\n", "f:1: found undefined alias 'nobody'"),
        ("name: \x00\n", "f:1: unacceptable character"),
        ("[" * 600, "f:1: nested too deeply"),
    ],
)
def test_mistakes_are_named(text, message):
    with pytest.raises(InvalidConfig) as caught:
        load(text, "f", Outer)
    assert caught.value.message.startswith(message)


def test_a_fault_is_placed_where_it_was_written_or_nearest():
    marked = read("inner:\n  number: 3\nrows:\n- word: x\n", "f", Outer)
    assert marked.value.inner.number == 3
    assert marked.fault("inner.number", "no").message == "f:2: no (inner.number)"
    assert marked.fault("inner.share", "no").message == "f:1: no (inner.share)"
    assert marked.fault("rows[0].word", "no").message == "f:4: no (rows[0].word)"
    assert marked.fault("rows[1].word", "no").message == "f:3: no (rows[1].word)"
    assert marked.fault("", "no").message == "f:1: no (top level)"
    assert marked.fault("gone.deep", "no").param == "gone.deep"


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused_with_a_line(text):
    try:
        load(text, "f", Outer)
    except InvalidConfig as error:
        file, line, _ = error.message.split(":", 2)
        assert file == "f"
        assert int(line) >= 1
