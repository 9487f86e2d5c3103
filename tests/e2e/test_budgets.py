"""Budgets on the running product: what is held before, what it comes to, and that every way out leaves nothing held."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from elbowroom.budget.hold import Standing
from tests.holders import row, written
from tests.proxy import RunningProxy, config, wait_until
from tests.servers import free_port
from tests.upstream import (
    DONE,
    WAIT,
    Answer,
    Break,
    FakeUpstream,
    answer_json,
    answer_stream,
    chunk,
    completion,
    streamed,
)

KEY = "sk-eb-e2e-budget-0000000000000000"
HELLO: dict[str, Any] = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 50}
PROMPT = 8  # tokens of it, as it is counted
LIMITS: dict[str, Any] = {"max_tokens": 1_000, "max_budget": 1, "rpm_limit": 100, "max_parallel_requests": 5}


class House:
    """A proxy whose one team is limited."""

    def __init__(self, upstream: FakeUpstream | str, folder: Path, *, general: Any = None, **team: Any) -> None:
        said: dict[str, Any] = {**written(folder, row("bot", KEY), **team), "ledger": {"volatile": True}}
        text = config(upstream, **{**said, **(general or {})})
        self.proxy = RunningProxy(text, folder)

    def post(self, body: Any = HELLO, path: str = "/chat/completions", key: str = KEY) -> httpx.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"authorization": f"Bearer {key}"}
        return httpx.post(self.proxy.base_url + path, content=content, headers=headers, timeout=WAIT)

    def limit(self, name: str) -> Standing:
        """Where the team's limit of that name stands."""
        service = self.proxy.service
        principal = next(iter(service.keys.directory.holders.values())).principal
        account = service.keys.account(principal)
        assert account is not None
        return next(one for one in asyncio.run(service.ledger.standing(account)) if one.limit == name)

    def spent(self) -> int:
        """Tokens, as soon as nothing is held any more."""
        wait_until(lambda: self.limit("max_tokens").held == self.limit("max_parallel_requests").held == 0)
        return self.limit("max_tokens").spent

    def record(self) -> dict[str, Any]:
        return self.proxy.trace(0)


MakeHouse = Callable[..., House]


@pytest.fixture
def house_of(tmp_path: Path, fake_upstream: FakeUpstream) -> Iterator[MakeHouse]:
    """Builds houses before the test's upstream, and closes them."""
    open_houses: list[House] = []

    def make(upstream: FakeUpstream | str = fake_upstream, **more: Any) -> House:
        folder = tmp_path / str(len(open_houses))
        folder.mkdir()
        open_houses.append(House(upstream, folder, **{**LIMITS, **more}))
        open_houses[-1].proxy.__enter__()
        return open_houses[-1]

    yield make
    for house in open_houses:
        house.proxy.stop()


@pytest.fixture
def house(house_of: MakeHouse) -> House:
    return house_of()


def leave(house: House, body: Any, until: Callable[[], object], first: bytes = b"") -> None:
    """A client that sends a request, waits for `until` (and for the byte string `first`), and hangs up."""
    content = json.dumps(body).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {KEY}\r\n"
        f"content-length: {len(content)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", house.proxy.port), WAIT) as client:
        client.sendall(head.encode() + content)
        until()
        got = b""
        while first not in got:
            got += client.recv(65_536)


# --- what it comes to ---


def test_a_whole_answer_is_held_for_and_settled_by_its_bill(house: House, fake_upstream: FakeUpstream):
    answer = house.post()
    assert answer.status_code == 200
    assert fake_upstream.request().json == HELLO
    assert house.spent() == 9  # the upstream billed 7 and 2
    told = house.record()
    assert (told["hold"]["state"], told["hold"]["prompt"], told["hold"]["answer"]) == ("granted", PROMPT, 50)
    assert told["hold"]["amounts"] == {"tokens": PROMPT + 50, "micro_usd": 520, "rate_tokens": PROMPT + 50}
    assert (told["settlement"]["by"], told["settlement"]["state"]) == ("usage", "settled")
    assert told["settlement"]["amounts"] == {"tokens": 9, "micro_usd": 38, "rate_tokens": 9}
    assert told["counted"]["tokens"] == PROMPT
    assert house.limit("max_budget").spent == 38
    assert (answer.headers["x-ratelimit-limit-requests"], answer.headers["x-ratelimit-limit-tokens"]) == ("100", "1000")
    assert answer.headers["x-ratelimit-remaining-tokens"] == str(1_000 - PROMPT - 50)


def test_a_streams_usage_is_asked_for_and_hidden_and_its_settlement_is_before_its_end(
    house_of: MakeHouse, fake_upstream: FakeUpstream
):
    house = house_of(max_parallel_requests=1)
    for _ in range(5):  # the next request finds the place of the last one free
        fake_upstream.answers(streamed("a", "b", usage=True))
        answer = house.post({**HELLO, "stream": True})
        assert answer.content == b"".join(streamed("a", "b").parts)  # type: ignore[arg-type]
    assert fake_upstream.request().json == {**HELLO, "stream": True, "stream_options": {"include_usage": True}}
    assert house.spent() == 5 * 9
    assert house.record()["edits"] == ["usage_asked"]


def test_who_is_limited_in_requests_alone_has_the_clients_bytes_sent_and_the_upstreams_given(
    house_of: MakeHouse, fake_upstream: FakeUpstream
):
    house = house_of(max_tokens=None, max_budget=None)
    body = json.dumps({**HELLO, "stream": True}, indent=1).encode()
    fake_upstream.answers(streamed("a", usage=True))
    answer = house.post(body)
    assert fake_upstream.request().body == body
    assert answer.content == b"".join(streamed("a", usage=True).parts)  # type: ignore[arg-type]
    assert house.record()["hold"]["amounts"]["tokens"] == 0
    assert house.limit("max_parallel_requests").held == 0
    assert house.limit("rpm_limit").spent == 1


def test_an_upstream_that_tells_no_usage_is_charged_for_what_came(house: House, fake_upstream: FakeUpstream):
    fake_upstream.answers(streamed("one", " two", " three"))
    house.post({**HELLO, "stream": True})
    assert house.spent() == PROMPT + 3 + 8  # and what no text shows of an answer
    body = completion("one two three")
    del body["usage"]
    fake_upstream.answers(answer_json(body))
    house.post()
    assert house.spent() == 2 * (PROMPT + 3 + 8)
    assert house.record()["settlement"]["by"] == "delivered"


def test_an_explicit_refusal_of_usage_stays_and_what_came_is_counted(house: House, fake_upstream: FakeUpstream):
    fake_upstream.answers(streamed("one"))
    body = {**HELLO, "stream": True, "stream_options": {"include_usage": False}}
    house.post(body)
    assert fake_upstream.request().json == body
    assert house.spent() == PROMPT + 1 + 8


# --- every way out ---


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        ({**HELLO, "model": "nobody"}, 404),
        ({**HELLO, "messages": []}, 400),
        ({**HELLO, "best_of": 999}, 400),
    ],
)
def test_what_is_never_sent_costs_nothing(house: House, body: Any, status: int):
    answer = house.post(body)
    assert answer.status_code == status
    assert house.spent() == 0
    assert answer.headers["x-ratelimit-remaining-requests"] == "100"
    assert answer.headers["x-ratelimit-remaining-tokens"] == "1000"


def test_nobodys_key_costs_nobody_anything(house: House):
    assert house.post(key="sk-eb-nobody").status_code == 401
    assert house.spent() == 0


@pytest.mark.parametrize(
    ("status", "spent", "by"), [(400, 0, "nothing"), (429, 0, "nothing"), (500, PROMPT, "delivered")]
)
@pytest.mark.parametrize("stream", [False, True])
def test_an_upstream_that_answers_with_an_error(
    house: House, fake_upstream: FakeUpstream, status: int, spent: int, by: str, stream: bool
):
    fake_upstream.answers(answer_json({"error": {"message": "no"}}, status))
    assert house.post({**HELLO, "stream": stream}).status_code == status
    assert house.spent() == spent
    assert house.record()["settlement"]["by"] == by


def test_an_upstream_that_is_not_there(house_of: MakeHouse):
    house = house_of(f"http://127.0.0.1:{free_port()}/v1")
    assert house.post().status_code == 502
    assert house.spent() == 0
    assert house.record()["settlement"] == {
        "by": "nothing", "state": "released",
        "amounts": {"tokens": 0, "micro_usd": 0, "rate_tokens": 0},
        "overrun": {"tokens": 0, "micro_usd": 0, "rate_tokens": 0},
    }  # fmt: skip


@pytest.mark.parametrize(
    "answer",
    [Answer(before=Break()), Answer(200, {"content-type": "application/json"}, [b"{", Break()], sized=False)],
    ids=["before the head", "in the body"],
)
def test_a_whole_answer_that_breaks_off_may_have_been_generated(
    house: House, fake_upstream: FakeUpstream, answer: Answer
):
    fake_upstream.answers(answer)
    assert house.post().status_code == 502
    assert house.spent() == PROMPT + 50
    assert house.record()["settlement"]["by"] == "bound"


def test_a_stream_that_breaks_off_is_charged_for_what_came(house: House, fake_upstream: FakeUpstream):
    fake_upstream.answers(answer_stream(chunk({"content": "one"}), chunk({"content": " two"}), Break()))
    answer = house.post({**HELLO, "stream": True})
    assert answer.content.endswith(DONE)
    assert house.spent() == PROMPT + 2 + 8


def test_an_upstream_that_is_too_late(house_of: MakeHouse, fake_upstream: FakeUpstream):
    house = house_of(general={"total_timeout": 0.3})
    fake_upstream.answers(Answer(before=fake_upstream.gate()))
    assert house.post().status_code == 504
    assert house.spent() == PROMPT + 50


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_before_the_first_byte(house: House, fake_upstream: FakeUpstream, stream: bool):
    fake_upstream.answers(Answer(before=fake_upstream.gate()))
    leave(house, {**HELLO, "stream": stream}, fake_upstream.request)
    assert fake_upstream.request().gone.wait(WAIT)
    assert house.spent() == PROMPT + 50
    told = house.record()
    assert (told["disconnected"], told["settlement"]["by"]) == (True, "bound")


def test_a_client_that_leaves_in_the_middle(house: House, fake_upstream: FakeUpstream):
    gate = fake_upstream.gate()
    fake_upstream.answers(answer_stream(chunk({"content": "one"}), chunk({"content": " two"}), gate))
    leave(house, {**HELLO, "stream": True}, lambda: gate.reached.wait(WAIT), b" two")
    assert house.spent() == PROMPT + 2 + 8
    told = house.record()
    assert (told["disconnected"], told["settlement"]["by"]) == (True, "delivered")


def test_a_client_that_leaves_while_it_waits_for_a_place_pays_nothing(house_of: MakeHouse, fake_upstream: FakeUpstream):
    house = house_of(general={"max_concurrency": 1})
    gate = fake_upstream.gate()
    fake_upstream.answers(Answer(before=gate))
    done: list[httpx.Response] = []

    def held() -> bool:
        return house.limit("max_parallel_requests").held == 2

    first = threading.Thread(target=lambda: done.append(house.post()))
    first.start()
    fake_upstream.request()
    leave(house, HELLO, lambda: wait_until(held))
    wait_until(lambda: house.limit("max_parallel_requests").held == 1)
    assert house.limit("max_tokens").spent == 0
    gate.open()
    first.join(WAIT)
    assert done[0].status_code == 200
    assert len(fake_upstream.requests) == 1


def test_a_service_that_stops_settles_what_is_under_way(house_of: MakeHouse, fake_upstream: FakeUpstream):
    house = house_of(general={"drain_timeout": 1})
    gate = fake_upstream.gate()
    fake_upstream.answers(answer_stream(chunk({"content": "one"}), gate))
    leave_later = httpx.stream(
        "POST", f"{house.proxy.base_url}/chat/completions", json={**HELLO, "stream": True},
        headers={"authorization": f"Bearer {KEY}"}, timeout=WAIT,
    )  # fmt: skip
    with leave_later as answer:
        lines = answer.iter_lines()
        next(lines)
        house.proxy.stop()
        assert "shutting down" in "".join(lines)
    assert house.spent() == PROMPT + 1 + 8
    assert house.record()["settlement"]["state"] == "settled"


# --- refused ---


def test_a_spent_budget_is_told_to_the_sdk_which_does_not_try_again(house_of: MakeHouse, fake_upstream: FakeUpstream):
    house = house_of(max_tokens=PROMPT + 50 + 9)
    with openai.OpenAI(base_url=house.proxy.base_url, api_key=KEY, max_retries=2, timeout=WAIT) as client:
        create = client.chat.completions.create
        create(**HELLO)
        with pytest.raises(openai.RateLimitError) as caught:
            create(**{**HELLO, "max_tokens": 51})
        assert (caught.value.code, caught.value.type) == ("insufficient_quota", "insufficient_quota")
        assert "team acme/support: max_tokens 67 tokens, spent 9, held 0, asked 59, reset 2" in str(caught.value)
        headers = caught.value.response.headers
        assert headers["x-should-retry"] == "false"
        assert "retry-after" not in headers
        assert headers["x-ratelimit-remaining-tokens"] == "0"
        assert headers["x-ratelimit-reset-tokens"].endswith("s")
        create(**HELLO)  # there is still room for a smaller one
    assert len(fake_upstream.requests) == 2
    wait_until(lambda: len(house.proxy.traces()) == 3)
    denied = next(one for one in house.proxy.traces() if one["status"] == 429)
    assert denied["hold"]["refused"] == ["team acme/support: max_tokens"]
    assert denied["settlement"] is None


def test_the_operator_may_have_a_402(house_of: MakeHouse):
    house = house_of(general={"ledger": {"volatile": True, "budget_status": 402}}, max_tokens=10)
    answer = house.post()
    assert (answer.status_code, answer.json()["error"]["code"]) == (402, "insufficient_quota")
    assert "which is more than the limit itself" in answer.json()["error"]["message"]


def test_a_rate_is_told_with_a_time_to_come_back(house_of: MakeHouse):
    house = house_of(rpm_limit=1)
    house.post()
    answer = house.post()
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "rate_limit_exceeded")
    assert 1 <= int(answer.headers["retry-after"]) <= 60
    assert answer.headers["x-ratelimit-remaining-requests"] == "0"


def test_who_has_nothing_left_is_refused_before_the_body_is_read(house_of: MakeHouse, fake_upstream: FakeUpstream):
    house = house_of(max_tokens=0)
    answer = house.post(b"this is no JSON")
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "insufficient_quota")
    assert house.record()["hold"] is None
    assert fake_upstream.requests == []


def test_limits_of_the_upstreams_account_are_nobodys_business_here(house: House, fake_upstream: FakeUpstream):
    fake_upstream.answers(answer_json(completion(), x_ratelimit_remaining_tokens="5", x_ratelimit_limit_images="3"))
    answer = house.post()
    assert answer.headers["x-ratelimit-remaining-tokens"] != "5"
    assert "x-ratelimit-limit-images" not in answer.headers


@pytest.mark.parametrize("limit", ["max_budget", "max_parallel_requests"])
def test_nor_where_ours_have_no_header(house_of: MakeHouse, fake_upstream: FakeUpstream, limit: str):
    house = house_of(**{name: LIMITS[name] if name == limit else None for name in LIMITS})
    fake_upstream.answers(answer_json(completion(), x_ratelimit_remaining_tokens="5"))
    answer = house.post()
    assert (answer.status_code, [name for name in answer.headers if name.startswith("x-ratelimit-")]) == (200, [])


def test_a_keys_output_cap_is_sent_and_held(house_of: MakeHouse, fake_upstream: FakeUpstream):
    house = house_of(output_cap=20)
    house.post({"model": "gpt-4o", "messages": HELLO["messages"]})
    assert fake_upstream.request().json["max_tokens"] == 20
    assert house.record()["hold"]["answer"] == 20


def test_no_key_stands_in_what_is_told_of_limits(house_of: MakeHouse):
    house = house_of(max_tokens=10)
    answer = house.post()
    metrics = httpx.get(f"{house.proxy.url}/metrics").text
    for told in (answer.text, str(answer.headers), json.dumps(house.record()), metrics):
        assert KEY not in told
    assert 'elbowroom_ledger_denied_total{limit="max_tokens"} 1.0' in metrics
    assert "acme" not in metrics


@pytest.mark.parametrize(("on_failure", "status"), [("deny", 503), ("allow", 200)])
def test_a_ledger_that_is_not_there_refuses_or_lets_pass_as_configured(
    house_of: MakeHouse, on_failure: str, status: int
):
    url = f"redis://127.0.0.1:{free_port()}/0"
    ledger = {"store": "redis", "url": url, "timeout": 0.2, "on_failure": on_failure}
    house = house_of(general={"ledger": ledger})
    answer = house.post()
    assert answer.status_code == status
    told = house.record()
    if status == 503:
        assert answer.json()["error"]["code"] == "ledger_unavailable"
        assert answer.headers["retry-after"] == "1"
        assert told["hold"] is None
    else:
        assert told["hold"]["state"] == "open"
        assert told["settlement"]["state"] == "pending"
        assert "ledger_open" in told["degradations"]


# --- calls beside the answer ---


def talk() -> dict[str, Any]:
    """A talk that must be summed up, so that the evidence fits."""
    turns = [
        {"role": role, "content": f"{role} says something of some length, number {i}. " * 40}
        for i in range(8)
        for role in ("user", "assistant")
    ]
    documents = [{"id": "a", "text": "Our offices are in Bonn. " * 20}]
    question = {"role": "user", "content": "Where are the offices of the company?"}
    return {**HELLO, "messages": [*turns, question], "documents": documents}


def summing(folder: Path) -> str:
    """A policy whose earlier turns are summed up."""
    file = folder / "summing.yaml"
    file.write_text("input_limit: 2000\nhistory: {max_tokens: 500, summary: {model: gpt-4o, max_tokens: 60}}\n")
    return str(file)


def test_a_summary_is_held_for_and_settled_and_is_no_request_of_its_own(
    house_of: MakeHouse, fake_upstream: FakeUpstream, tmp_path: Path
):
    house = house_of(general={"policy": summing(tmp_path)}, max_tokens=100_000)
    fake_upstream.answers(answer_json(completion("They talked.", prompt_tokens=300)), answer_json(completion()))
    assert house.post(talk()).status_code == 200
    assert len(fake_upstream.requests) == 2
    assert house.spent() == 302 + 9
    assert house.limit("rpm_limit").spent == 1
    (aside,) = house.record()["asides"]
    assert (aside["purpose"], aside["prompt_tokens"], aside["failed"]) == ("summary", 300, "")


def test_a_summary_for_which_nothing_is_left_is_done_without(
    house_of: MakeHouse, fake_upstream: FakeUpstream, tmp_path: Path
):
    house = house_of(general={"policy": summing(tmp_path)}, max_tokens=5_000)
    assert house.post(talk()).status_code == 200
    assert len(fake_upstream.requests) == 1
    (aside,) = house.record()["asides"]
    assert "max_tokens 5,000 tokens" in aside["failed"]
    assert house.spent() == 9
