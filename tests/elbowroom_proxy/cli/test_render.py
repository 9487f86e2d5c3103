"""What a record looks like on a terminal, and that nothing in it can steer one."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from elbowroom.account.trace import Billed, Cited, Facts, record
from elbowroom.records import (
    Basis,
    Classified,
    Cleaning,
    Count,
    Decision,
    Drop,
    Edit,
    Fate,
    Mode,
    Redaction,
    ToolResult,
    Window,
)
from elbowroom_proxy.cli import render

WINDOW = Window(
    context_window=8192, input_limit=8000, instructions=100, tools=0, examples=50, conversation=150, question=40,
    framing=10, answer_reserve=700, safety_margin=64, evidence_ceiling=6000, evidence_budget=6000,
)  # fmt: skip


def decision(**more):
    known: dict[str, Any] = {
        "mode": Mode.ENFORCE,
        "model": "demo-small",
        "policy_id": "default",
        "policy_version": "1",
        "policy_digest": "d",
        "query_class": Classified("how_to", "cue", "how do", follow_up=True),
        "window": WINDOW,
        "counted": Count(700, Basis.MODELLED, 4),
        "documents": (
            Fate(0, "dup\x1b[2J", "dropped", reason=Drop.DUPLICATE, detail="same text as 热泵", tokens=120),
            Fate(
                1,
                "热泵",
                "admitted",
                label="S10",
                tokens=200,
                tokens_before=900,
                spans=((0, 9),),
                also_in=("dup\u202e",),
            ),
            Fate(2, "b", "admitted", label="S2", tokens=100, stripped=3, neutralised=1),
            Fate(3, "c", "dropped", reason=Drop.EMPTY),
            Fate(4, "e", "admitted", label="S3", tokens=9, form="summary", detail="merged with b", disputes=("b",)),
        ),
        "evidence_tokens": 350,
        "reranked_count": 0,
        "tool_results": (
            ToolResult(3, "readings", 9000, 400, 500, 20, capped=True),
            ToolResult(5, None, 90, 90, None, None, capped=False),
            ToolResult(6, "log", 9000, 400, None, None, capped=True),
        ),
        "history_dropped": (1, 2, 3, 7),
        "examples_dropped": (9,),
        "edits": (Edit.TAGS_REMOVED, Edit.EVIDENCE_ADDED),
        "notes": ("a note\nwith a line feed",),
        "answers": (),
    }
    return Decision(**{**known, **more})


FACTS: dict[str, Any] = {
    "trace_id": "t1",
    "time": "2026-03-01T10:00:00.000Z",
    "request_id": "req_1",
    "client_request_id": "mine\x07",
    "upstream": "demo",
    "status": 200,
    "finish_reason": "stop",
    "billed": Billed(prompt_tokens=702, completion_tokens=30),
    "cited": Cited(("S2",), ("S7",), ("S10",)),
    "timings_ms": {"overhead": 1.25, "first_byte": 2.0},
}


def told(outcome, **facts):
    return render.record(record(outcome, Facts(**{**FACTS, **facts})))


def test_what_was_redacted_is_named_with_its_places():
    found = (Redaction("aws_key", 1, 2, ((3, 23), (30, 50))), Redaction("mail", 2, 1, ((0, 9),), "title"))
    documents = (Fate(0, "a", "admitted", label="S1", tokens=9, redactions=found),)
    results = (ToolResult(3, "find", 90, 80, None, None, capped=False, redacted=3, redactions=found[:1]),)
    said = (Redaction("mail", 1, 1, ((4, 9),), "messages[2]"),)
    out = told(decision(documents=documents, tool_results=results, redactions=said))
    assert "\nmessages   mail#1 redacted in messages[2] at 4-9\n" in out
    assert "9  aws_key#1 redacted 2 times at 3-23 30-50; mail#2 redacted in its title at 0-9\n" in out
    assert "find: 90 bytes, 3 values redacted, aws_key#1 redacted 2 times at 3-23 30-50\n" in out


def test_a_whole_record_reads_like_this():
    expected = """\
trace      t1 2026-03-01T10:00:00.000Z
ids        req_1, client's mine\\x07
request    enforce, demo-small, via demo, status 200
class      how_to, by cue how do, a follow-up
window     |AAAAAAIHHQEEEM··················································| 8,000
           A answer 700  I instructions 100  H history 200  Q question 50  E evidence 350  M margin 64  · unused 6,536
budget     evidence 6,000 = min(6,000; 8,000 - 700 answer - 100 instructions - 200 history - 50 question \
- 64 margin = 6,886)
documents  3 admitted, 2 dropped: duplicate 1, empty 1
           [S2]  b             100  3 invisible characters removed; 1 control strings broken
           [S3]  e               9  summary, of 0; merged with b; disagrees with b
           [S10] 热泵          200  excerpt, of 900; also in dup\\u202e
           -     dup\\x1b[2J    120  duplicate: same text as 热泵
           -     c               0  empty
tool       readings: cut to 400 of 9,000 bytes, 20 of 500 rows
tool       unnamed: 90 bytes, whole
tool       log: cut to 400 of 9,000 bytes
history    4 messages left out: 1-3, 7
examples   1 messages left out: 9
edits      tags_removed, evidence_added
tokens     counted 700 (modelled ±4), billed 702, difference +2; answer 30
citations  verified [S2], invented [S7], uncited [S10]
time       overhead 1.2 ms, first byte 2.0 ms
finish     stop
note       a note\\nwith a line feed"""
    assert told(decision()) == expected


def test_a_request_that_could_not_be_read_has_a_record_too():
    error = {"code": "invalid_request", "message": "not JSON\x00", "param": None}
    bare: dict[str, Any] = {"billed": None, "cited": None, "timings_ms": {}, "finish_reason": None, "request_id": None}
    text = told(None, **bare, client_request_id=None, upstream=None, status=400, error=error, disconnected=True)
    assert text.splitlines() == [
        "trace      t1 2026-03-01T10:00:00.000Z",
        "request    status 400",
        "error      invalid_request: not JSON\\x00",
        "window     not planned",
        "tokens     not counted, not billed",
        "finish     unknown, the client had gone",
    ]


def test_an_unplanned_window_is_drawn_where_its_size_is_known():
    story = record(decision(window=None, documents=(), counted=Count(4000, Basis.MODELLED)), Facts(**FACTS))
    assert list(render.window(story)) == ["window     not planned"]
    bar, legend = render.window(story, 8000)
    assert bar.count("P") == render.BAR // 2
    assert legend.endswith("P prompt as it came 4,000  · unused 4,000")


def test_a_request_without_documents_has_no_budget():
    story = record(decision(documents=()), Facts(**FACTS))
    assert not any(line.startswith("budget") for line in render.decision(story))


def test_bills_are_compared_only_where_there_are_both():
    story = record(decision(counted=Count(702, Basis.EXACT)), Facts(**FACTS))
    assert render.tokens(story) == "counted 702 (exact), billed 702, no difference; answer 30"
    story = record(decision(counted=None), Facts(**FACTS))
    assert render.tokens(story) == "not counted, billed 702; answer 30"


@given(st.lists(st.integers(0, 10**6), min_size=7, max_size=7), st.integers(1, 10**6))
def test_the_bar_has_its_width_and_shows_every_part(numbers, limit):
    reserve, instructions, tools, conversation, question, margin, evidence = numbers
    window = Window(
        context_window=limit, input_limit=limit, instructions=instructions, tools=tools, examples=0,
        conversation=conversation, question=question, framing=0, answer_reserve=reserve, safety_margin=margin,
        evidence_ceiling=limit, evidence_budget=0,
    )  # fmt: skip
    bar, *_ = render.window(record(decision(window=window, evidence_tokens=evidence), Facts(**FACTS)))
    drawn = bar.split("|")[1]
    assert len(drawn) == render.BAR
    for letter, number in zip("AITHQME", numbers, strict=True):
        assert (letter in drawn) == (number > 0)


@given(st.text())
def test_nothing_printed_can_steer_a_terminal(text):
    assert render.printable(text).isprintable()


@given(st.text(), st.integers(1, 40))
def test_padding_fills_exactly_its_cells(text, cells):
    assert render.width(render.pad(render.printable(text), cells)) == cells


def test_chinese_is_two_cells_wide_and_a_combining_mark_none():
    assert render.width("热泵") == 4
    assert render.width("e\u0301") == 1
    assert render.pad("热泵热泵", 6) == "热泵… "


def test_what_was_cleaned_says_where_and_what_was_taken_away_says_what():
    spans = tuple((at, at + 1) for at in range(6))
    text = told(
        decision(
            documents=(
                Fate(0, "a", "admitted", label="S1", stripped=6, stripped_spans=spans, message=4),
                Fate(1, "b", "admitted", label="S2", neutralised=1, neutralised_spans=((7, 9),)),
                Fate(2, "c", "dropped", cleanings=(Cleaning("title", 2, 1, ((0, 2),), ((3, 5),)),)),
                Fate(3, "d", "dropped", cleanings=(Cleaning("access", 0, 1, (), ((0, 2),)),)),
                Fate(4, "e", "dropped", cleanings=(Cleaning("version", 1, 0, ((4, 5),), ()),)),
            ),
            tool_results=(
                ToolResult(3, "find", 90, 80, None, None, capped=False, cleaned=2, cleaned_spans=((1, 2),), redacted=3),
                ToolResult(5, "see", 9, 9, None, None, capped=False, cleaned=1, neutralised_spans=((0, 2),)),
                ToolResult(4, "look", 90, 60, None, None, capped=False, withheld="schema /type\n"),
            ),
            tools_removed=("pay\x00",),
        ),
        calls_refused=2,
    )
    for line in (
        "6 invisible characters removed at 0-1 1-2 2-3 3-4 ...; in message 4",
        "1 control strings broken at 7-9",
        "0  2 removed in its title at 0-2; 1 broken in its title at 3-5",
        "0  1 broken in its access at 0-2\n",
        "0  1 removed in its version at 4-5\n",
        "tool       find: 90 bytes, 3 values redacted, 2 removed or broken at 1-2",
        "tool       see: 9 bytes, 1 removed or broken, broken at 0-2",
        "tool       look: 90 bytes, left out: schema /type\\n",
        "tools      taken away: pay\\x00",
        "calls      2 to tools that the request does not have, none handed on",
    ):
        assert line in text
