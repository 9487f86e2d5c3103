"""The table of passages: every one in it, in order, with its reason in words, and a text only where it was captured."""

from __future__ import annotations

import json

import msgspec

from elbowroom.records import Drop, Fate
from elbowroom.records.decision import Redaction
from elbowroom_proxy.pages.passages import REASONS, left_out, passages
from elbowroom_proxy.pages.trace import Loose, page

CITED = {"verified": ["S1"], "invented": [], "uncited": ["S2"]}


def record(*fates: Fate, **more: object) -> Loose:
    told = {"documents": [msgspec.to_builtins(fate) for fate in fates], "cited": CITED, **more}
    return Loose(page(json.loads(json.dumps(told))).record)


def test_every_reason_has_words():
    assert set(REASONS) == set(Drop)
    assert all(REASONS.values())


def test_the_admitted_come_first_as_the_model_saw_them():
    found = passages(
        record(
            Fate(0, "a", "dropped", reason=Drop.STALE, tokens=5),
            Fate(1, "b", "admitted", "S2", tokens=7),
            Fate(2, "c", "admitted", "S1", tokens=9),
            Fate(3, "d", "admitted", "S10", tokens=9),
        )
    )
    assert [(one.id, one.label, one.cited) for one in found] == [
        ("c", "S1", True), ("b", "S2", False), ("d", "S10", False), ("a", None, None),
    ]  # fmt: skip
    assert found[3].why == REASONS[Drop.STALE]


def test_without_an_answer_nobody_says_what_was_cited():
    assert passages(record(Fate(0, "a", "admitted", "S1"), cited=None))[0].cited is None


def test_who_may_not_be_seen_has_no_name():
    (found,) = passages(record(Fate(0, "", "dropped", reason=Drop.NOT_PERMITTED, digest="abc")))
    assert (found.id, found.named) == ("abc", False)


def test_a_reason_of_another_version_is_shown_as_it_is():
    told = record(Fate(0, "a", "dropped", reason=Drop.STALE, tokens=3))
    told["documents"][0]["reason"] = "unheard_of"
    (found,) = passages(told)
    assert (found.reason, found.why) == ("unheard_of", "")
    assert left_out((found,))[0].why == ""


def test_what_was_left_out_is_summed_by_reason():
    found = passages(
        record(
            Fate(0, "a", "dropped", reason=Drop.STALE, tokens=5),
            Fate(1, "b", "dropped", reason=Drop.DUPLICATE, tokens=7),
            Fate(2, "c", "dropped", reason=Drop.DUPLICATE, tokens=9),
            Fate(3, "d", "admitted", "S1", tokens=1),
        )
    )
    assert [(one.reason, one.n, one.tokens) for one in left_out(found)] == [("duplicate", 2, 16), ("stale", 1, 5)]


def test_what_was_done_to_a_text_is_told():
    fate = Fate(
        0, "a", "admitted", "S1", also_in=("x",), disputes=("y", "z"), stripped=1200, neutralised=2, stale_score=True,
        message=4, spans=((0, 5), (7, 9), (10, 11), (12, 13), (14, 15)), form="excerpt", tokens_before=90,
        redactions=(Redaction("aws_key", 1, 1, ((0, 3),)),),
    )  # fmt: skip
    (found,) = passages(record(fate))
    assert found.marks == (
        "characters 0–5, 7–9, 10–11, 12–13 …", "also in x", "disagrees with y, z", "1,200 invisible characters removed",
        "2 control strings broken", "aws_key#1 redacted", "scored on another text", "came in message 4",
    )  # fmt: skip


def test_a_text_is_shown_where_it_was_captured_and_nowhere_else():
    fates = (
        Fate(0, "a", "admitted", "S1"),
        Fate(1, "b", "admitted", "S2"),
        Fate(2, "", "dropped", reason=Drop.NOT_PERMITTED),
        Fate(3, "c", "admitted", "S3", message=0),
        Fate(9, "gone", "admitted", "S4"),
    )
    body = {"documents": [{"text": "one", "title": "T"}, "a bare text", {"text": "hidden"}, {"text": "not this"}]}
    found = {one.position: (one.title, one.text) for one in passages(record(*fates), body)}
    assert found == {0: ("T", "one"), 1: (None, "a bare text"), 2: (None, None), 3: (None, None), 9: (None, None)}
    assert {one.text for one in passages(record(*fates))} == {None}
    assert {one.text for one in passages(record(*fates), {"documents": {"text": 1}})} == {None}
    assert passages(record(fates[0]), {"documents": [{"text": 7}]})[0].text is None
