"""`elbowroom sweep`: a grid of candidates and budgets, the elbow marked, a table and a picture."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from bench import bank_cases
from elbowroom_proxy.__main__ import main
from elbowroom_proxy.cli import lines
from elbowroom_proxy.settings import load_policy

TOP_K = "2,6,8,30"


@pytest.fixture
def bank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "bank.jsonl"
    file.write_text("\n".join(list(bank_cases.cases())[:6]), encoding="utf-8")
    return file


def swept(bank: Path, root: Path, capsys, *words: str) -> dict:
    policy = str(root / "bench" / "bank" / "policy.yaml")
    assert main(["sweep", "--cases", str(bank), "--policy", policy, "--top-k", TOP_K, "--json", *words]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_best_six_are_as_good_as_all_thirty_and_no_answer_is_cut(bank, root, capsys):
    told = swept(bank, root, capsys)
    points = {point["top_k"]: point for point in told["results"]}
    assert points[2]["recall"] < points[6]["recall"] == points[30]["recall"] == 100.0
    assert points[6]["elbow"]
    assert sum(point["elbow"] for point in points.values()) == 1
    assert points[6]["tokens"] < points[30]["tokens"] <= 6000
    assert [point["over"] for point in points.values()] == [0] * 4
    # 4,000 for the answer and 6,000 of evidence stay inside 16,000, however many candidates there are.
    policy = load_policy(root / "bench" / "bank" / "policy.yaml")
    assert all(
        point["prompt_tokens"] + policy.classes[0].answer_reserve <= policy.input_limit for point in points.values()
    )


def test_more_candidates_need_not_cost_more(bank, root, capsys):
    points = swept(bank, root, capsys, "--packer", "topk")["results"]
    assert [point["tokens"] for point in points if point["top_k"] >= 8] == [points[2]["tokens"]] * 2


def test_a_curve_for_each_budget_in_a_table_and_a_picture(bank, root, capsys, tmp_path):
    words = ["sweep", "--cases", str(bank), "--budgets", "500,2000", "--open", "--top-k", "2,4,6", "--out", "out"]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert (tmp_path / "out" / "sweep.md").read_text() == printed
    rows = [line.split("|")[1:-1] for line in printed.splitlines() if line.startswith("| default")]
    assert [(row[2].strip(), row[3].strip()) for row in rows] == [
        (budget, k) for budget in ("500", "2000") for k in ("2", "4", "6")
    ]
    picture = ET.parse(tmp_path / "out" / "sweep.svg").getroot()
    assert len(picture.findall("{http://www.w3.org/2000/svg}polyline")) == 2


def test_cases_without_answers_and_prices_have_no_such_numbers(bank, root, capsys):
    assert main(["sweep", "--cases", str(bank), "--open", "--budgets", "500", "--top-k", "2"]) == 0
    row = capsys.readouterr().out.splitlines()[2].split("|")
    assert (row[7].strip(), row[11].strip()) == ("-", "-")


def test_nothing_to_measure_and_a_bad_line(bank, capsys):
    assert main(["sweep", "--cases", "nowhere.jsonl"]) == 2
    with bank.open("a", encoding="utf-8") as file:
        file.write("\n{")
    assert main(["sweep", "--cases", str(bank), "--top-k", "2"]) == 1
    assert "bank.jsonl:7: not JSON" in capsys.readouterr().err


def test_a_line_that_is_no_request_leaves_nothing_to_draw(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    case = {"id": "a", "question": "?", "documents": [{"id": "d", "text": 5}], "expected": [[{"id": "d"}]]}
    Path("c.jsonl").write_text(json.dumps(case))
    assert main(["sweep", "--cases", "c.jsonl", "--out", "out"]) == 1
    assert not Path("out").exists()


def test_the_generated_cases_are_the_same_every_time():
    first = list(bank_cases.cases())
    assert first == list(bank_cases.cases())
    rows = [row for _, row in lines.objects("\n".join(first).encode())]
    assert len(rows) == bank_cases.CASES
    for row in rows:
        assert isinstance(row, dict)
        assert len(row["documents"]) == 30
        best = [one["text"] for one in row["documents"][:6]]
        assert all(any(group[0]["quotes"][0] in text for text in best) for group in row["expected"])
