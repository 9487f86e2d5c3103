"""`elbowroom budgets`: the commands and their options."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

import msgspec
import pytest

from elbowroom.budget.view import Budgets
from elbowroom_proxy.cli import budgets
from tests.command import Here
from tests.holders import row, written
from tests.proxy import config

HERE = ("--config", "elbowroom.yaml")


@pytest.fixture(autouse=True)
def configured(tmp_path: Path, redis_url: str) -> None:
    written(tmp_path, row("bot", "sk-eb-user"), max_tokens=5_000)
    text = config("http://127.0.0.1:1/v1", ledger={"store": "redis", "url": redis_url})
    (tmp_path / "elbowroom.yaml").write_text(text)


def test_a_table_and_the_same_as_the_proxy_answers(here: Here):
    done = here("budgets", "show", *HERE)
    assert done.returncode == 0
    assert "support  tokens a month     5,000" in done.stdout
    value = here("budgets", "show", "--json", *HERE).stdout
    found = msgspec.convert(json.loads(value), Budgets)
    assert [one.name for one in found.orgs] == ["acme"]
    assert here("budgets", "show", "--org", "none", *HERE).stdout == "There are no organisations to show.\n"


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ((), 2),
        (("show", "--prompt", "5"), 2),
        (("explain",), 2),
        (("explain", "bot", "--prompt", "-1"), 2),
        (("explain", "bot", "--prompt", "9999999999999999"), 2),
        (("explain", "bot", "--prompt", "٣"), 2),
    ],
)
def test_words_that_are_none_are_refused(here: Here, words: tuple[str, ...], status: int):
    with pytest.raises(SystemExit) as ended:
        here("budgets", *words)
    assert ended.value.code == status


def test_what_is_wrong_in_the_configuration_is_told_with_its_line(here: Here, tmp_path: Path):
    (tmp_path / "orgs.yaml").write_text("orgs: [{name: acme, colour: red}]")
    done = here("budgets", "show", *HERE)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("orgs.yaml:1: ")


def test_a_disk_that_fails_is_said_and_a_reader_who_has_seen_enough_is_no_failure(capsys: pytest.CaptureFixture[str]):
    def fails(error: OSError) -> Namespace:
        def do(_: Namespace) -> int:
            raise error

        return Namespace(do=do)

    assert budgets.run(fails(OSError("no space left"))) == 1
    assert capsys.readouterr().err == "no space left\n"
    with pytest.raises(BrokenPipeError):
        budgets.run(fails(BrokenPipeError()))
