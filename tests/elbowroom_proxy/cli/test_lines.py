"""JSON Lines: objects with their line numbers, and a word for each line that is none."""

from __future__ import annotations

import io
import sys

import pytest

from elbowroom_proxy.cli import lines


def test_objects_come_with_their_lines_and_blank_ones_are_passed_over():
    assert list(lines.objects(b'{"a": 1}\n\n  \n{"b": "\\u4e2d"}')) == [(1, {"a": 1}), (4, {"b": "中"})]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (b"{", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[1]", "not a JSON object"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_object_is_told(line, fault):
    ((number, said), after) = lines.objects(line + b"\n{}")
    assert number == 1
    assert fault in str(said)
    assert after == (2, {})


def test_a_file_or_standard_input(tmp_path, monkeypatch):
    (tmp_path / "rows").write_bytes(b"{}")
    assert lines.content(str(tmp_path / "rows")) == b"{}"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"[]")))
    assert lines.content("-") == b"[]"
    with pytest.raises(OSError):
        lines.content(str(tmp_path / "nowhere"))


def test_one_bad_row_is_named_and_does_not_stop_the_others(tmp_path, capsys):
    file = tmp_path / "rows"
    file.write_bytes(b'{"n": 1}\n{"n": -1}\n[]\n{"n": 2}')
    shown = []
    status, done = lines.judged(
        str(file), lambda row: row["n"] if row["n"] > 0 else "negative", lambda _, made: shown.append(made)
    )
    assert (status, done, shown) == (1, [({"n": 1}, 1), ({"n": 2}, 2)], [1, 2])
    assert capsys.readouterr().err.splitlines() == [f"{file}:2: negative", f"{file}:3: not a JSON object"]


def test_a_file_that_cannot_be_read_is_said(tmp_path, capsys):
    assert lines.judged(str(tmp_path / "nowhere"), lambda row: row, lambda _, __: None) == (2, [])
    assert "nowhere: No such file" in capsys.readouterr().err
