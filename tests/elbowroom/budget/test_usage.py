"""An upstream's bill in every spelling that there is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.budget.usage import Usage, usage_of


@pytest.mark.parametrize(
    ("said", "usage"),
    [
        ({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}, Usage(7, 2)),
        ({"prompt_tokens": 7, "total_tokens": 7}, Usage(7)),  # embeddings
        (
            {
                "prompt_tokens": 70,
                "completion_tokens": 20,
                "prompt_tokens_details": {"cached_tokens": 30, "cache_write_tokens": 5},
                "completion_tokens_details": {"reasoning_tokens": 12},
            },
            Usage(70, 20, 30, 5, 12),
        ),
        (  # the Responses form
            {
                "input_tokens": 70,
                "input_tokens_details": {"cached_tokens": 30},
                "output_tokens": 20,
                "output_tokens_details": {"reasoning_tokens": 12},
                "total_tokens": 90,
            },
            Usage(70, 20, 30, 0, 12),
        ),
        (  # DeepSeek's
            {"prompt_tokens": 70, "completion_tokens": 1, "prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 6},
            Usage(70, 1, 64),
        ),
        (  # as litellm tells what Claude said
            {
                "prompt_tokens": 70,
                "completion_tokens": 1,
                "cache_creation_input_tokens": 9,
                "cache_read_input_tokens": 50,
                "prompt_tokens_details": None,
            },
            Usage(70, 1, 50, 9),
        ),
        (  # what is kept for an hour, as litellm tells it
            {
                "prompt_tokens": 70,
                "prompt_tokens_details": {
                    "cache_write_tokens": 9,
                    "cache_creation_token_details": {"ephemeral_1h_input_tokens": 4, "ephemeral_5m_input_tokens": 5},
                },
            },
            Usage(70, 0, 0, 9, 0, 4),
        ),
        ({"prompt_tokens": 70, "prompt_tokens_details": {"cache_creation_token_details": 7}}, Usage(70)),
        (  # more than was written cannot be kept
            {"input_tokens": 70, "cache_creation_input_tokens": 9, "cache_creation": {"ephemeral_1h_input_tokens": 60}},
            Usage(70, 0, 0, 9, 0, 9),
        ),
        ({"input_tokens": 7, "cache_creation": {"ephemeral_1h_input_tokens": "4"}}, Usage(7)),
        # Claude's own form: what was cached stands beside the prompt.
        (
            {"input_tokens": 10, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 90, "output_tokens": 3},
            Usage(1000, 3, 900, 90),
        ),
        # Grok's: reasoning stands beside the completion, and only the total knows.
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 3,
                "total_tokens": 113,
                "completion_tokens_details": {"reasoning_tokens": 100},
            },
            Usage(10, 103, 0, 0, 100),
        ),
        (
            {"prompt_tokens": 10, "completion_tokens": 3, "completion_tokens_details": {"reasoning_tokens": 100}},
            Usage(10, 103, 0, 0, 100),
        ),
    ],
)
def test_every_spelling_says_the_same(said, usage):
    assert usage_of(said) == usage


@pytest.mark.parametrize(
    "said",
    [None, 7, [], {}, {"completion_tokens": 3}, {"prompt_tokens": None}, {"prompt_tokens": -1}, {"prompt_tokens": True},
     {"prompt_tokens": 1.5}, {"prompt_tokens": 1 << 50}],
)  # fmt: skip
def test_what_cannot_be_used_is_no_usage(said):
    assert usage_of(said) is None


def test_parts_that_are_nonsense_are_no_parts():
    said = {"prompt_tokens": 7, "completion_tokens": "2", "prompt_tokens_details": [1], "total_tokens": -4}
    assert usage_of(said) == Usage(7, 0)


NAMES = (
    "prompt_tokens", "input_tokens", "completion_tokens", "output_tokens", "total_tokens",
    "cache_read_input_tokens", "cache_creation_input_tokens",
)  # fmt: skip
DETAILS = st.dictionaries(
    st.sampled_from(["cached_tokens", "cache_write_tokens", "reasoning_tokens"]), st.integers(-5, 10**6)
)
SAID = st.dictionaries(st.sampled_from(NAMES), st.integers(-5, 10**6)).flatmap(
    lambda plain: st.fixed_dictionaries(
        {}, optional={"prompt_tokens_details": DETAILS, "completion_tokens_details": DETAILS}
    ).map(lambda details: {**plain, **details})
)


@given(SAID)
def test_parts_are_never_more_than_their_sum(said: dict[str, Any]):
    usage = usage_of(said)
    if usage is not None:
        assert 0 <= usage.cached + usage.cache_write <= usage.prompt
        assert 0 <= usage.reasoning <= usage.completion
