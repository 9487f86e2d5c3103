"""The real command: what it leaves is proved, and each incident is found by the filter that it names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from elbowroom_proxy.cli.demo_day import INCIDENTS, MOST
from tests.command import Here, elbowroom

DATE = "2026-11-02"
CLIENTS = {"stale": "portal-1542", "foreign": "wechat-1118", "invented": "portal-0935", "result": "chat-1304"}


@pytest.fixture(scope="module")
def told(tmp_path_factory) -> tuple[Path, str]:
    """Where it was called, and what it printed."""
    folder = tmp_path_factory.mktemp("called")
    done = elbowroom("demo-day", "--date", DATE, "--requests", "20", cwd=folder)
    assert (done.returncode, done.stderr) == (0, b"")
    return folder, done.stdout.decode()


def commands(printed: str) -> list[list[str]]:
    return [line.split()[1:] for line in printed.splitlines() if line.startswith("  elbowroom ")]


def test_each_incident_is_found_by_the_command_that_is_printed_for_it(told):
    folder, printed = told
    first = re.findall(r"the first is (\w{32})\)$", printed, re.MULTILINE)
    assert len(first) == len(commands(printed)) == len(INCIDENTS) == 4
    for name, words, ident in zip(INCIDENTS, commands(printed), first, strict=True):
        listed = elbowroom(*words, cwd=folder).stdout.decode()
        assert ident in listed
        if name != "stale":  # that one is sought by whose and when, all others by what they are
            assert len(listed.splitlines()) == (3 if name == "foreign" else 2)
        shown = elbowroom("traces", "show", CLIENTS[name], *words[2:4], cwd=folder).stdout.decode()
        assert shown.startswith(f"trace      {ident}")


def test_each_incident_is_one(told):
    folder, _ = told
    config = ["--config", ".elbowroom/day/elbowroom.yaml"]
    shown = {
        name: elbowroom("traces", "show", client, *config, cwd=folder).stdout.decode()
        for name, client in CLIENTS.items()
    }
    assert "  [S1] booking-free-intranet, intranet, version 2023\n" in shown["stale"]
    assert "not_permitted: it is another tenant's" in shown["foreign"]
    assert "price-list-dealers" not in shown["foreign"]
    assert "INVENTED: [S7] name no passage" in shown["invented"]
    assert "; then the answer called refund\n" in shown["result"]
    assert "1 call in the answer that only documents and results ask for" in shown["result"]


def test_what_it_leaves_is_proved(told):
    folder, printed = told
    (verify,) = re.findall(r"elbowroom (traces verify .*)", printed)
    done = elbowroom(*verify.split(), cwd=folder)
    assert done.returncode == 0, done.stdout
    assert re.search(r"proved     (\d+) of \1 lines", done.stdout.decode())


def test_the_key_that_is_printed_is_the_reviewers(told):
    folder, printed = told
    (key,) = re.findall(r"with the key (sk-eb-\S+)", printed)
    listed = elbowroom("keys", "list", "--config", ".elbowroom/day/elbowroom.yaml", cwd=folder).stdout.decode()
    assert re.search(rf"^reviewer .*{re.escape(key[:12])}", listed, re.MULTILINE)


@pytest.mark.parametrize("words", [("--date", "yesterday"), ("--requests", "0"), ("--requests", str(MOST + 1))])
def test_what_cannot_be_is_refused(here: Here, words):
    with pytest.raises(SystemExit) as ended:
        here("demo-day", *words)
    assert ended.value.code == 2


def test_a_folder_with_something_else_in_it_is_left_alone(here: Here, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    done = here("demo-day", "--out", ".")
    assert done.returncode == 1
    assert "something else is in this folder" in done.stderr
    assert (tmp_path / "notes.txt").read_text() == "mine"
