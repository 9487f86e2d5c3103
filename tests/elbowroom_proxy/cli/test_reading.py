"""Reading at a shell is recorded in the chain where its key is at hand, and said not to be where it is not."""

from __future__ import annotations

import getpass
import json
import shutil
from argparse import ArgumentParser

import pytest
import structlog

from elbowroom.account.search import Filters, Indexed
from elbowroom.records import Drop
from elbowroom_proxy.__main__ import main
from elbowroom_proxy.cli import reading
from elbowroom_proxy.crawl import Crawl
from elbowroom_proxy.indexes.sqlite import SqliteIndex
from tests.records import put, told

SECRET = {"ELBOWROOM_SECRET": "a secret of the tests, no more"}


@pytest.fixture
def folder(tmp_path):
    put_into = tmp_path / ".elbowroom" / "traces"
    put_into.mkdir(parents=True)
    put(put_into, told("aaa", version=1))  # from before there were chains
    return tmp_path


def readings(here) -> list[str]:
    done = here("traces", "list", "--kind", "read", "--json", **SECRET)
    return [json.loads(line)["read"] for line in done.stdout.splitlines()]


def test_it_is_recorded_and_the_chain_holds(folder, here):
    here("traces", "list", "--model", "gpt-4o", **SECRET)
    here("traces", "show", "req_aaa", **SECRET)
    assert readings(here) == ["show aaa: 1", "list model=gpt-4o: 1"]
    proved = here("traces", "verify", **SECRET)
    assert (proved.returncode, proved.stdout.splitlines()[0].split()[:4]) == (0, ["proved", "3", "of", "3"])


def test_nobody_makes_a_secret_for_it(folder, here):
    done = here("traces", "list")
    assert "not recorded: the secret of these traces is not at hand" in done.stderr
    assert not (folder / ".elbowroom" / "secret").exists()


def test_by_another_secret_nothing_is_written(folder, here):
    here("traces", "list", **SECRET)
    done = here("traces", "list", ELBOWROOM_SECRET="quite another secret")
    assert (done.returncode, "not recorded" in done.stderr, "aaa" in done.stdout) == (0, True, True)
    assert here("traces", "verify", **SECRET).returncode == 0


def test_of_a_copy_nothing_is_recorded(folder, here):
    shutil.copytree(folder / ".elbowroom" / "traces", folder / "copy")
    done = here("traces", "list", "--folder", "copy", **SECRET)
    assert "not recorded: these are not the traces of the configuration" in done.stderr
    assert "aaa" in done.stdout


@pytest.mark.parametrize("fails", [1, 2])
def test_a_disk_that_is_full_keeps_nobody_from_reading(folder, monkeypatch, capsys, fails):
    """Another folder that is indexed with it is read as well."""
    traces, other = folder / ".elbowroom" / "traces", folder / "other"
    other.mkdir()
    put(other, told("bbb"))
    index = SqliteIndex(traces)
    index.cover([str(other)])
    index.close()
    finish = Crawl.finish

    def full(crawl: Crawl) -> None:
        nonlocal fails
        fails -= 1
        if fails >= 0:
            raise OSError("database or disk is full")
        finish(crawl)

    monkeypatch.chdir(folder)
    monkeypatch.setattr(Crawl, "finish", full)
    previous = structlog.get_config()
    try:
        status = main(["traces", "list"])
    finally:
        structlog.configure(**previous)
    out, err = capsys.readouterr()
    assert "the index cannot be written, so one is made for this command: database or disk is full" in err
    assert (status, "aaa" in out, "bbb" in out) == ((0, True, True) if fails < 0 else (1, False, False))


def test_every_filter_is_an_option():
    parser = ArgumentParser()
    reading.filters(parser)
    words = (
        "--tenant t --org o --team m --subject s --class c --model l --policy p --conversation v --status 4xx --code e"
    )
    words += " --since 1970-01-01 --until 1970-01-01 --mode shadow --reason stale --kind read"
    words += " --invented --tainted --over-budget"
    found = reading.wanted(parser.parse_args(words.split()))
    unset = {name for name in Filters.__struct_fields__ if getattr(found, name) is None}
    assert unset == {"id"}
    assert (found.reason, found.invented, found.tainted, found.over_budget) == (Drop.STALE, True, True, True)
    assert reading.wanted(parser.parse_args([])) == Filters()


@pytest.mark.parametrize(
    ("indexed", "words"),
    [
        (Indexed(), "no traces"),
        (Indexed("t", 1200), "1,200 traces, the latest of t"),
        (
            Indexed("t", 2, behind=3000, unread=4, folders=("a", "b")),
            "2 traces, the latest of t, in 2 folders; 4 lines could not be read; 3,000 bytes are not indexed yet",
        ),
    ],
)
def test_how_far_it_reaches_in_words(indexed, words):
    assert reading.reach(indexed) == words


def test_who_has_no_name_is_unnamed(monkeypatch):
    def nobody():
        raise KeyError("uid")

    monkeypatch.setattr(getpass, "getuser", nobody)
    assert reading._user() == "unnamed"
