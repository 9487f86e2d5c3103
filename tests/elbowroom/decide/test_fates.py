from __future__ import annotations

from msgspec.structs import replace

from elbowroom.clean.known import Known
from elbowroom.clean.text import Text
from elbowroom.decide.access import Denied
from elbowroom.decide.fates import as_they_came, denials, disputes, fates, keyed, source_of
from elbowroom.decide.passage import Admitted, Dropped, Part, Passage
from elbowroom.decide.redaction import Searched
from elbowroom.records import Document, Drop, Redaction


def passage(position: int, text: str | None, **more: object) -> Passage:
    document = Document(position, f"d{position}", text, **more)  # type: ignore[arg-type]
    return Passage(document, Text.of(text or ""), "", 1.0, position, 5, 10)


ADMITTED = passage(2, "A\u200b [S1]", score=0.5, rerank_score=0.9, version="v2", source_id="s", url="https://e.x/1")
DROPPED = passage(0, None, score=0.5)


def test_every_document_has_one_fate_in_the_client_s_order() -> None:
    told = fates(
        [("S1", Admitted(ADMITTED, "A", 9, spans=((0, 1),)))],
        [Dropped(DROPPED, Drop.EMPTY, "its text is blank")],
        {2: ("x",)},
        b"k",
    )
    dropped, admitted = told
    assert (dropped.position, dropped.decision, dropped.reason) == (0, "dropped", Drop.EMPTY)
    assert (dropped.detail, dropped.tokens, dropped.score) == ("its text is blank", 15, 0.5)
    assert (admitted.label, admitted.tokens, admitted.tokens_before) == ("S1", 9, 15)
    assert (admitted.spans, admitted.also_in) == (((0, 1),), ("x",))
    assert (admitted.score, admitted.version, admitted.source_id) == (0.9, "v2", "s")
    assert (admitted.stripped, admitted.neutralised) == (1, 1)


def test_the_digest_is_keyed_and_of_the_text_as_it_came() -> None:
    def digest(text: str, key: bytes) -> str:
        return fates([], [Dropped(passage(0, text), Drop.EMPTY)], {}, key)[0].digest

    assert digest("a", b"k") == digest("a", b"k")
    assert len({digest("a", b"k"), digest("a", b"l"), digest("a ", b"k"), digest("\ud800", b"k")}) == 4


def test_what_was_found_in_a_document_is_told_beside_how_it_came() -> None:
    came = Document(2, "d2", "A\u200b key \u200b")
    found = {2: Searched(came, (Redaction("aws_key", 1, 1, ((2, 5),)),))}
    told = fates([("S1", Admitted(ADMITTED, "A", 9))], [Dropped(DROPPED, Drop.EMPTY)], {}, b"k")
    dropped, admitted = as_they_came(told, found, Known(1 << 20), b"k")
    assert dropped == told[0]
    assert admitted.redactions == found[2].redactions
    assert (admitted.stripped, admitted.stripped_spans) == (2, ((1, 2), (7, 8)))
    assert (admitted.neutralised, admitted.digest) == (1, keyed("A\u200b key \u200b", b"k"))
    assert (admitted.digest_sent, dropped.digest_sent) == (keyed("A", b"k"), "")
    nothing = {0: Searched(Document(0, "d0", None), (), "late")}
    assert as_they_came(told, nothing, Known(1 << 20), b"k") == told


def test_a_source_says_where_a_label_leads() -> None:
    source = source_of("S1", ADMITTED)
    assert (source.label, source.id, source.url, source.title) == ("S1", "d2", "https://e.x/1", None)


def test_a_sources_title_is_what_can_be_seen_of_it() -> None:
    said = [(" Re\u200bfunds\r\n [S1] \u202e", "Refunds [S1]"), (" \u200b", None), ("", None)]
    assert [source_of("S1", passage(0, "A", title=raw)).title for raw, _ in said] == [title for _, title in said]


def chunk(position: int, text: str) -> Passage:
    return passage(position, text, source_id="kb", chunk_index=position, score=0.5)


FIRST, SECOND = chunk(0, "One. Two."), chunk(1, "Three. Four.")
TOGETHER = replace(
    FIRST,
    text=Text.of("One. Two.\nThree. Four."),
    parts=(Part(FIRST.document, FIRST.text, 0, 15), Part(SECOND.document, SECOND.text, 10, 15)),
)


def test_the_documents_of_a_merged_passage_share_its_label_and_cost() -> None:
    told = fates([("S1", Admitted(TOGETHER, TOGETHER.text.clean, 20))], [], {1: ("x",)}, b"k")
    assert [(fate.label, fate.tokens, fate.tokens_before, fate.also_in) for fate in told] == [
        ("S1", 20, 15, ()),
        ("S1", 0, 15, ("x",)),
    ]
    assert [fate.detail for fate in told] == ["merged with d1", "merged with d0"]
    assert all(fate.stale_score for fate in told)
    assert source_of("S1", TOGETHER).merged == ("d1",)


def test_an_excerpt_of_it_is_told_by_each_document_s_own_places() -> None:
    both = Admitted(TOGETHER, "", 20, ((5, 16),), "excerpt")
    assert [fate.spans for fate in fates([("S1", both)], [], {}, b"k")] == [((5, 10),), ((0, 6),)]
    second = Admitted(TOGETHER, "", 20, ((10, 16),), "excerpt")
    one, two = fates([("S1", second)], [], {}, b"k")
    assert (one.decision, one.reason, one.tokens) == ("dropped", Drop.OVER_BUDGET, 15)
    assert one.detail == "merged into S1, of which nothing is sent that it says"
    assert (two.decision, two.tokens, two.form) == ("admitted", 20, "excerpt")


def test_dropped_together_is_dropped_each() -> None:
    told = fates([], [Dropped(TOGETHER, Drop.OVER_COUNT, "full")], {}, b"k")
    assert [(fate.id, fate.reason, fate.tokens) for fate in told] == [
        ("d0", Drop.OVER_COUNT, 15),
        ("d1", Drop.OVER_COUNT, 15),
    ]


def test_spans_of_a_parent_say_so() -> None:
    one = replace(FIRST, document=replace(FIRST.document, parent_id="p"))
    (told,) = fates([("S1", Admitted(one, "x", 9, ((3, 4),), "parent"))], [], {}, b"k")
    assert (told.form, told.detail) == ("parent", "spans are of its parent p")


def test_a_registered_link_takes_the_place_of_the_document_s_own() -> None:
    assert source_of("S1", replace(ADMITTED, link="https://w.example/1")).url == "https://w.example/1"


def test_two_that_disagree_are_told_once() -> None:
    labelled = [("S2", Admitted(FIRST, "", 9)), ("S1", Admitted(SECOND, "", 9))]
    told = fates(labelled, [Dropped(DROPPED, Drop.EMPTY)], {}, b"k", {0: ("d1", "gone", "d0"), 1: ("d0",)})
    assert [fate.disputes for fate in told if fate.label] == [("d1", "gone", "d0"), ("d0",)]
    assert disputes(told) == ["S1 and S2 are versions of one text and disagree"]


def test_who_may_not_be_seen_has_a_hash_and_no_name() -> None:
    document = Document(4, "secret-id", "secret text", "secret title", source_id="s", url="u", version="v", message=2)
    (told,) = denials([Denied(document, "it is another tenant's")], b"k")
    assert (told.position, told.message, told.decision, told.reason) == (4, 2, "dropped", Drop.NOT_PERMITTED)
    assert (told.detail, told.digest) == ("it is another tenant's", keyed("secret text", b"k"))
    assert "secret" not in repr(told)
    assert (told.id, told.source_id, told.version, told.tokens) == ("", None, None, 0)


def test_the_label_stands_with_the_document() -> None:
    def label(access: object) -> str | None:
        return fates([], [Dropped(passage(0, "x", access=access), Drop.EMPTY)], {}, b"k")[0].access

    assert (label({"label": "internal"}), label({"label": "x" * 500})) == ("internal", "x" * 120)
    assert label(None) is label({}) is label({"label": 7}) is None
