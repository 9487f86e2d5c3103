from __future__ import annotations

from prometheus_client import CollectorRegistry

from elbowroom.budget.hold import Amounts
from elbowroom_proxy.holdmetrics import HoldMetrics


def test_what_is_held_and_what_it_came_to_add_up() -> None:
    metrics = HoldMetrics(registry := CollectorRegistry())
    metrics.count("held", Amounts(10, 300, 9))
    metrics.count("held", Amounts(5, 0, 5))
    metrics.count("settled", Amounts(7, 200, 7))
    assert registry.get_sample_value("elbowroom_ledger_tokens_total", {"what": "held"}) == 15
    assert registry.get_sample_value("elbowroom_ledger_tokens_total", {"what": "settled"}) == 7
    assert registry.get_sample_value("elbowroom_ledger_micro_usd_total", {"what": "held"}) == 300


def test_what_is_watched_for_its_first_step_is_there_from_the_start() -> None:
    HoldMetrics(registry := CollectorRegistry())
    assert registry.get_sample_value("elbowroom_ledger_up") == 1
    assert registry.get_sample_value("elbowroom_ledger_tokens_total", {"what": "overrun"}) == 0
    assert registry.get_sample_value("elbowroom_ledger_micro_usd_total", {"what": "overrun"}) == 0
    assert registry.get_sample_value("elbowroom_ledger_failures_total", {"call": "hold"}) == 0


def test_it_is_down_from_a_call_that_was_not_answered_to_one_that_was() -> None:
    metrics = HoldMetrics(registry := CollectorRegistry())
    metrics.failed("settle")
    assert registry.get_sample_value("elbowroom_ledger_up") == 0
    assert registry.get_sample_value("elbowroom_ledger_failures_total", {"call": "settle"}) == 1
    metrics.answered()
    assert registry.get_sample_value("elbowroom_ledger_up") == 1
