"""The real command on a folder of real records."""

from __future__ import annotations

import csv
import io
import json

import pytest

from elbowroom.account.trace import Billed, Facts, record
from elbowroom_proxy.cli.pack import Offline
from elbowroom_proxy.cli.traces import _cell
from elbowroom_proxy.indexes.sqlite import SqliteIndex
from elbowroom_proxy.settings import load
from elbowroom_proxy.sinks.line import encode
from tests.records import owned, put, told

ASKED = {
    "model": "demo-small",
    "messages": [{"role": "user", "content": "How loud?"}],
    "documents": [{"id": "a", "text": "41 dB by day."}, {"id": "b", "text": ""}],
}
HOSTILE = "\x1b[2J\x9b1m\u202e\n=cmd()"
NAME = "2026-03-01-1-0000.jsonl"


@pytest.fixture
def folder(tmp_path):
    story = Offline(load(environ={}), None, None).pack(json.dumps(ASKED).encode()).story
    facts = {"trace_id": "aaa", "time": "2026-03-01T10:00:00.000Z", "request_id": "req_a", "client_request_id": "mine"}
    tokens = story["counted"]["tokens"]
    answered = {**story, **facts, "status": 200, "billed": {"prompt_tokens": tokens, "completion_tokens": 3}}
    refused = record(None, Facts(trace_id="bbb", time="2026-03-01T11:00:00.000Z", status=400, billed=Billed(1, 1)))
    (tmp_path / ".elbowroom" / "traces").mkdir(parents=True)
    (tmp_path / ".elbowroom" / "traces" / NAME).write_bytes(encode(answered) + b"\n" + encode(refused) + b"\n")
    return tmp_path


def ids(done) -> list[str]:
    return [line.split()[1] for line in done.stdout.splitlines()[1:]]


def test_the_latest_are_listed_first(folder, here):
    done = here("traces", "list")
    head, *rows = done.stdout.splitlines()
    assert head.split()[:5] == ["time", "trace", "tenant", "model", "class"]
    assert rows[0].split() == ["2026-03-01T11:00:00.000", "bbb", "-", "-", "-", "400", "0", "0", "-", "1"]
    assert rows[1].split()[:8] == ["2026-03-01T10:00:00.000", "aaa", "-", "demo-small", "general", "200", "1", "1"]
    assert rows[1].split()[8] == rows[1].split()[9]
    assert rows[1].endswith("empty 1")
    assert done.stderr.splitlines()[-1] == "2 traces, the latest of 2026-03-01T11:00:00.000Z"


def test_so_many_and_no_more_and_then_the_next(folder, here):
    done = here("traces", "list", "-n", "1", "--folder", ".elbowroom/traces")
    assert ids(done) == ["bbb"]
    after = done.stderr.split("--after ")[1].strip()
    assert ids(here("traces", "list", "-n", "1", "--after", after)) == ["aaa"]


def test_filters_narrow_a_list_and_a_list_is_objects_where_that_is_wanted(folder, here):
    assert ids(here("traces", "list", "--reason", "empty", "--class", "general")) == ["aaa"]
    done = here("traces", "list", "--status", "4xx", "--json")
    assert [json.loads(line)["trace_id"] for line in done.stdout.splitlines()] == ["bbb"]


@pytest.mark.parametrize("words", [["--status", "999"], ["--since", "soon"], ["--after", "x"]])
def test_what_cannot_be_sought_is_said(folder, words, here):
    done = here("traces", "list", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.strip()


@pytest.mark.parametrize("ident", ["aaa", "req_a", "mine"])
def test_one_is_shown_by_any_of_its_ids_the_four_questions_first(folder, ident, here):
    told = here("traces", "show", ident).stdout
    assert told.startswith("trace      aaa 2026-03-01T10:00:00.000Z\nids        req_a, client's mine\n")
    questions = ["Which instruction", "Which sources", "Which tool result", "What was left out", "window  "]
    assert sorted(questions, key=told.index) == questions
    assert "\n  1 empty: b\n" in told
    assert "documents  1 admitted, 1 dropped: empty 1\n" in told


def test_the_record_itself_is_one_line(folder, here):
    done = here("traces", "show", "aaa", "--json")
    assert done.stdout.count("\n") == 1
    assert json.loads(done.stdout)["request_id"] == "req_a"


def test_what_is_not_there_is_said(folder, here):
    done = here("traces", "show", "no\x1bne")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == "There is no trace with that id."


def test_a_hostile_record_does_not_steer_a_terminal(folder, here):
    traces = folder / ".elbowroom" / "traces"
    document = {"position": 0, "id": HOSTILE, "decision": "dropped", "reason": "stale", "detail": HOSTILE, "digest": ""}
    defaults = {
        "label": None,
        "tokens": 0,
        "tokens_before": 0,
        "spans": [],
        "also_in": [HOSTILE],
        "stripped": 0,
        "neutralised": 0,
    }
    put(traces, told("ccc", 12, client_request_id=HOSTILE, tenant=HOSTILE, model=HOSTILE, policy={
        "id": HOSTILE, "version": HOSTILE, "digest": HOSTILE,
    }, documents=[{**document, **defaults}], tool_results=[{
        "message": 1, "tool": HOSTILE, "bytes_before": 1, "bytes_after": 1, "rows_before": None, "rows_after": None,
        "capped": False,
    }], tools_removed=[HOSTILE]), name=NAME)  # fmt: skip
    for words in (["list"], ["list", "--json"], ["show", "ccc"], ["show", "ccc", "--json"], ["export"],
                  ["export", "--format", "csv"]):  # fmt: skip
        done = here("traces", *words)
        assert "ccc" in done.stdout
        shown = done.stdout
        assert all(char.isprintable() or char == "\n" for char in shown), words


def test_all_is_exported_whole_or_as_a_table(folder, here):
    done = here("traces", "export")
    assert [json.loads(line)["trace_id"] for line in done.stdout.splitlines()] == ["bbb", "aaa"]
    table = here("traces", "export", "--format", "csv", "--reason", "empty").stdout
    (row,) = csv.DictReader(io.StringIO(table))
    assert (row["trace_id"], row["dropped"], row["tenant"], row["status"]) == ("aaa", "empty=1", "", "200")


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=1+1", "'=1+1"), ("+1", "'+1"), ("-1", "'-1"), ("@a", "'@a"), ("a=b", "a=b"), (-3, -3), (None, None),
        ({"b": 2, "a": 1}, "a=1 b=2"), ("a\n=b", "a\\n=b"),
    ],
)  # fmt: skip
def test_no_cell_is_a_formula(value, cell):
    assert _cell(value) == cell


def test_several_folders_are_read_as_one_from_then_on(folder, tmp_path, here):
    other = tmp_path / "other"
    put(other, told("zzz", 20, **owned("acme")))
    done = here("traces", "index", ".elbowroom/traces", "other")
    assert done.stdout == "3 traces, the latest of 2026-03-01T20:00:00.000+00:00, in 2 folders\n"
    assert ids(here("traces", "list")) == ["zzz", "bbb", "aaa"]
    put(other, told("yyy", 21))
    assert ids(here("traces", "list")) == ["yyy", "zzz", "bbb", "aaa"]
    here("traces", "index", ".elbowroom/traces")
    assert ids(here("traces", "list")) == ["bbb", "aaa"]


def test_the_index_can_be_made_anew_at_any_time(folder, here):
    here("traces", "index")
    assert here("traces", "index", "--rebuild").stdout.startswith("2 traces")
    (folder / ".elbowroom" / "traces" / "index.sqlite").unlink()
    assert ids(here("traces", "list")) == ["bbb", "aaa"]


def test_a_folder_that_is_not_there_is_said(folder, here):
    done = here("traces", "index", "none")
    assert (done.returncode, "there is no such folder" in done.stderr) == (1, True)


def test_nothing_yet_is_no_fault_and_leaves_nothing_behind(tmp_path, here):
    done = here("traces", "list")
    assert (done.returncode, done.stderr) == (0, "no traces\n")
    assert list(tmp_path.iterdir()) == []


def test_what_stands_out_is_said(folder, here):
    traces = folder / ".elbowroom" / "traces"
    put(
        traces,
        told("ccc", 12, error={"code": "insufficient_quota"}, disconnected=True, dropped=["stale"]),
        told("ddd", 13, cited={"verified": [], "invented": ["S7"], "uncited": []}, calls_tainted=1),
        {
            "kind": "read",
            "trace_id": "r",
            "time": "2026-03-01",
            "subject": "ann",
            "read": {"action": "list", "found": 3},
        },
        name=NAME,
    )
    lines = here("traces", "list").stdout.splitlines()
    assert lines[1].endswith("  1 invented, 1 tainted")
    assert lines[2].endswith("  insufficient_quota, client left, over budget, stale 1")
    assert here("traces", "list", "--kind", "read").stdout.splitlines()[1].endswith("  ann read list: 3")


def test_while_another_process_writes_the_index_is_not_made_anew(folder, here):
    index = SqliteIndex(folder / ".elbowroom" / "traces")
    with index.writing():
        done = here("traces", "index", "--rebuild")
    index.close()
    assert (done.returncode, "another process is writing the index" in done.stderr) == (1, True)


@pytest.mark.parametrize("word", ["0", "501", "x", "٣"])
def test_a_list_is_so_long_and_no_longer(here, word):
    with pytest.raises(SystemExit):
        here("traces", "list", "-n", word)
