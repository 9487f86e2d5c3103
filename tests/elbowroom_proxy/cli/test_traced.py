"""Traces and their requests, from a file or captured, narrowed by the filters that everything has."""

from __future__ import annotations

import json
from argparse import ArgumentParser

import httpx
import pytest

from elbowroom_proxy.cli import traced
from tests.proxy import config

ASKED = {
    "model": "demo-small",
    "messages": [{"role": "user", "content": "How loud is the FH-300?"}],
    "documents": [
        {"id": "loud", "text": "The FH-300 is heard with 41 dB.", "score": 0.9},
        {"id": "copy", "text": "The FH-300 is heard with 41 dB!", "score": 0.8},
    ],
}
PLAIN = {"model": "demo-large", "messages": [{"role": "user", "content": "Call ann@example.com."}]}


@pytest.fixture
def recorded(running_proxy):
    """Two requests through a proxy, and where its configuration is; `traces` is what elbowroom.yaml says of them."""

    def run(**traces):
        value = json.loads(config("http://127.0.0.1:9"))
        value["traces"] = traces
        proxy = running_proxy(json.dumps(value))
        ids = [
            httpx.post(f"{proxy.url}/v1/chat/completions", json=body, timeout=60).headers["x-elbowroom-trace-id"]
            for body in (ASKED, PLAIN)
        ]
        proxy.stop()
        return proxy.traces_folder.parent / "elbowroom.yaml", ids

    return run


def test_what_was_captured_is_replayed_as_far_as_it_is_kept(recorded, here):
    file, (first, second) = recorded(capture="redacted")
    done = here("replay", "--captured", "--config", file, "--json")
    assert done.returncode == 0
    told = {one["id"]: one for one in map(json.loads, done.stdout.splitlines())}
    assert (told[first]["exact"], told[first]["note"]) == (True, "")
    assert set(told) == {first, second}


def test_filters_narrow_what_is_replayed(recorded, here, tmp_path):
    file, (first, second) = recorded(capture="redacted")
    for words in (["--reason", "duplicate"], ["--trace-model", "demo-small"], ["--status", "200", "--since", "1h"]):
        done = here("replay", "--captured", "--config", file, *words, "--json")
        replayed = {json.loads(line)["id"] for line in done.stdout.splitlines()}
        assert replayed == ({first} if "200" not in words else {first, second})
    (tmp_path / "asked.jsonl").write_text(
        f"{json.dumps({'trace_id': first, 'body': ASKED})}\n{json.dumps({'trace_id': second, 'body': PLAIN})}\n"
    )
    done = here("replay", "--requests", "asked.jsonl", "--config", file, "--reason", "duplicate")
    assert (done.returncode, "1 of 1 came out as recorded" in done.stdout) == (0, True)
    readings = here("traces", "list", "--kind", "read", "--config", file, "--json").stdout
    assert f"show {first}: 1" in readings


def test_where_nothing_was_captured_that_is_said(recorded, here):
    file, ids = recorded()
    done = here("replay", "--captured", "--config", file)
    assert done.returncode == 1
    assert sorted(done.stderr.splitlines()) == sorted(f"{one}: its texts are not kept (capture: hash)" for one in ids)


def test_what_was_refused_before_anything_was_decided_has_nothing_to_replay(running_proxy, here):
    """It is no fault that it was not captured either."""
    proxy = running_proxy(json.dumps({**json.loads(config("http://127.0.0.1:9")), "traces": {"capture": "redacted"}}))
    for body in ({**ASKED, "model": "nobody's"}, ASKED):
        httpx.post(f"{proxy.url}/v1/chat/completions", json=body, timeout=60)
    proxy.stop()
    assert [one["status"] for one in proxy.traces()] == [404, 200]
    done = here("replay", "--captured", "--config", proxy.traces_folder.parent / "elbowroom.yaml")
    assert (done.returncode, done.stderr, "1 of 1 came out as recorded" in done.stdout) == (0, "", True)


def test_texts_that_went_since_are_said_to_be_gone(recorded, here):
    file, _ = recorded(capture="redacted")
    for folder in (file.parent / "traces" / "captures").iterdir():
        for text in folder.iterdir():
            text.unlink()
    done = here("replay", "--captured", "--config", file)
    assert (done.returncode, done.stderr.count("and no longer there")) == (1, 2)


def test_without_the_secret_no_text_can_be_read(here, tmp_path):
    (tmp_path / ".elbowroom" / "traces").mkdir(parents=True)
    done = here("replay", "--captured")
    assert (done.returncode, "no captured text can be read" in done.stderr) == (2, True)


def test_what_cannot_be_sought_is_nothing_to_work_with(here):
    done = here("replay", "--captured", "--status", "999")
    assert (done.returncode, "status is a number" in done.stderr) == (2, True)


def test_names_that_a_replay_has_already_are_said_otherwise():
    parser = ArgumentParser()
    traced.arguments(parser)
    args = parser.parse_args(["--trace-model", "m", "--trace-policy", "p", "--tenant", "t"])
    assert (args.only_model, args.only_policy, args.only_tenant) == ("m", "p", "t")
