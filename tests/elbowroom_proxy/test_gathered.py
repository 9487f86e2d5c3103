from __future__ import annotations

import asyncio
import socket
from typing import Any, cast

from elbowroom_proxy.gathered import Gathered
from tests.upstream import WAIT


class Counting:
    """A transport that counts what it is told to write."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self.writes: list[list[bytes]] = []
        self._transport = transport

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def writelines(self, parts: list[bytes]) -> None:
        self.writes.append(parts)
        self._transport.writelines(parts)


class Ends:
    """Both ends of a connection."""

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        ours, self.client = socket.socketpair()
        self.client.settimeout(WAIT)
        transport, _ = await loop.connect_accepted_socket(asyncio.Protocol, ours)
        self.counting = Counting(transport)
        self.gathered = Gathered(cast("asyncio.Transport", self.counting), loop)


async def opened() -> Ends:
    ends = Ends()
    await ends.open()
    return ends


async def test_what_is_written_in_one_turn_of_the_loop_is_one_write_and_waits_for_no_other():
    ends = await opened()
    ends.gathered.write(b"head ")
    ends.gathered.write(b"body")
    assert ends.counting.writes == []
    await asyncio.sleep(0)
    assert await asyncio.to_thread(ends.client.recv, 100) == b"head body"
    ends.gathered.write(b"more")
    await asyncio.sleep(0)
    assert ends.counting.writes == [[b"head ", b"body"], [b"more"]]
    ends.gathered.close()
    ends.client.close()


async def test_what_was_written_before_the_end_arrives_and_what_comes_after_it_is_nobodys():
    ends = await opened()
    ends.gathered.write(b"last")
    ends.gathered.close()
    assert ends.gathered.is_closing()
    ends.gathered.write(b"too late")
    await asyncio.sleep(0)
    assert await asyncio.to_thread(ends.client.makefile("rb").read) == b"last"
    assert ends.counting.writes == [[b"last"]]
    ends.client.close()


async def test_all_else_is_the_transports_own():
    ends = await opened()
    assert ends.gathered.get_extra_info("socket") is ends.counting.get_extra_info("socket")
    ends.gathered.close()
    ends.client.close()
