"""The real command on the built-in configuration and on broken ones."""

from __future__ import annotations

import pytest

from elbowroom_proxy import settings
from elbowroom_proxy.__main__ import main
from elbowroom_proxy.cli import check
from tests import holders
from tests.command import elbowroom

MINE = """\
model_list:
  - model_name: big
    litellm_params: {model: hosted_vllm/org/name, api_base: http://127.0.0.1:9/v1}
    model_info: {context_window: 32768, max_output_tokens: 4096}
general_settings: {redis_url: redis://127.0.0.1:6379/0, secret: sixteen characters, traces: here}
"""


def test_the_built_in_configuration_holds_and_nothing_is_left_behind(tmp_path):
    done = elbowroom("check", cwd=tmp_path)
    told = done.stdout.decode()
    assert (done.returncode, done.stderr) == (0, b"")
    assert "model      demo-small: 8,192 tokens; demo; counted by openai_chat, gpt-4o, o200k_base\n" in told
    assert "class      general: 700 tokens for the answer, the default\n" in told
    assert "counts     kept in memory\n" in told
    assert "counting   cl100k_base, o200k_base: as published\n" in told
    assert list(tmp_path.iterdir()) == []


def test_what_a_configuration_of_ones_own_means_is_told(tmp_path):
    (tmp_path / "mine.yaml").write_text(MINE)
    told = list(check.told(settings.load(tmp_path / "mine.yaml", environ={})))
    assert told[0] == "model      big: 32,768 tokens; openai http://127.0.0.1:9/v1; counted by unmapped: an upper bound"
    assert told[-3:] == ["counts     shared in Redis", "secret     given", "traces     here"]


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        ("elbowroom.yaml", MINE.replace("traces: here", "trace: here"), 5),
        ("policy.yaml", "id: mine\nevidence:\n  ceiling: -1\n", 3),
        ("classes/only.yaml", "name: only\ncues:\n  en: ['(']\n", 3),
    ],
)
def test_a_fault_is_told_with_file_and_line(tmp_path, file, text, line):
    (tmp_path / "classes").mkdir()
    (tmp_path / "elbowroom.yaml").write_text(MINE.replace("traces: here", "policy: policy.yaml"))
    (tmp_path / "policy.yaml").write_text("default_class: only\n")
    (tmp_path / "classes" / "only.yaml").write_text("name: only\n")
    (tmp_path / file).write_text(text)
    done = elbowroom("check", "elbowroom.yaml", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout == b""
    assert done.stderr.decode().startswith(f"{file}:{line}: ")


def test_a_vocabulary_that_is_not_as_published_is_a_fault(monkeypatch, capsys):
    monkeypatch.setattr("elbowroom_proxy.vocabularies.Vocabularies.verify", lambda _: ("vocabulary x: wrong SHA-256",))
    assert main(["check"]) == 1
    assert capsys.readouterr().err == "vocabulary x: wrong SHA-256\n"


def test_a_limit_that_nothing_fits_into_is_refused(tmp_path):
    (tmp_path / "elbowroom.yaml").write_text(
        "model_list: [{model_name: gpt-4o, litellm_params: {model: gpt-4o}}]\ngeneral_settings: {traces: here}\n"
    )
    (tmp_path / "orgs.yaml").write_text("orgs:\n  - name: a\n    tpm_limit: 100\n    teams: [{name: t}]\n")
    done = elbowroom("check", "elbowroom.yaml", cwd=tmp_path)
    assert done.returncode == 1
    assert b"team       a/t: no limits of its own; any of the models\n" in done.stdout
    assert b"All of it holds" not in done.stdout
    assert done.stderr.decode() == (
        "orgs.yaml:3: 100 tokens is less than one hold of gpt-4o, 308 where a client names no maximum; "
        "an output_cap of 92 would mend it (orgs[0].tpm_limit)\n"
    )


def test_who_may_ask_is_said(tmp_path):
    file = tmp_path / "elbowroom.yaml"
    models = "model_list: [{model_name: gpt-4o, litellm_params: {model: gpt-4o}}]\n"
    issuer = "jwt: {jwks: 'https://id.example/jwks', issuer: 'https://id.example', audience: a}\n"
    (tmp_path / "orgs.yaml").write_text(holders.orgs_text())
    for text, rows, said in (
        ("", (), "open: everybody may ask for everything"),
        (issuer, (), "0 keys; tokens of https://id.example; 0 keys that sign labels"),
        ("", (holders.row("bot", "sk-eb-bot"),), "1 keys; 0 keys that sign labels"),
    ):
        holders.written(tmp_path, *rows)
        file.write_text(models + text)
        assert f"access     {said}" in list(check.told(settings.load(file, environ={})))
