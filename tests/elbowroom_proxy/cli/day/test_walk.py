"""A short day through the real proxy: what is on disk, by whose clock, and that twice is the same."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
import structlog

from elbowroom_proxy.cli.day import plan, store
from elbowroom_proxy.cli.day.walk import Done, walk

DATE = dt.date(2026, 11, 2)
REQUESTS = 30
# What is another in each run: ids, hashes by the folder's own key, milliseconds.
OWN = {"trace_id", "request_id", "timings_ms", "chain", "digest", "digest_sent"}


def walked(folder: Path) -> tuple[Path, list[Done]]:
    before = structlog.get_config()
    try:
        return folder, walk(folder, plan.day(DATE, 1, REQUESTS), store.make(folder))
    finally:
        structlog.configure(**before)


@pytest.fixture(scope="module")
def once(tmp_path_factory) -> tuple[Path, list[Done]]:
    return walked(tmp_path_factory.mktemp("day"))


def records(folder: Path) -> list[dict[str, Any]]:
    lines = [
        json.loads(line) for file in (folder / "traces").glob("*.jsonl") for line in file.read_bytes().splitlines()
    ]
    return sorted(lines, key=lambda one: (one["time"], one.get("kind", "request")))


def shared(value: Any) -> Any:
    """What a record has in every run."""
    if isinstance(value, dict):
        return {name: shared(one) for name, one in value.items() if name not in OWN}
    return [shared(one) for one in value] if isinstance(value, list) else value


def test_twice_is_the_same_but_for_ids(once, tmp_path):
    again, _ = walked(tmp_path)
    assert shared(records(once[0])) == shared(records(again))


def test_every_request_left_a_record_at_its_own_time(once):
    folder, done = once
    told = {one["trace_id"]: one for one in records(folder) if one.get("kind", "request") == "request"}
    assert len(told) == len(done) > REQUESTS
    for one in done:
        record = told[one.trace_id]
        assert dt.datetime.fromisoformat(record["time"]).timestamp() == pytest.approx(one.ask.at, abs=0.001)
        assert record["subject"] == one.ask.key
        assert record["status"] == one.status
        assert record["disconnected"] == one.ask.leaves
    assert {path.name[:10] for path in (folder / "traces").glob("*.jsonl")} == {"2026-11-02"}


def test_the_day_has_what_days_have(once):
    told = records(once[0])
    assert {"enforce", "shadow", "passthrough"} <= {one.get("mode") for one in told}
    codes = {one["error"]["code"] for one in told if one.get("error")}
    assert {"rate_limit_exceeded", "upstream_error", "model_not_found", "invalid_request"} <= codes
    assert any(one.get("kind") == "shadow" for one in told)
    assert all(one["count_error"] == 0 for one in told if one.get("billed"))


def test_while_it_is_killed_nothing_is_chosen(once):
    told = records(once[0])
    killed = [one for one in told if one.get("killed")]
    assert all("2026-11-02T14:05" <= one["time"] < "2026-11-02T14:20" for one in killed)
    assert all(one["mode"] == "passthrough" for one in killed)
    between = [one for one in told if "2026-11-02T14:05" <= one["time"] < "2026-11-02T14:20" and one.get("mode")]
    assert between == killed != []
