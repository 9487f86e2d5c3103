"""`elbowroom count`: a count a line, its error where a bill is given, and a table of how far they are apart."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from elbowroom_proxy.__main__ import main
from elbowroom_proxy.cli.count import Counts
from elbowroom_proxy.settings import load

HELLO: dict[str, Any] = {"id": "a", "model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}
PICTURE = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}


@pytest.fixture
def counts() -> Counts:
    return Counts(load(environ={}))


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)

    def run(*lines: Any, words: tuple[str, ...] = ()) -> tuple[int, str, str]:
        text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
        Path("rows.jsonl").write_text(text)
        status = main(["count", "rows.jsonl", *words])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


def test_a_row_is_counted_and_compared_with_its_bill(command):
    status, out, _ = command({**HELLO, "expected_prompt_tokens": 9, "provider": "openai", "kind": "plain"})
    assert status == 0
    _, row, _, _, group, total = out.splitlines()
    assert row.split() == ["a", "8", "modelled", "0", "9", "-1"]
    assert group.split() == ["openai", "plain", "1", "0", "0", "-1", "0"]
    assert total.split() == ["all", "1", "0", "0", "-1", "0"]


def test_without_bills_there_is_no_table(command):
    _, out, _ = command(HELLO, "")
    assert [line.split()[0] for line in out.splitlines()] == ["id", "a"]


def test_json_is_one_object_a_line_and_nothing_else(command):
    audio = {"role": "user", "content": [{"type": "input_audio"}]}
    status, out, _ = command(HELLO, {**HELLO, "id": 7, "messages": [audio]}, words=("--json",))
    assert status == 0
    first, second = map(json.loads, out.splitlines())
    assert first == {"id": "a", "tokens": 8, "basis": "modelled", "margin": 0}
    assert second == {"id": 7, "tokens": None, "error": "a content part of type 'input_audio' cannot be counted"}


def test_json_can_be_printed_in_any_encoding(command):
    _, out, _ = command({**HELLO, "id": "\ud800 é"}, words=("--json",))
    assert out.isascii()
    assert json.loads(out)["id"] == "\ud800 é"


@pytest.mark.parametrize(
    ("line", "why"),
    [("{", "not JSON"), ("[1]", "not a JSON object"), ("[" * 100_000, "nested too deeply")],
)
def test_a_bad_line_is_named_and_the_others_are_counted(command, line, why):
    status, out, err = command(HELLO, line, HELLO, words=("--json",))
    assert status == 1
    assert err.startswith("rows.jsonl:2: ")
    assert why in err
    assert [json.loads(one)["tokens"] for one in out.splitlines()] == [8, None, 8]


def test_a_row_without_a_model_or_messages_says_so(command):
    status, out, _ = command({"messages": []}, {"model": "gpt-4o"}, {"model": "gpt-4o", "messages": None})
    assert status == 0
    assert "names no model" in out
    assert out.count("no messages") == 2
    _, out, _ = command({"messages": []}, words=("--model", "gpt-4o", "--json"))
    assert json.loads(out)["tokens"] == 3


def test_what_could_not_be_counted_is_in_the_table_as_neither_exact_nor_inside(command):
    _, out, _ = command({**HELLO, "web_search_options": {}, "expected_prompt_tokens": 3})
    assert out.splitlines()[-1].split() == ["all", "1", "0", "0", "0", "0"]


def test_standard_input_is_read_and_a_missing_file_is_said(command, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(HELLO).encode())))
    assert main(["count", "-", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tokens"] == 8
    assert main(["count", "nowhere.jsonl"]) == 2
    assert "nowhere.jsonl" in capsys.readouterr().err


def test_sizes_of_pictures_are_taken_from_the_row(counts):
    row = {**HELLO, "messages": [{"role": "user", "content": [PICTURE]}]}
    assert counts.count(row).basis == "bounded"
    small = counts.count({**row, "image_dims": [[512, 512]]})
    assert (small.tokens, small.basis, small.margin) == (4 + 3 + 85 + 170, "modelled", 3)


@pytest.mark.parametrize("dims", [5, "x", [[0, 0]], [[-5, 10]], [[1]], [["a", "b"]], [None], [[640, 480, 3]]])
def test_what_is_no_size_says_so(command, dims):
    row = {**HELLO, "messages": [{"role": "user", "content": [PICTURE]}], "image_dims": dims}
    status, out, _ = command(row, words=("--json",))
    assert status == 0
    assert json.loads(out)["tokens"] is None
    assert "image_dims" in json.loads(out)["error"]


def test_the_responses_form_is_counted_by_its_own_rules(counts):
    chat = {**HELLO, "tools": [{"type": "function", "function": {"name": "f"}}]}
    flat = {"model": "gpt-4o", "input": "hello", "tools": [{"type": "function", "name": "f"}]}
    assert counts.count(chat).tokens - counts.count({**chat, "endpoint": "responses"}).tokens == 9 - 3
    assert counts.count(flat) == counts.count({**chat, "endpoint": "responses"})


def test_a_configured_model_is_counted_as_it_is_served(counts):
    assert counts.count({**HELLO, "model": "demo-small"}).basis == "modelled"
    assert counts.count({**HELLO, "model": "nobodys-model"}).basis == "bounded"


def test_another_makers_model_is_never_counted_by_openais_rules(counts):
    told = counts.count({**HELLO, "model": "gemini-2.5-flash", "provider": "gemini"})
    assert told.basis == "bounded"


def test_a_tokenizer_that_is_not_installed_is_replaced_by_bytes(counts, monkeypatch):
    monkeypatch.setattr("elbowroom_proxy.encoders.missing", lambda name: None if name == "bytes" else "not here")
    assert counts.count({**HELLO, "model": "claude-sonnet-4-5", "provider": "anthropic"}).basis == "bounded"


def test_bills_in_another_form_or_in_doubt_are_compared_apart(command):
    billed = {**HELLO, "expected_prompt_tokens": 8, "kind": "plain"}
    _, out, _ = command({**billed, "endpoint": "responses"}, {**billed, "suspect": True})
    assert "openai responses" in out
    assert "plain suspect" in out


def test_the_bar_holds_on_the_printed_table(shared: Path, command):
    text = (shared / "data" / "token_truth.jsonl").read_text()
    _, out, _ = command(*text.splitlines())
    rows = [line.split() for line in out.split("\n\n")[1].splitlines() if line.startswith("openai  ")]
    claimed = [
        row for row in rows if "suspect" not in row and not {"file", "websearch", "input_audio"} & {*row[1].split("+")}
    ]
    total, exact, inside = (sum(int(row[at]) for row in claimed) for at in (2, 3, 4))
    assert total > 100
    assert exact >= 0.92 * total
    assert inside >= 0.99 * total
    assert min(int(row[5]) for row in claimed) >= -4
