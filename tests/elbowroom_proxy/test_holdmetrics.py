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
