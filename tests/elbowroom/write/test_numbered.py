"""The numbered form: brackets around number and nonce."""

from __future__ import annotations

from elbowroom.write.numbered import close_line, open_line


def test_a_passage_stands_between_brackets_of_one_number():
    assert open_line("S1", "0417", "", "", "") == "[S1-0417]\n"
    assert open_line("S12", "0417", "Refunds", "", "internal") == '[S12-0417 title="Refunds" access="internal"]\n'
    assert close_line("S12", "0417") == "[/S12-0417]\n"
