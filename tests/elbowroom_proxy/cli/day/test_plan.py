"""The plan of the demo day: the same for the same seed, both languages, every incident once told where it is."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections import Counter

import pytest

from elbowroom_proxy.cli.day import plan
from elbowroom_proxy.cli.day.plan import FOLDER, Ask, Turn, day
from elbowroom_proxy.cli.day.store import HOLDERS

DATE = dt.date(2026, 11, 2)
MIDNIGHT = dt.datetime(2026, 11, 2, tzinfo=dt.UTC).timestamp()
HAN = re.compile(r"[\u4e00-\u9fff]")


@pytest.fixture(scope="module")
def made() -> plan.Day:
    return day(DATE, 1, 240)


def asks(made: plan.Day) -> list[Ask]:
    return [one for one in made.steps if isinstance(one, Ask)]


def bodies(made: plan.Day) -> list[dict]:
    return [json.loads(one.body) for one in asks(made) if one.body.endswith(b"}")]


def test_a_seed_and_a_date_make_one_day(made):
    assert day(DATE, 1, 240) == made
    assert day(DATE, 2, 240) != made
    assert {one.at - 86_400 for one in day(DATE + dt.timedelta(days=1), 1, 240).steps} == {one.at for one in made.steps}


def test_it_is_one_day_in_order_with_more_by_day_than_by_night(made):
    times = [one.at for one in made.steps]
    assert times == sorted(times)
    assert all(MIDNIGHT <= at < MIDNIGHT + 86_400 for at in times)
    hours = Counter(int((at - MIDNIGHT) // 3600) for at in times)
    assert min(hours[hour] for hour in range(9, 17)) > 2 * hours[22]
    assert sum(plan.HOURS) == 1000


def test_about_so_many_are_asked_beside_the_events(made):
    events = len(asks(day(DATE, 1, 1)))
    assert abs(len(asks(made)) - events - 240) < 12


def test_both_languages_streams_history_and_tools_are_there(made):
    found = bodies(made)
    asked = [next(m["content"] for m in reversed(one["messages"]) if m["role"] == "user") for one in found]
    assert 0.2 < sum(bool(HAN.search(text)) for text in asked) / len(asked) < 0.6
    assert {bool(one.get("stream")) for one in found} == {True, False}
    assert any(len(one["messages"]) > 6 for one in found)
    assert any(m["role"] == "tool" for one in found for m in one["messages"])


def test_whoever_asks_has_a_key_and_keys_ask(made):
    users = {name for name, _, role in HOLDERS if role == "user"}
    assert {one.key for one in asks(made)} == users
    assert sum(one[3] for one in plan.ASKING) == 100


def test_documents_are_labelled_with_their_own_company(made):
    for body in bodies(made):
        for document in body["documents"]:
            company = document["access"]["tenant"]
            assert document["url"].startswith(f"https://{company}.example/")
            assert document["fetched_at"] < DATE.isoformat()
            assert not {"age", "label"} & document.keys()


def test_each_incident_is_there(made):
    assert Counter(one.incident for one in asks(made) if one.incident) == {
        "stale": 1, "foreign": 2, "invented": 1, "result": 1,
    }  # fmt: skip
    assert [(one.on, one.at - MIDNIGHT) for one in made.steps if isinstance(one, Turn)] == [
        (True, 14 * 3600 + 300), (False, 14 * 3600 + 1200),
    ]  # fmt: skip
    assert sum(one.leaves for one in asks(made)) == 2
    assert any(one.status == 503 for one in made.scripts)


def test_a_cue_is_no_ordinary_question():
    ordinary = (FOLDER / "questions.yaml").read_text("utf-8")
    for script in day(DATE, 1, 1).scripts:
        assert script.ask not in ordinary


def test_the_files_are_where_the_wheel_takes_them_from():
    assert FOLDER.parent.name == "elbowroom_proxy"
    assert sorted(path.name for path in FOLDER.iterdir()) == ["events.yaml", "pages.yaml", "questions.yaml"]
