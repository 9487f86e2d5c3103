"""elbowroom.yaml: what may be left out, what the environment says, and that every mistake has a file and a line."""

from __future__ import annotations

import importlib.util
import re
import stat
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from elbowroom.errors import InvalidConfig
from elbowroom.records import Mode
from elbowroom_proxy import settings
from elbowroom_proxy.configfiles import Files
from elbowroom_proxy.settings import General, config_folder, keys, load, load_policy
from elbowroom_proxy.vocabularies import Vocabularies

DEMO = """\
model_list:
  - model_name: demo-small
    litellm_params:
      model: demo/demo-small
    model_info: {context_window: 8192, max_output_tokens: 2048, family: gpt-4o}
"""
OPENAI = """\
model_list:
  - model_name: big
    litellm_params:
      model: openai/gpt-4o
      api_base: os.environ/BASE
      api_key: os.environ/KEY
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "elbowroom.yaml"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize("text", ["", "model_list: []\n"])
def test_a_configuration_without_a_model_serves_nobody(tmp_path, text):
    file = tmp_path / "elbowroom.yaml"
    file.write_text(text)
    with pytest.raises(InvalidConfig, match="names no model"):
        settings.load(file, {})


def test_the_defaults_are_the_checkouts_and_have_the_two_demo_models(root):
    assert config_folder() == root / "config"
    found = load(environ={})
    assert [(model.name, model.upstream, model.context_window) for model in found.catalog.models] == [
        ("demo-small", "demo", 8_192),
        ("demo-large", "demo", 128_000),
    ]
    assert found.endpoints["demo-small"] == found.endpoints["demo-large"]
    assert found.counters["demo-small"].vocabulary == "o200k_base"
    assert found.general == General()  # what the file says is what holds without it
    assert found.policy.mode is Mode.ENFORCE
    assert found.policy.classes


@pytest.mark.parametrize("level", ["org", "team", "key"])
def test_a_month_is_not_left_to_the_memory_of_a_process_unless_that_is_meant(tmp_path, level):
    limit = {one: "max_budget: 5" if one == level else "rpm_limit: 5" for one in ("org", "team", "key")}
    (tmp_path / "orgs.yaml").write_text(
        f"orgs:\n  - name: acme\n    {limit['org']}\n    teams:\n      - {{name: a, {limit['team']}}}\n"
    )
    (tmp_path / "keys.yaml").write_text(
        f"version: 1\nkeys:\n  - {{name: k, org: acme, team: a, {limit['key']}, secrets: [{{sha256: {'a' * 64}}}]}}\n"
    )
    with pytest.raises(InvalidConfig, match=r"elbowroom.yaml:1: .* has a limit for 1mo, which a ledger in memory"):
        load(written(tmp_path, DEMO), {})
    load(written(tmp_path, DEMO + "general_settings: {ledger: {volatile: true}}\n"), {})


def test_a_wheels_copy_of_the_defaults_comes_first(tmp_path, monkeypatch):
    monkeypatch.setattr(settings, "__file__", str(tmp_path / "settings.py"))
    (tmp_path / "_config").mkdir()
    assert config_folder() == tmp_path / "_config"


def test_the_environment_is_asked_where_the_file_says_so(tmp_path):
    found = load(written(tmp_path, OPENAI), {"BASE": "http://host/v1/", "KEY": "sk-1"})
    endpoint = found.endpoints["big"]
    assert (endpoint.upstream, endpoint.api_base, endpoint.api_key) == ("openai", "http://host/v1", "sk-1")
    assert endpoint.total_timeout == General().total_timeout


def test_other_providers_are_reached_through_litellm_and_the_table_says_what_the_file_does_not(tmp_path):
    text = "model_list:\n  - {model_name: c, litellm_params: {model: anthropic/claude-sonnet-4-5, api_key: k}}\n"
    found = load(written(tmp_path, text), {})
    model, endpoint = found.catalog.find("c"), found.endpoints["c"]
    assert (endpoint.upstream, endpoint.api_base, endpoint.api_key) == ("litellm", None, "k")
    assert (model.upstream_model, model.context_window) == ("anthropic/claude-sonnet-4-5", 200_000)
    assert model.price == found.published["c"].price


def test_redis_and_the_secret_may_come_from_the_environment_alone(tmp_path):
    file = written(tmp_path, DEMO)
    found = load(file, {"REDIS_URL": "redis://host:6379/0", "ELBOWROOM_SECRET": "s" * 16})
    assert (found.general.redis_url, found.general.secret) == ("redis://host:6379/0", "s" * 16)
    assert load(file, {"REDIS_URL": "", "ELBOWROOM_SECRET": ""}).general.redis_url is None


def test_a_policy_lies_beside_the_file_that_names_it(tmp_path):
    (tmp_path / "policies" / "classes").mkdir(parents=True)
    (tmp_path / "policies" / "mine.yaml").write_text("id: mine\ndefault_class: only\n")
    (tmp_path / "policies" / "classes" / "only.yaml").write_text("name: only\n")
    found = load(written(tmp_path, DEMO + "general_settings: {policy: policies/mine.yaml}\n"), {})
    assert (found.policy.id, [one.name for one in found.policy.classes]) == ("mine", ["only"])
    assert found.policy == load_policy(tmp_path / "policies" / "mine.yaml")


def test_further_policies_have_names_and_are_checked_like_the_first(tmp_path):
    (tmp_path / "careful.yaml").write_text("id: careful\nmode: shadow\n")
    general = "general_settings: {policies: {careful: careful.yaml}}\n"
    found = load(written(tmp_path, DEMO + general), {})
    assert {name: one.id for name, one in found.policies.items()} == {"careful": "careful"}
    for text, words in (
        ("id: careful\nmode: shady\n", r"careful.yaml:2: .*mode"),
        ("rerank: {by: http}\n", "rerank.by is http"),
        ("history: {summary: {model: none}}\n", "which is not listed"),
    ):
        (tmp_path / "careful.yaml").write_text(text)
        with pytest.raises(InvalidConfig, match=words):
            load(written(tmp_path, DEMO + general), {})


def test_what_was_read_can_be_read_again(tmp_path):
    file = written(tmp_path, DEMO + "general_settings: {secret: os.environ/S}\n")
    found = load(file, {"S": "s" * 16})
    assert found.files.look() == found.files.digest
    again = found.again(Files())
    assert (again.general, again.policy, again.files.digest) == (found.general, found.policy, found.files.digest)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (DEMO + "general_settings:\n  redis: x\n", 7, "no such key"),
        (DEMO + "general_settings:\n  max_queue: -1\n", 7, ">= 0"),
        (DEMO + "general_settings:\n  total_timeout: 0\n", 7, "> 0"),
        (DEMO + "general_settings:\n  redis_url: http://host\n", 7, "must begin with redis://"),
        (DEMO + "general_settings:\n  redis_url: redis://host\n", 6, "the same secret"),
        (DEMO + "general_settings:\n  secret: short\n", 7, "at least 16"),
        (DEMO + "general_settings:\n  secret: os.environ/NOBODY\n", 7, "no NOBODY"),
        (OPENAI, 5, "no BASE"),
        (DEMO.replace("family", "counter: nobody, family"), 5, "no counter 'nobody'"),
        (DEMO + DEMO.removeprefix("model_list:\n"), 6, "another model demo-small"),
        (DEMO + "general_settings:\n  count_timeout: 0\n", 7, "> 0"),
        ("model_list: [", 1, "expected"),
    ],
)
def test_a_mistake_is_told_with_file_and_line(tmp_path, text, line, words):
    file = written(tmp_path, text)
    with pytest.raises(InvalidConfig, match=re.escape(words)) as caught:
        load(file, {})
    assert caught.value.message.startswith(f"{file}:{line}: ")


def test_files_that_cannot_be_read_are_told_too(tmp_path):
    with pytest.raises(InvalidConfig, match="No such file"):
        load(tmp_path / "nowhere.yaml", {})
    (tmp_path / "latin.yaml").write_bytes(b"# \xe9\n")
    with pytest.raises(InvalidConfig, match="not UTF-8"):
        load_policy(tmp_path / "latin.yaml")


def test_a_configured_secret_makes_three_keys_and_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = keys(General(secret="s" * 16))
    assert len({made.nonce, made.hash, made.counts}) == 3
    assert made == keys(General(secret="s" * 16)) != keys(General(secret="t" * 16))
    assert list(tmp_path.iterdir()) == []


def test_the_demos_secret_is_made_once_and_kept_for_its_owner(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = keys(General())
    kept = tmp_path / ".elbowroom" / "secret"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert keys(General()) == first
    kept.write_text("")
    with pytest.raises(InvalidConfig, match="damaged"):
        keys(General())


OWN = """\
model_list:
  - model_name: own
    litellm_params: {model: hosted_vllm/acme/own-7b, api_base: http://127.0.0.1:1}
    model_info:
      context_window: 8192
      max_output_tokens: 2048
      tokenizer: own/tokenizer.json
      chat_template_kwargs: {enable_thinking: false}
"""
CLAUDE = """\
model_list:
  - model_name: claude
    litellm_params: {model: openai/claude-sonnet-4-5, api_base: http://127.0.0.1:1}
    model_info: {context_window: 200000, max_output_tokens: 8192}
"""


def test_a_self_hosted_model_is_counted_by_its_own_files(tmp_path):
    folder = tmp_path / "own"
    folder.mkdir()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    Tokenizer(models.BPE({letter: i for i, letter in enumerate(alphabet)}, [])).save(str(folder / "tokenizer.json"))
    (folder / "chat_template.jinja").write_text("{{ messages[0].content }}{{ enable_thinking }}")
    found = load(written(tmp_path, OWN), {})
    model = found.catalog.find("own")
    assert (model.counter, model.family, model.known) == ("template", "vllm", True)
    assert found.tokenizers == {model.vocabulary: folder / "tokenizer.json"}
    [text] = found.counters["own"].plan({"messages": [{"role": "user", "content": "hi"}]}).texts
    assert text == "hiFalse"
    vocabularies = Vocabularies(files=found.tokenizers)
    assert not vocabularies.loaded(model.vocabulary)
    assert vocabularies.tokens(model.vocabulary, text) == len(text)
    assert vocabularies.loaded(model.vocabulary)
    assert vocabularies.tokens(model.vocabulary, "again") == 5


def test_a_self_hosted_models_missing_file_has_a_line(tmp_path):
    with pytest.raises(InvalidConfig, match=r"elbowroom\.yaml:7: .*No such file"):
        load(written(tmp_path, OWN), {})


def test_a_tokenizer_that_is_not_installed_leaves_bytes_and_a_note(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    found = load(written(tmp_path, CLAUDE), {})
    model = found.catalog.find("claude")
    assert (model.counter, model.vocabulary) == ("bounded", "bytes")
    [note] = found.notes
    assert note.startswith("claude is counted by its bytes")
    assert "elbowroom[claude]" in note


def test_a_tokenizer_that_is_asked_for_must_be_installed(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    asked = CLAUDE.replace("8192}", "8192, counter: claude}")
    with pytest.raises(InvalidConfig, match=r"elbowroom\.yaml:4: .*elbowroom\[claude\]"):
        load(written(tmp_path, asked), {})


RERANKER = """\
reranker:
  api_base: os.environ/RERANK
  shape: tei
  api_key: os.environ/RERANK_KEY
"""


def test_a_reranker_s_words_come_from_the_environment(tmp_path):
    found = load(written(tmp_path, DEMO + RERANKER), {"RERANK": "http://r/", "RERANK_KEY": "k"}).reranker
    assert found is not None
    assert (found.api_base, found.api_key, found.shape, found.timeout) == ("http://r", "k", "tei", 2.0)
    assert load(written(tmp_path, DEMO), {}).reranker is None


@pytest.mark.parametrize(
    ("more", "policy", "fault"),
    [
        (RERANKER, "", "7: must begin with http:// or https:// (reranker.api_base)"),
        ("", "rerank: {by: http}", "the policy's rerank.by is http, and there is no such entry"),
        ("", "history: {summary: {model: big}}", "the policy's history.summary.model is big, which is not listed"),
        ("", "evidence: {compress: {model: big}}", "the policy's evidence.compress.model is big, which is not listed"),
    ],
)
def test_whom_a_policy_asks_must_be_there(tmp_path, more, policy, fault):
    (tmp_path / "policy.yaml").write_text(policy)
    text = DEMO + more + "general_settings: {policy: policy.yaml}\n"
    with pytest.raises(InvalidConfig, match=re.escape(fault)):
        load(written(tmp_path, text), {"RERANK": "ftp://r", "RERANK_KEY": "k"})
