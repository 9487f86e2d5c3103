"""Differences of bills from counts: kept by shape, shared, and told as margins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from msgspec import structs

from elbowroom.records import Basis, Count, Learned, Model
from elbowroom_proxy.calibration import LAST, LAST_REFUSED, SHAPES, Calibration, Row, too_long
from elbowroom_proxy.stores.redis import RedisCounts

MODEL = Model("m", "openai", "gpt-4o", 8192, 1024, "openai_chat", "gpt-4o", "o200k_base")
CALIBRATED = Count(100, Basis.CALIBRATED, 5)
MODELLED = Count(100, Basis.MODELLED, 5)


class Store:
    """Knows one list, and takes what it is given."""

    def __init__(self, known: Mapping[str, Sequence[int]] | None) -> None:
        self.known = known
        self.pushed: list[tuple[str, int, int]] = []

    async def push(self, key: str, value: int, most: int) -> None:
        self.pushed.append((key, value, most))

    async def lists(self) -> Mapping[str, Sequence[int]] | None:
        return self.known


def test_nothing_is_known_at_first():
    assert Calibration().learned(MODEL) == {}


def test_the_largest_of_the_last_differences_is_the_margin():
    calibration = Calibration()
    for billed in (103, 92, 101):
        calibration.billed(MODEL, "plain/4k", CALIBRATED, billed)
    assert calibration.learned(MODEL) == {"plain/4k": Learned(8, 3)}
    for _ in range(LAST):
        calibration.billed(MODEL, "plain/4k", CALIBRATED, 101)
    assert calibration.learned(MODEL) == {"plain/4k": Learned(1, LAST)}


def test_each_model_and_shape_learns_for_itself():
    calibration = Calibration()
    calibration.billed(MODEL, "plain/4k", CALIBRATED, 110)
    assert "tools/4k" not in calibration.learned(MODEL)
    assert calibration.learned(structs.replace(MODEL, name="n")) == {}
    assert calibration.learned(structs.replace(MODEL, upstream_model="o")) == {}


def test_differences_of_other_counts_are_kept_and_are_no_margin():
    calibration = Calibration()
    calibration.billed(MODEL, "plain/4k", MODELLED, 150)
    assert calibration.learned(MODEL) == {"plain/4k": Learned(0, 0)}
    assert list(calibration.rows()) == [Row("openai/gpt-4o", "m", "plain/4k", "modelled", (50,))]


@pytest.mark.parametrize(
    ("counted", "billed", "outside"),
    [
        (MODELLED, 105, False),
        (MODELLED, 106, True),
        (MODELLED, 95, False),
        (MODELLED, 94, True),
        (Count(100, Basis.BOUNDED), 10, False),
        (Count(100, Basis.BOUNDED), 101, True),
    ],
)
def test_a_bill_is_outside_where_it_differs_by_more_than_was_said(counted, billed, outside):
    assert Calibration().billed(MODEL, "plain/4k", counted, billed) is outside


@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        ("This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.", 9000),
        (
            "maximum context length is 4096 tokens. However, you requested 5000 tokens (4900 in the messages, 100 ...",
            4900,
        ),
        ("This model's maximum context length is 4096 tokens, your request has 5000 input tokens", 5000),
        ("prompt is too long: 210000 tokens > 200000 maximum", 210_000),
        ("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000", 190_000),
        ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1_200_000),
    ],
)
def test_a_refusal_that_names_its_number_is_believed(message, tokens):
    body = message.encode()
    assert too_long(400, body)
    assert not too_long(500, body)
    calibration = Calibration()
    calibration.refused(MODEL, "plain/4k", Count(1_000, Basis.MODELLED), body)
    assert calibration.learned(MODEL)["plain/4k"].refused == tokens - 1_000


def test_one_that_names_none_widens_the_margin_a_little():
    calibration = Calibration()
    body = b'{"error": {"code": "context_length_exceeded"}}'
    assert too_long(413, body)
    calibration.refused(MODEL, "plain/4k", MODELLED, body)
    calibration.refused(MODEL, "tools/4k", Count(10_000, Basis.MODELLED, 7), body)
    assert calibration.learned(MODEL)["plain/4k"].refused == 5 + 64
    assert calibration.learned(MODEL)["tools/4k"].refused == 7 + 500


def test_a_refusal_of_a_count_that_was_right_teaches_nothing():
    calibration = Calibration()
    calibration.refused(MODEL, "plain/4k", MODELLED, b"your messages resulted in 103 tokens")
    assert calibration.learned(MODEL) == {}
    assert not too_long(400, b'{"error": {"message": "temperature must be at most 2"}}')


def test_memory_is_bounded():
    calibration = Calibration()
    for at in range(SHAPES + 5):
        calibration.billed(structs.replace(MODEL, name=f"m{at}"), "plain/4k", MODELLED, 100)
    assert len(list(calibration.rows())) == SHAPES


async def test_a_store_s_lists_are_taken_over_and_what_is_no_list_is_not():
    key = "openai/gpt-4o\tm\tplain/4k\t"
    calibration = Calibration(Store({key + "calibrated": [3, -9], key + "refused": [40], "damage": [1]}))
    await calibration.start()
    assert calibration.learned(MODEL) == {"plain/4k": Learned(9, 2, 40)}
    unreachable = Calibration(Store(None))
    await unreachable.start()
    assert unreachable.learned(MODEL) == {}


async def test_what_is_learned_is_handed_to_the_store():
    store = Store({})
    calibration = Calibration(store)
    calibration.billed(MODEL, "plain/4k", CALIBRATED, 110)
    calibration.refused(MODEL, "plain/4k", CALIBRATED, b"resulted in 300 tokens")
    await calibration.close()
    await Calibration(store).close()
    key = "openai/gpt-4o\tm\tplain/4k"
    assert store.pushed == [(f"{key}\tcalibrated", 10, LAST), (f"{key}\trefused", 200, LAST_REFUSED)]


async def test_a_second_instance_starts_from_what_redis_knows(redis_url):
    first_store, second_store = RedisCounts(redis_url, timeout=5), RedisCounts(redis_url, timeout=5)
    first, second = Calibration(first_store), Calibration(second_store)
    await first.start()
    for billed in range(101, 101 + LAST + 9):
        first.billed(MODEL, "plain/4k", CALIBRATED, billed)
    await first.close()
    await second.start()
    assert second.learned(MODEL) == first.learned(MODEL) == {"plain/4k": Learned(LAST + 9, LAST)}
    await first_store.close()
    await second_store.close()
