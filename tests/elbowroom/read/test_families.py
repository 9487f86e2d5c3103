"""A model's name says its family, vocabulary and window, however it is dressed."""

import pytest

from elbowroom.read.families import UNKNOWN, UNKNOWN_MAKER, bare_name, family_of


@pytest.mark.parametrize(
    ("name", "family", "vocabulary", "window", "output"),
    [
        ("gpt-3.5-turbo", "gpt-3.5", "cl100k_base", 16_385, 4_096),
        ("gpt-3.5-turbo-0613", "gpt-3.5", "cl100k_base", 4_096, 4_096),
        ("gpt-3.5-turbo-16k-0613", "gpt-3.5", "cl100k_base", 16_385, 4_096),
        ("azure/gpt-35-turbo", "gpt-3.5", "cl100k_base", 16_385, 4_096),
        ("gpt-4", "gpt-4", "cl100k_base", 8_192, 8_192),
        ("gpt-4-0613", "gpt-4", "cl100k_base", 8_192, 8_192),
        ("gpt-4-32k-0613", "gpt-4", "cl100k_base", 32_768, 8_192),
        ("gpt-4-1106-preview", "gpt-4", "cl100k_base", 128_000, 4_096),
        ("gpt-4-turbo-2024-04-09", "gpt-4", "cl100k_base", 128_000, 4_096),
        ("gpt-4o", "gpt-4o", "o200k_base", 128_000, 16_384),
        ("GPT-4o-2024-08-06", "gpt-4o", "o200k_base", 128_000, 16_384),
        ("gpt-4o-2024-05-13", "gpt-4o", "o200k_base", 128_000, 4_096),
        ("openrouter/openai/gpt-4o", "gpt-4o", "o200k_base", 128_000, 16_384),
        ("chatgpt-4o-latest", "gpt-4o", "o200k_base", 128_000, 16_384),
        ("gpt-4o-audio-preview-2024-12-17", "gpt-4o", "o200k_base", 128_000, 16_384),
        ("4o-mini", "gpt-4o-mini", "o200k_base", 128_000, 16_384),
        ("ft:gpt-4o-mini-2024-07-18:acme::abc", "gpt-4o-mini", "o200k_base", 128_000, 16_384),
        ("openai/ft:gpt-3.5-turbo", "gpt-3.5", "cl100k_base", 16_385, 4_096),
        ("gpt-4.1-2025-04-14", "gpt-4.1", "o200k_base", 1_047_576, 32_768),
        ("gpt-4.5-preview", "gpt-4o", "o200k_base", 128_000, 16_384),
        ("gpt-4.1-mini", "gpt-4.1-mini", "o200k_base", 1_047_576, 32_768),
        ("gpt-4.1-nano", "gpt-4.1-nano", "o200k_base", 1_047_576, 32_768),
        ("o1-2024-12-17", "o1", "o200k_base", 200_000, 100_000),
        ("o1-preview", "o1", "o200k_base", 128_000, 32_768),
        ("o3-mini-2025-01-31", "o3", "o200k_base", 200_000, 100_000),
        ("o4-mini", "o4-mini", "o200k_base", 200_000, 100_000),
        ("gpt-5", "gpt-5", "o200k_base", 400_000, 128_000),
        ("gpt-5.1", "gpt-5", "o200k_base", 400_000, 128_000),
        ("gpt-5-codex", "gpt-5", "o200k_base", 400_000, 128_000),
        ("gpt-5-chat-latest", "gpt-5", "o200k_base", 128_000, 16_384),
        ("gpt-5-mini-2025-08-07", "gpt-5-mini", "o200k_base", 400_000, 128_000),
        ("gpt-5.9-whatever", "gpt-5", "o200k_base", None, None),
        ("gpt-5-nano", "gpt-5-nano", "o200k_base", 400_000, 128_000),
    ],
)
def test_known_names(name, family, vocabulary, window, output):
    found = family_of(name)
    assert (found.family, found.vocabulary) == (family, vocabulary)
    assert (found.context_window, found.max_output_tokens) == (window, output)
    assert found.known
    assert found.counter == "openai_chat"


@pytest.mark.parametrize(
    "name", ["", "llama-3", "gpt-4all", "my-gpt-4o", "o2", "gpt-6", "ft:", "ft:mine:x", "latest", "4"]
)
def test_names_that_nobody_mapped(name):
    assert family_of(name) == UNKNOWN
    assert not UNKNOWN.known


@pytest.mark.parametrize(
    ("name", "unknown"),
    [
        ("openai/gpt-6", UNKNOWN),
        ("azure/ours", UNKNOWN),
        ("openrouter/openai/gpt-6", UNKNOWN),
        ("groq/llama-3", UNKNOWN_MAKER),
        ("hosted_vllm/org/name", UNKNOWN_MAKER),
        ("openrouter/x-ai/grok-4", UNKNOWN_MAKER),
    ],
)
def test_nobody_elses_model_is_counted_by_openais_rules(name, unknown):
    assert family_of(name) == unknown
    assert (UNKNOWN_MAKER.counter, UNKNOWN_MAKER.vocabulary, UNKNOWN_MAKER.known) == ("bounded", "bytes", False)


@pytest.mark.parametrize(("name", "window"), [("openai/gpt-oss-120b", 131_072), ("o1-mini-2024-09-12", 128_000)])
def test_a_window_may_be_known_where_the_framing_is_not(name, window):
    found = family_of(name)
    assert (found.family, found.context_window, found.known) == ("unknown", window, False)


def test_bare_names():
    assert bare_name("a/b/GPT-4o") == "gpt-4o"
    assert bare_name("ft:gpt-4o:acme:x:y") == "gpt-4o"
    assert bare_name("gpt-4o") == "gpt-4o"
