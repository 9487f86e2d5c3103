from __future__ import annotations

from elbowroom.clean.text import Text
from elbowroom.decide.fates import fates, source_of
from elbowroom.decide.passage import Admitted, Dropped, Passage
from elbowroom.records import Document, Drop


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


def test_a_source_says_where_a_label_leads() -> None:
    source = source_of("S1", ADMITTED)
    assert (source.label, source.id, source.url, source.title) == ("S1", "d2", "https://e.x/1", None)
