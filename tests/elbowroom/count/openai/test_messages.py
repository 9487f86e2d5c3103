"""Messages: framing, names, parts, and what cannot be counted."""

from __future__ import annotations

from typing import Any

import pytest

from elbowroom.count.openai.bill import Bill
from elbowroom.count.openai.families import family
from elbowroom.count.openai.messages import add_messages
from elbowroom.errors import CountUnavailable
from elbowroom.records import Basis

PIXEL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"  # the header says 1 x 1
CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def bill_of(*messages: Any, tools: bool = False, sizes: Any = ()) -> tuple[Bill, bool]:
    bill = Bill(0)
    return bill, add_messages(bill, messages, family("gpt-4o"), with_tools=tools, sizes=sizes)


def texts(*messages: Any, tools: bool = False) -> list[str]:
    return bill_of(*messages, tools=tools)[0].texts


@pytest.mark.parametrize("role", ["system", "developer", "user", "assistant"])
def test_a_message_costs_its_frame_and_its_text(role: str) -> None:
    bill, system = bill_of({"role": role, "content": "hello"})
    assert (bill.constant, bill.texts, bill.margin, bill.basis) == (4, ["hello"], 0, Basis.MODELLED)
    assert system == (role in {"system", "developer"})


def test_a_name_costs_one_more() -> None:
    bill, _ = bill_of({"role": "user", "content": "hello", "name": "ann"})
    assert (bill.constant, bill.texts) == (5, ["hello", "ann"])
    assert bill_of({"role": "user", "content": "hello", "name": ""})[0].constant == 4


def test_the_first_system_message_ends_in_a_line_break_where_there_are_tools() -> None:
    messages = [{"role": "developer", "content": "be"}, {"role": "system", "content": "good"}]
    assert texts(*messages, tools=True) == ["be\n", "good"]
    assert texts(*messages) == ["be", "good"]
    parts = {"role": "system", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    assert texts(parts, tools=True) == ["a", "b\n"]
    assert texts({"role": "system", "content": []}, tools=True) == []


def test_each_text_part_is_a_text_of_its_own() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "refusal", "refusal": "no"}]
    assert texts({"role": "assistant", "content": parts}) == ["a", "no"]
    assert texts({"role": "assistant", "content": None, "refusal": "never"}) == ["never"]


def test_text_beside_a_call_is_a_message_of_its_own() -> None:
    bill, _ = bill_of({"role": "assistant", "content": "Let me see.", "tool_calls": [CALL]})
    assert bill.texts == ["Let me see.", "functions.f", "{}"]
    assert bill.constant == bill_of({"role": "assistant", "content": "", "tool_calls": [CALL]})[0].constant + 4
    assert texts({"role": "assistant", "tool_calls": [CALL]}) == ["functions.f", "{}"]
    assert texts({"role": "assistant", "content": "x", "tool_calls": []}) == ["x"]


def test_a_result_belongs_to_its_call() -> None:
    answered = [{"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "tool_call_id": "1", "content": "ok"}]
    assert texts(*answered) == ["functions.f", "{}", "f", "ok"]


def test_the_older_calls() -> None:
    calls = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a": 1}'}}
    bill, _ = bill_of(calls, {"role": "function", "name": "f", "content": "ok"})
    assert bill.texts == ["f", '{"a": 1}', "f", "ok"]
    assert (bill.constant, bill.margin) == (10, 4)
    assert texts({"role": "function", "name": None, "content": "ok"}) == ["", "ok"]
    assert texts({"role": "assistant", "content": "x", "function_call": None}) == ["x"]


def picture(**image: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": image}]}


def test_a_picture_is_billed_by_its_size_and_bounded_without_one() -> None:
    sized, _ = bill_of(picture(url=PIXEL))
    assert (sized.constant, sized.basis, sized.margin) == (4 + 255, Basis.MODELLED, 3)
    remote, _ = bill_of(picture(url="https://example.com/a.png"))
    assert (remote.constant, remote.basis) == (4 + 1445, Basis.BOUNDED)
    assert bill_of(picture(url="https://example.com/a.png", detail="low"))[0].constant == 4 + 85
    told, _ = bill_of(picture(url="https://example.com/a.png"), sizes=[(1024, 1024)])
    assert (told.constant, told.basis) == (4 + 765, Basis.MODELLED)


@pytest.mark.parametrize(
    "message",
    [
        5,
        {"role": "user", "content": 5},
        {"role": "user", "content": [5]},
        {"role": "user", "content": [{"text": "no type"}]},
        {"role": "user", "content": [{"type": "text", "text": None}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": None}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": 5}}]},
        {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": ""}}]},
        {"role": "user", "content": [{"type": "file", "file": {}}]},
        {"role": "user", "content": [{"type": ["text"]}]},
        {"role": "assistant", "content": None, "audio": {"id": "a"}},
        {"role": "assistant", "content": None, "tool_calls": 5},
        {"role": "assistant", "content": None, "tool_calls": ["f"]},
        {"role": "assistant", "content": None, "tool_calls": [{"type": "custom", "custom": {}}]},
    ],
)
def test_what_cannot_be_counted_says_so(message: Any) -> None:
    with pytest.raises(CountUnavailable, match="cannot be counted") as caught:
        bill_of(message)
    assert caught.value.param == "messages"
