"""The real command on real files: the same engine offline, refusals told, nothing left behind."""

from __future__ import annotations

import json
from typing import Any

import pytest

from elbowroom.errors import InvalidConfig
from elbowroom_proxy import settings
from elbowroom_proxy.__main__ import main
from elbowroom_proxy.cli.pack import Offline, with_ceiling
from elbowroom_proxy.cli.samples import samples
from tests import holders
from tests.command import elbowroom

ASKED: dict[str, Any] = {
    "model": "demo-small",
    "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How loud is it?"}],
    "documents": [
        {"id": "noise", "text": "It is heard with 41 dB.", "score": 0.9},
        {"id": "copy", "text": "It is heard with 41 dB!", "score": 0.8},
        {"id": "parts", "text": "The pump is part 4410.", "score": 0.2},
    ],
    "context": {"conversation_id": "c1"},
}
UNTAGGED: dict[str, Any] = {"model": "demo-small", "messages": [{"role": "user", "content": "Hello"}]}


@pytest.fixture
def here(tmp_path, monkeypatch, capsysbinary):
    """The command in this process, which is quicker: (exit status, what it printed)."""
    monkeypatch.chdir(tmp_path)
    for name in ("REDIS_URL", "ELBOWROOM_SECRET"):
        monkeypatch.delenv(name, raising=False)

    def run(*words):
        status = main(["pack", *words])
        return status, capsysbinary.readouterr().out

    return run


def written(folder, *requests, name="request.json"):
    (folder / name).write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in requests))
    return name


def fates(line):
    return {one["id"]: (one["decision"], one["reason"]) for one in line["decision"]["documents"]}


def test_the_body_and_the_decision_are_one_line(tmp_path):
    done = elbowroom("pack", "--json", written(tmp_path, json.dumps(ASKED, indent=2)), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b"\n") == 1
    line = json.loads(done.stdout)
    assert set(line) == {"body", "decision"}
    assert line["body"]["messages"][0] == ASKED["messages"][0]
    assert line["body"]["messages"][1]["content"].endswith("How loud is it?")
    assert "<S1-" in line["body"]["messages"][1]["content"]
    assert not {"documents", "context"} & set(line["body"])
    assert fates(line) == {"noise": ("admitted", None), "copy": ("dropped", "duplicate"), "parts": ("admitted", None)}
    assert line["decision"]["conversation_id"] == "c1"
    assert line["decision"]["counted"]["tokens"] > line["decision"]["evidence_tokens"] > 0


def test_the_same_request_gives_the_same_bytes_and_leaves_nothing_behind(tmp_path):
    name = written(tmp_path, ASKED)
    tmp_path.chmod(0o500)
    one, other = (elbowroom("pack", "--json", name, cwd=tmp_path) for _ in range(2))
    assert one.stdout == other.stdout != b""
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_configured_secret_gives_its_own_nonce(tmp_path, here, monkeypatch):
    name = written(tmp_path, ASKED)
    without = json.loads(here("--json", name)[1])
    monkeypatch.setenv("ELBOWROOM_SECRET", "another secret, long enough")
    assert json.loads(here("--json", name)[1])["body"] != without["body"]


def test_people_get_the_body_and_the_decision_in_lines(tmp_path):
    done = elbowroom("pack", written(tmp_path, ASKED), cwd=tmp_path)
    told = done.stdout.decode()
    assert done.returncode == 0
    assert told.startswith('{\n  "model": "demo-small",\n')
    assert "documents  2 admitted, 1 dropped: duplicate 1\n" in told
    assert "duplicate: same text as noise\n" in told


def test_where_no_model_is_asked_there_is_the_reply(tmp_path, here):
    (tmp_path / "classes").mkdir()
    (tmp_path / "classes" / "general.yaml").write_text(
        "name: general\nminimum: {passages: 9}\non_insufficient: ask_to_narrow\nasked_by: proxy\n"
    )
    (tmp_path / "mine.yaml").write_text("id: mine\n")
    words = ["--policy", "mine.yaml", written(tmp_path, ASKED)]
    status, out = here("--json", *words)
    line = json.loads(out)
    assert (status, line["body"], line["decision"]["fallback"]) == (0, None, "ask_to_narrow")
    assert line["reply"].endswith("?")
    status, told = here(*words)
    assert status == 0
    assert told.decode().startswith(f"reply      {line['reply']} (no model is asked)\n\ntrace ")


@pytest.mark.parametrize(
    ("request_", "code", "param"),
    [
        ({**ASKED, "model": "nobody"}, "model_not_found", "model"),
        ({**ASKED, "documents": [{"id": "a"}]}, "invalid_document", "documents[0]"),
        (
            {**UNTAGGED, "messages": [{"role": "user", "content": "word " * 9000}]},
            "context_length_exceeded",
            "messages",
        ),
    ],
)
def test_one_refused_request_is_an_exit_status(tmp_path, here, request_, code, param):
    status, out = here("--json", written(tmp_path, request_))
    line = json.loads(out)
    assert status == 1
    assert line["body"] is None
    assert (line["error"]["code"], line["error"]["param"]) == (code, param)
    assert line["decision"]["error"] == line["error"]


def test_a_refusal_is_told_to_people_too(tmp_path):
    done = elbowroom("pack", "-", cwd=tmp_path, stdin=b"{")
    assert done.returncode == 1
    assert b"\nerror      invalid_request: " in done.stdout


def test_a_bad_line_is_named_and_the_others_are_done(tmp_path):
    name = written(tmp_path, ASKED, "", "{not json", UNTAGGED, name="many.jsonl")
    done = elbowroom("pack", "--json", name, cwd=tmp_path)
    first, bad, last = map(json.loads, done.stdout.splitlines())
    assert done.returncode == 0
    assert (first["body"] is None, bad["body"], last["body"]) == (False, None, UNTAGGED)
    assert (bad["error"]["code"], bad["error"]["line"]) == ("invalid_request", 3)
    assert last["decision"]["counted"]["tokens"] == 8
    told = elbowroom("pack", name, cwd=tmp_path).stdout.decode()
    assert [line for line in told.splitlines() if line.startswith("line ")] == [
        f"line       many.jsonl:{number}" for number in (1, 3, 4)
    ]


def test_the_budget_is_the_ceiling_whatever_the_policy_and_its_classes_say(tmp_path, here):
    _, out = here("--json", "--budget", "75", written(tmp_path, ASKED))
    decision = json.loads(out)["decision"]
    assert decision["window"]["evidence_ceiling"] == 75
    assert decision["evidence_tokens"] <= 75
    assert decision["dropped"]["over_budget"] == 1


def test_another_policy_decides_otherwise(tmp_path, here):
    (tmp_path / "mine.yaml").write_text("id: mine\nmode: passthrough\n")
    _, out = here("--json", "--policy", "mine.yaml", written(tmp_path, ASKED))
    line = json.loads(out)
    assert line["decision"]["policy"]["id"] == "mine"
    assert set(fates(line).values()) == {("admitted", None)}


def test_half_a_surrogate_pair_goes_through(tmp_path, here):
    name = written(tmp_path, {**ASKED, "messages": [{"role": "user", "content": "x \ud800"}]})
    line = json.loads(here("--json", name)[1])
    assert line["body"]["messages"][0]["content"].endswith("x \ud800")
    assert here(name)[0] == 0


def test_a_file_that_is_not_there_is_a_2(here):
    assert here("nowhere.json") == (2, b"")


@pytest.mark.parametrize("budget", ["many", "-1", "1.5"])
def test_a_budget_is_a_number_of_tokens(here, budget):
    with pytest.raises(SystemExit) as ended:
        here("--budget", budget, "-")
    assert ended.value.code == 2


def test_a_policy_that_cannot_be_read_ends_it(tmp_path):
    with pytest.raises(InvalidConfig, match=r"none.yaml:1: "):
        Offline(settings.load(environ={}), tmp_path / "none.yaml", None)


def test_the_ceiling_reaches_every_class():
    policy = with_ceiling(settings.load(environ={}).policy, 7)
    assert {policy.evidence.ceiling, *(one.evidence.ceiling for one in policy.classes)} == {7}


def test_no_sample_of_the_demo_is_refused():
    offline = Offline(settings.load(environ={}), None, None)
    outcomes = [offline.pack(json.dumps(sample.body).encode()) for sample in samples()]
    assert [outcome.story["error"] for outcome in outcomes] == [None] * len(outcomes)


def test_it_packs_as_a_key_of_the_configuration(tmp_path, capsys):
    label: dict[str, Any] = {
        "tenant": "acme",
        "label": "internal",
        "deny_groups": [],
        "visibility": "tenant",
        "expires_at": None,
    }
    hidden = {"id": "secret", "text": "Bonn was denied.", "access": {**label, "tenant": "other"}}
    shown = {"id": "open", "text": "Bonn is on the Rhine.", "access": label}
    body = {"model": "m", "messages": [{"role": "user", "content": "Where is Bonn?"}], "documents": [hidden, shown]}
    general = holders.written(tmp_path, holders.row("ann", "sk-eb-ann", tenant="acme", clearance="internal"))
    models = [{"model_name": "m", "litellm_params": {"model": "openai/gpt-4o"}}]
    config, request = tmp_path / "elbowroom.yaml", tmp_path / "request.json"
    config.write_text(json.dumps({"model_list": models, "general_settings": general}))
    request.write_text(json.dumps(body))
    words = ["pack", str(request), "--config", str(config)]
    assert main([*words, "--as", "ann"]) == 0
    printed = capsys.readouterr().out
    assert "secret" not in printed
    assert "was denied" not in printed
    assert "not_permitted: it is another tenant's" in printed
    assert main(words) == 0
    assert "was denied" in capsys.readouterr().out
    assert main([*words, "--as", "bob"]) == 2
    assert "no key of that name" in capsys.readouterr().err


def test_a_key_has_its_own_policy_mode_and_models(tmp_path, here):
    rows = [
        holders.row("ann", "sk-eb-ann", policy="plain"),
        holders.row("bob", "sk-eb-bob", mode="passthrough"),
        holders.row("cy", "sk-eb-cy", models=["demo-large"]),
    ]
    (tmp_path / "plain.yaml").write_text("id: plain\nformat: markdown\n")
    general = {**holders.written(tmp_path, *rows), "policies": {"plain": "plain.yaml"}}
    models = [
        {"model_name": name, "litellm_params": {"model": "openai/gpt-4o"}} for name in ("demo-small", "demo-large")
    ]
    (tmp_path / "elbowroom.yaml").write_text(json.dumps({"model_list": models, "general_settings": general}))
    (tmp_path / "other.yaml").write_text("id: other\n")
    words = ["--json", "--config", "elbowroom.yaml", written(tmp_path, ASKED)]
    told = {name: json.loads(here(*words, "--as", name)[1]) for name in ("ann", "bob", "cy")}
    assert told["ann"]["decision"]["policy"]["id"] == "plain"
    assert "### S1-" in told["ann"]["body"]["messages"][1]["content"]
    assert told["bob"]["decision"]["mode"] == "passthrough"
    assert (told["cy"]["body"], told["cy"]["error"]["code"]) == (None, "model_not_allowed")
    assert json.loads(here(*words, "--as", "ann", "--policy", "other.yaml")[1])["decision"]["policy"]["id"] == "other"
