"""Four questions, answered from records of any version, with and without texts."""

from __future__ import annotations

import pytest

from elbowroom_proxy.cli.questions import CELLS, answers
from elbowroom_proxy.cli.render import width
from tests.records import told

POLICY = {"id": "base", "version": "3", "digest": "abcdef0123456789"}


def document(ident, label=None, reason=None, **more):
    decision = "admitted" if label else "dropped"
    return {"position": 0, "id": ident, "decision": decision, "label": label, "reason": reason, **more}


def asked(record, question, text=lambda _: None) -> list[str]:
    """The answer's lines."""
    lines = list(answers(record, text))
    begin = next(at for at, line in enumerate(lines) if question in line) + 1
    end = next((at for at in range(begin, len(lines)) if not lines[at].startswith(" ")), len(lines))
    return [line.strip() for line in lines[begin:end]]


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({}, ["no policy is recorded"]),
        ({"mode": None}, ["none: the request could not be read"]),
        ({"policy": POLICY, "killed": True}, ["policy base 3 (abcdef012345), mode enforce, the kill switch was on"]),
        (
            {"policy": POLICY, "query_class": "how_to", "classified": {"by": "cue", "cue": "how do\x1b"}},
            ["policy base 3 (abcdef012345), mode enforce", "class how_to, by cue 'how do\\\\x1b'"],
        ),
        (
            {"policy": POLICY, "query_class": "general", "classified": None},
            ["policy base 3 (abcdef012345), mode enforce", "class general, by nobody"],
        ),
    ],
)
def test_which_instruction_governed(record, expected):
    assert asked(told("a", **record), "Which instruction") == expected


def test_instructions_are_quoted_where_they_are_kept_and_named_by_their_hash_elsewhere():
    instructions = [
        {"message": 0, "role": "system", "digest": "d" * 32, "bytes": 1234},
        {"message": 2, "role": "developer", "digest": "e" * 32, "bytes": 5},
    ]
    record = told("a", policy=POLICY, instructions=instructions)
    kept = {"d" * 32: "Answer\nin \x1b[2J German."}
    assert asked(record, "Which instruction", kept.get)[1:] == [
        "message 0, system, 1,234 bytes: Answer in \\x1b[2J German.",
        "message 2, developer, 5 bytes: not kept; its hash is eeeeeeeeeeee",
    ]


def test_nothing_is_claimed_of_what_was_refused_before_it_was_decided_about():
    record = told("a", mode=None, window=None, error={"code": "rate_limit_exceeded"})
    refused = "the request was refused before anything was decided"
    assert asked(record, "Which instruction") == [f"none: {refused}"]
    for question in ("Which sources", "Which tool result", "What was left out"):
        assert asked(record, question) == [f"not known: {refused}"]


@pytest.mark.parametrize(
    ("documents", "cited", "expected"),
    [
        ([], None, ["none: no document was let in"]),
        ([document("x", "S1")], None, ["not known: no answer could cite the 1 passage that it was shown"]),
        (
            [document("y", "S2", version="2"), document("x", "S10", source_id="handbook"), document("z", "S1")],
            {"verified": ["S10", "S2"], "invented": [], "uncited": ["S1"]},
            ["[S2] y, version 2", "[S10] x, handbook", "shown and not cited: 1"],
        ),
        (
            [document("x", "S1")],
            {"verified": [], "invented": ["S8", "\x1b"], "uncited": ["S1"]},
            ["none is cited", "shown and not cited: 1", "INVENTED: [S8] [\\x1b] name no passage"],
        ),
        ([document("x", "S1")], {"verified": ["S1"], "invented": [], "uncited": []}, ["[S1] x"]),
    ],
)
def test_which_sources_supported(documents, cited, expected):
    assert asked(told("a", documents=documents, cited=cited), "Which sources") == expected


def result(message, **more):
    return {"message": message, "tool": "find", "bytes_before": 2000, "bytes_after": 2000, "capped": False, **more}


def since(message, *called, answer=False, tool="find"):
    return {"message": message, "tool": tool, "bytes": 70, "followed_by": list(called), "answer": answer}


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({}, ["none: no tool had been called"]),
        ({"tool_results": [result(3)]}, ["message 3, find: 2,000 bytes"]),
        (
            {"tool_results": [result(3, capped=True, bytes_after=50, tool=None)], "results_since": [since(3, "mail")]},
            ["message 3, unnamed: 2,000 bytes, cut to 50; then called was mail"],
        ),
        (
            {"tool_results": [result(3, withheld="its schema")], "results_since": [since(3)]},
            ["message 3, find: left out, its schema; no call followed"],
        ),
        (
            {"results_since": [since(5, "mail", "(unknown)", answer=True, tool=None)]},
            ["message 5, unnamed: 70 bytes; then the answer called mail, (unknown)"],
        ),
        (
            {"tool_results": [result(1)], "calls_refused": 2, "calls_tainted": 1},
            [
                "message 1, find: 2,000 bytes",
                "2 calls in the answer to tools that the request does not have: not handed on",
                "1 call in the answer that only documents and results ask for",
            ],
        ),
    ],
)
def test_which_tool_result_changed_it(record, expected):
    assert asked(told("a", **record), "Which tool result") == expected


def step(name, n):
    return {"step": name, "n": n}


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({}, ["nothing"]),
        (
            {"documents": [document("x", "S1"), *(document(f"d{n}", reason="stale") for n in range(6)),
                           document("", reason="not_permitted")]},
            ["6 stale: d0, d1, d2, d3, and 2 more", "1 not_permitted"],
        ),
        (
            {"too_much": [step("passages_dropped", 3), step("messages_dropped", 4), step("new", 1)]},
            ["4 earlier messages", "1 new"],
        ),
        (
            {"tools": {"removed": [{"name": "mail", "by": ["class", "key"]}, {"name": "rm\x1b", "by": []}]}},
            ["tool mail, not allowed by class and key", "tool rm\\x1b"],
        ),
        ({"tools_removed": ["mail"], "tools": None}, ["tool mail"]),
    ],
)  # fmt: skip
def test_what_was_left_out(record, expected):
    assert asked(told("a", **record), "What was left out") == expected


def test_no_line_is_longer_than_a_terminal_shows_whatever_its_letters():
    record = told("a", documents=[document("中" * 90, reason="stale")])
    assert max(width(line) for line in answers(record)) <= CELLS + 2
