"""Mistral's layouts, each against mistral-common's own encoder of that version."""

from __future__ import annotations

import base64
import json
import logging
import warnings
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elbowroom.count.mistral import LAYOUTS, build
from elbowroom.errors import CountUnavailable
from elbowroom.read.families import family_of
from elbowroom.records import Basis, Model
from elbowroom_proxy import encoders

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from mistral_common.exceptions import MistralCommonException
    from mistral_common.protocol.instruct.normalize import get_normalizer
    from mistral_common.protocol.instruct.request import ChatCompletionRequest
    from mistral_common.tokens.tokenizers import instruct
    from mistral_common.tokens.tokenizers.base import SpecialTokens, TokenizerVersion
    from mistral_common.tokens.tokenizers.model_settings_builder import ModelSettingsBuilder
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

logging.getLogger("mistral_common").setLevel(logging.ERROR)

CALL = {"id": "abcdefghi", "type": "function", "function": {"name": "look", "arguments": '{"at": "Zürich"}'}}
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


def counter(family: str):
    return build(Model("m", "litellm", "m", 32_768, 4_096, "mistral", family, "mistral:tekken_240911"))


def oracle(version: str):
    """mistral-common's encoder of that version over a vocabulary of single bytes."""
    bytes_only: Any = [
        {"rank": i, "token_bytes": base64.b64encode(bytes([i])).decode(), "token_str": None} for i in range(256)
    ]
    special: Any = [{"rank": i, "token_str": each.value, "is_control": True} for i, each in enumerate(SpecialTokens)]
    efforts = ModelSettingsBuilder.model_validate(
        {"reasoning_effort": {"type": "enum", "accepts_none": True, "default": "none", "values": ["none", "high"]}}
    )
    tokenizer = Tekkenizer(
        vocab=bytes_only,
        special_tokens=special,
        pattern=r"[\s\S]+",
        vocab_size=256 + len(special),
        num_special_tokens=len(special),
        version=TokenizerVersion(version),
        model_settings_builder=efforts if version == "v15" else None,
    )
    encoder = getattr(instruct, f"InstructTokenizer{version.upper()}")(tokenizer)
    normalizer = get_normalizer(TokenizerVersion(version), efforts if version == "v15" else None)

    def count(body: dict) -> int:
        request = ChatCompletionRequest.from_openai(**body)
        return len(encoder.encode_instruct(normalizer.from_chat_completion_request(request)).tokens)

    return count


ORACLES = {f"mistral-{version}": oracle(version) for version in ("v3", "v7", "v11", "v13", "v15")}
each = pytest.mark.parametrize("family", sorted(ORACLES))


def ours(family: str, body: dict) -> int:
    plan = counter(family).plan(body)
    return plan.constant + sum(len(text.encode()) for text in plan.texts)


def user(text: str = "hi") -> dict:
    return {"role": "user", "content": text}


CALLING = {"role": "assistant", "content": "", "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "abcdefghi", "name": "look", "content": '{"sky":"晴れ"}'}
SHAPES = {
    "one": [user()],
    "system": [{"role": "system", "content": "be brief"}, user()],
    "two systems": [{"role": "system", "content": "a"}, {"role": "system", "content": "b"}, user()],
    "turns": [user("a"), {"role": "assistant", "content": "b "}, user("c")],
    "neighbours": [user("a"), user("b"), {"role": "assistant", "content": "c"}, user("d")],
    "parts": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}],
    "call and result": [user(), CALLING, RESULT],
    "result of plain text": [user(), CALLING, {**RESULT, "content": "no json"}],
    "result and a turn": [user(), CALLING, RESULT, {"role": "assistant", "content": "so"}, user("and")],
}


@each
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("tools", [[], [TOOL]], ids=["bare", "tools"])
def test_it_is_what_mistral_common_encodes(family, shape, tools):
    body = {"messages": SHAPES[shape], **({"tools": tools} if tools else {})}
    assert ours(family, body) == ORACLES[family](body)


@each
@given(
    system=st.none() | st.text("ab \n", min_size=1, max_size=6),
    turns=st.lists(st.text("aé \n", min_size=1, max_size=6).filter(str.strip), min_size=1, max_size=5),
)
@settings(max_examples=30)
def test_any_conversation_is(family, system, turns):
    messages = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(turns)]
    if system is not None:
        messages.insert(0, {"role": "system", "content": system})
    body = {"messages": messages}
    try:
        expected = ORACLES[family](body)
    except MistralCommonException:
        return
    assert ours(family, body) == expected


def test_two_calls_are_one_list_or_two():
    messages = [user(), {**CALLING, "content": "both", "tool_calls": [CALL, {**CALL, "id": "ihgfedcba"}]}]
    for family in ("mistral-v7", "mistral-v11", "mistral-v13", "mistral-v15"):
        assert ours(family, {"messages": messages}) == ORACLES[family]({"messages": messages})


def test_effort_is_told_to_the_model():
    body = {"messages": [user()], "reasoning_effort": "high"}
    assert ours("mistral-v15", body) == ORACLES["mistral-v15"](body)
    assert ours("mistral-v15", body) == ours("mistral-v15", {"messages": [user()]})
    assert ours("mistral-v13", body) == ours("mistral-v13", {"messages": [user()]})


def test_an_empty_conversation_is_a_beginning():
    assert counter("mistral-v13").plan({"messages": []}).constant == 1
    assert counter("mistral-v3").plan({}).constant == 3
    assert counter("mistral-v13").plan({"messages": [], "tools": [TOOL]}).texts == ()


def test_what_json_cannot_read_stays_text():
    call = {"id": "a", "function": {"name": "f", "arguments": "{no"}}
    assert '"{no"' in counter("mistral-v13").plan({"messages": [{"role": "assistant", "tool_calls": [call]}]}).texts
    call = {"id": "a", "function": {"name": "f", "arguments": {"x": 1}}}
    assert '{"x": 1}' in counter("mistral-v13").plan({"messages": [{"role": "assistant", "tool_calls": [call]}]}).texts


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "other than text"),
        ({"messages": [{"role": "user", "content": ["x"]}]}, "other than text"),
        ({"messages": [{"role": "assistant", "tool_calls": [{"type": "custom"}]}]}, "calls"),
        ({"messages": [user()], "tools": [{"type": "web_search"}]}, "functions"),
    ],
)
def test_what_is_not_modelled_is_refused(body, words):
    with pytest.raises(CountUnavailable, match=words):
        counter("mistral-v13").plan(body)


def test_nesting_without_end_is_refused():
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    tool = {"type": "function", "function": {"name": "f", "parameters": deep}}
    with pytest.raises(CountUnavailable, match="nested"):
        counter("mistral-v13").plan({"messages": [user()], "tools": [tool]})


def test_an_unknown_version_is_refused():
    with pytest.raises(CountUnavailable, match="mistral-v99"):
        counter("mistral-v99")


@each
def test_the_body_bounds_the_plan_unless_there_are_tools(family):
    body = {"messages": SHAPES["result and a turn"]}
    assert counter(family).encloses(body, len(json.dumps(body))) >= ours(family, body)
    assert counter(family).encloses({**body, "tools": [TOOL]}, 10) is None


def test_recorded_bills_are_met(shared):
    encoder = encoders.load("mistral:tekken_240911")
    rows = [json.loads(line) for line in (shared / "data" / "token_truth.jsonl").read_text("utf-8").splitlines()]
    rows = [row for row in rows if row["provider"] == "api.mistral.ai"]
    assert rows
    for row in rows:
        found = family_of(row["model"])
        assert found.family in LAYOUTS
        plan = counter(found.family).plan(row)
        assert plan.basis is Basis.MODELLED
        assert plan.constant + sum(map(encoder.tokens, plan.texts)) == row["expected_prompt_tokens"], row["id"]
