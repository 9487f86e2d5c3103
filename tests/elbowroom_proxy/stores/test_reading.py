"""What the scripts wrote, read without them."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from elbowroom.budget.hold import Amounts
from elbowroom.budget.limits import Limits
from elbowroom.budget.period import Calendar
from elbowroom_proxy.stores.levels import levels
from elbowroom_proxy.stores.reading import questions, sums
from tests.ledgers import NOON, account

TWO = account(Limits(rpm=9, period="1h"), Limits())


def test_two_questions_a_level_and_what_their_answers_say():
    at = NOON + 100.5
    known = levels(TWO, Calendar(ZoneInfo), at)
    asked = questions(known, at)
    assert [words[0] for words in asked] == ["HGETALL", "HMGET"] * 2
    assert [words[1] for words in asked] == [known.keys[0], known.keys[1], known.keys[3], known.keys[4]]
    second = int(at)
    live = {
        b"o": b"3",
        b"n": b"99",
        b"w": b"999",
        f"n{second - 61}".encode(): b"50",
        f"w{second - 61}".encode(): b"500",
        f"n{second - 60}".encode(): b"2",
        f"w{second - 60}".encode(): b"70",
        f"n{second}".encode(): b"1",
        f"w{second}".encode(): b"8",
    }
    org, team = sums(known, at, [live, [b"5", b"6", b"7", b"8", b"1", b"2"], {}, [None] * 6])
    assert (org.spent, org.held, org.unconfirmed) == (Amounts(5, 6), Amounts(7, 8), Amounts(1, 2))
    assert (org.open, org.requests, org.rate_tokens, org.requests_free) == (3, 3, 78, second + 61)
    assert (org.start, org.end) == (NOON, NOON + 3600)
    assert (team.open, team.requests, team.spent, team.requests_free) == (0, 0, Amounts(), second)


def test_the_period_is_the_present_one():
    known = levels(TWO, Calendar(ZoneInfo), NOON + 1)  # clocks may differ, so the hour before is still the first
    assert sums(known, NOON + 1, [{}, [None] * 6] * 2)[0].start == NOON
    assert questions(known, NOON + 1)[1][1] == known.keys[2]
