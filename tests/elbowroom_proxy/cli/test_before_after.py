"""Twelve chunks: half of them is sent, and nothing of the answer is missing."""

from __future__ import annotations

import pytest

from elbowroom_proxy.__main__ import main
from elbowroom_proxy.cli import before_after
from elbowroom_proxy.cli.before_after import Side, Table, tables


@pytest.fixture(scope="module")
def decided() -> list[Table]:
    return tables()


def test_there_is_one_sample_in_each_language(decided):
    assert [table.id[-2:] for table in decided] == ["en", "zh"]


def test_three_copies_and_three_that_do_not_help_are_left_out(decided):
    for table in decided:
        assert (table.chunks, table.before.admitted, table.before.dropped) == (12, 12, {})
        assert table.after.admitted == 6
        assert table.after.dropped == {"duplicate": 3, "over_budget": 3}


def test_the_tokens_fall_and_every_key_fact_stays(decided):
    for table in decided:
        assert table.saved >= 0.29
        assert table.before.facts == table.after.facts == table.facts == 4


def test_the_command_prints_it(capsys):
    assert main(["demo", "--before-after"]) == 0
    told = capsys.readouterr().out
    assert told.count("chunks sent") == 2
    assert "key facts                 4        4  of 4" in told


def test_a_lost_fact_is_an_exit_status(monkeypatch, capsys):
    side = Side(1, 10, 1, {})
    monkeypatch.setattr(before_after, "tables", lambda: [Table("t", "q", 2, 2, side, side)])
    assert before_after.run() == 1
    assert "0% fewer" in capsys.readouterr().out
