"""Every file in `count/` that exports `build` is one counter of one shape."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elbowroom import count
from elbowroom.count.counter import Counter
from elbowroom.errors import CountUnavailable, InvalidRequest
from elbowroom.read.families import family_of
from elbowroom.records import Basis, ChatTemplate, Model, Plan

TEMPLATE = ChatTemplate(
    "{% for message in messages %}<{{ message.role }}>{{ message.content }}"
    "{% for call in message.tool_calls or [] %}{{ call | tojson }}{% endfor %}{% endfor %}{{ tools | tojson }}"
)
FAMILIES = {"template": "vllm", "claude": "claude-4.8", "mistral": "mistral-v13", "bounded": "cohere"}
HOSTILE = [
    "<|endoftext|>",
    "<|im_start|>system",
    "a" * 10_000,
    " " * 10_000,
    "\ud800",
    "{{ 7 * 7 }}",
    "[INST]",
    "\0",
    "é́́́",
]


def built(name: str) -> Counter:
    family = FAMILIES.get(name, "gpt-4o")
    return count.build(Model("m", "openai", "m", 8_192, 1_024, name, family, "v", template=TEMPLATE))


COUNTERS = {name: built(name) for name in sorted(count.NAMES)}
each = pytest.mark.parametrize("counter", COUNTERS.values(), ids=COUNTERS)

texts = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=40))
names = st.from_regex(r"[a-z_]{1,12}", fullmatch=True)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
parts = st.lists(
    st.one_of(
        st.fixed_dictionaries({"type": st.just("text"), "text": texts}),
        st.fixed_dictionaries({"type": st.just("refusal"), "refusal": texts}),
        st.just({"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}),
        st.just({"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}),
        st.fixed_dictionaries({"type": names}),
    ),
    max_size=3,
)
content = st.one_of(texts, st.none(), parts)
calls = st.lists(
    st.fixed_dictionaries(
        {
            "id": names,
            "type": st.just("function"),
            "function": st.fixed_dictionaries({"name": names, "arguments": texts | json_values.map(json.dumps)}),
        }
    ),
    min_size=1,
    max_size=2,
)
messages = st.lists(
    st.one_of(
        st.fixed_dictionaries({"role": st.sampled_from(["system", "developer", "user"]), "content": content}),
        st.fixed_dictionaries({"role": st.just("assistant"), "content": content}, optional={"tool_calls": calls}),
        st.fixed_dictionaries({"role": st.just("tool"), "tool_call_id": names, "content": content}),
    ),
    max_size=4,
)
functions = st.fixed_dictionaries(
    {"name": names}, optional={"description": texts, "parameters": st.dictionaries(names, json_values, max_size=2)}
)
bodies = st.fixed_dictionaries(
    {"model": st.just("m"), "messages": messages},
    optional={
        "tools": st.lists(st.fixed_dictionaries({"type": st.just("function"), "function": functions}), max_size=2),
        "tool_choice": st.sampled_from(["auto", "none", "required"]),
        "response_format": st.sampled_from([{"type": "text"}, {"type": "json_object"}]),
    },
)


def planned(counter: Counter, body: dict[str, Any]) -> Plan | str:
    try:
        return counter.plan(body)
    except (CountUnavailable, InvalidRequest) as error:
        return error.message


def test_the_counters_are_these():
    assert set(COUNTERS) >= {"bounded", "claude", "mistral", "openai_chat", "template"}


@each
def test_a_counter_says_whose_tokens_and_whether_they_add_up(counter):
    assert isinstance(counter.vocabulary, str)
    assert counter.additive in (True, False)


@each
@given(body=bodies)
@settings(max_examples=60)
def test_any_request_is_planned_or_refused_in_words(counter, body):
    before = copy.deepcopy(body)
    plan = planned(counter, body)
    assert body == before
    assert plan == planned(counter, body)
    if isinstance(plan, Plan):
        assert plan.constant >= 0
        assert plan.margin >= 0
        assert all(isinstance(text, str) for text in plan.texts)
        assert plan.basis in Basis
    else:
        assert plan


@each
def test_order_of_requests_does_not_matter(counter):
    one, two = ({"messages": [{"role": "user", "content": text}]} for text in ("one", "two"))
    first = counter.plan(one)
    counter.plan(two)
    assert counter.plan(one) == first != counter.plan(two)


@each
def test_an_empty_conversation_has_a_count_that_parts_can_be_told_from(counter):
    assert counter.plan({"messages": []}).constant >= 0


@each
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_text(counter, text):
    plan = counter.plan({"messages": [{"role": "user", "content": text}]})
    assert any(text in one for one in plan.texts)


@each
def test_a_longer_text_is_never_cheaper(counter):
    def size(text: str) -> int:
        plan = counter.plan({"messages": [{"role": "user", "content": text}]})
        return plan.constant + sum(map(len, plan.texts))

    assert size("a" * 100) >= size("a") + 99


@each
def test_nesting_without_end_is_refused_in_words(counter):
    deep: Any = "x"
    for _ in range(3_000):
        deep = [deep]
    tool = {"type": "function", "function": {"name": "f", "parameters": {"default": deep}}}
    plan = planned(counter, {"messages": [{"role": "user", "content": "x"}], "tools": [tool]})
    assert isinstance(plan, Plan | str)


@each
@given(body=bodies)
@settings(max_examples=30)
def test_the_bound_by_bytes_is_a_bound(counter, body):
    """By the plan with one token a byte, the most that its texts can be."""
    size = len(json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"))
    bound = counter.encloses(body, size)
    plan = planned(counter, body)
    if bound is not None and isinstance(plan, Plan):
        assert bound >= plan.constant + sum(len(text.encode("utf-8", "replace")) for text in plan.texts)


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("anthropic/claude-3-5-sonnet-20240620", "claude-3"),
        ("anthropic.claude-sonnet-4-20250514-v1:0", "claude-3"),
        ("claude-opus-4-20250514", "claude-3"),
        ("claude-opus-4-6", "claude-3"),
        ("claude-opus-4-7", "claude-4.7"),
        ("claude-opus-4-8", "claude-4.8"),
        ("us.anthropic.claude-opus-4-10-20270101-v1:0", "claude-4.8"),
        ("claude-sonnet-5", "claude-4.8"),
        ("mistral/mistral-small-latest", "mistral-v15"),
        ("mistral/mistral-large-latest", "mistral-v13"),
        ("gemini/gemini-2.5-flash", "gemini"),
        ("cohere_chat/command-r-plus", "cohere"),
    ],
)
def test_a_name_leads_to_a_counter_that_takes_it(name, family):
    found = family_of(name)
    assert found.family == family
    assert found.counter in COUNTERS
    model = Model(name, "litellm", name, 8_192, 1_024, found.counter, found.family, found.vocabulary, found.known)
    assert count.build(model).vocabulary == found.vocabulary
