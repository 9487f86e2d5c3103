"""`elbowroom eval`: the tables, the JSON, what is compared."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from elbowroom_proxy.__main__ import main
from elbowroom_proxy.cli import runs

DOCUMENTS = [
    {"id": "motor", "text": "The FH-300 needs the fan motor M-7. It is kept in the central store.", "score": 3},
    {"id": "loud", "text": "The FH-300 is heard with 41 dB in the quiet mode.", "score": 2},
    {"id": "colour", "text": "The casing comes in graphite, sand and white.", "score": 1},
]
CASE = {
    "id": "a",
    "lang": "en",
    "dataset": "house",
    "class": "point_lookup",
    "question": "How loud is the FH-300 in the quiet mode?",
    "answers": ["41 dB"],
    "documents": DOCUMENTS,
    "expected": [[{"id": "loud", "quotes": ["heard with 41 dB"]}]],
}
FIELDS = {"policy", "packer", "budget", "group", "n", "recall", "all", "answer", "tokens", "over"}


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)

    def run(rows: Sequence[Any], *words: str) -> tuple[int, str, str]:
        lines = "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)
        Path("cases.jsonl").write_text(lines, encoding="utf-8")
        status = main(["eval", "--cases", "cases.jsonl", *words])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


def test_json_holds_a_row_for_each_setup_and_group(command):
    status, out, _ = command(
        [CASE, {**CASE, "id": "b", "lang": "zh"}], "--open", "--budgets", "80,500", "--packer", "topk", "--json"
    )
    told = json.loads(out)
    assert status == 0
    assert all(row.keys() == FIELDS for row in told["results"])
    groups = [(row["budget"], row["group"], row["n"]) for row in told["results"]]
    names = [("all", 2), ("en", 1), ("zh", 1), ("house", 2), ("point_lookup", 2)]
    assert groups == [(budget, *name) for budget in (80, 500) for name in names]
    tight, wide = (next(row for row in told["results"] if row["budget"] == budget) for budget in (80, 500))
    assert (tight["policy"], tight["packer"], tight["recall"], tight["answer"]) == ("default", "topk", 0.0, 0.0)
    assert (wide["recall"], wide["all"], wide["answer"], wide["over"]) == (100.0, 100.0, 100.0, 0)
    assert tight["tokens"] <= 80 < wide["tokens"]


def test_some_groups_only(command):
    _, out, _ = command([CASE], "--groups", "all,en", "--json")
    assert [row["group"] for row in json.loads(out)["results"]] == ["all", "en"]
    status, out, _ = command([CASE], "--groups", "en")
    assert status == 0
    assert " all  " not in out


def test_the_digests_say_what_is_comparable(command, tmp_path):
    passages = tmp_path / "passages.jsonl"
    passages.write_text(json.dumps({"id": "loud", "text": "It is heard with 41 dB."}))
    row = {**CASE, "documents": None, "document_ids": ["loud"]}
    _, first, _ = command([row], "--passages", str(passages), "--json")
    _, again, _ = command([row, ""], "--passages", str(passages), "--json")
    digests, others = json.loads(first)["digests"], json.loads(again)["digests"]
    assert digests["cases"] != others["cases"]
    assert (digests["passages"], digests["policies"]) == (others["passages"], others["policies"])
    assert len(digests["passages"]) == len(digests["policies"]["default"]) == 64


def test_the_tables_for_people(command):
    answered = {**CASE, "answer": "It is heard with 41 dB [loud]."}
    rows = [answered, {**answered, "id": "b", "answer": "Nobody knows."}, {**CASE, "id": "c"}]
    _, out, _ = command(rows, "--open", "--budgets", "60,500")
    head, table, outcomes, after, compared = (
        out.split("\n\n")[:5] if out.count("\n\n") > 3 else [*out.split("\n\n"), ""]
    )
    assert [line.split()[0] for line in head.splitlines()] == ["cases", "policy", "model", "candidates"]
    assert table.splitlines()[1].split()[:5] == ["default", "cover", "60", "all", "3"]
    wide = next(line for line in outcomes.splitlines() if " 500 all" in line).split()
    assert wide[4:10] == ["100.0", "100.0", "50.0", "1", "2", "100.0"]
    assert "default cover 500: prompt 1" in after
    assert "next       prompt: included but ignored" in after
    assert compared == ""


def test_two_packers_or_policies_are_compared_case_by_case(command, tmp_path):
    one, two = tmp_path / "one.yaml", tmp_path / "two.yaml"
    one.write_text("id: mine\npacker: topk\n")
    two.write_text("id: yours\n")
    words = ("--policy", str(one), "--policy", str(two), "--open", "--budgets", "80")
    rows = [CASE, {**CASE, "id": "b"}]
    _, out, _ = command(rows, *words, "--json")
    told = json.loads(out)
    recall = next(one for one in told["comparisons"] if one["field"] == "recall")
    assert (recall["first"], recall["second"]) == ("mine topk", "yours cover")
    assert recall["paired"] == {"n": 2, "mean": 100.0, "low": 100.0, "high": 100.0, "better": 2, "worse": 0}
    _, out, _ = command(rows, *words)
    assert "+100.00 .. +100.00" in out
    _, out, _ = command([CASE], *words)
    assert out.splitlines()[-3].split()[-6:] == ["recall", "1", "+100.00", "-", "1", "0"]


def test_policies_of_one_id_are_told_apart_by_their_files(command, tmp_path):
    for name in ("one.yaml", "two.yaml"):
        (tmp_path / name).write_text("id: same\n")
    _, out, _ = command([CASE], "--policy", "one.yaml", "--policy", "two.yaml", "--json")
    assert set(json.loads(out)["digests"]["policies"]) == {"one.yaml", "two.yaml"}


def test_without_open_the_caps_of_the_policy_hold(command, tmp_path):
    (tmp_path / "p.yaml").write_text("id: p\nevidence: {max_passages: 1}\n")
    own = json.loads(command([CASE], "--policy", "p.yaml", "--json")[1])["results"][0]
    opened = json.loads(command([CASE], "--policy", "p.yaml", "--open", "--json")[1])["results"][0]
    assert (own["budget"], opened["budget"]) == (None, 500)
    assert own["tokens"] < opened["tokens"]


def test_money_is_told_where_the_models_price_is_known(command):
    _, out, _ = command([CASE], "--json")
    assert json.loads(out)["outcomes"][0]["usd_per_1000"] is None
    Path("priced.yaml").write_text(
        "model_list: [{model_name: m, litellm_params: {model: demo/demo-large}, model_info: {context_window: 9000, "
        "max_output_tokens: 100, family: gpt-4o, input_cost_per_token: 0.000002, output_cost_per_token: 0.000008}}]\n"
    )
    _, out, _ = command([CASE], "--config", "priced.yaml", "--json")
    row = json.loads(out)["outcomes"][0]
    assert row["usd_per_1000"] == pytest.approx(row["prompt_tokens"] * 0.002)


def test_a_bad_line_is_named_and_the_rest_is_measured(command):
    broken = {**CASE, "id": "c", "documents": [{"id": "a", "text": 5}]}
    status, out, err = command(["{", CASE, {**CASE, "id": 5}, broken], "--json")
    assert status == 1
    assert [line.split(" ")[0] for line in err.splitlines()] == ["cases.jsonl:1:", "cases.jsonl:3:", "c:"]
    assert json.loads(out)["results"][0]["n"] == 1


def test_nothing_to_measure_is_told(command):
    assert command(["{"])[0] == 2
    assert "no case in it" in command([""])[2]
    assert command([CASE], "--model", "nobodys")[0] == 2
    assert main(["eval", "--cases", "nowhere.jsonl"]) == 2


@pytest.mark.parametrize("words", [("--budgets", "5,x"), ("--budgets", "0"), ("--jitter", "2"), ("--jitter", "x")])
def test_impossible_options_are_refused(command, words):
    with pytest.raises(SystemExit):
        command([CASE], *words)


def test_results_are_kept_and_taken_again(command, tmp_path):
    words = ("--results", "kept.jsonl", "--json")
    first = command([CASE], *words)
    assert first == command([CASE], *words)
    assert len((tmp_path / "kept.jsonl").read_text().split()) == 1


def test_progress_is_shown_on_a_terminal(command, monkeypatch):
    shown: list[tuple[int, int]] = []
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr(runs, "_show", lambda done, whole: shown.append((done, whole)))
    command([CASE, {**CASE, "id": "b"}], "--json")
    assert shown == [(1, 2), (2, 2)]
