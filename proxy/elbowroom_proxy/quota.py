"""What a client is told of its limits: the error that names each one that refused, and the headers of every answer.

Knows: OpenAI's `x-ratelimit-*`, which refusals pass with time and which do not, and the words for a limit.
Does not know: where sums are kept, what was held, or who asked; levels have names, and no key is one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from elbowroom.budget.hold import Standing
from elbowroom.errors import ElbowroomError, InsufficientQuota, PaymentRequired, RateLimitExceeded
from elbowroom_proxy.wire import RETRY_AFTER_MAX

AGAIN: Final = 256  # answers that are remembered: who is refused asks again within the second
RATES: Final = frozenset({"rpm_limit", "tpm_limit", "max_parallel_requests"})
_REQUESTS = frozenset({"rpm_limit"})
_TOKENS = frozenset({"tpm_limit", "max_tokens"})
_SIZED = _TOKENS | {"max_budget"}  # what a smaller answer asks less of
_WHAT = {
    "rpm_limit": "requests in the last minute",
    "tpm_limit": "tokens in the last minute",
    "max_parallel_requests": "requests at once",
    "max_tokens": "tokens",
    "max_budget": "USD",
}


def refusal(refused: Sequence[Standing], budget_status: int) -> ElbowroomError:
    """The error. Where a budget is spent, waiting a minute does not help, so that is what it says, whatever else there
    is. `budget_status`: 429 or 402.
    """
    if all(one.limit in RATES for one in refused):
        return RateLimitExceeded(f"Rate limit reached: {_limits(tuple(refused))}.")
    kind = PaymentRequired if budget_status == PaymentRequired.status_hint else InsufficientQuota
    return kind(f"You exceeded your current quota: {_limits(tuple(refused))}.")


def headers(standing: Sequence[Standing], refused: Sequence[Standing] = (), *, now: float) -> dict[str, str]:
    """`x-ratelimit-*` by the tightest limit of any level, and when to come back; nothing where nothing is limited.

    `now` in seconds since 1970. A budget that is spent has no `retry-after`: a client would sleep for weeks. Its reset
    stands where that of tokens does.
    """
    return dict(_headers(tuple(standing), tuple(refused), math.floor(now)))  # resets are whole seconds


@lru_cache(AGAIN)
def _limits(refused: tuple[Standing, ...]) -> str:
    return "; ".join(map(_told, refused))


@lru_cache(AGAIN)
def _headers(standing: tuple[Standing, ...], refused: tuple[Standing, ...], now: int) -> dict[str, str]:
    told = {**_named(standing, _REQUESTS, "requests", now), **_named(standing, _TOKENS, "tokens", now)}
    spent = [one for one in refused if one.limit not in RATES]
    if spent:
        told["x-ratelimit-remaining-tokens"] = "0"
        told["x-ratelimit-reset-tokens"] = _duration(max(one.reset for one in spent) - now)
    elif refused:
        wait = max(1, math.ceil(min(RETRY_AFTER_MAX, max(one.reset for one in refused) - now)))
        told["retry-after"] = str(wait)
    if any(one.asked > one.most for one in refused):
        told["x-should-retry"] = "false"  # no time will make room for it
        told.pop("retry-after", None)
    return told


def _named(standing: Sequence[Standing], limits: frozenset[str], unit: str, now: int) -> dict[str, str]:
    found = [one for one in standing if one.limit in limits]
    if not found:
        return {}
    tightest = min(found, key=_remaining)
    return {
        f"x-ratelimit-limit-{unit}": str(tightest.most),
        f"x-ratelimit-remaining-{unit}": str(_remaining(tightest)),
        f"x-ratelimit-reset-{unit}": _duration(tightest.reset - now),
    }


def _remaining(one: Standing) -> int:
    return max(0, one.most - one.spent - one.held)


def _told(one: Standing) -> str:
    said = f"{one.kind} {one.entity}: {one.limit} {_amount(one, one.most)} {_WHAT[one.limit]}"
    said += f", spent {_amount(one, one.spent)}, held {_amount(one, one.held)}, asked {_amount(one, one.asked)}"
    if one.asked > one.most:
        said += ", which is more than the limit itself"
        return f"{said}: ask for a smaller max_tokens" if one.most and one.limit in _SIZED else said
    if one.limit == "max_parallel_requests":
        return said
    return f"{said}, reset {datetime.fromtimestamp(math.ceil(one.reset), UTC):%Y-%m-%dT%H:%M:%SZ}"


def _amount(one: Standing, amount: int) -> str:
    if one.limit != "max_budget":
        return f"{amount:,}"
    whole, rest = divmod(amount, 1_000_000)
    return f"{whole:,}.{rest:06d}".rstrip("0").rstrip(".")


def _duration(seconds: float) -> str:
    """As OpenAI writes it: `59s`, `6m0s`, `612h3m0s`."""
    left = max(0, math.ceil(seconds))
    hours, minutes = left // 3600, left // 60 % 60
    if hours:
        return f"{hours}h{minutes}m{left % 60}s"
    return f"{minutes}m{left % 60}s" if minutes else f"{left}s"
