"""The endpoint over real sockets: bodies that are too large, clients that leave, a server that has to stop."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from typing import Any, cast

import httpx
import pytest
from starlette.types import Message

from elbowroom.records import Mode
from elbowroom_proxy.flow import Head, Part
from elbowroom_proxy.routes.chat import Chat
from tests.proxy import Run, RunningProxy, config, wait_until
from tests.servers import free_port
from tests.upstream import DONE, WAIT, Answer, FakeUpstream, answer_stream, chunk, streamed

HELLO = {"model": "fake", "messages": [{"role": "user", "content": "hello"}]}
SECOND = 1.0  # from the client's leaving until the upstream must have seen it
FAR = "x" * 400_000


def post(proxy: RunningProxy, body: object = HELLO, path: str = "/v1/chat/completions") -> httpx.Response:
    return httpx.post(proxy.url + path, json=body, timeout=WAIT)


@contextlib.contextmanager
def raw(proxy: RunningProxy, body: bytes, head: bytes = b"") -> Iterator[socket.socket]:
    """A client that says exactly this, and reads when it likes."""
    with socket.create_connection(("127.0.0.1", proxy.port), WAIT) as client:
        head = head or b"content-length: %d\r\n" % len(body)
        client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n" + head + b"\r\n" + body)
        yield client


def test_both_paths_lead_to_it(running_proxy: Run, fake_upstream: FakeUpstream):
    proxy = running_proxy(config(fake_upstream))
    assert post(proxy).json()["choices"][0]["message"]["content"] == "fine"
    assert post(proxy, path="/chat/completions").status_code == 200


def test_a_body_that_says_it_is_too_large_is_not_read(running_proxy: Run, fake_upstream: FakeUpstream):
    proxy = running_proxy(config(fake_upstream, max_body_bytes=1000))
    with raw(proxy, b"", b"content-length: 1001\r\n") as client:
        said = client.recv(65536)
    assert said.startswith(b"HTTP/1.1 413 ")
    assert b'"code":"request_too_large"' in said
    assert proxy.trace()["error"]["code"] == "request_too_large"


def test_a_body_that_does_not_say_how_large_it_is_is_refused_while_it_comes(running_proxy: Run, fake_upstream):
    proxy = running_proxy(config(fake_upstream, max_body_bytes=1000))

    def endless() -> Iterator[bytes]:
        for _ in range(100):
            yield b" " * 100

    answer = httpx.post(f"{proxy.base_url}/chat/completions", content=endless(), timeout=WAIT)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "request_too_large")
    assert fake_upstream.requests == []


def test_a_body_of_exactly_the_limit_is_read(running_proxy: Run, fake_upstream: FakeUpstream):
    body = json.dumps(HELLO).encode()
    proxy = running_proxy(config(fake_upstream, max_body_bytes=len(body)))
    assert httpx.post(f"{proxy.base_url}/chat/completions", content=body, timeout=WAIT).status_code == 200
    assert httpx.post(f"{proxy.base_url}/chat/completions", content=body + b" ", timeout=WAIT).status_code == 413


def test_a_client_that_leaves_in_its_own_sentence_is_recorded(running_proxy: Run, fake_upstream: FakeUpstream):
    proxy = running_proxy(config(fake_upstream))
    with raw(proxy, b'{"model":', b"content-length: 1000\r\n"):
        pass
    record = proxy.trace()
    assert (record["disconnected"], record["status"], record["model"]) == (True, None, None)
    assert fake_upstream.requests == []


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_before_the_first_byte_takes_the_upstream_with_it(
    running_proxy: Run, fake_upstream, stream
):
    proxy = running_proxy(config(fake_upstream))
    fake_upstream.answers(Answer(before=fake_upstream.gate()))
    with raw(proxy, json.dumps({**HELLO, "stream": stream}).encode()):
        seen = fake_upstream.request()
    assert seen.gone.wait(SECOND)
    record = proxy.trace()
    assert (record["disconnected"], record["status"], record["stream"]) == (True, None, stream)
    assert post(proxy).status_code == 200
    assert proxy.trace(1)["status"] == 200
    assert len(proxy.traces()) == 2


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_in_the_middle_takes_the_upstream_with_it(running_proxy: Run, fake_upstream, stream):
    proxy = running_proxy(config(fake_upstream))
    gate = fake_upstream.gate()
    fake_upstream.answers(answer_stream(chunk({"content": "a"}), gate, DONE))
    with raw(proxy, json.dumps({**HELLO, "stream": stream}).encode()) as client:
        seen = fake_upstream.request()
        assert gate.reached.wait(WAIT)
        if stream:
            assert b"HTTP/1.1 200" in client.recv(65536)
    assert seen.gone.wait(SECOND)
    assert proxy.trace()["disconnected"] is True
    wait_until(lambda: not proxy.service.flow.working)
    assert "elbowroom_requests_open 0.0" in httpx.get(f"{proxy.url}/metrics").text


def test_a_client_that_leaves_while_it_does_not_read_takes_the_upstream_with_it(running_proxy: Run, fake_upstream):
    proxy = running_proxy(config(fake_upstream))
    fake_upstream.answers(answer_stream(*[chunk({"content": FAR})] * 40, fake_upstream.gate()))
    with raw(proxy, json.dumps({**HELLO, "stream": True}).encode()) as client:
        seen = fake_upstream.request()
        assert client.recv(1000).startswith(b"HTTP/1.1 200")
    assert seen.gone.wait(SECOND)
    record = proxy.trace()
    assert (record["disconnected"], record["status"]) == (True, 200)


def test_when_it_stops_streams_are_finished(running_proxy: Run, fake_upstream: FakeUpstream):
    proxy = running_proxy(config(fake_upstream))
    gate = fake_upstream.gate()
    good = streamed("a", "b")
    fake_upstream.answers(answer_stream(*good.parts[:2], gate, *good.parts[2:]))
    with httpx.stream(
        "POST", f"{proxy.base_url}/chat/completions", json={**HELLO, "stream": True}, timeout=WAIT
    ) as said:
        stopping = threading.Thread(target=proxy.stop)
        stopping.start()
        proxy.refuses_connections()
        gate.open()
        text = said.read()
    stopping.join(WAIT)
    assert text == b"".join(part for part in good.parts if isinstance(part, bytes))
    assert [record["finish_reason"] for record in proxy.traces()] == ["stop"]


def test_at_the_deadline_who_still_waits_is_told(running_proxy: Run, fake_upstream: FakeUpstream):
    proxy = running_proxy(config(fake_upstream, drain_timeout=1))
    fake_upstream.answers(
        answer_stream(chunk({"content": "a"}), fake_upstream.gate()), Answer(before=fake_upstream.gate())
    )
    address = f"{proxy.base_url}/chat/completions"
    answers: list[httpx.Response] = []
    whole = threading.Thread(target=lambda: answers.append(post(proxy)))
    with httpx.stream("POST", address, json={**HELLO, "stream": True}, timeout=WAIT) as said:
        whole.start()
        fake_upstream.request(1)
        proxy.stop()
        text = said.read()
    whole.join(WAIT)
    assert text.endswith(b"data: [DONE]\n\n")
    assert b'"code":"overloaded"' in text
    (answer,) = answers
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "overloaded")
    assert answer.headers["x-request-id"]
    records = proxy.traces()
    assert sorted(record["status"] for record in records) == [200, 503]
    assert {record["error"]["code"] for record in records} == {"overloaded"}


def test_a_header_that_no_header_can_hold_is_no_failure(running_proxy: Run, fake_upstream: FakeUpstream, tmp_path):
    (tmp_path / "classes").mkdir()
    (tmp_path / "classes" / "one.yaml").write_text("name: 常见\n", encoding="utf-8")
    (tmp_path / "policy.yaml").write_text("default_class: 常见\n", encoding="utf-8")
    proxy = running_proxy(config(fake_upstream, policy=str(tmp_path / "policy.yaml")))
    assert proxy.settings.policy.mode is Mode.ENFORCE
    answer = post(proxy)
    assert (answer.status_code, answer.headers["x-elbowroom-class"]) == (200, "??")


def test_the_port_of_a_stopped_proxy_is_free(running_proxy: Run):
    proxy = running_proxy(config(f"http://127.0.0.1:{free_port()}/v1"))
    proxy.stop()
    proxy.refuses_connections()


async def test_an_answer_of_known_length_ends_with_its_last_part():
    class Told:
        def __init__(self, *_: object) -> None: ...

        async def refusal(self) -> tuple[Part, ...]:
            return Head(429, {"content-length": "2"}), b"no"

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        raise AssertionError("nobody reads it")

    await Chat(cast("Any", Working), cast("Any", Told))({"type": "http", "headers": []}, receive, send)
    assert [(one.get("body"), one.get("more_body")) for one in sent] == [(None, None), (b"no", False)]


class Working:
    """What the endpoint knows of all requests."""

    max_body_bytes = 1

    def work(self, _: object) -> None: ...
