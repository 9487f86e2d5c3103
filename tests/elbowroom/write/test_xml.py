"""The xml form: one opening and one closing line a passage."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from elbowroom.write.xml import close_line, open_line


def test_attributes_are_shown_where_they_are_given():
    assert open_line("S1", "0417", "", "", "") == "<S1-0417>\n"
    assert open_line("S12", "0417", "Refunds", "", "internal") == '<S12-0417 title="Refunds" access="internal">\n'
    assert close_line("S12", "0417") == "</S12-0417>\n"


@given(st.text(min_size=1))
def test_a_title_can_be_read_back_and_ends_nothing(title: str):
    line = open_line("S1", "0417", title, "", "")
    inside = line.removeprefix('<S1-0417 title="').removesuffix('">\n')
    assert not set('<>"') & set(inside)
    for character, escape in (("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("&", "&amp;")):
        inside = inside.replace(escape, character)
    assert inside == title
