"""Calls and their results: alone, in parallel, with and without each other."""

from __future__ import annotations

from typing import Any

import pytest

from elbowroom.count.openai.bill import Bill
from elbowroom.count.openai.calls import Calls
from elbowroom.count.openai.families import family
from elbowroom.errors import CountUnavailable


def call(identity: Any, name: Any = "get_weather", arguments: Any = '{"city": "Oslo"}') -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def bill_of(*calls: dict[str, Any], results: tuple[tuple[Any, str], ...] = (), rules: str = "gpt-4o") -> Bill:
    bill, known = Bill(0), Calls(family(rules))
    if calls:
        known.add(bill, calls)
    for identity, text in results:
        known.add_result(bill, {"role": "tool", "tool_call_id": identity}, [text])
    return bill


WRAPPED = (
    '{"tool_uses":[{"recipient_name":"functions.get_weather","parameters":{"city":"Oslo"}},'
    '{"recipient_name":"functions.get_weather","parameters":{}}]}'
)


def test_arguments_that_are_not_text_are_not_left_out() -> None:
    with pytest.raises(CountUnavailable, match="arguments"):
        bill_of(call("1", arguments={"city": "Oslo"}))
    with pytest.raises(CountUnavailable, match="arguments"):
        bill_of(call("1"), call("2", arguments=5))
    assert bill_of(call("1", arguments=None)).texts == bill_of(call("1", arguments="")).texts


def test_one_call_and_its_result() -> None:
    bill = bill_of(call("1"), results=(("1", "rain"),))
    assert bill.texts == ["functions.get_weather", '{"city":"Oslo"}', "get_weather", "rain"]
    assert (bill.constant, bill.margin) == (12, 2)
    assert bill_of(call("1"), results=(("1", "rain"),), rules="gpt-5").constant == 18


def test_a_name_is_read_once_more_for_the_first_result_only() -> None:
    assert bill_of(call("1"), results=(("1", "a"), ("1", "b"))).texts[2:] == ["get_weather", "a", "", "b"]


def test_a_result_without_its_call_is_counted_all_the_same() -> None:
    bill = bill_of(results=(("1", "rain"), (None, "snow")))
    assert bill.texts == ["", "rain", "", "snow"]
    assert bill.constant == 12


def test_parallel_calls_are_one_call_of_a_wrapper() -> None:
    bill = bill_of(call("1"), call("2", arguments="{}"), results=(("1", "rain"), ("2", "snow")))
    assert bill.texts == [
        WRAPPED,
        *("rain", "snow"),
    ]
    assert (bill.constant, bill.margin) == (6 + 2 * 9, 12)


def test_results_of_parallel_calls_are_counted_escaped_where_they_are_not_ascii() -> None:
    bill = bill_of(call("1"), call("2"), results=(("1", '서울 "맑음"'), ("2", 'a "b"')))
    assert bill.texts[1:] == ['\\uc11c\\uc6b8 \\"\\ub9d1\\uc74c\\"', 'a "b"']
    assert bill_of(call("1"), results=(("1", "서울"),)).texts[-1] == "서울"


@pytest.mark.parametrize(
    ("arguments", "compact"),
    [
        ('{ "a" : [1, 2] }', '{"a":[1,2]}'),
        ('{\n"a":"é \\u00e9"}', '{"a":"é é"}'),
        ("not json at all", "not json at all"),
        ('{"a":"no space"}', '{"a":"no space"}'),
        ("[ " * 5000, "[ " * 5000),
        (None, ""),
        ('{"a":1}', '{"a":1}'),
    ],
)
def test_arguments_lose_the_space_between_members(arguments: Any, compact: str) -> None:
    assert bill_of(call("1", arguments=arguments)).texts[1] == compact


@pytest.mark.parametrize("broken", [{}, {"function": None}, {"function": {"name": 5}, "id": []}])
def test_broken_calls_cost_their_framing(broken: dict[str, Any]) -> None:
    assert bill_of(broken).texts == ["functions.", ""]
    assert bill_of(broken, broken).constant == 6
