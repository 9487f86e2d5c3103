"""Every index finds the same, by every filter, for everybody who may see it and for nobody else."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.account.row import Row, row
from elbowroom.account.search import Bucket, Filters, Hour, Indexed, Named, Scope, Spent, Spread
from elbowroom.errors import InvalidRequest
from elbowroom_proxy import indexes
from elbowroom_proxy.crawl import Crawl
from elbowroom_proxy.ports import Mark, Place, TraceIndex
from tests.records import owned, put, told

EVERYBODY = Scope()
TEN, ELEVEN = 1772359200000, 1772362800000  # 1 March 2026, 10:00 and 11:00 UTC, in milliseconds
HOUR = ELEVEN - TEN
ROWS = [
    told("a", 8, **owned("acme", "acme-org", "support"), query_class="how_to", conversation_id="c1", dropped=["stale"]),
    told("b", 9, **owned("acme", "acme-org"), client_request_id="mine", admitted=2, dropped=["stale", "duplicate"]),
    told("c", 10, **owned("globex"), mode="shadow", cited={"verified": ["S1"], "invented": ["S9"], "uncited": []}),
    told("d", 11, calls_tainted=2, status=429, error={"code": "insufficient_quota"}, model="other"),
    told("e", 12, status=None, disconnected=True, policy={"id": "base", "version": "1", "digest": "abcdef"}),
    {"kind": "read", "trace_id": "r", "time": "2026-03-01T13:00:00+00:00", **owned("acme")},
]


@pytest.fixture(params=sorted(indexes.NAMES))
def index(request, tmp_path):
    built = indexes.load(request.param)(tmp_path)
    yield built
    built.close()


@pytest.fixture
def full(index, tmp_path):
    put(tmp_path, *ROWS)
    Crawl(index).finish()
    return index


def found(index: TraceIndex, scope: Scope = EVERYBODY, **filters) -> str:
    return "".join(one.trace_id for one in index.page(Filters(**filters), scope).rows)


def test_there_is_one_and_nothing_else_can_be_loaded():
    assert "sqlite" in indexes.NAMES
    with pytest.raises(KeyError):
        indexes.load("_questions")


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, "edcba"),
        ({"kind": "read"}, "r"),
        ({"tenant": "acme"}, "ba"),
        ({"org": "acme-org"}, "ba"),
        ({"team": "support"}, "a"),
        ({"subject": "bot"}, "cba"),
        ({"query_class": "how_to"}, "a"),
        ({"mode": "shadow"}, "c"),
        ({"model": "other"}, "d"),
        ({"policy": "base"}, "e"),
        ({"policy": "abc"}, "e"),
        ({"policy": "bcd"}, ""),
        ({"conversation": "c1"}, "a"),
        ({"reason": "stale"}, "ba"),
        ({"reason": "duplicate"}, "b"),
        ({"invented": True}, "c"),
        ({"invented": False}, "edba"),
        ({"tainted": True}, "d"),
        ({"tainted": False}, "ecba"),
        ({"over_budget": True}, "d"),
        ({"status": 429}, "d"),
        ({"status": 2}, "cba"),
        ({"status": 5}, ""),
        ({"code": "insufficient_quota"}, "d"),
        ({"id": "c"}, "c"),
        ({"id": "req_c"}, "c"),
        ({"id": "mine"}, "b"),
        ({"since": TEN}, "edc"),
        ({"until": TEN}, "ba"),
        ({"tenant": "acme", "reason": "duplicate", "mode": "enforce"}, "b"),
        ({"tenant": "x' OR '1'='1"}, ""),
    ],
)  # fmt: skip
def test_each_filter_holds_alone_and_with_others(full, filters, expected):
    assert found(full, **filters) == expected
    assert full.count(Filters(**filters), EVERYBODY) == len(expected)
    assert "".join(one.trace_id for one, _ in full.each(Filters(**filters), EVERYBODY)) == expected


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (Scope(tenant="acme"), "ba"),
        (Scope(tenant="globex"), "c"),
        (Scope(tenant="nobody"), ""),
        (Scope(org="acme-org"), "ba"),
        (Scope("globex", "acme-org"), ""),
    ],
)
def test_a_scope_holds_whatever_is_asked(full, scope, expected):
    assert found(full, scope) == expected
    assert found(full, scope, tenant="acme") == "".join(one for one in expected if one in "ab")
    assert found(full, scope, tenant="globex") == "".join(one for one in expected if one == "c")
    assert full.count(Filters(), scope) == len(expected)
    assert [one.trace_id for one, _ in full.each(Filters(), scope)] == list(expected)
    assert full.overview(Filters(), scope).requests == len(expected)
    indexed = full.indexed(scope)
    assert (indexed.records, indexed.folders, indexed.unread) == (len(expected), (), 0)
    assert all((full.find(one, scope) is not None) == (one in expected) for one in "abcde")


def test_a_row_comes_back_as_it_was(full):
    rows = {one.trace_id: one for one in full.page(Filters(), EVERYBODY).rows}
    wanted = [row(json.dumps(one).encode()) for one in ROWS[:5]]
    assert rows == {one.trace_id: one for one in wanted if one is not None}


def test_the_latest_of_several_by_one_id_is_meant_and_its_place_is_told(index, tmp_path):
    put(tmp_path, told("a", 8, client_request_id="x"), told("b", 9, client_request_id="x"))
    Crawl(index).finish()
    found = index.find("x", EVERYBODY)
    assert found is not None
    assert found[0].trace_id == "b"
    data = (Path(found[1].folder) / found[1].file).read_bytes()
    assert b'"trace_id": "b"' in data[found[1].offset :][: found[1].length]
    assert index.find("nobody's", EVERYBODY) is None


@given(
    hours=st.lists(st.integers(0, 3), max_size=12), most=st.integers(1, 5), name=st.sampled_from(sorted(indexes.NAMES))
)
def test_pages_follow_each_other_without_a_gap_or_a_repetition(tmp_path_factory, hours, most, name):
    folder = tmp_path_factory.mktemp("pages")
    put(folder, *(told(f"{at:03}", hour) for at, hour in enumerate(hours)))
    index = indexes.load(name)(folder)
    Crawl(index).finish()
    seen: list[Row] = []
    after = None
    while True:
        page = index.page(Filters(), EVERYBODY, after=after, most=most)
        seen += page.rows
        after = page.after
        if after is None:
            break
        assert len(page.rows) == most
    index.close()
    assert len(seen) == len(hours) == len({one.trace_id for one in seen})
    assert [one.at for one in seen] == sorted((one.at for one in seen), reverse=True)


@pytest.mark.parametrize("after", ["", "x", "1-", "1-2-3", "9" * 30 + "-1", "1-١"])
def test_an_after_of_nobody_is_refused(full, after):
    with pytest.raises(InvalidRequest):
        full.page(Filters(), EVERYBODY, after=after)


def test_how_far_it_reaches_is_said(full, tmp_path):
    assert full.indexed(EVERYBODY) == Indexed("2026-03-01T12:00:00.000+00:00", 5, folders=(str(tmp_path),))


def test_everything_is_added_up(full):
    overview = full.overview(Filters(), EVERYBODY)
    assert (overview.requests, overview.failed, overview.over_budget, overview.disconnected) == (5, 1, 1, 1)
    assert (overview.admitted, overview.documents) == (2, 5)
    assert overview.reasons == (Named("stale", 2), Named("duplicate", 1))
    assert overview.classes == (Named("how_to", 1),)
    assert overview.modes == (Named("enforce", 4), Named("shadow", 1))
    assert overview.models == (Named("gpt-4o", 4), Named("other", 1))
    assert overview.codes == (Named("insufficient_quota", 1),)
    assert (overview.verified, overview.invented, overview.with_invented) == (1, 1, 1)
    assert [one.requests for one in overview.hours] == [1] * 5
    assert overview.hours[3] == Hour(ELEVEN, 1, 1)
    assert overview.overhead_ms.n == 5
    assert overview.count_error == Spread()
    assert overview.left_off == 0


@pytest.mark.parametrize("most", [2, 5])
def test_of_very_many_the_latest_are_added_up_and_it_says_so(full, monkeypatch, most):
    monkeypatch.setattr("elbowroom_proxy.indexes._questions.MOST", most)
    overview = full.overview(Filters(), EVERYBODY)
    assert (overview.requests, overview.left_off) == (most, 5 - most)
    assert [one.at for one in overview.hours] == [TEN + at * HOUR for at in (1, 2)] if most == 2 else overview.hours
    assert overview.reasons == (() if most == 2 else (Named("stale", 2), Named("duplicate", 1)))


def test_what_each_organisation_took_is_added_up_the_most_first(index, tmp_path):
    bill = {"prompt_tokens": 100, "completion_tokens": 10}
    put(
        tmp_path,
        told("a", **owned("t", "small"), billed=bill),
        told("b", **owned("t", "large"), billed=bill),
        told("c", **owned("t", "large"), billed=bill),
        told("d"),
    )
    Crawl(index).finish()
    assert index.overview(Filters(), EVERYBODY).orgs == (
        Spent("large", 2, 200, 20, 0), Spent("small", 1, 100, 10, 0), Spent(None, 1, 0, 0, 0),
    )  # fmt: skip


@given(values=st.lists(st.integers(-300, 300), min_size=1, max_size=40), name=st.sampled_from(sorted(indexes.NAMES)))
def test_hundredths_are_values_that_so_many_do_not_exceed(tmp_path_factory, values, name):
    folder = tmp_path_factory.mktemp("spread")
    put(folder, *(told(str(at), count_error=value) for at, value in enumerate(values)))
    index = indexes.load(name)(folder)
    Crawl(index).finish()
    spread = index.overview(Filters(), EVERYBODY).count_error
    index.close()
    assert (spread.n, spread.least, spread.most) == (len(values), min(values), max(values))
    for share, value in ((50, spread.p50), (95, spread.p95), (99, spread.p99)):
        assert value in values
        assert sum(one <= value for one in values) * 100 >= share * len(values)
        assert sum(one < value for one in values) * 100 < share * len(values)
    assert sum(one.n for one in spread.buckets) == len(values)
    assert next(one for one in spread.buckets if one.low == 0) == Bucket(0, 1, values.count(0))


def test_nobody_else_writes_while_one_does(full):
    with full.writing() as first:
        assert first is not None
        with full.writing() as second:
            assert second is None
        assert found(full) == "edcba"


def test_what_fails_half_way_is_not_there(full, tmp_path):
    def fail():
        with full.writing() as writing:
            writing.mark(str(tmp_path), "other.jsonl", Mark(7, 9))
            writing.add([(Row(trace_id="z", at=0, time=""), Place(str(tmp_path), "other.jsonl", 0, 8))])
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert found(full) == "edcba"
    assert list(full.marks()[str(tmp_path)]) == ["2026-03-01-1-0000.jsonl"]


def test_any_thread_may_ask_while_another_writes(full):
    seen: list[str] = []
    with full.writing() as writing:
        writing.forget(full.folders()[0])
        thread = threading.Thread(target=lambda: seen.append(found(full)))
        thread.start()
        thread.join()
    assert (seen, found(full)) == (["edcba"], "")


def test_it_covers_the_folders_that_it_is_told_of(full, tmp_path):
    other = tmp_path / "other"
    put(other, told("z", 20))
    full.cover([str(other)])
    Crawl(full).finish()
    assert found(full) == "zedcba"
    assert full.indexed(EVERYBODY).folders == (str(tmp_path), str(other))
    full.cover([])
    assert found(full) == "edcba"
    assert full.folders() == (str(tmp_path),)
