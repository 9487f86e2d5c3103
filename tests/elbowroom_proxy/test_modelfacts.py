"""The table of models: read without litellm, in our words, with its two meanings told apart."""

from __future__ import annotations

import datetime as dt
import importlib.util
import json
import subprocess
import sys
from typing import Any

import msgspec
import pytest

from elbowroom.price import Price, Tier
from elbowroom.read.catalog import Facts
from elbowroom_proxy import modelfacts
from elbowroom_proxy.modelfacts import Table, facts, published, stale

OF = "2026-11-20"


def row(**said: Any) -> dict[str, Any]:
    return {"mode": "chat", "litellm_provider": "openai", **said}


def table(**rows: Any) -> Table:
    return Table({name: msgspec.Raw(json.dumps(one).encode()) for name, one in rows.items()}, OF)


@pytest.mark.parametrize(
    ("most_in", "most_out", "window", "alone"),
    [
        (128_000, 16_384, 128_000, None),  # gpt-4o: the window
        (272_000, 128_000, 400_000, 272_000),  # gpt-5: the input alone
        (922_000, 128_000, 1_050_000, 922_000),
        (1_050_000, 128_000, 1_050_000, None),
        (200_000, 64_000, 200_000, None),  # Claude
        (1_048_576, 65_536, 1_048_576, None),  # Gemini
        (128_000, 128_000, 128_000, None),  # together a window too, but so is each
        (524_288, 524_288, 524_288, None),
        (100, 50, 100, None),
        (None, 50, None, None),
        (100, None, 100, None),
    ],
)
def test_the_two_meanings_of_max_input_tokens(most_in, most_out, window, alone):
    found = facts(row(max_input_tokens=most_in, max_output_tokens=most_out), OF)
    assert (found.context_window, found.max_input_tokens, found.max_output_tokens) == (window, alone, most_out)


def test_prices_in_whole_micro_usd_a_million_tokens():
    said = row(
        input_cost_per_token=1.25e-06,
        output_cost_per_token=1e-05,
        cache_read_input_token_cost=1.25e-07,
        cache_creation_input_token_cost=0,
        cache_creation_input_token_cost_above_1hr=3e-06,
        cache_creation_input_token_cost_above_1hr_above_272k_tokens=6e-06,
        output_cost_per_reasoning_token=2.5e-06,
        input_cost_per_token_above_272k_tokens=2.5e-06,
        output_cost_per_token_above_272k_tokens=1.5e-05,
        cache_read_input_token_cost_above_272k_tokens=2.5e-07,
        input_cost_per_token_above_9k_tokens=1e-06,  # without a price out: no price
        input_cost_per_token_above_272k_tokens_priority=1.0,
    )
    assert facts(said, OF).price == Price(
        1_250_000,
        10_000_000,
        cached=125_000,
        cache_write=0,
        reasoning=2_500_000,
        longer=(Tier(272_000, 2_500_000, 15_000_000, 250_000, cache_write_hour=6_000_000),),
        cache_write_hour=3_000_000,
        as_of=OF,
    )


@pytest.mark.parametrize(
    ("said", "sound"),
    [
        ({}, False),
        ({"input_cost_per_audio_token": 2e-6}, False),
        ({"input_cost_per_audio_token": 4e-5}, True),
        ({"output_cost_per_audio_token": 8e-5}, True),
    ],
)
def test_sound_may_have_a_price_of_its_own(said, sound):
    found = facts(row(input_cost_per_token=2e-6, output_cost_per_token=1e-5, **said), OF).price
    assert found is not None
    assert found.sound == sound


@pytest.mark.parametrize("said", [{}, {"input_cost_per_token": 1e-6}, {"output_cost_per_token": 1e-6}])
def test_half_a_price_is_none(said):
    assert facts(row(**said), OF).price is None


def test_a_model_is_found_by_its_providers_name_and_no_other():
    rows = table(
        **{
            "gpt-x": row(max_input_tokens=1),
            "claude-x": row(litellm_provider="anthropic", max_input_tokens=2),
            "gemini-x": row(litellm_provider="vertex_ai-language-models", max_input_tokens=3),
            "gemini/gemini-x": row(litellm_provider="gemini", max_input_tokens=4),
            "embed-x": row(mode="embedding", max_input_tokens=5),
            "image-x": row(mode="image_generation", max_input_tokens=6),
        }
    )
    windows = {
        name: found and found.context_window
        for name in (
            "gpt-x", "openai/gpt-x", "claude-x", "anthropic/claude-x", "vertex_ai/gemini-x", "gemini/gemini-x",
            "hosted_vllm/gpt-x", "openai/claude-x", "embed-x", "image-x", "nobody/x", "",
        )
        for found in [rows.find(name)]
    }  # fmt: skip
    assert windows == {
        "gpt-x": 1, "openai/gpt-x": 1, "claude-x": None, "anthropic/claude-x": 2, "vertex_ai/gemini-x": 3,
        "gemini/gemini-x": 4, "hosted_vllm/gpt-x": None, "openai/claude-x": None, "embed-x": 5, "image-x": None,
        "nobody/x": None, "": None,
    }  # fmt: skip


def test_a_model_that_embeds_emits_nothing_and_has_its_price():
    found = facts(
        row(mode="embedding", max_input_tokens=8_191, input_cost_per_token=2e-08, output_cost_per_token=0), OF
    )
    assert (found.context_window, found.max_input_tokens, found.max_output_tokens) == (8_192, 8_191, 1)
    assert found.price == Price(20_000, 0, as_of=OF)


def test_the_installed_table_knows_the_large_makers():
    today = dt.date.fromisoformat(modelfacts.bundled().as_of)
    for name in ("gpt-5", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-pro", "mistral/mistral-large-latest"):
        found = published(name)
        assert found is not None
        assert found.context_window is not None
        assert found.context_window >= 100_000
        assert found.price is not None
        assert 0 < found.price.input < found.price.output
        assert dt.date(2025, 1, 1) < dt.date.fromisoformat(found.as_of) <= today
    gpt5 = published("openai/gpt-5")
    assert gpt5 is not None
    assert (gpt5.context_window, gpt5.max_input_tokens) == (400_000, 272_000)


def test_litellm_is_not_imported_for_it_and_the_demo_reads_nothing():
    script = (
        "import sys; from elbowroom_proxy import modelfacts as m; assert m.published('demo/demo-small') is None; "
        "assert m.bundled.cache_info().currsize == 0; assert m.published('gpt-4o'); assert 'litellm' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_without_litellm_nothing_is_published(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert modelfacts.bundled.__wrapped__().find("gpt-4o") is None


def test_a_wheel_that_does_not_say_its_day_has_none(monkeypatch):
    monkeypatch.setattr("importlib.metadata.files", lambda _: None)
    assert modelfacts.bundled.__wrapped__().as_of == ""


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (Facts(as_of=OF), None),
        (Facts(as_of=OF, deprecated="2026-12-02"), None),
        (Facts(as_of=OF, deprecated="2026-12-01"), "withdrew it on 2026-12-01"),
        (Facts(as_of="2026-06-04"), None),
        (Facts(as_of="2026-06-03"), "is of 2026-06-03"),
        (Facts(), None),
    ],
)
def test_facts_grow_stale(found, why):
    said = stale(found, dt.date(2026, 12, 1))
    assert said is None if why is None else said is not None and why in said
