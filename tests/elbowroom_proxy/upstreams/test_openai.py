"""The HTTP upstream against a scripted server: what goes up, what may be tried again, what becomes of failures."""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl
from pathlib import Path
from typing import Any

import pytest
from yarl import URL

from elbowroom.errors import Overloaded, UpstreamTimeout, UpstreamUnavailable, UpstreamUnreached
from elbowroom_proxy.addresses import Endpoint
from elbowroom_proxy.ports import Call, Reply
from elbowroom_proxy.upstreams.openai import OpenAI, build, proxy_for
from tests.proxy import wait_until
from tests.servers import free_port
from tests.upstream import DONE, Answer, Break, FakeUpstream, answer_json, answer_stream, chunk

# Made for this test, for 127.0.0.1; nobody else trusts it.
CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBjjCCATSgAwIBAgIUbCvwEC/oputvK4XROwI74AdW+D4wCgYIKoZIzj0EAwIw
EzERMA8GA1UEAwwIbG9vcGJhY2swIBcNMjYxMTI5MTk1NzMwWhgPMjEyNjExMDUx
OTU3MzBaMBMxETAPBgNVBAMMCGxvb3BiYWNrMFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAEOJ8X5vku8BiLYEQqVcaPuH4p5sMagJGf/OFTn1A007m3JRAbTG4rCNBZ
p3GWlgtLBAdffJPgnn0pCbbs6E2PeqNkMGIwHQYDVR0OBBYEFPqycG838I9BOW6r
Zxu4w4qZuH6fMB8GA1UdIwQYMBaAFPqycG838I9BOW6rZxu4w4qZuH6fMA8GA1Ud
EwEB/wQFMAMBAf8wDwYDVR0RBAgwBocEfwAAATAKBggqhkjOPQQDAgNIADBFAiEA
lCiBgtyRHVY9Nf/guGtvKjf1JwpnNvt2qgLO8peTPpECICXyguR9B9eYWWtwMK4M
0zr6ffUMPDxFx6wm2bt5JfGh
-----END CERTIFICATE-----
"""
KEY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgh1R5JLML23StMCSG
pJ9CbIhb9FCTOmgWryuwq5VSzayhRANCAAQ4nxfm+S7wGItgRCpVxo+4finmwxqA
kZ/84VOfUDTTubclEBtMbisI0FmncZaWC0sEB198k+CefSkJtuzoTY96
-----END PRIVATE KEY-----
"""


def endpoint(url: str, **changed: Any) -> Endpoint:
    values: dict[str, Any] = {
        "upstream": "openai",
        "api_base": url,
        "api_key": "the-key",
        "connect_timeout": 5.0,
        "first_byte_timeout": 20.0,
        "total_timeout": 20.0,
        "max_concurrency": 8,
        "max_queue": 8,
    }
    return Endpoint(**{**values, **changed})


def call(body: bytes = b'{"model":"m"}', *, stream: bool = False, **headers: str) -> Call:
    return Call("/chat/completions", body, {"content-type": "application/json", **headers}, "m", stream)


async def read(reply: Reply) -> bytes:
    try:
        return b"".join([part async for part in reply.chunks()])
    finally:
        await reply.close()


async def answered(reply: Reply, status: int = 200) -> None:
    assert reply.status == status
    await read(reply)


@pytest.fixture
async def upstream(fake_upstream: FakeUpstream):
    adapter = OpenAI(endpoint(fake_upstream.url))
    yield adapter
    await adapter.close()


async def test_the_body_goes_up_as_it_is_with_the_operators_key(fake_upstream, upstream):
    fake_upstream.answers(answer_json({"ok": True}, x_thing="1"))
    reply = await upstream.send(call(b'{ "odd":  "spacing" }', traceparent="00-a-b-01"))
    assert (reply.status, reply.headers["x-thing"]) == (200, "1")
    assert json.loads(await read(reply)) == {"ok": True}
    await reply.close()
    seen = fake_upstream.request()
    assert (seen.method, seen.path, seen.body) == ("POST", "/v1/chat/completions", b'{ "odd":  "spacing" }')
    assert seen.headers == {
        "host": f"127.0.0.1:{fake_upstream.port}",
        "content-type": "application/json",
        "content-length": "21",
        "traceparent": "00-a-b-01",
        "authorization": "Bearer the-key",
        "accept-encoding": "gzip, deflate",
    }


async def test_without_a_key_none_is_sent_and_netrc_is_not_asked(fake_upstream, tmp_path, monkeypatch):
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login someone password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    adapter = OpenAI(endpoint(fake_upstream.url, api_key=None))
    await read(await adapter.send(call()))
    await adapter.close()
    assert "authorization" not in fake_upstream.request().headers


async def test_a_deployment_of_azures_is_asked_for_its_version_with_its_kind_of_key(fake_upstream):
    adapter = OpenAI(endpoint(fake_upstream.url, api_version="2024-10-21"))
    await adapter.start()
    await read(await adapter.send(call()))
    await adapter.close()
    seen = fake_upstream.request()
    assert seen.path == "/v1/chat/completions?api-version=2024-10-21"
    assert (seen.headers["api-key"], "authorization" in seen.headers) == ("the-key", False)


async def test_a_large_body_arrives_whole(fake_upstream, upstream):
    body = b"x" * (3 << 20)
    await read(await upstream.send(call(body)))
    assert fake_upstream.request().body == body


async def test_a_compressed_answer_is_decoded_and_says_so(fake_upstream, upstream):
    packed = gzip.compress(b'{"a":1}')
    fake_upstream.answers(Answer(200, {"content-encoding": "gzip"}, [packed]))
    reply = await upstream.send(call())
    assert await read(reply) == b'{"a":1}'
    assert not {"content-encoding", "content-length"} & set(reply.headers)


async def test_an_encoding_that_was_not_offered_is_a_broken_answer(fake_upstream, upstream):
    fake_upstream.answers(Answer(200, {"content-encoding": "br"}, [b"\x0b\x02\x80"]))
    with pytest.raises(UpstreamUnavailable):
        await read(await upstream.send(call()))


async def test_a_stream_comes_as_it_is_sent_and_is_not_compressed(fake_upstream, upstream):
    gate = fake_upstream.gate()
    fake_upstream.answers(answer_stream(chunk({"content": "a"}), gate, DONE))
    reply = await upstream.send(call(stream=True))
    parts = aiter(reply.chunks())
    assert await anext(parts) == chunk({"content": "a"})
    gate.open()
    assert [part async for part in parts] == [DONE]
    assert fake_upstream.request().headers["accept-encoding"] == "identity"


async def test_a_connection_is_used_again(fake_upstream, upstream):
    for _ in range(3):
        reply = await upstream.send(call())
        await read(reply)
        await reply.close()
    assert fake_upstream.connections == 1


async def test_closing_a_reply_that_was_not_read_closes_the_connection(fake_upstream, upstream):
    fake_upstream.answers(answer_stream(chunk({"content": "a"}), fake_upstream.gate()))
    reply = await upstream.send(call(stream=True))
    await reply.close()
    await reply.close()
    assert await asyncio.to_thread(fake_upstream.request().gone.wait, 1.0)


async def test_cancelling_while_the_head_is_awaited_closes_the_connection_and_frees_the_place(fake_upstream):
    adapter = OpenAI(endpoint(fake_upstream.url, max_concurrency=1, max_queue=1))
    fake_upstream.answers(Answer(before=fake_upstream.gate()))
    waiting = asyncio.create_task(adapter.send(call()))
    seen = await asyncio.to_thread(fake_upstream.request)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await asyncio.to_thread(seen.gone.wait, 1.0)
    await answered(await adapter.send(call()))
    await adapter.close()


async def test_who_finds_no_place_waits_and_who_finds_no_place_to_wait_is_refused(fake_upstream):
    adapter = OpenAI(endpoint(fake_upstream.url, max_concurrency=1, max_queue=1))
    first = await adapter.send(call())
    second = asyncio.create_task(adapter.send(call()))
    await asyncio.sleep(0)
    with pytest.raises(Overloaded):
        await adapter.send(call())
    await first.close()
    await read(await second)
    assert len(fake_upstream.requests) == 2
    await adapter.close()


async def test_nobody_waits_for_a_place_forever(fake_upstream):
    adapter = OpenAI(endpoint(fake_upstream.url, max_concurrency=1, max_queue=1, first_byte_timeout=0.05))
    first = await adapter.send(call())
    with pytest.raises(Overloaded, match="in time"):
        await adapter.send(call())
    await first.close()
    await read(await adapter.send(call()))
    await adapter.close()


async def test_a_plain_503_is_tried_once_more(fake_upstream, upstream):
    fake_upstream.answers(answer_json({}, 503), answer_json({"second": True}))
    reply = await upstream.send(call())
    assert (reply.status, json.loads(await read(reply))) == (200, {"second": True})


async def test_two_503_are_the_answer(fake_upstream, upstream):
    fake_upstream.answers(answer_json({}, 503), answer_json({"e": 2}, 503), answer_json({}))
    reply = await upstream.send(call())
    assert (reply.status, json.loads(await read(reply)), len(fake_upstream.requests)) == (503, {"e": 2}, 2)


@pytest.mark.parametrize(
    "answer",
    [
        answer_json({}, 503, retry_after="3"),
        answer_json({}, 503, x_should_retry="false"),
        answer_json({}, 500),
        answer_json({}, 429),
    ],
)
async def test_what_says_when_to_come_back_or_may_have_done_work_is_not_tried_again(fake_upstream, upstream, answer):
    fake_upstream.answers(answer)
    await answered(await upstream.send(call()), answer.status)
    assert len(fake_upstream.requests) == 1


async def test_a_connection_that_breaks_before_the_head_is_not_tried_again(fake_upstream, upstream):
    fake_upstream.answers(Answer(before=Break()))
    with pytest.raises(UpstreamUnavailable):
        await upstream.send(call())
    assert len(fake_upstream.requests) == 1


async def test_a_port_where_nobody_listens_is_unavailable():
    adapter = OpenAI(endpoint(f"http://127.0.0.1:{free_port()}/v1", max_concurrency=1, max_queue=0))
    for _ in range(2):  # the place is free again
        with pytest.raises(UpstreamUnreached, match="cannot be reached"):
            await adapter.send(call())
    await adapter.close()


async def test_a_redirect_is_not_followed_with_the_key(fake_upstream, upstream):
    fake_upstream.answers(Answer(307, {"location": "http://127.0.0.1:1/"}))
    with pytest.raises(UpstreamUnreached, match="redirect"):
        await upstream.send(call())


async def test_a_stream_that_does_not_begin_in_time_is_too_late(fake_upstream):
    adapter = OpenAI(endpoint(fake_upstream.url, first_byte_timeout=0.05))
    fake_upstream.answers(Answer(before=fake_upstream.gate()), Answer(before=fake_upstream.gate()))
    with pytest.raises(UpstreamTimeout, match="begin"):
        await adapter.send(call(stream=True))
    await adapter.close()


async def test_an_answer_that_does_not_end_in_time_is_too_late(fake_upstream):
    adapter = OpenAI(endpoint(fake_upstream.url, total_timeout=0.2))
    fake_upstream.answers(
        answer_stream(chunk({"content": "a"}), fake_upstream.gate()), Answer(before=fake_upstream.gate())
    )
    reply = await adapter.send(call(stream=True))
    with pytest.raises(UpstreamTimeout, match="finish"):
        await read(reply)
    await reply.close()
    with pytest.raises(UpstreamTimeout, match="begin"):
        await adapter.send(call())
    await adapter.close()


async def test_an_answer_that_breaks_off_is_unavailable(fake_upstream, upstream):
    fake_upstream.answers(answer_stream(chunk({"content": "a"}), Break()))
    with pytest.raises(UpstreamUnavailable, match="broke off"):
        await read(await upstream.send(call(stream=True)))


async def test_what_came_before_an_answer_broke_off_is_read_first(fake_upstream, upstream):
    came = [chunk({"content": "a"}), chunk({"content": "b"})]
    fake_upstream.answers(answer_stream(*came, Break()))
    reply = await upstream.send(call(stream=True))
    # Both pieces and the end of the connection are there before anybody reads.
    await asyncio.to_thread(wait_until, lambda: reply._response.content.exception() is not None)
    chunks = aiter(reply.chunks())
    assert await anext(chunks) == b"".join(came)
    with pytest.raises(UpstreamUnavailable, match="broke off"):
        await anext(chunks)
    await reply.close()


async def test_https_proxy_and_no_proxy_hold(fake_upstream, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{fake_upstream.port}")
    monkeypatch.setenv("NO_PROXY", "direct.example")
    adapter = OpenAI(endpoint("http://provider.example/v1"))
    await answered(await adapter.send(call()))
    await adapter.close()
    assert fake_upstream.request().path == "http://provider.example/v1/chat/completions"
    assert proxy_for(URL("http://direct.example/v1")) is None
    assert proxy_for(URL("https://provider.example/v1")) is None
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:3128")
    assert proxy_for(URL("https://provider.example/v1")) == "http://127.0.0.1:3128"
    assert proxy_for(URL("/v1")) is None


async def test_ssl_cert_file_says_whom_to_trust(tmp_path: Path, monkeypatch):
    (tmp_path / "cert.pem").write_text(CERTIFICATE)
    (tmp_path / "key.pem").write_text(KEY)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    with FakeUpstream(context) as fake:
        stranger = OpenAI(endpoint(fake.url))
        with pytest.raises(UpstreamUnreached):
            await stranger.send(call())
        await stranger.close()
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
        adapter = OpenAI(endpoint(fake.url))
        await answered(await adapter.send(call()))
        await adapter.close()


async def test_build_makes_one(fake_upstream):
    adapter = build(endpoint(fake_upstream.url), None)  # type: ignore[arg-type]
    assert isinstance(adapter, OpenAI)
    await adapter.close()
