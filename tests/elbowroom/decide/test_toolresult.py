"""A tool's result fits its caps, in few questions, and says what is missing."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elbowroom.clean.known import Known
from elbowroom.clean.result import clean_result
from elbowroom.count.counter import Tally
from elbowroom.decide.shapes import NOTICE
from elbowroom.decide.toolresult import Capped, cap
from elbowroom_proxy.vocabularies import Vocabularies

Measure = Callable[[str], int]
WORDS = ("refund", "policy", "shipped", "2026-10-01", "退款", "订单", "x9Qz", "//", "  ", "a.b", "Yes.", "No。", "\t")
ROWS = [{"id": number, "note": "refund policy " * 8, "ok": True} for number in range(5000)]


def o200k() -> Measure:
    encoding = Vocabularies().encoding("o200k_base")
    return lambda text: len(encoding.encode(text, disallowed_special=()))


O200K = o200k()


def capped(text: str, max_tokens: int, max_rows: int = 200, measure: Measure = O200K) -> tuple[Capped, list[int]]:
    """What became of the text, and how many texts each question asked about."""
    questions: list[int] = []
    walk: Generator[Any, Any, Capped] = cap(text, max_tokens=max_tokens, max_rows=max_rows, tally=Tally("o200k_base"))
    try:
        need = next(walk)
        while True:
            questions.append(len(need.texts))
            need = walk.send(tuple(map(measure, need.texts)))
    except StopIteration as stop:
        return stop.value, questions


def test_a_short_result_is_left_as_it_is():
    text = json.dumps(ROWS[:3], indent=3)
    assert capped(text, 4000) == (Capped(text, O200K(text), 3, 3, capped=False), [1])
    assert capped("", 0) == (Capped("", 0, None, None, capped=False), [])


def test_too_many_rows_are_cut_though_their_tokens_would_fit():
    result, questions = capped(json.dumps(list(range(300))), 4000)
    assert (result.rows_before, result.rows_after, result.capped) == (300, 200, True)
    rows = json.loads(result.text)
    assert rows[:200] == list(range(200))
    assert rows[200][NOTICE].startswith("200 of 300 rows shown")
    assert len(questions) <= 2


@pytest.mark.parametrize("indent", [None, 2])
def test_five_thousand_rows_become_as_many_as_fit(indent: int | None):
    text = json.dumps({"total": 5000, "results": ROWS}, indent=indent)
    result, questions = capped(text, 1000)
    assert len(questions) == 2
    assert 900 < result.tokens <= 1000
    assert result.tokens == O200K(result.text)
    cut = json.loads(result.text)
    assert cut["total"] == 5000
    assert cut["results"][:-1] == ROWS[: result.rows_after]
    assert f"{result.rows_after} of 5000 rows shown" in cut["results"][-1][NOTICE]


@pytest.mark.parametrize("note", ["refund policy ", "\u9000\u6b3e\u653f\u7b56\uff0c", "Z\u00fcrich caf\u00e9 \u2013 "])
def test_cleaning_and_cutting_work_through_no_rows_that_go(note: str):
    """What is done for each row is done by parsers and searches, so Python has no more to do for more rows.

    `python -m bench.results` says what that comes to beside parsing.
    """

    def work(rows: int) -> int:
        text = json.dumps([{"id": number, "note": note * 8, "ok": True} for number in range(rows)], ensure_ascii=False)
        calls = 0

        def called(*_: object) -> None:
            nonlocal calls
            calls += 1

        sys.setprofile(called)
        try:
            cleaned = clean_result(text, Known(1 << 26)).text
            capped(cleaned, 4000, measure=lambda piece: len(piece) // 4)
        finally:
            sys.setprofile(None)
        return calls

    work(9000)  # what is imported or compiled once is no work of these rows
    assert work(9000) <= work(900) + 50


def test_a_page_is_cut_in_its_text():
    page = {"url": "https://x.example", "content": "退款需要三十天。Refunds take 30 days.\n" * 2000}
    result, _ = capped(json.dumps(page), 500)
    assert 400 < result.tokens <= 500
    assert json.loads(result.text)["url"] == page["url"]
    assert (result.rows_before, result.rows_after) == (None, None)


def test_of_rows_too_long_for_the_cap_the_first_is_cut():
    pages = [{"content": "Refunds take 30 days. " * 2000}] * 3
    result, _ = capped(json.dumps(pages), 500)
    assert 400 < result.tokens <= 500
    assert (result.rows_before, result.rows_after) == (3, 1)
    assert json.loads(result.text)[1] == {NOTICE: "1 of 3 rows shown"}


def test_where_nothing_fits_the_notice_stands_alone():
    result, questions = capped(json.dumps(ROWS[:30]), 3)
    assert json.loads(result.text)[0][NOTICE].startswith("0 of 30 rows shown")
    assert (result.rows_after, result.capped) == (0, True)
    assert len(questions) == 1
    assert NOTICE in capped("word " * 1000, 0)[0].text


def test_no_notice_promises_a_tool():
    for text in (json.dumps(ROWS), "id,note\n" + "1,a\n" * 900, "Some words. " * 9000):
        assert "tool" not in capped(text, 300)[0].text


TEXTS = st.lists(st.sampled_from([*WORDS, " ", "\n"]), min_size=1, max_size=40).map("".join)
RESULTS = st.one_of(
    TEXTS.map(lambda text: text * 9),
    st.lists(TEXTS, max_size=12).map(json.dumps),
    st.lists(st.dictionaries(st.sampled_from(WORDS), TEXTS, max_size=3), min_size=1, max_size=12).flatmap(
        lambda rows: st.sampled_from(
            [json.dumps(rows), json.dumps({"n": 1, "rows": rows}, indent=1), "\n".join(map(json.dumps, rows))]
        )
    ),
    st.lists(TEXTS.map(lambda text: text.replace("\n", " ")), min_size=3, max_size=20).map(
        lambda rows: "| a | b |\n|---|---|\n" + "".join(f"| 1 | {row} |\n" for row in rows)
    ),
)


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@settings(max_examples=80)
@given(RESULTS, st.integers(0, 400), st.integers(1, 8))
def test_every_result_fits_and_stays_what_it_was(text: str, max_tokens: int, max_rows: int):
    result, questions = capped(text, max_tokens, max_rows)
    assert result.tokens == O200K(result.text)
    assert len(questions) <= 12
    if result.tokens > max_tokens:
        assert " 0 of " in f" {result.text}".replace('"', " ").replace("[", " ")
    if result.capped:
        assert is_json(result.text) or not is_json(text)
        assert NOTICE in result.text
        assert (result.rows_after or 0) <= max_rows
    else:
        assert result.text == text
    assert result == capped(text, max_tokens, max_rows)[0]


def test_a_counter_whose_counts_do_not_add_up_is_believed():
    """The whole costs more than its parts: what the sum let in is taken out again."""

    def measure(text: str) -> int:
        return round(len(text) ** 1.05 / 4)

    result, questions = capped(json.dumps(ROWS[:150]), 4000, measure=measure)
    assert result.tokens == measure(result.text) <= 4000
    assert (result.rows_after or 0) > 50
    assert json.loads(result.text)[:-1] == ROWS[: result.rows_after]
    assert len(questions) <= 5


def test_a_counter_that_never_agrees_is_not_asked_for_ever():
    def measure(text: str) -> int:
        return 4001 if NOTICE in text and "refund" in text else len(text) // 4

    result, questions = capped(json.dumps(ROWS[:150]), 4000, measure=measure)
    assert result.tokens <= 4000
    assert len(questions) <= 12


def test_where_every_row_costs_more_than_its_bytes_promised_none_is_kept():
    result, _ = capped(json.dumps([{"id": number, "note": "refund " * 12} for number in range(20)]), 60, measure=len)
    assert (result.rows_after or 0) <= 1
    assert NOTICE in result.text
