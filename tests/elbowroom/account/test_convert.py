"""Old records are read as if they were new; what they did not say stays unsaid."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from elbowroom.account.convert import convert, convert_1_to_2
from elbowroom.account.sample import remarkable
from elbowroom.account.trace import VERSION, Facts, record, report

FIXTURES = Path(__file__).parents[2] / "fixtures" / "traces"


def old(version):
    return [json.loads(line) for line in (FIXTURES / f"{version}.jsonl").read_text().splitlines()]


def test_there_is_a_fixture_of_each_version():
    assert sorted(path.stem for path in FIXTURES.glob("*.jsonl")) == [str(n + 1) for n in range(VERSION)]


@pytest.mark.parametrize("version", range(1, VERSION + 1))
def test_a_record_of_each_version_has_every_field_of_the_present_one(version):
    now = record(None, Facts(trace_id="", time=""))
    for one in old(version):
        assert one["version"] == version
        story = convert(one)
        assert story["version"] == VERSION
        assert set(now) <= set(story) or version == VERSION
        assert {name: story[name] for name in one if name not in ("version", "documents")} == {
            name: one[name] for name in one if name not in ("version", "documents")
        }
        assert all("digest_sent" in fate for fate in story["documents"])
        assert not remarkable(story)
        assert report(story)["trace_id"] == one["trace_id"]


def test_what_version_1_said_of_tools_is_said_in_the_words_of_version_2():
    assert convert_1_to_2({"version": 1, "tools_removed": ["mail"]})["tools"] == {
        "requested": [],
        "admitted": [],
        "removed": [{"name": "mail", "by": []}],
    }


@pytest.mark.parametrize("version", [VERSION, VERSION + 1, 0, "1", None])
def test_what_needs_no_step_stays_as_it_is(version):
    story = {"version": version}
    assert convert(story) is story
