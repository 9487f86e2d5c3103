"""An issuer's keys: read when they are needed, again when they are old or unknown, kept when they cannot be read."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from elbowroom.errors import KeysUnavailable
from elbowroom_proxy.stores.jwks import AGAIN, Jwks, is_address
from tests.issuer import Issuer


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


class Served:
    """A server that answers with whatever `text` and `status` are now."""

    def __init__(self) -> None:
        self.text, self.status, self.asked = "", 200, 0
        outer = self

        class Answering(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked += 1
                self.send_response(outer.status)
                self.end_headers()
                self.wfile.write(outer.text.encode())

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        self.url = f"http://127.0.0.1:{self.server.server_port}/jwks"


@pytest.fixture
def served() -> Iterator[Served]:
    found = Served()
    thread = threading.Thread(target=found.server.serve_forever, daemon=True)
    thread.start()
    yield found
    found.server.shutdown()
    found.server.server_close()
    thread.join()


async def test_a_file_is_read_again_when_it_is_old(tmp_path: Path, clock: Clock):
    file, old, new = tmp_path / "jwks.json", Issuer("old"), Issuer("new")
    file.write_text(old.jwks)
    keys = Jwks(str(file), max_age=600, clock=clock)
    found = await keys.find("old")
    assert found is not None
    assert found.algorithm_name == "ES256"
    file.write_text(new.jwks)
    assert await keys.find("old") is found
    clock.now += 600
    assert await keys.find("old") is None
    assert await keys.find("new") is not None


async def test_an_unknown_key_has_them_read_sooner_and_not_too_often(served: Served, clock: Clock):
    served.text = Issuer("k1").jwks
    keys = Jwks(served.url, max_age=600, clock=clock)
    assert await keys.find("k1") is not None
    served.text = Issuer("k2").jwks
    for _ in range(5):
        assert await keys.find("k2") is None
    assert served.asked == 1
    clock.now += AGAIN
    assert await asyncio.gather(*(keys.find("k2") for _ in range(5))) == [await keys.find("k2")] * 5
    assert served.asked == 2


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"keys": 7}', '{"keys": []}', '{"keys": [{"kty": "EC"}]}', "null"])
async def test_what_was_read_last_stays_where_nothing_better_comes(served: Served, clock: Clock, text: str):
    served.text = Issuer("k1").jwks
    keys = Jwks(served.url, max_age=600, clock=clock)
    found = await keys.find("k1")
    clock.now, served.text = clock.now + 600, text
    assert await keys.find("k1") is found
    served.status, clock.now = 500, clock.now + AGAIN
    assert await keys.find("k1") is found
    assert served.asked == 3


async def test_before_any_was_read_nobody_can_say(served: Served, clock: Clock, tmp_path: Path):
    served.status = 503
    keys = Jwks(served.url, max_age=600, clock=clock)
    for _ in range(2):
        with pytest.raises(KeysUnavailable):
            await keys.find("k1")
    assert served.asked == 1
    with pytest.raises(KeysUnavailable):
        await Jwks(str(tmp_path / "none"), max_age=1, clock=clock).find("k1")
    with pytest.raises(KeysUnavailable):
        await Jwks("http://127.0.0.1:1/", max_age=1, clock=clock).find("k1")


async def test_keys_for_encryption_and_without_a_name_are_no_keys(tmp_path: Path, clock: Clock):
    jwk = Issuer("k1").jwk
    nameless = {name: value for name, value in jwk.items() if name != "kid"}
    (tmp_path / "jwks").write_text(json.dumps({"keys": [{**jwk, "use": "enc"}, nameless, {**jwk, "kid": "k2"}]}))
    keys = Jwks(str(tmp_path / "jwks"), max_age=600, clock=clock)
    assert await keys.find("k1") is None
    assert await keys.find("k2") is not None


def test_what_is_an_address():
    assert is_address("https://id.example/jwks")
    assert is_address("http://127.0.0.1/jwks")
    assert not is_address("jwks.json")
