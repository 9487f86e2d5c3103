"""`elbowroom classify`: a line a question, and what the labels say about routing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from elbowroom_proxy.__main__ import main


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)

    def run(*rows: Any, words: tuple[str, ...] = ()) -> tuple[int, str, str]:
        lines = "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)
        Path("rows.jsonl").write_text(lines, encoding="utf-8")
        status = main(["classify", "rows.jsonl", *words])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


def test_json_says_class_cue_reserve_and_follow_up(command):
    rows = [{"id": "a", "question": "Who wrote it?", "n_history": 2}, {"question": "如何安装", "history": []}]
    status, out, _ = command(*rows, {"question": "Well."}, words=("--json",))
    assert status == 0
    first, second, third = map(json.loads, out.splitlines())
    assert (first["id"], first["class"], first["by"]) == ("a", "point_lookup", "cue")
    assert (first["answer_reserve"], first["follow_up"]) == (300, True)
    assert first["cue"]
    assert (second["id"], second["class"], second["follow_up"]) == (None, "how_to", False)
    assert (third["class"], third["by"], third["cue"]) == ("general", "default", None)


def test_labels_give_a_table(command):
    rows = [
        {"question": "Who wrote it?", "labels": ["Factoid"], "n_history": 1, "multi_turn": ["Follow-up"]},
        {"question": "When is the deadline?", "labels": ["Explanation"], "multi_turn": ["N/A"]},
        {"question": "Who?", "labels": ["Opinion"], "multi_turn": []},
        {"question": "How do I install it?", "labels": ["How-To"], "n_history": 1, "multi_turn": ["Clarification"]},
    ]
    _, out, _ = command(*rows)
    table = dict(line.split(maxsplit=1) for line in out.split("\n\n")[1].splitlines())
    assert table["short"] == "a reserve of 300 wrongly given in 25.0% (1 of 4) of turns"
    assert table["how-to"] == "precision 100.0% (1 of 1)"
    assert table["follow-up"] == "precision 50.0% (1 of 2)"
    assert table["turns"] == "4"


def test_without_labels_only_classes_are_counted(command):
    _, out, _ = command({"question": "Hm."})
    assert out.splitlines()[-2:] == ["classes    general 1", "turns      1"]
    _, out, _ = command({"question": "Hm.", "labels": []})
    assert "how-to     precision - (0 of 0)" in out


def test_another_policy_has_other_cues(command, tmp_path):
    (tmp_path / "policy.yaml").write_text("id: mine\ndefault_class: odd\n")
    (tmp_path / "classes").mkdir()
    (tmp_path / "classes" / "odd.yaml").write_text("name: odd\nanswer_reserve: 50\n")
    _, out, _ = command({"question": "Who?"}, words=("--json", "--policy", "policy.yaml"))
    assert (json.loads(out)["class"], json.loads(out)["answer_reserve"]) == ("odd", 50)


def test_a_bad_line_is_named_and_skipped(command):
    status, out, err = command("{", {"id": "no question"}, {"question": "Hm."}, words=("--json",))
    assert status == 1
    assert [line.split(": ")[0] for line in err.splitlines()] == ["rows.jsonl:1", "rows.jsonl:2"]
    assert len(out.splitlines()) == 1
    assert main(["classify", "nowhere.jsonl"]) == 2


def test_the_bar_holds_on_the_printed_table(shared: Path, command):
    text = (shared / "data" / "packing" / "query_class.jsonl").read_text(encoding="utf-8")
    _, out, _ = command(*text.splitlines())
    table = dict(line.split(maxsplit=1) for line in out.split("\n\n")[1].splitlines())

    def percent(name: str) -> float:
        return float(next(word for word in table[name].split() if word.endswith("%"))[:-1])

    assert percent("short") <= 5
    assert percent("how-to") >= 85
    assert percent("follow-up") >= 90
