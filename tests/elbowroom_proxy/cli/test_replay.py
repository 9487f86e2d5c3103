"""`elbowroom replay`: the same decision from its own answers, and another policy's, passage by passage."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from elbowroom.account.trace import Facts, record
from elbowroom_proxy.__main__ import main
from elbowroom_proxy.cli.pack import Offline
from elbowroom_proxy.cli.samples import samples
from elbowroom_proxy.settings import load
from elbowroom_proxy.sinks.line import encode
from tests.command import elbowroom

ASKED: dict[str, Any] = {
    "model": "demo-small",
    "messages": [{"role": "user", "content": "How loud is the FH-300?"}],
    "documents": [
        {"id": "loud", "text": "The FH-300 is heard with 41 dB.", "score": 0.9},
        {"id": "copy", "text": "The FH-300 is heard with 41 dB!", "score": 0.8},
        {"id": "motor", "text": "The FH-300 needs the fan motor M-7.", "score": 0.4},
    ],
}
BODY = json.dumps(ASKED).encode()


def story(body: bytes = BODY, ident: str = "aaa", **more: Any) -> dict[str, Any]:
    packed = Offline(load(environ={}), None, None).pack(body).story
    return {**packed, "trace_id": ident, "time": "2026-03-01T10:00:00.000Z", "request_id": f"req_{ident}", **more}


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    for name in ("REDIS_URL", "ELBOWROOM_SECRET"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / ".elbowroom" / "traces"
    folder.mkdir(parents=True)

    def run(stories: list[dict[str, Any]], rows: list[Any], *words: str) -> tuple[int, str, str]:
        # Files of records only grow: other records are in another file.
        before = list(folder.glob("*.jsonl"))
        name = f"2026-03-01-1-{int(before[0].stem[-4:]) + 1 if before else 0:04}.jsonl"
        (folder / name).write_bytes(b"".join(encode(one) + b"\n" for one in stories))
        for file in before:
            file.unlink()
        lines = "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)
        Path("requests.jsonl").write_text(lines)
        status = main(["replay", "--requests", "requests.jsonl", *words])
        printed = capsys.readouterr()
        note, *said = printed.err.splitlines(keepends=True)
        assert note.startswith("this reading is not recorded")  # nobody here has a secret
        return status, printed.out, "".join(said)

    return run


@pytest.fixture
def strict(tmp_path: Path) -> str:
    (tmp_path / "strict.yaml").write_text(
        "id: strict\npacker: topk\nevidence: {rerank_keep: 1}\ngates: [over_budget]\n"
    )
    return "strict.yaml"


def test_a_trace_comes_out_as_recorded(command):
    for body in (ASKED, json.dumps(ASKED)):
        status, out, _ = command([story()], [{"trace_id": "aaa", "body": body}])
        assert status == 0
        assert out.splitlines()[0].startswith("aaa: 0 changed, 3 as before; evidence ")
        assert "as recorded" in out
        assert "1 of 1 came out as recorded" in out


def test_headers_that_speak_to_the_proxy_are_part_of_the_request(command):
    recorded = story(json.dumps({**ASKED, "context": {"class": "comparison"}}).encode())
    row = {"trace_id": "aaa", "body": ASKED, "headers": {"X-Elbowroom-Class": "comparison"}}
    assert command([recorded], [row])[0] == 0
    assert command([recorded], [{**row, "headers": None}])[0] == 1


def test_what_a_running_proxy_recorded_comes_out_again(tmp_path):
    told = elbowroom("demo", cwd=tmp_path).stdout.decode()
    traces = re.findall(r"^trace      (\w+)$", told, re.MULTILINE)
    rows = [{"trace_id": trace, "body": one.body} for trace, one in zip(traces, samples(), strict=True)]
    (tmp_path / "requests.jsonl").write_text("\n".join(map(json.dumps, rows)))
    done = elbowroom("replay", "--requests", "requests.jsonl", cwd=tmp_path)
    assert done.returncode == 0
    assert f"{len(rows)} of {len(rows)} came out as recorded" in done.stdout.decode()


def test_another_policy_is_told_passage_by_passage(command, strict):
    status, out, _ = command([story()], [{"request_id": "req_aaa", "body": ASKED}], "--policy", strict)
    assert status == 0
    assert "2 changed, 1 as before" in out
    assert "  reason   copy                             duplicate (same text as loud) -> over_count" in out
    assert "  dropped  motor                            S2 " in out
    assert "passages   dropped 1, reason 1" in out


def test_json_holds_both_fates(command, strict):
    _, out, _ = command([story()], [{"trace_id": "aaa", "body": ASKED}], "--policy", strict, "--json")
    told = json.loads(out)
    assert (told["id"], told["exact"], told["same"]) == ("aaa", True, 1)
    assert told["tokens"][1] < told["tokens"][0]
    assert [(one["kind"], one["before"]["id"]) for one in told["changes"]] == [("reason", "copy"), ("dropped", "motor")]


def test_another_text_is_not_as_recorded(command):
    other = {
        **ASKED,
        "documents": [*ASKED["documents"][:2], {**ASKED["documents"][2], "text": "It needs the fan motor M-8."}],
    }
    status, out, _ = command([story()], [{"trace_id": "aaa", "body": other}])
    assert status == 1
    assert "NOT as recorded" in out
    assert "not as recorded: documents" in out


def test_answers_that_do_not_fit_are_not_as_recorded(command):
    for answers in ([[1]], [[1, 2, 3, 4, 5, 6, 7, 8, 9]]):
        status, out, _ = command([story(answers=answers)], [{"trace_id": "aaa", "body": ASKED}])
        assert status == 1
        assert "not as recorded: the questions asked" in out


def test_a_policy_that_is_not_at_hand_is_said(command, strict):
    gone = story(policy={"id": "old", "version": "1", "digest": "0" * 64})
    status, out, _ = command([gone], [{"trace_id": "aaa", "body": ASKED}], "--policy", strict)
    assert status == 0
    assert "the policy of this trace is not at hand" in out
    assert "together   1 replayed, 1 of them changed" in out


def test_a_refusal_under_the_other_policy_is_said(command, tmp_path):
    Path("p.yaml").write_text("id: p\nmax_documents: 1\n")
    status, _, err = command([story()], [{"trace_id": "aaa", "body": ASKED}], "--policy", "p.yaml")
    assert status == 1
    assert "requests.jsonl:1: documents may hold 1" in err
    Path("q.yaml").write_text("id: q\ndefault_class: huge\nanswer: {min_output_tokens: 2000}\n")
    Path("classes").mkdir()
    Path("classes/huge.yaml").write_text("name: huge\nanswer_reserve: 2000\n")
    long = {**ASKED, "messages": [{"role": "system", "content": "rule " * 6500}, *ASKED["messages"]]}
    recorded = story(json.dumps(long).encode())
    status, out, _ = command([recorded], [{"trace_id": "aaa", "body": long}], "--policy", "q.yaml")
    assert status == 0
    assert "refused: context_length_exceeded" in out


def test_a_request_that_could_not_be_read_has_nothing_to_replay(command, strict):
    unread = record(None, Facts(trace_id="aaa", time="2026-03-01T10:00:00.000Z", status=400))
    status, out, _ = command([unread], [{"trace_id": "aaa", "body": "{"}])
    assert status == 0
    assert "0 changed, 0 as before" in out
    status, _, err = command([unread], [{"trace_id": "aaa", "body": "{"}], "--policy", strict)
    assert status == 1
    assert err.startswith("requests.jsonl:1: ")


def test_bad_lines_are_named_and_the_rest_is_replayed(command):
    rows = [
        "{",
        {"trace_id": "aaa"},
        {"trace_id": "zzz", "body": ASKED},
        {"body": ASKED},
        {"trace_id": "aaa", "body": ASKED},
    ]
    status, out, err = command([story()], rows)
    assert status == 1
    assert [line.split(": ")[0] for line in err.splitlines()] == [f"requests.jsonl:{n}" for n in (1, 2, 3, 4)]
    assert "1 of 1 came out as recorded" in out


def test_cases_are_compared_under_two_policies(command, strict, capsys):
    case = {
        "id": "c",
        "question": "How loud is the FH-300?",
        "documents": ASKED["documents"],
        "expected": [[{"id": "loud"}]],
    }
    broken = {**case, "id": "d", "documents": [{"id": "a", "text": 5}]}
    Path("cases.jsonl").write_text(f"{json.dumps(case)}\n{json.dumps(broken)}\n[]\n")
    assert main(["replay", "--cases", "cases.jsonl", "--policy", strict]) == 1
    printed = capsys.readouterr()
    assert "c: 2 changed, 1 as before" in printed.out
    assert "exact" not in printed.out
    assert [line.split(": ")[0] for line in printed.err.splitlines()] == ["cases.jsonl:3", "d"]
    words = ["replay", "--cases", "cases.jsonl", "--packer", "topk", "--packer", "cover"]
    assert main(words) == 1
    assert "c: 0 changed, 3 as before" in capsys.readouterr().out


def test_what_cannot_be_replayed_is_said(command, capsys):
    assert main(["replay"]) == 2
    assert main(["replay", "--requests", "nowhere.jsonl"]) == 2
    Path("cases.jsonl").write_text('{"id": "c", "question": "?", "documents": [], "expected": [[{"id": "a"}]]}')
    assert main(["replay", "--cases", "cases.jsonl"]) == 2
    assert "two ways of packing can be compared; the options name 1" in capsys.readouterr().err
