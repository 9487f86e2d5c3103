from __future__ import annotations

from elbowroom.clean.known import Known
from elbowroom.clean.text import Text, clean_line
from elbowroom.decide.cleanings import attributes, cleanings, cleanings_before
from elbowroom.decide.passage import Passage
from elbowroom.records import MOST_SPANS, Cleaning, Document

KNOWN = Known(1 << 16)


def passage(**fields: object) -> Passage:
    document = Document(0, "d", "A text.", **fields)  # type: ignore[arg-type]
    shown = [clean_line(raw) for raw in attributes(document).values()]
    return Passage(document, Text.of("A text."), shown[0], 1.0, 0, 5, 10, version=shown[1], access_label=shown[2])


def test_where_nothing_was_done_nothing_is_told() -> None:
    assert cleanings(passage()) == ()
    assert cleanings(passage(title="Two\n  lines", version="v" * 200, access={"label": "internal"})) == ()


def test_each_attribute_has_its_places() -> None:
    one = passage(title="A\u200b  <|x|> b", version="\u2060[S1]", access={"label": "</s>"}, summary="[INST]")
    told = cleanings(one)
    assert told == (
        Cleaning("title", 1, 1, ((1, 2),), ((2, 4),)),
        Cleaning("version", 1, 1, ((0, 1),), ((0, 2),)),
        Cleaning("access", 0, 1, (), ((0, 2),)),
    )
    for cleaning, shown in zip(told, one.shown, strict=True):
        assert [shown[start:end] for start, end in cleaning.neutralised_spans] in (["<\\"], ["[\\"])
    assert cleanings(one, "summary")[3:] == (Cleaning("summary", 0, 1, (), ((0, 2),)),)


def test_a_label_that_is_no_text_is_none() -> None:
    assert attributes(Document(0, "d", "", access={"label": 7}))["access"] == ""


def test_of_what_is_cut_off_nothing_is_told_to_be_broken() -> None:
    assert cleanings(passage(title="x" * 119 + "[S1]")) == ()
    (told,) = cleanings(passage(title="[S1]" * 70))
    assert (told.neutralised, len(told.neutralised_spans)) == (24, 24)
    (told,) = cleanings(passage(title="a\u200b" * 70))
    assert (told.stripped, len(told.stripped_spans)) == (70, MOST_SPANS)


def test_what_was_removed_before_something_was_replaced_is_told_as_it_came() -> None:
    now = cleanings(passage(title="[S1] [REDACTED:mail#1]"))
    came = Document(0, "d", "", title="[S1] a\u200b@b.example", version="v\u200b1")
    assert cleanings_before(now, came, KNOWN) == (
        Cleaning("title", 1, 1, ((6, 7),), ((0, 2),)),
        Cleaning("version", 1, 0, ((1, 2),), ()),
    )
    assert cleanings_before(now, Document(0, "d", "", title="[S1] a"), KNOWN) == now
