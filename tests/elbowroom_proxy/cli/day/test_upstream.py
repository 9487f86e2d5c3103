"""The model's server of the demo day, over real sockets: the demo model, and what it is told at its cues."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest

from elbowroom_proxy.cli.day import store, upstream
from elbowroom_proxy.cli.day.upstream import Script
from elbowroom_proxy.cli.day.walk import meter
from elbowroom_proxy.cli.demo import serving
from tests.upstream import WAIT

SCRIPTS = (
    Script("Say it.", says="As told [S9]."),
    Script("Call it.", calls=({"name": "refund", "arguments": '{"eur": 7}'},)),
    Script("Fail.", status=503),
    Script("Wait.", holds=True),
    Script("Break.", breaks=True),
)


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("day")
    store.make(folder)
    bills = meter(store.configure(folder, "http://127.0.0.1:1"))
    with (
        serving(upstream.server(SCRIPTS, bills)) as address,
        httpx.Client(base_url=address, trust_env=False, timeout=WAIT) as client,
    ):
        yield client


def asked(text: str, **more) -> dict:
    return {"model": "demo-small", "messages": [{"role": "user", "content": text}], **more}


def post(model: httpx.Client, text: str, **more) -> httpx.Response:
    return model.post("/v1/chat/completions", json=asked(text, **more))


def test_without_a_cue_it_is_the_demo_model(model):
    evidence = "<S1-1234>\nThe bike weighs 40 kilograms.\n</S1-1234>\n\nWhat does the bike weigh?"
    told = post(model, evidence).json()
    assert told["choices"][0]["message"]["content"] == "The bike weighs 40 kilograms. [S1]"
    streamed = post(model, evidence, stream=True)
    assert streamed.headers["content-type"].startswith("text/event-stream")
    assert streamed.text.endswith("data: [DONE]\n\n")
    assert post(model, evidence, n=2, tool_choice="required", tools=[{}]).status_code == 400


def test_at_a_cue_it_says_what_it_was_told_and_bills_it(model):
    told = post(model, "evidence\n\nSay it.").json()
    assert told["choices"] == [
        {"index": 0, "message": {"role": "assistant", "content": "As told [S9]."}, "finish_reason": "stop"}
    ]
    usage = told["usage"]
    assert usage["prompt_tokens"] > 5
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > usage["prompt_tokens"]


def test_it_calls_what_it_was_told_to_call(model):
    (choice,) = post(model, "Call it.").json()["choices"]
    (call,) = choice["message"]["tool_calls"]
    assert (choice["finish_reason"], choice["message"]["content"]) == ("tool_calls", None)
    assert json.loads(call["function"]["arguments"]) == {"eur": 7}


def test_it_fails_and_says_that_asking_again_is_no_use(model):
    answer = post(model, "Fail.")
    assert (answer.status_code, answer.headers["x-should-retry"]) == (503, "false")


def test_a_stream_that_breaks_has_no_end(model):
    with pytest.raises(httpx.RemoteProtocolError):
        post(model, "Break.", stream=True)


def test_a_stream_that_waits_ends_when_its_client_goes(model):
    with model.stream("POST", "/v1/chat/completions", json=asked("Wait.", stream=True)) as answer:
        assert next(answer.iter_raw()).startswith(b"data: ")
    # The server ends with the test only if nothing waits in it any more.
