"""Citations are the same however an answer is cut, and clients can read them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.clean.neutralise import neutralise
from elbowroom.records import Source
from elbowroom.write.citations import Citation, Invented, Verifier, url_citations

FRAGMENTS = st.sampled_from(
    ["[", "]", "【", "】", "S", "1", "12", "34567", " ", "退款", "😀", "\n", "[S1]", "【S2】", "[S9]"]
)
LABELS = ("S1", "S2", "S12")


def read(pieces: list[str], invented: Invented = "flag") -> tuple[str, Verifier]:
    verifier = Verifier(LABELS, invented)
    shown = "".join(verifier.feed(piece) for piece in pieces)
    return shown + verifier.finish(), verifier


@given(st.lists(FRAGMENTS, max_size=12).map("".join))
def test_every_cut_gives_the_same_citations_and_the_same_text(answer: str):
    text, whole = read([answer])
    assert text == answer
    for citation in whole.citations:
        assert answer[citation.start + 1 : citation.end - 1] == citation.label
        assert (citation.status == "verified") == (citation.label in LABELS)
    for cut in range(len(answer) + 1):
        text, halves = read([answer[:cut], answer[cut:]])
        assert (text, halves.citations, halves.invented) == (answer, whole.citations, whole.invented)
    text, single = read(list(answer))
    assert (text, single.citations) == (answer, whole.citations)


@given(st.lists(FRAGMENTS, max_size=12).map("".join))
def test_what_evidence_says_is_no_citation_where_it_is_quoted(evidence: str):
    assert not read([neutralise(evidence).text])[1].citations


@given(st.lists(FRAGMENTS, max_size=12))
def test_at_most_six_characters_are_held_back(pieces: list[str]):
    verifier = Verifier(LABELS)
    behind = 0
    for piece in pieces:
        behind += len(piece) - len(verifier.feed(piece))
        assert 0 <= behind <= 6


def seen(read: tuple[str, Verifier]) -> tuple:
    text, verifier = read
    return text, verifier.citations, verifier.invented, verifier.refused


@given(st.lists(FRAGMENTS, max_size=12).map("".join), st.sampled_from(["strip", "error"]))
def test_an_invented_marker_does_not_arrive_however_the_answer_is_cut(answer: str, invented: Invented):
    whole = seen(read([answer], invented))
    text, citations, _, refused = whole
    for cut in range(len(answer) + 1):
        assert seen(read([answer[:cut], answer[cut:]], invented)) == whole
    assert seen(read(list(answer), invented)) == whole
    markers = [(one[1] or one[2], *one.span()) for one in re.finditer(r"\[(S\d{1,4})\]|【(S\d{1,4})】", text)]
    assert {label for label, _, _ in markers} <= set(LABELS)
    assert [(one.label, one.start, one.end) for one in citations] == markers
    flagged = [one.label for one in read([answer])[1].citations if one.status == "invented"]
    if not flagged:
        assert (text, refused) == (answer, False)
    elif invented == "error":
        assert refused
        assert text == answer[: read([answer])[1].citations[len(citations)].start]


@pytest.mark.parametrize(
    ("answer", "left", "labels"),
    [
        ("a [S9] b [S1].", "a  b [S1].", ["S1"]),
        ("[S[S9]1] x", "[S1] x", ["S1"]),  # what is now side by side is a marker like any other
        ("[S[S9]9] x", "[S x", []),
        ("[S[S9][S9]9]", "[S", []),
        ("[S1][S9]", "[S1]", ["S1"]),
        ("[S9][S", "[S", []),
    ],
)
def test_what_is_left_where_markers_are_stripped(answer: str, left: str, labels: list[str]):
    text, verifier = read([answer], "strip")
    assert (text, [one.label for one in verifier.citations], verifier.invented) == (left, labels, ("S9",))


def test_an_error_ends_the_text():
    verifier = Verifier(LABELS, "error")
    assert [verifier.feed(piece) for piece in ("a [S1] b [S", "9] c", " d [S1]")] == ["a [S1] b ", "", ""]
    assert (verifier.finish(), verifier.refused, verifier.invented) == ("", True, ("S9",))


def test_text_without_a_bracket_is_shown_at_once():
    assert Verifier(LABELS).feed("Refunds take 30 days.") == "Refunds take 30 days."


@pytest.mark.parametrize(
    ("answer", "labels"),
    [
        ("退款需要30天[S1]。", ["S1"]),
        ("a [S1][S2] b【S12】", ["S1", "S2", "S12"]),
        ("[S1, S2] [s1] [S] [S12345] [S1】 S1 [ S1]", []),
        ("[[S1]]", ["S1"]),
    ],
)
def test_what_a_marker_is(answer: str, labels: list[str]):
    assert [citation.label for citation in read([answer])[1].citations] == labels


def test_offsets_are_code_points_of_the_whole_answer():
    verifier = read(["😀退", "款 [S", "7", "] x [S1", "]", " [S7]"])[1]
    assert verifier.citations == (
        Citation("S7", 4, 8, "invented"),
        Citation("S1", 11, 15, "verified"),
        Citation("S7", 16, 20, "invented"),
    )
    assert verifier.invented == ("S7",)


def test_annotations_hold_no_null_and_only_web_addresses():
    citations = read(["[S1] [S2] [S3] [S12] [S1]"])[1].citations
    sources = [
        Source("S1", "kb-1#3", "Refunds", "HTTPS://kb.example/1", "kb-1"),
        Source("S2", "kb-2", None, "http://kb.example/2", None),
        Source("S12", "kb-12", "Local", "javascript:alert(1)", None),
    ]
    made = url_citations(citations, sources)
    assert [one["url_citation"]["label"] for one in made] == ["S1", "S2", "S1"]
    assert made[0] == {
        "type": "url_citation",
        "url_citation": {
            "url": "HTTPS://kb.example/1",
            "title": "Refunds",
            "start_index": 0,
            "end_index": 4,
            "source_id": "kb-1",
            "label": "S1",
            "status": "verified",
        },
    }
    assert made[1]["url_citation"]["title"] == made[1]["url_citation"]["source_id"] == "kb-2"
    assert url_citations(citations, [Source("S1", "kb-1", "Refunds", None, None)]) == []


def test_a_label_that_stands_for_several_documents_names_them_all():
    sources = [Source("S1", "kb-1#1", "Refunds", "https://kb.example/1", "kb-1", ("kb-1#2",))]
    (made,) = url_citations([Citation("S1", 0, 4, "verified")], sources)
    assert made["url_citation"]["document_ids"] == ["kb-1#1", "kb-1#2"]
