"""A table that can be read in a terminal: one line a limit, nothing that steers it."""

from __future__ import annotations

from elbowroom.budget.view import Budgets, Level, Limit, Org, Sum, Team, Top
from elbowroom_proxy.cli import standing
from tests.ledgers import NOON

AT = int(NOON)
DAY = Limit("max_tokens", "tokens", 10_000, 9_000, 500, 300, 500, AT + 43_200, AT + 600)
RATES = (
    Limit("rpm_limit", "requests", 5, 5, 0, 0, 0, AT + 42, None),
    Limit("tpm_limit", "tokens", 5_000, 0, 0, 0, 5_000, AT, None),
    Limit("max_parallel_requests", "requests", 3, 0, 3, 0, 0, None, None),
)


def at(kind: str, name: str, *limits: Limit) -> Level:
    return Level(kind, name, "1d", AT - 43_200, AT + 43_200, 0, Sum(9_000, 1), Sum(500), Sum(300), limits)  # type: ignore[arg-type]


def test_each_limit_has_a_line_below_its_level():
    money = Limit("max_budget", "micro_usd", 2_500_000, 2_600_000, 0, 0, 0, AT + 43_200, AT)
    teams = (Team("acme/support", at("team", "acme/support", DAY), (at("key", "acme/support/bot", *RATES),)),)
    found = Budgets(AT, "redis", (Org("acme", "Europe/Berlin", at("org", "acme", money), teams),))
    assert list(standing.told(found)) == [
        "acme, times of Europe/Berlin",
        "           limit                        of  spent  held   left            resets          runs out",
        "acme       USD a day                   2.5    2.6     0      0  2096-08-02 02:00               now",
        "  support  tokens a day             10,000  9,000   500    500  2096-08-02 02:00  2096-08-01 14:10",
        "             of that unconfirmed              300",
        "    bot    requests a minute             5      5     0      0           in 42 s",
        "           tokens a minute           5,000      0     0  5,000",
        "           requests at once              3      0     3      0",
        "           tokens a day           no limit  9,000   500         2096-08-02 02:00",
    ]


def test_what_is_not_shown_has_no_line_and_the_rest_stands():
    top = (Top("acme/support/bot", "1h", 9_000, 5), Top("acme/support/ann", "1mo", 1, 0))
    teams = (Team("acme/support", None, (at("key", "acme/support/bot"),)), Team("acme/sales", None))
    orgs = (Org("acme", "Mars/\x1b[1mOlympus", None, teams, top), Org("globex", "UTC", at("org", "globex", DAY)))
    lines = list(standing.told(Budgets(AT, "redis", orgs, ("it \x1b cannot be reached",))))
    assert lines[0] == "acme, times of Mars/\\x1b[1mOlympus"
    assert [line.split()[0] for line in lines[1:3]] == ["limit", "bot"]
    assert lines[3] == (
        "The keys that spend the most: acme/support/bot 0.000005 USD and 9,000 tokens in an hour; "
        "acme/support/ann 0 USD and 1 tokens in a month"
    )
    assert lines[4:6] == ["", "globex, times of UTC"]
    assert lines[-2:] == ["", "The ledger is not well: it \\x1b cannot be reached"]


def test_nobody_to_show_is_said():
    assert list(standing.told(Budgets(AT, "memory", ()))) == ["There are no organisations to show."]
