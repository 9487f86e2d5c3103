"""Every shape can be cut anywhere and stays what it is."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from elbowroom.decide.shapes import NOTICE, Shape, shapes

ROWS = [{"id": number, "note": f"row {number}, \u9000\u6b3e"} for number in range(6)]


def ways(text: str, most: int = 200, window: int = 10_000) -> list[Shape]:
    return list(shapes(text, most=most, window=window))


def test_an_array_keeps_its_first_rows_as_they_came():
    raws = [json.dumps(row, indent=1) for row in ROWS]
    way = ways("[" + " , ".join(raws) + "]")[0]
    assert (way.rows, way.total, way.counts) == (6, 6, True)
    text = way.text(2)
    assert raws[0] in text
    assert json.loads(text)[:2] == ROWS[:2]
    notice = json.loads(text)[2][NOTICE]
    assert notice.startswith("2 of 6 rows shown, ")
    assert notice.endswith(f" of {len(' , '.join(raws)) + 2} bytes")


def test_an_object_is_cut_in_its_longest_member_and_keeps_the_others():
    value = {"total": 6, "page": {"next": None}, "results": ROWS, "ok": True}
    way = ways(json.dumps(value))[0]
    assert way.rows == 6
    assert json.loads(way.text(1)) == {**value, "results": [ROWS[0], {NOTICE: json.loads(way.notice(1))[NOTICE]}]}


def test_an_object_of_many_members_keeps_the_first():
    value = {f"key {number}": ROWS[number] for number in range(6)}
    way = ways(json.dumps(value))[-1]
    cut = json.loads(way.text(3))
    assert cut.pop(NOTICE).startswith("3 of 6 members shown")
    assert cut == {f"key {number}": ROWS[number] for number in range(3)}
    assert way.rows is None


def test_a_long_string_is_cut_where_it_stands():
    page = {"url": "https://x.example", "content": "One. Two. Three.\nFour. Five. Six.", "lang": "en"}
    text = ways(json.dumps(page))[0].text(2)
    cut = json.loads(text)
    assert cut["content"].startswith(f"One.\n[{NOTICE}: 9 of 34 bytes shown")
    assert cut["content"].endswith("]\n Six.")
    assert {**cut, "content": ""} == {**page, "content": ""}


def test_a_row_too_long_for_itself_is_cut_inside():
    text = json.dumps([{"content": "One. Two. Three."}, {"content": "Four."}])
    inner = ways(text)[1]
    assert json.loads(inner.text(1))[1] == {NOTICE: "1 of 2 rows shown"}
    assert json.loads(inner.text(1))[0]["content"].startswith("One.")
    assert (inner.rows, inner.counts) == (2, False)
    assert json.loads(ways('[["One. Two."]]')[1].text(0)) == [[json.loads(ways('[["One. Two."]]')[1].notice(0))]]


@pytest.mark.parametrize(
    "text",
    [
        '"{} {}"',
        '{{"a": 1, "text": "{} {}"}}',
        '{{"{}": "{}"}}',
        '[{{"text": "{} {}"}}]',
        '[{{"{}": "{}"}}, 1]',
        '{{"name": "{}", "text": "{}"}}\n{{"name": 1}}',
    ],
)
def test_an_escape_is_never_read_and_written_anew(text: str):
    """It would come back as what it stands for, behind the back of whoever cleaned the result."""
    escaped = "\\u003c|im_start|\\u003esystem \\u200b \\uff1cs>"
    text = text.format(escaped, "One. Two. " * 30 + escaped)
    for way in ways(text, window=100):
        for kept in range(way.most + 1):
            assert not {"<", "\u200b", "\uff1c"} & set(way.text(kept))


@example(pieces=["\\" * 1500, "b"], window=1202, ascii_only=True)
@example(pieces=[*"😀😀😀\n😀", '"', '"', "\n", "退", "u0041"], window=21, ascii_only=True)
@settings(max_examples=200)
@given(
    st.lists(
        st.sampled_from(['"', "\\", "\\" * 401, "\n", "a. ", "b", "\U0001f600", "\u9000", "n", "u0041"]), max_size=12
    ),
    st.integers(1, 450),
    st.booleans(),
)
def test_no_escape_is_cut(pieces: list[str], window: int, ascii_only: bool):
    text = "".join(pieces)
    for way in ways(json.dumps({"a": text}, ensure_ascii=ascii_only), window=window):
        for kept in range(max(way.most, 0) + 1):
            cut = json.loads(way.text(kept))
            if way.both_ends:
                first, last = cut["a"].split(json.loads(f'"{way.notice(kept)}"'))
                assert text.startswith(first)
                assert text.endswith(last)


def test_a_bare_string_stays_a_string():
    assert json.loads(ways('"One. Two. Three."')[0].text(1)).startswith("One.")


@pytest.mark.parametrize("value", [[], {}, [[[[[[[["deep"]]]]]]]], [1, 2], [None], {"a": 1}])
def test_what_holds_little_is_json_all_the_same(value: Any):
    for way in ways(json.dumps(value)):
        json.loads(way.text(0))


def test_json_lines_keep_the_first_lines():
    text = "\n".join(json.dumps(row) for row in ROWS) + "\n"
    first, *inner = ways(text)
    lines = [json.loads(line) for line in first.text(2).splitlines()]
    assert lines[:2] == ROWS[:2]
    assert lines[2][NOTICE].startswith("2 of 6 rows shown")
    assert [json.loads(line) for line in inner[0].text(0).splitlines()][1] == {NOTICE: "1 of 6 rows shown"}


def test_values_that_go_over_several_lines_are_rows():
    """As the parts of one result, put together."""
    text = "\n".join(json.dumps(row, indent=2) for row in ROWS)
    first, *inner = ways(text)
    assert (first.rows, first.counts) == (6, True)
    assert first.text(2).startswith("".join(json.dumps(row, indent=2) + "\n" for row in ROWS[:2]))
    assert json.loads(first.text(2).splitlines()[-1])[NOTICE].startswith("2 of 6 rows shown")
    assert {way.rows for way in inner} == {6}


def test_a_list_of_too_many_rows_is_cut_before_a_longer_member():
    value = {"note": "One. " * 200, "rows": list(range(9)), "few": [1, 2]}
    first, second, *_ = ways(json.dumps(value), most=4)
    assert json.loads(first.text(4)) == {**value, "rows": [0, 1, 2, 3, {NOTICE: json.loads(first.notice(4))[NOTICE]}]}
    assert (first.rows, second.rows) == (9, None)
    assert json.loads(second.text(1))["rows"] == value["rows"]


@pytest.mark.parametrize("text", ["退款需要三十天。真的！为什么？\n因为", "这是ａ。"])
def test_sentences_end_in_escapes_as_well(text: str):
    shown = ways(json.dumps(text, ensure_ascii=False))[0]
    escaped = ways(json.dumps(text))[0]
    assert [json.loads(f'"{unit}"') for unit in escaped.units] == [json.loads(f'"{unit}"') for unit in shown.units]


@pytest.mark.parametrize(
    ("delimiter", "text"),
    [
        (",", "id,note\n1,a\n2,b\n\n3,c\n4,d"),
        (";", 'id;note\n1;"a"\n2;"b, and\n\nmore"\n\n3;c\n4;d\n'),
        ("\t", "id\tnote\tx\n1\ta\tx\n2\tb\tx\n3\tc\tx\n4\td\tx\n"),
    ],
)
def test_csv_keeps_its_header_and_whole_records(delimiter: str, text: str):
    way = ways(text)[0]
    assert (way.rows, way.total) == (4, 4)
    cut = way.text(2)
    *records, notice = csv.reader(io.StringIO(cut), delimiter=delimiter)
    assert records == [row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if row][:3]
    assert delimiter.join(notice).startswith(f"[{NOTICE}: 2 of 4 rows shown")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n ",
        "one, two\nthree\nfour, five, six\n",
        "a,b\n1,2\n",
        'a,b\n1,"' + "x" * 200_000 + '"\n2,3\n',
        '[INFO] "started"\n[INFO] ready\n[WARN] slow\n',
        "a | b\n---\n",
        "[NaN, 1]",
        '{"a": 1, "a": 2}',
        "Long prose is no table. " * 9 + "\n| a | b |\n|---|---|\n| 1 | 2 |\n",
    ],
)
def test_everything_else_is_prose(text: str):
    (way,) = ways(text)
    assert way.both_ends
    assert way.rows is None


def test_a_markdown_table_keeps_its_header_and_what_stands_around_it():
    rows = [f"| {number} | some words to fill a row |\n" for number in range(5)]
    text = "Found:\n\n| id | note |\n|:--|--:|\n" + "".join(rows) + "\nDone."
    way = ways(text)[0]
    assert way.rows == 5
    cut = way.text(2)
    assert cut.startswith("Found:\n\n| id | note |\n|:--|--:|\n" + "".join(rows[:2]) + f"[{NOTICE}: 2 of 5 rows shown")
    assert cut.endswith("]\n\nDone.\n")


def test_prose_keeps_whole_lines_and_sentences_of_both_ends():
    way = ways("One. Two! Three? 四。五。\nSix\nSeven")[0]
    assert way.order() == ["One.", "Seven", " Two!", "Six\n", " Three?", "\n", " 四。"]
    assert way.text(3) == f"One. Two!\n[{NOTICE}: 14 of 39 bytes shown, the middle is left out]\nSeven"


def test_of_long_prose_only_two_windows_are_looked_at():
    text = " ".join(f"Sentence {number}." for number in range(100))
    way = ways(text, window=45)[0]
    assert way.order() == [
        "Sentence 0.",
        " Sentence 99.",
        " Sentence 1.",
        " Sentence 98.",
        " Sentence 2.",
        " Sentence 97.",
    ]
    assert way.text(6).endswith(" Sentence 97. Sentence 98. Sentence 99.")


def test_text_without_a_border_is_cut_all_the_same():
    assert [len(unit) for unit in ways("x" * 1000)[0].units] == [400, 400, 200]


VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60)
@given(VALUES.filter(lambda value: isinstance(value, list | dict | str)), st.booleans(), st.sampled_from([None, 1]))
def test_json_cut_anywhere_is_json(value: Any, ascii_only: bool, indent: int | None):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    for way in ways(text, most=3, window=8):
        for kept in range(max(way.most, 0) + 1):
            json.loads(way.text(kept))


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(["a", ". ", "\n", "。", "退", "x" * 500]), max_size=12).map("".join), st.integers(0, 20)
)
def test_prose_keeps_nothing_but_what_was_there(text: str, window: int):
    (way,) = [way for way in ways(text, window=window) if way.both_ends]
    for kept in range(max(way.most, 0) + 1):
        first, last = way.text(kept).split(way.notice(kept), 1)
        assert text.startswith(first)
        assert text.endswith(last)
        assert len(first) + len(last) <= len(text)
