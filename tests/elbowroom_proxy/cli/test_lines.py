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
