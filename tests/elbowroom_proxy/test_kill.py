from __future__ import annotations

import asyncio

from structlog.testing import capture_logs

from elbowroom_proxy.kill import Kill
from elbowroom_proxy.killword import Word
from elbowroom_proxy.metrics import Metrics


class Source:
    """Says what it is told to say; None: it cannot be reached."""

    def __init__(self, word: Word | None = None) -> None:
        self.word = word
        self.fault = ""
        self.asked = asyncio.Event()
        self.answers: asyncio.Event | None = None
        self.closed = False

    async def read(self) -> Word | None:
        said = self.word
        self.asked.set()
        if self.answers is not None:
            await self.answers.wait()
        return said

    async def write(self, word: Word) -> str:
        if not self.fault:
            self.word = word
        return self.fault

    async def close(self) -> None:
        self.closed = True


def made(configured: bool = False, **sources: Source) -> Kill:
    return Kill(sources, Metrics(), configured=configured, period=0.001)


async def test_any_source_suffices():
    file, key = Source(Word(on=False)), Source(Word(on=False))
    kill = made(file=file, key=key)
    await kill.look()
    assert not kill.killed()
    for source in (file, key):
        source.word = Word(on=True, reason="why")
        await kill.look()
        assert kill.killed()
        source.word = Word(on=False)
        await kill.look()
        assert not kill.killed()
    kill.configure(killed=True)
    assert kill.killed()
    assert kill.said().sources["config"].on


async def test_a_source_that_cannot_be_reached_keeps_its_last_word():
    key = Source(Word(on=True))
    kill = made(key=key)
    await kill.look()
    key.word = None
    await kill.look()
    assert kill.killed()
    key.word = Word(on=False)
    await kill.look()
    assert not kill.killed()


async def test_each_source_is_asked_again_and_again_and_none_waits_for_another():
    file, slow = Source(Word(on=False)), Source(Word(on=False))
    kill = made(file=file, slow=slow)
    await kill.start()
    slow.answers = asyncio.Event()  # it hangs from now on
    slow.asked.clear()
    await slow.asked.wait()
    file.word = Word(on=True)
    while not kill.killed():
        file.asked.clear()
        await file.asked.wait()
        await asyncio.sleep(0)
    await kill.close()
    assert file.closed
    assert slow.closed


async def test_whatever_goes_wrong_once_a_source_is_asked_again():
    class Broken(Source):
        async def read(self) -> Word | None:
            if self.fault:
                self.fault = ""
                raise ValueError("nobody foresaw this")
            return await super().read()

    file = Broken(Word(on=False))
    kill = made(file=file)
    await kill.start()
    file.fault, file.word = "once", Word(on=True)
    file.asked.clear()
    with capture_logs() as logged:
        while not kill.killed():
            await file.asked.wait()
            await asyncio.sleep(0)
    await kill.close()
    assert [(one["source"], str(one["exc_info"])) for one in logged if one["log_level"] == "error"] == [
        ("file", "nobody foresaw this")
    ]


async def test_what_is_said_holds_here_at_once_and_the_faults_are_told():
    file, key = Source(), Source()
    key.fault = "it is down"
    kill = made(file=file, key=key)
    assert await kill.say(Word(on=True)) == {"file": "", "key": "it is down"}
    assert kill.killed()
    assert (file.word, key.word) == (Word(on=True), None)


async def test_an_answer_to_a_question_from_before_the_turn_is_worth_nothing():
    file = Source(Word(on=False))
    kill = made(file=file)
    file.answers = asyncio.Event()
    asking = asyncio.create_task(kill.look())
    await file.asked.wait()
    await kill.say(Word(on=True))
    file.answers.set()
    await asking
    assert kill.killed()


async def test_each_turn_is_logged_once_and_shown_as_a_metric():
    file = Source(Word(on=True, reason="bad answers"))
    with capture_logs() as logged:
        kill = made(file=file)
        await kill.look()
        await kill.look()
        metric = b"elbowroom_killed 1.0" in kill._metrics.render()
        await kill.say(Word(on=False))
    assert metric
    assert b"elbowroom_killed 0.0" in kill._metrics.render()
    assert [(one["on"], one["by"], one["reasons"]) for one in logged if one["event"] == "killed"] == [
        (True, ["file"], ["bad answers"]), (False, [], []),
    ]  # fmt: skip


async def test_killed_by_the_configuration_from_the_first_moment_on():
    assert made(configured=True).killed()
