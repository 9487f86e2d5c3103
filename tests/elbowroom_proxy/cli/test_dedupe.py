"""`elbowroom dedupe`: a line a pair, and how often a label was met."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from elbowroom_proxy.__main__ import main
from elbowroom_proxy.settings import config_folder
from tests.neardup import ATTACKS, CHANGES, PLAIN

TEXT = "Refunds of annual plans take seven days. Write to the desk for a form. It answers within a day."
OTHER = TEXT.replace("seven", "nine")


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)

    def run(*rows: Any, words: tuple[str, ...] = ()) -> tuple[int, str, str]:
        lines = "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)
        Path("rows.jsonl").write_text(lines, encoding="utf-8")
        status = main(["dedupe", "rows.jsonl", *words])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


@pytest.fixture
def registry(tmp_path: Path) -> tuple[str, str]:
    """`--policy` with a registry that holds `good`."""
    folder = tmp_path / "policy"
    folder.mkdir()
    (folder / "policy.yaml").write_bytes((config_folder() / "policy.yaml").read_bytes())
    (folder / "sources.yaml").write_text("sources: [{id: good, authority: 0.9}]\n")
    return "--policy", str(folder / "policy.yaml")


def pair(first: str, second: str, **more: Any) -> dict[str, Any]:
    return {"a": "a", "b": "b", "a_text": first, "b_text": second, **more}


def test_json_says_what_they_are_and_who_stays(command):
    rows = [
        pair(TEXT, TEXT.upper(), label="dup", kind="format", lang="en", note="x"),
        pair(TEXT, OTHER, label="conflict"),
        pair(TEXT, OTHER, a_version="2025-01-01", b_version="2026-01-01"),
        pair(TEXT, "The canteen opens at noon.", b="a"),
    ]
    status, out, _ = command(*rows, words=("--json",))
    assert status == 0
    copy, conflict, newer, different = map(json.loads, out.splitlines())
    assert copy == {
        "label": "dup", "kind": "format", "lang": "en", "a": "a", "b": "b",
        "says": "dup", "merged": True, "stays": ["a"], "detail": "same text as a",
    }  # fmt: skip
    assert (conflict["says"], conflict["merged"], conflict["stays"]) == ("conflict", False, ["a", "b"])
    assert conflict["detail"] == "nothing says which one is right"
    assert (newer["says"], newer["merged"], newer["stays"]) == ("conflict", False, ["b"])
    assert newer["detail"] == "b is a newer version"
    assert (different["says"], different["stays"], different["detail"]) == ("different", ["a", "b"], "")


def test_a_table_by_kind_and_what_the_labels_say(command):
    rows = [
        pair(TEXT, TEXT.upper(), label="dup", kind="format", lang="en"),
        pair(TEXT, OTHER, label="dup", kind="mistaken", lang="en"),
        pair(TEXT, OTHER, label="conflict", kind="number", lang="en"),
    ]
    status, out, _ = command(*rows)
    assert status == 0
    told, table = out.split("\n\n")
    assert [line.split()[2:4] for line in told.splitlines()[1:]] == [
        ["dup", "a"],
        ["conflict", "both"],
        ["conflict", "both"],
    ]
    assert table.splitlines()[1].split() == ["conflict", "number", "en", "1", "0", "1", "0"]
    assert table.splitlines()[-2:] == ["dup, found: en 1 of 2 (50.0 %)", "conflict, merged: en 0 of 1 (0.0 %)"]


def test_without_labels_nothing_is_counted_as_right(command):
    _, out, _ = command(pair(TEXT, OTHER))
    assert "found" not in out


def test_no_pair_that_differs_by_a_word_is_merged(command):
    _, out, _ = command(*(pair(a, b) for a, b in CHANGES), words=("--json",))
    said = [json.loads(line) for line in out.splitlines()]
    assert len(said) >= 100
    assert [one for one in said if one["merged"]] == []


@pytest.mark.parametrize("first", ["good", "copy"])
def test_a_registered_source_stays_against_a_copy_with_a_sentence_added(command, registry, first):
    def row(text: str, attack: str) -> dict[str, Any]:
        texts = {"good": text, "copy": f"{text} {attack}"}
        second = next(name for name in texts if name != first)
        return {"a": first, "b": second, "a_text": texts[first], "b_text": texts[second]}

    _, out, _ = command(*(row(text, attack) for text in PLAIN for attack in ATTACKS), words=("--json", *registry))
    assert [json.loads(line)["stays"] for line in out.splitlines()] == [["good"]] * (len(PLAIN) * len(ATTACKS))


def test_a_gate_that_is_switched_off_says_nothing(command, tmp_path):
    (tmp_path / "p.yaml").write_text("gates: [empty]\n")
    _, out, _ = command(pair(TEXT, TEXT), words=("--json", "--policy", "p.yaml"))
    assert json.loads(out)["says"] == "different"


def test_a_bad_line_is_named_and_skipped(command):
    status, out, err = command("{", {"a": "x"}, pair(TEXT, TEXT), words=("--json",))
    assert status == 1
    assert len(out.splitlines()) == 1
    assert err.splitlines()[0].startswith("rows.jsonl:1: not JSON")
    assert err.splitlines()[1].startswith("rows.jsonl:2: documents[0] has no text")


def test_nothing_to_read(capsys, tmp_path):
    assert main(["dedupe", str(tmp_path / "none.jsonl")]) == 2
    assert "none.jsonl: No such file" in capsys.readouterr().err
