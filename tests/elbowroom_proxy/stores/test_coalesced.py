"""One round trip a turn of the loop; nobody waits longer than they may, and nobody gets another's answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from redis.exceptions import ConnectionError as Broken
from redis.exceptions import NoScriptError, ResponseError
from redis.exceptions import TimeoutError as Late

from elbowroom_proxy.stores.coalesced import Coalesced, Declined, Unanswered, Unsent
from elbowroom_proxy.stores.scripts import Script, Word

SOME = Script.of(b"return 1")


class Wire:
    """Answers each command with its last word; what is in `says` with that; waits while `gate` is closed."""

    def __init__(self, **says: Any) -> None:
        self.says = says
        self.sent: list[list[tuple[Word, ...]]] = []
        self.begun = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, commands: Sequence[Sequence[Word]]) -> list[Any]:
        self.sent.append([tuple(one) for one in commands])
        self.begun.set()
        await self.gate.wait()
        answers = [self.says.get(str(words[0]), words[-1]) for words in commands]
        if answers and isinstance(answers[0], OSError):
            raise answers[0]
        return answers


def of(wire: Wire, **options: Any) -> Coalesced:
    return Coalesced(wire, **{"timeout": 5.0, "pause": 60.0, "at_once": 4, "most": 256, **options})


async def test_what_is_asked_in_one_turn_goes_together_and_each_gets_their_own():
    wire = Wire()
    commands = of(wire)
    answers = await asyncio.gather(*(commands.ask(("GET", f"{n}")) for n in range(10)))
    assert answers == [f"{n}" for n in range(10)]
    assert (len(wire.sent), commands.round_trips, commands.commands) == (1, 1, 10)
    await commands.close()


async def test_what_comes_while_enough_is_under_way_goes_with_the_next():
    wire = Wire()
    wire.gate.clear()
    commands = of(wire, at_once=2, most=3)
    asked = []
    for turn in range(4):
        asked += [asyncio.ensure_future(commands.ask(("GET", f"{turn}{n}"))) for n in range(2)]
        for _ in range(4):
            await asyncio.sleep(0)
    assert [len(batch) for batch in wire.sent] == [2, 2]
    wire.gate.set()
    assert await asyncio.gather(*asked) == [f"{turn}{n}" for turn in range(4) for n in range(2)]
    assert [len(batch) for batch in wire.sent] == [2, 2, 3, 1]
    await commands.close()


async def test_who_leaves_before_their_turn_is_not_sent_for():
    wire = Wire()
    wire.gate.clear()
    commands = of(wire, at_once=1)
    first, second, third = (asyncio.ensure_future(commands.ask(("GET", word))) for word in "abc")
    await asyncio.sleep(0)
    second.cancel()
    wire.gate.set()
    assert (await first, await third) == ("a", "c")
    assert wire.sent == [[("GET", "a"), ("GET", "c")]]
    await commands.close()


async def test_who_leaves_later_leaves_the_others_their_answers():
    wire = Wire()
    wire.gate.clear()
    commands = of(wire)
    first, second = (asyncio.ensure_future(commands.ask(("GET", word))) for word in "ab")
    await wire.begun.wait()
    first.cancel()
    wire.gate.set()
    assert await second == "b"
    await commands.close()


async def test_nobody_waits_longer_than_they_may_and_then_the_server_is_left_alone():
    wire = Wire()
    wire.gate.clear()
    commands = of(wire, timeout=0.01)
    with pytest.raises(Unanswered, match="in time"):
        await commands.ask(("GET", "a"))
    with pytest.raises(Unsent):
        await commands.ask(("GET", "b"))
    assert commands.fault == "it does not answer in time"
    wire.gate.set()
    commands.try_again()
    assert await commands.ask(("GET", "c")) == "c"
    assert commands.fault is None
    await commands.close()


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (Broken("gone"), "it cannot be reached"),
        (OSError("gone"), "it cannot be reached"),
        (Late("late"), "it does not answer in time"),
    ],
)
async def test_after_a_failure_one_tries_for_all(error: Exception, fault: str):
    wire = Wire(BAD=error)
    commands = of(wire)
    for _ in range(2):
        with pytest.raises(Unanswered):
            await commands.ask(("BAD", "a"))
        assert commands.fault == fault
        commands._failed_until = 1e-9  # the pause is over
    answers = await asyncio.gather(*(commands.ask(("GET", f"{n}")) for n in range(3)), return_exceptions=True)
    assert [type(one) for one in answers] == [str, Unsent, Unsent]
    assert await commands.ask(("GET", "a")) == "a"
    await commands.close()


async def test_an_error_is_the_answer_to_one_and_no_failure():
    commands = of(Wire(BAD=ResponseError("ERR wrong")))
    answers = await asyncio.gather(commands.ask(("GET", "a")), commands.ask(("BAD", "secret")), return_exceptions=True)
    assert answers[0] == "a"
    bad = answers[1]
    assert isinstance(bad, Declined)
    assert str(bad) == "The ledger declines: ResponseError."
    assert commands.fault == "it declines: ResponseError: ERR wrong"
    assert await commands.ask(("GET", "a")) == "a"
    await commands.close()


async def test_a_script_that_is_not_known_is_sent_whole():
    wire = Wire(EVALSHA=NoScriptError("NOSCRIPT"))
    commands = of(wire)
    words = SOME.known(("k",), ("x",))
    answers: list[Any] = list(await asyncio.gather(commands.ask(("GET", "a")), commands.ask(words, SOME)))
    assert answers == ["a", "x"]
    assert wire.sent[1] == [("EVAL", b"return 1", 1, "k", "x")]
    await commands.close()


async def test_an_answer_that_was_there_before_the_loop_could_look_is_taken():
    wire = Wire()
    commands = of(wire, timeout=0.001)
    asked = asyncio.ensure_future(commands.ask(("GET", "a")))
    await asyncio.sleep(0)
    loop = asyncio.get_running_loop()
    busy_until = loop.time() + 0.02
    loop.call_soon(lambda: [None for _ in iter(lambda: loop.time() < busy_until, False)])
    assert await asked == "a"
    await commands.close()


async def test_closing_waits_for_what_is_under_way():
    wire = Wire()
    wire.gate.clear()
    commands = of(wire)
    asked = asyncio.ensure_future(commands.ask(("GET", "a")))
    await asyncio.sleep(0)
    closing = asyncio.ensure_future(commands.close())
    for _ in range(5):
        await asyncio.sleep(0)
    assert not closing.done()
    wire.gate.set()
    await closing
    assert await asked == "a"
