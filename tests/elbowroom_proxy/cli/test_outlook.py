"""`elbowroom budgets explain`: a key is named and never shown, and what its next request meets is said in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from elbowroom_proxy.cli import till
from tests.command import Done, Here
from tests.holders import keys_text, row

KEY = "sk-eb-abcdefghijklmn"
PRICED = {"input_cost_per_token": 0.0001, "output_cost_per_token": 0.0002}


def model(name: str, most: int) -> dict[str, Any]:
    info = {"context_window": 8_000, "max_output_tokens": most, "family": "gpt-4o", **PRICED}
    return {"model_name": name, "litellm_params": {"model": f"demo/{name}"}, "model_info": info}


@pytest.fixture
def explain(here: Here, tmp_path: Path, redis_url: str):
    ledger = {"store": "redis", "url": redis_url}
    general = {"secret": "a secret of the tests, no more", "ledger": ledger}
    models = [model("small", 100), model("large", 2_000)]
    (tmp_path / "elbowroom.yaml").write_text(json.dumps({"model_list": models, "general_settings": general}))
    team = {"name": "support", "max_tokens": 1_000, "budget_duration": "1d", "rpm_limit": 50}
    free = {"name": "free"}
    (tmp_path / "orgs.yaml").write_text(json.dumps({"orgs": [{"name": "acme", "teams": [team, free]}]}))
    keys = [
        row("bot", KEY, max_parallel_requests=3),
        row("twin", "sk-eb-abcdefzzz"),
        row("ann", "sk-eb-annannannann", blocked=True, models=["small"]),
        row("none", "sk-eb-nonenonenone", models=[]),
        row("free", "sk-eb-freefreefree", team="free", models=["small"]),
        row("slow", "sk-eb-slowslowslow", team="free", models=["large"], tpm_limit=1_000),
        row("adm", "sk-eb-admadmadmadm", role="admin", org=None, team=None),
    ]
    (tmp_path / "keys.yaml").write_text(keys_text(*keys))

    def run(*words: str) -> Done:
        return here("budgets", "explain", *words, "--config", "elbowroom.yaml")

    return run


def test_each_level_and_the_next_request_of_each_model_are_told(explain):
    done = explain("bot")
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert lines[0] == (
        "bot, a key of acme/support: all of its levels must agree to a request: "
        "org acme, team acme/support, key acme/support/bot."
    )
    assert lines[1:3] == ["org acme limits nothing itself.", ""]
    assert [line.split()[0] for line in lines[4:9]] == ["acme", "support", "tokens", "bot", "tokens"]
    at = lines.index("The next chat, where the client names no maximum:")
    assert lines[at + 1] == "small: a prompt of 8 tokens and an answer of 100 at most is let through"
    assert lines[at + 2] == "  There is room for 9 of the same; then team acme/support: max_tokens refuses."
    assert lines[at + 3] == "large: a prompt of 8 tokens and an answer of 2,000 at most is refused"
    assert lines[at + 4].startswith(
        "  first by team acme/support: max_tokens: 2,008 asked, 1,000 left of 1,000 (0 spent, 0 held); reset 20"
    )
    assert lines[at + 5] == "  An output_cap, or a max_tokens of the client, of 992 or less lets it through."
    assert len(lines) == at + 6


def test_a_rate_is_asked_for_the_room_that_a_chat_keeps_for_its_answer(explain):
    assert "an answer of 2,000 at most is let through" in explain("slow").stdout


def test_a_prompt_of_that_size_and_one_model_alone(explain):
    said = explain("bot", "--model", "large", "--prompt", "300").stdout
    assert "of 700 or less lets it through" in said
    assert "is let through" in explain("bot", "--model", "small", "--prompt", "900").stdout
    assert "is refused" in explain("bot", "--model", "small", "--prompt", "901").stdout


def test_a_prompt_that_is_too_much_by_itself_is_said(explain):
    done = explain("bot", "--model", "small", "--prompt", "1000")
    assert done.stdout.splitlines()[-1] == (
        "  No output_cap would let it through: what is left does not suffice for the prompt."
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ann"], "It is blocked, so nobody who has it is let in, whatever is left."),
        (["sk-eb-annann"], "ann, a key of acme/support: "),
        (["none"], "It may ask no model."),
        (["ann", "--model", "large\x1b"], "It may not ask large\\x1b."),
        (["free"], "  Nothing limits it."),
        (["acme/free"], "A token that names acme/free: "),
    ],
)
def test_who_is_meant_and_what_it_may(explain, words, said):
    done = explain(*words)
    assert done.returncode == 0
    assert said in done.stdout


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("nobody", "There is no key nobody, and no team of that name."),
        ("acme/nobody", "There is no key acme/nobody, and no team of that name."),
        ("sk-eb-zzzzzz", "There is no key sk-eb-zzzzzz, and no team of that name."),
        ("sk-eb-abcdef", "Keys that begin so have bot, twin; say which."),
        ("adm", "adm is of no team: it asks no models, and nothing is charged to it."),
        (KEY, "That is more of a key than should stand in a shell's history: its name will do, or sk-eb- and"),
    ],
)
def test_who_is_not_meant_is_told_and_no_key_is_repeated(explain, word, said):
    done = explain(word)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(said)
    assert KEY not in done.stderr


def test_a_level_that_is_not_shown_is_said_and_nothing_is_foretold(explain, monkeypatch: pytest.MonkeyPatch):
    whole = till.budgets

    def part(*args: Any, **more: Any) -> Any:
        found = whole(*args, **more)
        return structs.replace(found, orgs=tuple(structs.replace(one, level=None) for one in found.orgs))

    monkeypatch.setattr(till, "budgets", part)
    lines = explain("bot").stdout.splitlines()
    assert "org acme is not shown to whoever asks." in lines
    assert not [line for line in lines if line.startswith("The next request")]
