"""A self-hosted model's prompt is one text."""

from __future__ import annotations

import pytest

from elbowroom.count.template import DATE_MARGIN, build
from elbowroom.errors import CountUnavailable
from elbowroom.records import Basis, ChatTemplate, Model, Plan

CHATML = """\
{%- for message in messages %}
{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{%- endif %}
{%- if enable_thinking is defined and not enable_thinking %}{{ '<think></think>' }}{%- endif %}
"""
STRICT = (
    "{{ bos_token }}{{ messages[0].role }}{% if messages[0].role != 'user' %}{{ raise_exception('no') }}{% endif %}"
)


def model(source: str, *, family: str = "vllm", **given) -> Model:
    template = ChatTemplate(source, **given)
    return Model("m", "openai", "m", 8_192, 1_024, "template", family, "tokenizer:abc", template=template)


def ask(text: str) -> dict:
    return {"messages": [{"role": "user", "content": text}]}


def test_the_rendered_prompt_is_the_one_text():
    plan = build(model(CHATML)).plan(ask("hi"))
    assert plan == Plan(0, ("<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n",), Basis.EXACT)


def test_a_models_variables_and_a_requests_reach_the_template():
    counter = build(model(CHATML, variables={"enable_thinking": False}))
    assert counter.plan(ask("hi")).texts[0].endswith("<think></think>")
    asked = {**ask("hi"), "chat_template_kwargs": {"enable_thinking": True}}
    assert not counter.plan(asked).texts[0].endswith("<think></think>")


def test_special_tokens_reach_the_template():
    assert build(model(STRICT, tokens={"bos_token": "<s>"})).plan(ask("hi")).texts == ("<s>user",)


def test_a_date_makes_it_a_model_of_the_prompt():
    counter = build(model("{{ strftime_now('%Y') }}", today="2026-01-01"))
    assert counter.plan(ask("hi")) == Plan(0, ("2026",), Basis.MODELLED, DATE_MARGIN)


def test_what_the_template_refuses_is_bounded_by_all_its_texts():
    body = {
        "messages": [{"role": "system", "content": "be", "n": [1, None]}],
        "tools": [{"type": "function", "function": {"name": "f"}}],
    }
    plan = build(model(STRICT, family="transformers")).plan(body)
    assert plan.basis is Basis.BOUNDED
    assert plan.constant > 0
    assert plan.texts[:5] == ("role", "system", "content", "be", "n")
    assert '"name": "f"' in plan.texts[-1]
    assert len(build(model(STRICT)).plan({"messages": body["messages"]}).texts) == 5


def test_an_empty_conversation_costs_an_empty_turn_where_the_template_needs_one():
    assert build(model(STRICT)).plan({"messages": []}) == Plan(0, ("user",), Basis.BOUNDED)
    assert build(model("{{ raise_exception('no') }}")).plan({"messages": []}) == Plan(0, (), Basis.BOUNDED)
    assert build(model(CHATML)).plan({"messages": []}).basis is Basis.EXACT


def test_no_messages_at_all_are_bounded():
    assert build(model(STRICT)).plan({}) == Plan(16, (), Basis.BOUNDED)


def test_bytes_prove_nothing():
    assert build(model(CHATML)).encloses(ask("hi"), 100) is None


def test_pictures_are_refused():
    with pytest.raises(CountUnavailable):
        build(model(CHATML)).plan({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})


def test_nesting_without_end_is_refused():
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(CountUnavailable, match="nested"):
        build(model(STRICT)).plan({"messages": [{"role": "system", "content": "", "x": deep}]})


def test_what_cannot_be_built_is_said():
    with pytest.raises(CountUnavailable, match="template is not given"):
        build(Model("m", "openai", "m", 8_192, 1_024, "template", "vllm", "tokenizer:abc"))
    with pytest.raises(CountUnavailable, match="no server 'ollama'"):
        build(model(CHATML, family="ollama"))
    with pytest.raises(CountUnavailable, match="line 1"):
        build(model("{% if %}"))
