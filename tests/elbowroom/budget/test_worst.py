"""What is held: never less than what may be billed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import structs

from elbowroom import count
from elbowroom.budget import worst as worse
from elbowroom.budget.cost import dearest
from elbowroom.budget.hold import Amounts
from elbowroom.budget.worst import Worst, most_output, thinks_unseen, worst
from elbowroom.decision import Setting, decide
from elbowroom.errors import InvalidRequest
from elbowroom.price import Price
from elbowroom.read.policy import Answer, Policy
from elbowroom.records import Edit, Mode, Packed, Principal, Request
from tests.walk import MODEL, chat, read, run, setting

PRICE = Price(2_500_000, 10_000_000)
HELLO = ("user", "Where are the offices?")


def packed(request: Request, made: Setting) -> Packed:
    outcome = run(decide(request, made))
    assert isinstance(outcome, Packed)
    return outcome


def held(request: Request, made: Setting | None = None) -> Worst:
    made = structs.replace(made or setting(), limited=True)
    return worst(request, packed(request, made), made.model, made.counter)


def test_a_counted_prompt_is_held_with_its_margin():
    tools = [{"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {}}}}]
    request = chat(HELLO, tools=tools, max_tokens=100)
    counted = packed(request, structs.replace(setting(), limited=True)).decision.counted
    assert counted is not None
    assert counted.margin > 0
    assert held(request) == Worst(counted.tokens + counted.margin, "counted", 100, 100)


TOLD = {"role": "assistant", "content": "x"}
CALL: dict[str, Any] = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("message", "bytes_more"),
    [
        (TOLD, 0),
        ({**TOLD, "annotations": [{"a": 1}], "reasoning_content": None}, 0),
        ({**TOLD, "tool_calls": [CALL]}, 0),
        ({"role": "user", "content": [{"type": "text", "text": "x", "cache_control": {"ttl": "1h"}}]}, 0),
        ({**TOLD, "reasoning_content": "h\u00e4m"}, 6),
        ({**TOLD, "tool_calls": [{**CALL, "function": {**CALL["function"], "odd": [1, 2]}}]}, 5),
        ({"role": "user", "content": [{"type": "text", "text": "x", "odd": "yyy"}]}, 5),
    ],
)
def test_what_templates_may_write_out_and_nobody_counts_is_held_by_its_bytes(message: Any, bytes_more: int):
    body = {"model": "m", "messages": [message, {"role": "user", "content": "And?"}]}
    request = read(body)
    made = structs.replace(setting(), limited=True)
    counted = packed(request, made).decision.counted
    assert counted is not None
    assert held(request).prompt == counted.tokens + counted.margin + bytes_more


def test_no_model_reads_more_than_its_window_whatever_is_written_out():
    said = read({"model": "m", "messages": [{"role": "user", "content": "x", "odd": "y" * 1_000_000}]})
    assert held(said).prompt == MODEL.context_window


def test_a_prompt_that_a_client_says_how_to_write_is_as_long_as_the_window():
    assert held(chat(HELLO, chat_template="{{ x }}")).by == "window"
    assert held(chat(HELLO, chat_template=None)).by == "counted"
    deep = json.loads('{"function":' * 900 + "0" + "}" * 900)
    nested = read({"model": "m", "messages": [{"role": "user", "content": "x", "function": deep}]})
    assert held(nested).by == "counted"
    more = held(chat(HELLO, chat_template_kwargs={"a": 1})).prompt - held(chat(HELLO)).prompt
    assert more == len('{"a": 1}')


@pytest.mark.parametrize(
    ("more", "answer"),
    [
        ({"max_tokens": 100}, 100),
        ({"max_completion_tokens": 100}, 100),
        ({"max_tokens": 100, "max_completion_tokens": 300}, 300),
        ({"max_tokens": 100, "n": 3}, 300),
        ({"max_tokens": 100, "n": 2, "best_of": 5}, 500),
        ({"max_tokens": 100, "n": None, "best_of": None}, 100),
        ({"max_tokens": 100, "n": 2, "n_cmpl": 3}, 300),
        ({"max_tokens": 100, "n_predict": 5}, 4_096),  # whose server may not read `max_tokens` then
        ({"max_tokens": 100, "n_predict": None}, 4_096),
        ({"max_tokens": 5_000}, 4_096),  # more than the model can
        ({"max_tokens": 100, "prediction": {"type": "content", "content": "x" * 50}}, 100 + 84),
        ({}, 4_096),
        ({"n": 2}, 8_192),
    ],
)
def test_all_that_may_be_emitted_is_held(more: dict[str, Any], answer: int):
    assert held(chat(HELLO, **more)).answer == answer


@pytest.mark.parametrize("name", ["best_of", "n_cmpl"])
@pytest.mark.parametrize("value", [129, "9", 9.0, True])  # some servers read "9" as 9
def test_more_choices_than_anybody_offers_or_can_tell_are_refused(name: str, value: Any):
    with pytest.raises(InvalidRequest, match=name):
        held(chat(HELLO, **{name: value}))


@pytest.mark.parametrize(
    ("keys", "policys", "cap"), [(None, None, 4_096), (None, 70, 70), (50, 70, 50), (90, None, 90)]
)
def test_without_a_maximum_of_the_clients_the_cap_is_sent_and_held_the_keys_first(
    keys: int | None, policys: int | None, cap: int
):
    made = structs.replace(
        setting(Policy(answer=Answer(output_cap=policys))), principal=Principal(output_cap=keys), limited=True
    )
    request = chat(HELLO, n=2)
    sent = packed(request, made)
    assert held(request, made).answer == 2 * cap
    assert (sent.output_limit or 4_096) == cap
    assert (Edit.OUTPUT_CAPPED in sent.decision.edits) == (cap != 4_096)
    named = chat(HELLO, max_tokens=200)
    assert held(named, made).answer == 200


def test_a_maximum_that_was_lowered_is_held_as_it_left():
    long = ("user", "word " * 7_000)
    request = chat(long, max_tokens=4_000)
    made = structs.replace(setting(), limited=True)
    sent = packed(request, made)
    assert Edit.OUTPUT_CLAMPED in sent.decision.edits
    assert held(request).answer == read_limit(sent) < 4_000


def read_limit(sent: Packed) -> int:
    limit: int = json.loads(sent.body)["max_tokens"]
    return limit


def test_the_rate_takes_the_room_that_the_window_keeps_for_the_answer():
    without = held(chat(HELLO))
    assert (without.answer, without.reserve) == (4_096, 700)
    assert without.amounts(None).rate_tokens == without.prompt + 700
    said = held(chat(HELLO, max_tokens=100))
    assert said.amounts(None) == Amounts(said.prompt + 100, 0, said.prompt + 100)


def test_money_is_held_for_the_dearest_way():
    found = held(chat(HELLO, max_tokens=100))
    dear = Price(2_500_000, 10_000_000, cache_write=3_000_000, reasoning=11_000_000)
    assert found.amounts(dear).micro_usd == dearest(dear, found.prompt, 100) > found.amounts(PRICE).micro_usd > 0


def test_what_cannot_be_counted_is_held_by_its_bytes_where_these_prove_anything():
    model = structs.replace(MODEL, counter="bounded", family="llama", vocabulary="bytes")
    made = setting(model=model, counter=count.build(model))
    sent = packed(chat(HELLO), made)  # forwarded first
    assert sent.decision.counted is None
    found = worst(chat(HELLO), sent, model, made.counter)
    assert found.by == "bytes"
    assert found.prompt > len(chat(HELLO).body)
    assert found.reserve == found.answer == 4_096


@pytest.mark.parametrize("mode", list(Mode))
def test_what_no_bytes_bound_is_held_by_the_window(mode: Mode):
    content = [{"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}]
    request = read({"model": "m", "messages": [{"role": "user", "content": content}], "max_tokens": 9})
    found = held(request, setting(Policy(mode=mode)))
    assert (found.prompt, found.by, found.answer) == (MODEL.context_window, "window", 9)


def test_a_model_emits_no_more_than_it_can():
    assert [most_output(told, MODEL) for told in (None, 10, 10_000)] == [4_096, 10, 4_096]


@pytest.mark.parametrize("mode", list(Mode))
def test_who_is_limited_has_every_prompt_counted_and_every_stream_billed(mode: Mode):
    made = setting(Policy(mode=mode))
    request = chat(HELLO, stream=True)
    free, limited = (packed(request, structs.replace(made, limited=one)) for one in (False, True))
    assert (free.body, free.decision.counted, free.usage_asked) == (request.body, None, False)
    assert limited.decision.counted is not None
    assert (limited.decision.edits, limited.usage_asked) == ((Edit.USAGE_ASKED,), True)
    whole = chat(HELLO)
    assert packed(whole, structs.replace(made, limited=True)).body == whole.body
    refused = chat(HELLO, stream=True, stream_options={"include_usage": False})
    assert packed(refused, structs.replace(made, limited=True)).body == refused.body  # an explicit false stays


def test_the_decision_says_that_somebody_was_limited():
    assert packed(chat(HELLO), structs.replace(setting(), limited=True)).decision.limited
    assert not packed(chat(HELLO), setting()).decision.limited


@pytest.mark.parametrize(
    ("changed", "params", "unseen"),
    [
        ({}, {}, False),
        ({}, {"reasoning_effort": "none", "reasoning": None}, False),
        ({}, {"reasoning_effort": "low"}, True),
        ({}, {"thinking": {"type": "enabled"}}, True),
        ({"family": "gpt-5"}, {}, True),
        ({"family": "gemini"}, {}, True),
        ({"known": False}, {}, True),
        ({"price": PRICE}, {}, False),
        ({"price": Price(1, 1, reasoning=2)}, {}, True),
    ],
)
def test_who_may_think_what_nobody_sees(changed: dict[str, Any], params: dict[str, Any], unseen: bool):
    assert thinks_unseen(structs.replace(MODEL, **changed), params) == unseen


@pytest.mark.parametrize(
    ("tier", "unpriced"), [(None, None), ("auto", None), ("flex", None), ("priority", "service_tier")]
)
def test_a_tier_with_a_price_of_its_own_is_told(tier: str | None, unpriced: str | None):
    assert held(chat(HELLO, service_tier=tier)).unpriced == unpriced


@pytest.mark.parametrize("name", ["models", "fallbacks"])
def test_nobody_knows_what_other_models_cost(name: str):
    assert held(chat(HELLO, **{name: ["another"]})).unpriced == name
    assert held(chat(HELLO, **{name: None})).unpriced is None


HEARD = {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "input_audio", "input_audio": {}}]}


@pytest.mark.parametrize(
    ("more", "message", "unpriced"),
    [
        ({"modalities": ["text", "audio"]}, {"role": "user", "content": "x"}, "modalities"),
        ({"modalities": ["text"]}, {"role": "user", "content": [{"type": "text", "text": "x"}]}, None),
        ({"modalities": "audio"}, {"role": "user", "content": None}, None),
        ({}, HEARD, "input_audio"),
    ],
)
def test_sound_is_told_where_it_has_a_price_of_its_own(more: Any, message: Any, unpriced: str | None):
    for price in (None, PRICE):
        assert worse.unpriced(structs.replace(MODEL, price=price), more, [message]) is None
    dear = structs.replace(MODEL, price=structs.replace(PRICE, sound=True))
    assert worse.unpriced(dear, more, [message]) == unpriced
