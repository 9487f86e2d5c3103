"""Records are found by time and by id, in files of several writers, whole or torn."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom_proxy.sinks import read
from elbowroom_proxy.sinks.line import encode


@pytest.fixture
def folder(tmp_path):
    def keep(name, *records, torn=""):
        (tmp_path / name).write_bytes(b"".join(encode(one) + b"\n" for one in records) + torn.encode())

    def one(trace_id, time, **more):
        return {"trace_id": trace_id, "time": time, **more}

    keep("2026-03-01-1-0000.jsonl", one("a", "2026-03-01T08"), one("d", "2026-03-01T11", request_id="req_d"))
    keep("2026-03-01-2-0000.jsonl", one("b", "2026-03-01T09"), one("c", "2026-03-01T10"), torn='{"trace_id": "half')
    strange = one("e", "2026-03-02T07", client_request_id='mine "é" \ud800')
    keep("2026-03-02-1-0000.jsonl", strange, torn="[]\nnull\n{x\n")
    keep("2026-03-02-1-0001.jsonl", torn="nothing but a torn line")
    keep("2026-03-03-1-0000.jsonl")
    return tmp_path


def test_the_newest_come_first_whoever_wrote_them(folder):
    assert [one["trace_id"] for one in read.newest_first(folder)] == ["e", "d", "c", "b", "a"]


def test_no_folder_no_records(tmp_path):
    assert list(read.newest_first(tmp_path / "none")) == []


@pytest.mark.parametrize(("ident", "trace_id"), [("a", "a"), ("req_d", "d"), ('mine "é" \ud800', "e")])
def test_each_id_finds_its_record(folder, ident, trace_id):
    found = read.find(folder, ident)
    assert found is not None
    assert found["trace_id"] == trace_id


@pytest.mark.parametrize("ident", ["half", "2026-03-01T08", "", "zz"])
def test_what_is_no_id_finds_nothing(folder, ident):
    assert read.find(folder, ident) is None


def test_the_latest_of_several_with_one_id_is_meant(tmp_path):
    records = [{"trace_id": str(n), "time": f"2026-03-01T0{n}", "client_request_id": "mine"} for n in range(3)]
    (tmp_path / "2026-03-01-1-0000.jsonl").write_bytes(b"".join(encode(one) + b"\n" for one in records))
    assert read.find(tmp_path, "mine") == records[-1]


@given(st.lists(st.integers(0, 40)), st.integers(0, 20), st.integers(1, 16))
def test_lines_come_backwards_whatever_the_block(tmp_path_factory, lengths, torn, block):
    lines = [json.dumps({"n": n, "x": "x" * length}).encode() for n, length in enumerate(lengths)]
    path = tmp_path_factory.mktemp("lines") / "file"
    path.write_bytes(b"".join(line + b"\n" for line in lines) + b"t" * torn)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read, "BLOCK", block)
        assert list(read.backwards(path)) == lines[::-1]
