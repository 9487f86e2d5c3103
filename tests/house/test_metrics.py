"""What is said of metrics is true of them: labels are bounded, every one is described, rules and pictures name ones
that exist, and every alert says what to do.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml
from prometheus_client.metrics import MetricWrapperBase

from elbowroom_proxy.metrics import Metrics
from tests.house.tree import ROOT
from tests.promql import names

DOCS = ROOT / "docs"
# What a label may be: something that configuration or the code names. Another one belongs in the records.
LABELS = {
    *("model", "query_class", "status", "decision", "reason", "basis", "what", "why", "kind", "result", "found"),
    *("limit", "by", "state", "call"),
}
SUFFIXES = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_count", "_sum")}
ALERTS: list[dict[str, Any]] = [
    rule for group in yaml.safe_load((DOCS / "alerts.yaml").read_text("utf-8"))["groups"] for rule in group["rules"]
]
RUNBOOK = (DOCS / "runbook.md").read_text("utf-8")
SECTIONS = dict(part.split("\n", 1) for part in re.split(r"^## ", RUNBOOK, flags=re.MULTILINE)[1:])


class Everything:
    """All that metrics follow, at nothing."""

    texts_remembered = texts_shared = texts_encoded = degraded = asked = remembered = failed = lost = waiting = 0

    def faults(self) -> tuple[str, ...]:
        return ()


def described() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Every metric with its kind and the names of its labels."""
    metrics = Metrics()
    metrics.watch(Everything())
    metrics.watch_endpoints(Everything())
    metrics.watch_sink(Everything())
    metrics.watch_ledger(Everything())
    found = metrics.registry._collector_to_names
    return {one._name: (str(one._type), tuple(one._labelnames)) for one in found if isinstance(one, MetricWrapperBase)}


METRICS = described()
SHOWN = {f"{name}{suffix}" for name, (kind, _) in METRICS.items() for suffix in SUFFIXES[kind]}


def drawn() -> list[str]:
    board = json.loads((DOCS / "dashboard.json").read_text("utf-8"))
    return [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]


def test_labels_are_bounded():
    assert {name: labels for name, (_, labels) in METRICS.items() if not set(labels) <= LABELS} == {}


def test_each_metric_is_described_with_its_labels_and_nothing_else_is():
    page = (DOCS / "metrics.md").read_text("utf-8")
    rows = re.findall(r"^\| `(elbowroom_\w+)` \|([^|]*)\|", page, re.MULTILINE)
    said = {name: tuple(re.findall(r"`(\w+)`", labels)) for name, labels in rows}
    assert said == {
        f"{name}_total" if kind == "counter" else name: tuple(labels) for name, (kind, labels) in METRICS.items()
    }


@pytest.mark.parametrize("expression", [*(rule["expr"] for rule in ALERTS), *drawn()])
def test_rules_and_pictures_name_metrics_that_exist(expression: str):
    found = names(expression)
    assert found
    assert found <= SHOWN


def test_the_dashboard_shows_every_metric_but_a_few():
    seen = set().union(*map(names, drawn()))
    missing = {name for name, (kind, _) in METRICS.items() if not {f"{name}{end}" for end in SUFFIXES[kind]} & seen}
    assert missing <= {"elbowroom_count_error_tokens"}  # its buckets say less than the drift does


def test_each_alert_has_a_section_that_says_what_to_do_and_no_other_has():
    assert list(SECTIONS) == [rule["alert"] for rule in ALERTS]
    for title, text in SECTIONS.items():
        assert [word for word in ("**It means**", "**Look at**", "**Do**") if word not in text] == [], title


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_a_rule_is_whole(rule: dict[str, Any]):
    assert rule["labels"]["severity"] in {"page", "ticket"}
    assert rule["annotations"]["summary"]
    assert rule["annotations"]["runbook"] == f"docs/runbook.md#{rule['alert'].lower()}"
    assert re.fullmatch(r"\d+[smh]", rule.get("for", "1m"))


@pytest.mark.parametrize("page", ["metrics.md", "runbook.md"])
def test_each_link_leads_somewhere(page: str):
    for path in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (DOCS / page).read_text("utf-8")):
        assert (DOCS / path).exists(), path


def test_panels_have_places_of_their_own():
    board = json.loads((DOCS / "dashboard.json").read_text("utf-8"))
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
