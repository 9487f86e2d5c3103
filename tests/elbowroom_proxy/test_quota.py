"""What a client reads of its limits, in errors and headers."""

from __future__ import annotations

import pytest

from elbowroom.budget.hold import Name, Standing
from elbowroom_proxy import quota

NOW = 1_767_225_600.0 - 100_000  # 2026-01-01T00:00:00Z is 27 h 46 min 40 s later
YEAR = 1_767_225_600.0


def standing(limit: Name, most: int, spent: int = 0, held: int = 0, asked: int = 0, reset: float = YEAR) -> Standing:
    return Standing("acme/support", "team", limit, most, spent, held, asked, reset)


def test_a_spent_budget_names_every_limit_with_held_apart_from_spent():
    error = quota.refusal(
        [
            standing("max_tokens", 1_000_000, 990_000, 5_000, 20_000),
            standing("max_budget", 10_000_000, 9_500_000, 499_999, 2),
        ],
        429,
    )
    assert (error.code, error.status_hint) == ("insufficient_quota", 429)
    assert error.message == (
        "You exceeded your current quota: "
        "team acme/support: max_tokens 1,000,000 tokens, spent 990,000, held 5,000, asked 20,000, "
        "reset 2026-01-01T00:00:00Z; "
        "team acme/support: max_budget 10 USD, spent 9.5, held 0.499999, asked 0.000002, reset 2026-01-01T00:00:00Z."
    )


def test_the_operator_chooses_the_status_of_a_spent_budget():
    spent = [standing("max_tokens", 10, 10, 0, 5)]
    assert [quota.refusal(spent, status).status_hint for status in (402, 429)] == [402, 429]
    rates = [standing("rpm_limit", 10, 10, 0, 1)]
    assert [quota.refusal(rates, status).status_hint for status in (402, 429)] == [429, 429]


def test_a_rate_says_so_and_a_budget_goes_before_it():
    rate, spent = standing("rpm_limit", 10, 10, 0, 1), standing("max_tokens", 10, 10, 0, 5)
    assert quota.refusal([rate], 429).code == "rate_limit_exceeded"
    both = quota.refusal([rate, spent], 429)
    assert both.code == "insufficient_quota"
    assert "rpm_limit" in both.message
    parallel = quota.refusal([standing("max_parallel_requests", 2, 0, 2, 1, NOW)], 429)
    assert parallel.message.endswith("max_parallel_requests 2 requests at once, spent 0, held 2, asked 1.")


def test_what_no_time_makes_room_for_says_what_would():
    never = standing("tpm_limit", 1_000, 0, 0, 4_000)
    assert "more than the limit itself: ask for a smaller max_tokens" in quota.refusal([never], 429).message
    told = quota.headers([never], [never], now=NOW)
    assert told["x-should-retry"] == "false"
    assert "retry-after" not in told


@pytest.mark.parametrize(
    ("limit", "most"), [("rpm_limit", 0), ("max_parallel_requests", 0), ("max_tokens", 0), ("max_budget", 0)]
)
def test_a_smaller_answer_is_not_asked_for_where_it_would_not_help(limit: Name, most: int):
    message = quota.refusal([standing(limit, most, 0, 0, most + 1)], 429).message
    assert message.endswith("which is more than the limit itself.")


def test_the_headers_are_those_of_the_tightest_level():
    told = quota.headers(
        [
            standing("rpm_limit", 100, 10, reset=NOW + 59.2),
            Standing("acme", "org", "rpm_limit", 50, 45, 0, 1, NOW + 6),
            standing("tpm_limit", 100_000, 1_000, reset=NOW + 1),
            standing("max_tokens", 60_000, 1_000, 500),
            standing("max_budget", 5, 5),
            standing("max_parallel_requests", 1, 0, 1),
        ],
        now=NOW,
    )
    assert told == {
        "x-ratelimit-limit-requests": "50",
        "x-ratelimit-remaining-requests": "5",
        "x-ratelimit-reset-requests": "6s",
        "x-ratelimit-limit-tokens": "60000",
        "x-ratelimit-remaining-tokens": "58500",
        "x-ratelimit-reset-tokens": "27h46m40s",
    }


def test_nothing_limited_nothing_said():
    assert quota.headers([], now=NOW) == {}


@pytest.mark.parametrize(("wait", "said"), [(0.2, "1"), (-5, "1"), (17.2, "18"), (600, "60")])
def test_a_rate_says_when_to_come_back_and_never_later_than_a_minute(wait: float, said: str):
    refused = [standing("rpm_limit", 10, 10, 0, 1, NOW + wait)]
    told = quota.headers(refused, refused, now=NOW)
    assert told["retry-after"] == said
    assert "x-should-retry" not in told


def test_a_spent_budget_has_no_retry_after_and_tells_its_reset():
    refused = [standing("max_budget", 10, 10, 0, 1), standing("rpm_limit", 10, 10, 0, 1, NOW + 5)]
    told = quota.headers(refused, refused, now=NOW)
    assert "retry-after" not in told
    assert told["x-ratelimit-remaining-tokens"] == "0"
    assert told["x-ratelimit-reset-tokens"] == "27h46m40s"


def test_a_limit_that_was_lowered_below_what_is_spent_has_nothing_remaining():
    told = quota.headers([standing("tpm_limit", 10, 50, reset=NOW + 125)], now=NOW)
    assert (told["x-ratelimit-remaining-tokens"], told["x-ratelimit-reset-tokens"]) == ("0", "2m5s")


def test_who_asks_again_is_told_what_holds_now():
    spent = [standing("max_tokens", 10, 10, 0, 5)]
    told = quota.headers(spent, spent, now=NOW + 0.7)
    assert told.pop("x-ratelimit-reset-tokens") == "27h46m40s"  # its own: the next one has it again
    assert quota.headers(spent, spent, now=NOW + 0.9)["x-ratelimit-reset-tokens"] == "27h46m40s"
    assert quota.headers(spent, spent, now=NOW + 1)["x-ratelimit-reset-tokens"] == "27h46m39s"
    more = [standing("max_tokens", 10, 11, 0, 5)]
    assert "spent 10," in quota.refusal(spent, 429).message
    assert "spent 11," in quota.refusal(more, 429).message
    assert quota.refusal(spent, 429) is not quota.refusal(spent, 429)  # an error keeps the way it was raised on
