"""What a tag says of a document cannot end the tag."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from elbowroom.write.attribute import attributes


def test_only_what_is_given_is_shown():
    assert attributes("", "", "") == ""
    assert attributes("Refunds", "2", "internal") == ' title="Refunds" version="2" access="internal"'
    assert attributes("", "2", "") == ' version="2"'


@given(st.text(min_size=1))
def test_a_title_can_be_read_back_and_ends_nothing(title: str):
    inside = attributes(title, "", "").removeprefix(' title="').removesuffix('"')
    assert not set('<>"') & set(inside)
    for character, escape in (("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("&", "&amp;")):
        inside = inside.replace(escape, character)
    assert inside == title
