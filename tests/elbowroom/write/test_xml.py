"""The xml form: one opening and one closing line a passage."""

from __future__ import annotations

from elbowroom.write.xml import close_line, open_line


def test_a_passage_stands_between_tags_of_one_name():
    assert open_line("S1", "0417", "", "", "") == "<S1-0417>\n"
    assert open_line("S12", "0417", "Refunds", "", "internal") == '<S12-0417 title="Refunds" access="internal">\n'
    assert close_line("S12", "0417") == "</S12-0417>\n"
