"""What verify says at a shell: all is well, or what is not, or that nobody here can tell."""

from __future__ import annotations

import json

import pytest

from elbowroom.account.chain import Head
from elbowroom_proxy.cli.proving import _verdict
from elbowroom_proxy.sinks.verify import Verdict
from tests.records import put, told

SECRET = {"ELBOWROOM_SECRET": "a secret of the tests, no more"}


@pytest.fixture
def folder(tmp_path, here):
    """One line in a chain: somebody read an old record."""
    traces = tmp_path / ".elbowroom" / "traces"
    traces.mkdir(parents=True)
    put(traces, told("aaa", version=1))
    here("traces", "list", **SECRET)
    return traces


def chained(folder):
    return next(path for path in folder.glob("*.jsonl") if path.read_bytes().count(b'"chain":'))


def test_all_is_what_was_written(folder, here):
    done = here("traces", "verify", **SECRET)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "proved     1 of 1 lines are what was written",
        "read       2 files of 1 writers in .elbowroom/traces",
        "unchained  1 lines from before there were chains",
    ]


def test_one_byte_is_enough(folder, here):
    path = chained(folder)
    path.write_bytes(path.read_bytes().replace(b"shell:", b"shelf:"))
    done = here("traces", "verify", **SECRET)
    assert done.returncode == 1
    assert done.stdout.startswith("changed    ")
    assert "NOT what was written" in done.stdout
    verdict = json.loads(here("traces", "verify", "--json", **SECRET).stdout)
    assert [one["kind"] for one in verdict["findings"]] == ["changed"]


@pytest.mark.parametrize("as_file", [False, True])
def test_a_head_from_outside_tells_of_a_writer_that_is_gone(folder, here, tmp_path, as_file):
    (heads,) = (folder / "heads").iterdir()
    word = heads.read_text().split()[0]
    chained(folder).unlink()
    heads.unlink()
    if as_file:
        (tmp_path / "log").write_text(f'{{"event": "trace_head", "head": "{word}"}}\n')
    assert here("traces", "verify", **SECRET).returncode == 0
    done = here("traces", "verify", "--head", "log" if as_file else word, **SECRET)
    assert done.returncode == 1
    assert word[:12] in done.stdout
    assert "\noutside    " in done.stdout  # a name of its own column


def test_a_head_of_nobody_proves_nothing(folder, here):
    done = here("traces", "verify", "--head", "0" * 12, **SECRET)
    assert (done.returncode, done.stdout) == (1, "")
    assert "no head" in done.stderr


def test_what_nobody_can_tell_is_said(folder, here):
    assert "not at hand" in here("traces", "verify").stderr
    assert "no such folder" in here("traces", "verify", "--folder", "none", **SECRET).stderr


def test_everything_that_was_seen_is_said():
    verdict = Verdict(
        folder="f", writers=1, files=2, lines=3, sealed=4, unsealed=5, removed=6, unchained=7, torn=("a\x1b",),
        mended=8, erased=9, intents=10, unfinished=11,
    )  # fmt: skip
    told = "\n".join(_verdict(verdict, [Head("w", 1, "m")]))
    assert all(f" {number:,} " in told for number in (4, 9, 5, 6, 7, 8, 11))
    assert ("a\\x1b" in told, "1 heads" in told) == (True, True)
