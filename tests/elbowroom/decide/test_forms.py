"""A passage that is too long: the client's own choice of it first, whole units in order, whatever it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.count.counter import Tally
from elbowroom.decide.excerpt import ELISION, join
from elbowroom.decide.forms import shorter
from elbowroom.decide.passage import Admitted, Passage
from tests.passages import VOCABULARY, drive, passage, tokens

SENTENCES = (
    "The valve is closed by hand.", "Then the pump is emptied.", "Oil is collected in a tray.",
    "Last, the lid is lifted.", "盖子由两人抬起。", "Nobody stands under it.",
)  # fmt: skip
TEXT = " ".join(SENTENCES)
PARENT = "# Safety\nWear gloves.\n\n# Draining the pump\nOpen the tap. Wait an hour. Close it.\n\n# Lid\nLift it."
WEIGHTS = {"pump": 1.0}


def short(room: int, parent: Passage | None = None, **known) -> Admitted | None:
    return drive(shorter(passage(TEXT, **known), room, WEIGHTS, parent, Tally(VOCABULARY)))


def test_highlights_give_the_sentences_that_hold_them():
    found = short(30, highlights=("<em>oil</em> is collected", "valve is"), summary="In short.")
    assert found is not None
    assert found.body == f"{SENTENCES[0]} {ELISION} {SENTENCES[2]} {ELISION}"
    assert found.form == "highlights"
    assert found.tokens == found.passage.tag_tokens + tokens(found.body + "\n")


def test_the_last_highlights_go_where_there_is_no_room_for_all():
    found = short(12, highlights=("valve is closed", "Oil is collected", "盖子由两人抬起"))
    assert found is not None
    assert (found.body, found.form) == (f"{SENTENCES[0]} {ELISION}", "highlights")


@pytest.mark.parametrize("highlights", [(), ("nobody said this",), ("<b></b>", "…"), (TEXT,)])
def test_without_highlights_that_can_be_found_and_fit_the_next_form_is_taken(highlights):
    found = short(12, highlights=highlights, summary="In short, it is\u200b drained.")
    assert found is not None
    assert (found.body, found.form, found.spans) == ("In short, it is drained.", "summary", ())


def test_a_highlight_in_a_row_brings_the_table_s_header():
    table = "| part | torque |\n|---|---|\n| lid | 5 Nm |\n| valve | 7 Nm |"
    one = passage(f"{table}\n\n{TEXT}", highlights=("valve | 7",))
    found = drive(shorter(one, 40, WEIGHTS, None, Tally(VOCABULARY)))
    assert found is not None
    assert found.body.startswith("| part | torque |\n|---|---|\n")
    assert "| valve | 7 Nm |" in found.body
    assert "lid" not in found.body


@pytest.mark.parametrize("anchor", ["draining-the-pump", "Open the tap", "#Draining the pump"])
def test_a_parent_speaks_from_the_anchor_to_the_next_heading(anchor):
    parent = passage(PARENT, id="p", position=1)
    found = short(40, parent, parent_id="p", anchor=anchor, summary="In short.")
    assert found is not None
    assert (found.form, found.passage.document.id) == ("parent", "d0")
    assert "Open the tap. Wait an hour. Close it." in found.body
    assert "gloves" not in found.body
    assert "Lift" not in found.body
    assert found.body == join(parent.text.clean, found.spans)


def test_a_parent_is_cut_where_the_room_ends_and_passed_over_where_nothing_fits():
    parent = passage(PARENT, id="p", position=1)
    found = short(13, parent, anchor="open the tap")
    assert found is not None
    assert found.body == f"{ELISION}\nOpen the tap.\n{ELISION}"
    for room, anchor in ((4, "open the tap"), (13, "nowhere"), (13, "#"), (13, None)):
        other = short(room, parent, anchor=anchor)
        assert other is None or other.form == "excerpt"


def test_else_it_is_the_excerpt():
    found = short(14, summary=TEXT)
    assert found is not None
    assert (found.form, SENTENCES[1] in found.body) == ("excerpt", True)
    assert short(2) is None


def test_a_merged_passage_has_neither_parent_nor_summary():
    from elbowroom.decide.merge import merge

    parts = [passage(TEXT, source_id="kb", chunk_index=at, position=at, summary="Short.") for at in (0, 1)]
    (whole,) = drive(merge(parts, 10**6, Tally(VOCABULARY)))
    found = drive(shorter(whole, 14, WEIGHTS, passage(PARENT), Tally(VOCABULARY)))
    assert found is not None
    assert found.form == "excerpt"


@given(
    st.lists(st.sampled_from((*SENTENCES, "pump is", "tray. Last", "盖子", "x")), max_size=4),
    st.sampled_from([None, "safety", "tap", "lid"]),
    st.integers(5, 60),
)
def test_whatever_is_sent_is_whole_units_in_order_and_fits(highlights, anchor, room):
    parent = passage(PARENT, id="p", position=1)
    found = short(room, parent, highlights=tuple(highlights), anchor=anchor)
    if found is None:
        return
    text = parent.text if found.form == "parent" else found.passage.text
    starts, ends = {start for start, _ in text.sentences}, {end for _, end in text.sentences}
    assert found.body == join(text.clean, found.spans)
    assert all(start in starts and end in ends for start, end in found.spans)
    assert list(found.spans) == sorted(found.spans)
    assert found.tokens - found.passage.tag_tokens <= room
