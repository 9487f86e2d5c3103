"""`elbowroom keys`: a key is shown once, nothing that would not hold is written, and a blocked one is nobody's."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from elbowroom.records import Mode
from elbowroom_proxy import settings
from elbowroom_proxy.__main__ import main
from elbowroom_proxy.cli import keys
from elbowroom_proxy.directory import Directory, KeyRow, parsed
from tests.command import elbowroom
from tests.holders import orgs_text

# Its environment is not at hand where keys are made.
CONFIG = "model_list: [{model_name: m, litellm_params: {model: gpt-4o, api_key: os.environ/NOBODY_HAS_IT}}]\n"
TEAM = ["--org", "acme", "--team", "support"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "elbowroom.yaml").write_text(CONFIG)
    (tmp_path / "orgs.yaml").write_text(orgs_text(clearance="internal"))
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Status, standard output, standard error of one command."""

    def called(*words: str) -> tuple[int, str, str]:
        status = main(["keys", *words, "--config", str(folder / "elbowroom.yaml")])
        return (status, *capsys.readouterr())

    return called


def rows(folder: Path) -> tuple[KeyRow, ...]:
    return parsed((folder / "keys.yaml").read_bytes(), "keys.yaml").keys


def found(folder: Path) -> Directory:
    return settings.who(folder / "elbowroom.yaml")[1]


def digest(key: str) -> str:
    return hashlib.sha256(key.strip().encode()).hexdigest()


def test_a_key_is_shown_once_and_only_its_digest_is_kept(run, folder):
    status, key, said = run("new", *TEAM, "--name", "bot")
    assert status == 0
    assert re.fullmatch(r"sk-eb-[A-Za-z0-9]{43}\n", key)
    assert said.startswith("It is acme/support/bot's, and shown only now")
    (secret,) = rows(folder)[0].secrets
    assert (secret.sha256, secret.prefix) == (digest(key), key[6:12])
    assert secret.made is not None
    assert key.strip()[12:] not in (folder / "keys.yaml").read_text() + said
    assert found(folder).holders[digest(key)].principal.key == "bot"
    assert run("new", *TEAM)[1] != key
    assert key.strip()[12:] not in run("list")[1]


def test_every_word_that_a_level_may_say_can_be_said(run, folder):
    status, key, _ = run(
        "new", *TEAM, "--role", "admin", "--rpm-limit", "1", "--tpm-limit", "2", "--max-parallel-requests", "3",
        "--max-tokens", "4", "--max-budget", "5.000001", "--budget-duration", "1d", "--tenant", "acme", "--groups",
        "a, b", "--clearance", "public", "--classes", "", "--models", "m", "--tools", "find", "--mode", "shadow",
        "--output-cap", "9", "--on-missing-label", "faq=assume:public", "--on-missing-label", "default=deny",
    )  # fmt: skip
    assert status == 0
    row, principal = rows(folder)[0], found(folder).holders[digest(key)].principal
    limits = (row.rpm_limit, row.tpm_limit, row.max_parallel_requests, row.max_tokens, row.max_budget)
    assert (*limits, row.budget_duration) == (1, 2, 3, 4, 5.000001, "1d")
    assert (principal.role, principal.tenant, principal.groups, principal.clearance) == (
        "admin", "acme", ("a", "b"), "public",
    )  # fmt: skip
    assert (principal.classes, principal.models, principal.tools) == ((), ("m",), ("find",))
    assert (principal.mode, principal.output_cap) == (Mode.SHADOW, 9)
    assert principal.on_missing_label == {"faq": "assume:public", "default": "deny"}


def test_names_are_made_where_none_is_given(run, folder):
    run("new", *TEAM, "--name", "support-2")
    for _ in range(2):
        run("new", *TEAM)
    run("new", "--role", "auditor")
    assert [row.name for row in rows(folder)] == ["support-2", "support-1", "support-3", "auditor-1"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([*TEAM, "--name", "bot"], "--name: there is a key bot already"),
        ([*TEAM, "--models", "m,x"], "--models: there is no model x"),
        ([*TEAM, "--clearance", "restricted"], "--clearance: the level above sees no more than internal"),
        ([*TEAM, "--policy", "none"], "--policy: there is no policy none"),
        ([*TEAM, "--on-missing-label", "a=assume:x"], "--on-missing-label: the policy has no label x"),
        ([*TEAM, "--name", "a b"], "--name: "),
        ([*TEAM, "--output-cap", "0"], "--output-cap: "),
        (["--org", "acme", "--team", "none"], "--team: there is no team acme/none"),
        (["--team", "support"], "--team: a team is an organisation's"),
        (["--org", "none", "--role", "admin"], "--org: there is no organisation none"),
        ([], "who asks models belongs to an organisation and a team"),
    ],
)
def test_what_would_not_hold_is_not_written(run, folder, words, said):
    run("new", *TEAM, "--name", "bot")
    before = (folder / "keys.yaml").read_bytes()
    status, out, error = run("new", *words)
    assert (status, out) == (1, "")
    assert error.startswith(said)
    assert (folder / "keys.yaml").read_bytes() == before


def test_a_file_that_does_not_hold_already_is_told_as_such(run, folder):
    run("new", *TEAM, "--name", "bot")
    (folder / "orgs.yaml").write_text(orgs_text().replace("support", "sales"))
    status, _, error = run("new", "--org", "acme", "--team", "sales")
    assert status == 1
    assert error.startswith(f"{folder / 'keys.yaml'}:3: there is no team acme/support")


@pytest.mark.parametrize(
    "words",
    [
        ["--max-budget", "nan"], ["--max-budget", "-1"], ["--max-budget", "1e3"], ["--max-budget", "0.0000001"],
        ["--rpm-limit", "-1"], ["--rpm-limit", "1.5"], ["--rpm-limit", "٣"], ["--on-missing-label", "deny"],
        ["--role", "root"], ["--budget-duration", "7d"],
    ],
)  # fmt: skip
def test_a_word_that_is_none_is_refused(run, words):
    with pytest.raises(SystemExit) as ended:
        run("new", *TEAM, *words)
    assert ended.value.code == 2


def test_a_blocked_key_is_nobodys_by_any_of_its_names(run, folder):
    key = run("new", *TEAM, "--name", "bot")[1].strip()
    other = run("new", *TEAM, "--name", "ann")[1].strip()
    for name in ("bot", key, key[:12], digest(key)):
        assert run("block", name) == (0, "bot is blocked from the next second on.\n", "")
        assert found(folder).holders.keys() == {digest(other)}
        assert found(folder).closed
        assert run("block", name, "--undo") == (0, "bot is let in from the next second on.\n", "")
        assert digest(key) in found(folder).holders
    for name in ("none", "sk-eb-zzzzzz", key[:11], key.upper()):
        assert run("block", name) == (1, "", "There is no key of that name or with that beginning.\n")


def test_a_beginning_that_several_have_is_not_guessed(run, folder, monkeypatch):
    monkeypatch.setattr(keys, "_LETTERS", "x")
    run("new", *TEAM, "--name", "bot")
    monkeypatch.setattr(keys, "LENGTH", 44)
    run("new", *TEAM, "--name", "ann")
    assert run("block", "sk-eb-xxxxxx") == (1, "", "Keys that begin so have bot, ann; say which.\n")
    assert run("block", "sk-eb-" + "x" * 44)[1].startswith("ann is blocked")


def test_the_one_before_holds_until_its_grace_ends(run, folder, monkeypatch):
    now = dt.datetime(2026, 12, 1, tzinfo=dt.UTC)
    monkeypatch.setattr(keys, "_now", lambda: now)
    first = run("new", *TEAM, "--name", "bot")[1]
    status, second, said = run("rotate", "bot", "--grace", "60")
    assert status == 0
    assert (
        said == "It is acme/support/bot's, and shown only now. The one before it holds until 2026-12-01 00:01:00 UTC.\n"
    )
    holders = found(folder).holders
    assert (holders[digest(first)].until, holders[digest(second)].until) == (now.timestamp() + 60, None)
    now += dt.timedelta(seconds=30)
    third = run("rotate", second.strip())[1]
    untils = {one.sha256: one.until for one in rows(folder)[0].secrets}
    assert untils[digest(first)] == dt.datetime(2026, 12, 1, 0, 1, tzinfo=dt.UTC)  # a second turn does not lend it time
    assert untils[digest(second)] == now + dt.timedelta(hours=1)
    assert f"sk-eb-{first[6:12]} until 2026-12-01 00:01:00" in run("list")[1]
    now += dt.timedelta(minutes=5)
    assert first[6:12] not in run("list")[1]
    status, fourth, said = run("rotate", "bot", "--grace", "0")
    assert said.endswith("The one before it holds no more.\n")
    assert [one.sha256 for one in rows(folder)[0].secrets] == [digest(fourth)]
    assert third != fourth
    run("block", "bot")
    assert run("rotate", "bot") == (1, "", "bot is blocked; a new key would be, too.\n")


def test_the_list_says_who_has_keys(run, folder):
    assert run("list")[1].split() == ["name", "of", "role", "state", "begins", "with"]
    run("new", *TEAM, "--name", "bot")
    run("new", "--role", "admin", "--name", "root")
    run("block", "root")
    text = (folder / "keys.yaml").read_text().replace('"secrets":[{', '"secrets":[{"until":"2001-01-01T00:00:00Z",', 1)
    (folder / "keys.yaml").write_text(text)
    lines = [line.split() for line in run("list")[1].splitlines()[1:]]
    assert lines[0][:4] == ["bot", "acme/support", "user", "ended"]
    assert lines[1][:4] == ["root", "-", "admin", "blocked"]


def test_blocking_asks_nothing_of_the_rest_of_the_configuration(run, folder):
    run("new", *TEAM, "--name", "bot")
    (folder / "orgs.yaml").write_text("orgs: 7\n")
    assert run("block", "bot")[0] == 0
    assert rows(folder)[0].blocked


def test_the_built_in_configuration_of_a_wheel_keeps_no_keys(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(settings, "config_folder", lambda: Path(settings.__file__).parent / "_config")
    assert main(["keys", "list"]) == 1
    assert "keeps no keys" in capsys.readouterr().err


def test_it_is_a_command(folder):
    done = elbowroom("keys", "new", *TEAM, "--config", "elbowroom.yaml", cwd=folder)
    assert (done.returncode, len(done.stdout)) == (0, 50)
    assert elbowroom("keys", cwd=folder).returncode == 2
