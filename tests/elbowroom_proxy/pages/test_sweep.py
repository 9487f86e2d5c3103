"""The sweep's table, as the command writes it."""

from __future__ import annotations

from elbowroom_proxy.cli.sweep import RULE, Point, markdown
from elbowroom_proxy.pages.sweep import Table, table


def test_what_the_command_writes_is_read():
    points = [
        Point("default", "cover", None, k, 9, 40.0 + k, 30.0, None, 210.4, 900.0, 0, None, elbow=k == 4) for k in (2, 4)
    ]
    found = table("\n".join(markdown(points)))
    assert found.names[:5] == ("policy", "packer", "budget", "top-k", "recall")
    assert [(row[3], row[4], row[-1]) for row in found.rows] == [("2", "42.0", ""), ("4", "44.0", "elbow")]
    assert found.words == RULE


def test_what_is_no_table_is_none():
    assert table("") == Table()
    assert table("| a | b |\n|---|:-:|\n| 1 |\n| 1 | <b> |\nwords") == Table(("a", "b"), (("1", "<b>"),), "words")
