"""The markdown form: a heading and an end a passage."""

from __future__ import annotations

from elbowroom.write.markdown import close_line, open_line


def test_a_passage_is_a_section_with_an_end():
    assert open_line("S1", "0417", "", "", "") == "### S1-0417\n"
    assert open_line("S12", "0417", "Refunds", "", "internal") == '### S12-0417 title="Refunds" access="internal"\n'
    assert close_line("S12", "0417") == "### end S12-0417\n"
