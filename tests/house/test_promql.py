"""What the tests take a rule to say is what Prometheus takes it to say, as far as rules here go."""

from __future__ import annotations

import pytest

from tests.promql import evaluate, names, scrape

BEFORE = scrape(
    """
# TYPE a counter
a_total{x="1",y="p"} 1
a_total{x="1",y="q"} 2
a_total{x="2",y="p"} 5
# TYPE g gauge
g{x="1"} 3
g{x="2"} 0
"""
)
AFTER = scrape(
    """
# TYPE a counter
a_total{x="1",y="p"} 2
a_total{x="1",y="q"} 6
a_total{x="2",y="p"} 5
a_total{x="3",y="p"} 9
# TYPE g gauge
g{x="1"} 3
g{x="2"} 0
"""
)


def told(text: str) -> dict[str, float]:
    """By the values of the labels, without the metric's name."""
    value = evaluate(text, BEFORE, AFTER)
    assert isinstance(value, dict)
    return {
        " ".join(said for _, said in sorted(labels) if said not in {"a_total", "g"}): n for labels, n in value.items()
    }


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("g", {"1": 3, "2": 0}),
        ('g{x="1"}', {"1": 3}),
        ('g{x!="1"}', {"2": 0}),
        ('g{x=~"1|3"}', {"1": 3}),
        ('g{x!~"1|3"}', {"2": 0}),
        ('g{nobody=""} == 0', {"2": 0}),
        ("g > 3", {}),
        ("g >= 3", {"1": 3}),
        ("g < 1 or g > 1", {"1": 3, "2": 0}),
        ("g == 0 and a_total > 1", {}),
        # A series that begins between two scrapes has not increased.
        ("increase(a_total[5m])", {"1 p": 1, "1 q": 4, "2 p": 0}),
        ("sum by (x) (increase(a_total[5m])) > 0", {"1": 5}),
        ("sum(g)", {"": 3}),
        ("max by (y) (a_total)", {"p": 9, "q": 6}),
        ("min(g) == 0", {"": 0}),
        ("abs(g - 5) / 2", {"1": 1, "2": 2.5}),
        ("g * 2 + 1 > 2", {"1": 7}),
        ("10 - g", {"1": 7, "2": 10}),
        ("(sum by (x) (increase(a_total[1h])) - g) / g", {"1": 2 / 3}),
    ],
)
def test_a_rule_is_read_as_it_is_meant(text: str, found: dict[str, float]):
    value = {key: one for key, one in told(text).items() if one == one}  # 0 / 0 is not a number, there as here
    assert value == found


@pytest.mark.parametrize("text", ["g[", "g)", "absent(g)", "sum without (x) (g)", "g offset 5m", "g > g", "", "g @ 1"])
def test_what_is_not_understood_is_no_rule(text: str):
    with pytest.raises(ValueError):
        evaluate(text, BEFORE, AFTER)


def test_names_are_those_of_metrics():
    assert names('sum by (x) (rate(a_total{x="g"}[5m])) / 3 or b') == {"a_total", "b"}
    assert names("histogram_quantile(0.99, sum by (le) (rate(h_bucket[5m])))") == {"h_bucket"}
