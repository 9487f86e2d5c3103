"""Named as outdated, an older version of its source, or the same text with other words in it."""

from __future__ import annotations

import pytest

from elbowroom.decide.gates.superseded import build
from elbowroom.decide.passage import Refusal, Room
from tests.passages import limits, passage

TEXT = "Refunds of all annual and all monthly plans are made within {} days. Write to the desk for a form."
ZH = (
    "所有年度套餐与月度套餐的退款将在{}天内完成。请写信给服务台申请表格，并附上付款凭证与联系方式。"
    "服务台会按收到来信的先后顺序逐一答复。"
)
OLD, NEW = {"version": "2025-01-01"}, {"version": "2026-01-01"}


def ask(kept: list[dict], **known) -> Refusal | None:
    gate = build(limits())
    room = Room([passage(**{"position": at, **one}) for at, one in enumerate(kept)])
    return gate(passage(**{"position": 9, **known}), room)


def test_what_another_names_as_outdated_goes():
    refusal = ask([{"supersedes": ("kb@1",), "text": "New."}], text="Old.", source_id="kb", version="1")
    assert refusal == Refusal("d0 supersedes it")


def test_no_claim_beats_the_registry():
    claim = {"supersedes": ("kb",), "text": "New."}
    assert ask([claim], text="Old.", source_id="kb", authority=0.9) is None
    assert ask([{**claim, "authority": 0.9}], text="Old.", source_id="kb", authority=0.9) is not None


def test_an_older_version_of_the_same_source_goes_but_for_an_exception_that_it_names():
    kept = [{"text": "New words.", "source_id": "kb", "version": "1.10"}]
    old = {"source_id": "kb", "version": "1.9"}
    assert ask(kept, text="Old words.", **old) == Refusal("d0 is version 1.10 of the same source")
    assert ask(kept, text="Old words, except for gifts.", **old) is None


@pytest.mark.parametrize("text", [TEXT, ZH])
class TestTheSameTextWithOtherWords:
    def test_the_registered_source_is_right(self, text):
        kept = [{"text": text.format(7), "authority": 0.9, **OLD}]
        refusal = ask(kept, text=text.format(15), **NEW)
        assert refusal is not None
        assert refusal.detail == "d0 is another version, and its source has more authority"
        assert refusal.yields_to is not None
        assert refusal.repeats is None

    def test_among_equals_the_newer_is_right(self, text):
        refusal = ask([{"text": text.format(7), **NEW}], text=text.format(15), **OLD)
        assert refusal is not None
        assert refusal.detail == "d0 is a newer version"

    @pytest.mark.parametrize(("first", "second"), [({}, {}), (NEW, NEW), (NEW, {}), ({}, OLD)])
    def test_where_nothing_decides_both_stay(self, text, first, second):
        assert ask([{"text": text.format(7), **first}], text=text.format(15), **second) is None

    def test_under_another_title_it_is_about_something_else(self, text):
        assert (
            ask([{"text": text.format(7), "title": "Gold", **NEW}], text=text.format(15), title="Blue", **OLD) is None
        )

    def test_an_exception_that_the_older_names_stays(self, text):
        older = text.format("7, except for gifts, 15")
        assert ask([{"text": text.format(7), **NEW}], text=older, **OLD) is None


def test_a_copy_is_no_other_version():
    assert ask([{"text": TEXT.format(7), **NEW}], text=TEXT.format(7), **OLD) is None
