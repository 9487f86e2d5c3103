"""A search has its time; what it does not reach has no answer, and no text reaches a log."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
import structlog

from elbowroom.clean.find import Overrun, find
from elbowroom.needs import NeedRedaction
from elbowroom_proxy.redactor import Redactor
from tests.planted import planted

KEY, _ = planted("aws_key")
PACKS = ("secrets",)
FOUND = ((0, 20, "aws_key"),)


def need(*texts: str, deadline_ms: int = 5_000) -> NeedRedaction:
    return NeedRedaction(PACKS, texts, deadline_ms)


@pytest.fixture
def logged() -> Iterator[list]:
    with structlog.testing.capture_logs() as lines:
        yield lines


async def test_what_was_searched_once_is_known():
    redactor = Redactor()
    await redactor.start()
    assert await redactor.answer(need("fine", KEY, "fine")) == ((), FOUND, ())
    assert await redactor.answer(need(KEY, "fine")) == (FOUND, ())
    assert (redactor.searched, redactor.remembered, redactor.failed) == (2, 2, 0)
    assert await redactor.answer(need()) == ()
    redactor.close()


async def test_what_takes_longer_has_no_answer_and_ends_itself(logged: list):
    ended = threading.Event()

    def search(text: str, packs: tuple[str, ...], late: Callable[[], bool]):
        if text != "slow":
            return find(text, packs, late)
        while not late():
            pass
        ended.set()
        raise Overrun

    redactor = Redactor(search=search)
    assert await redactor.answer(need(KEY, "slow", "after", deadline_ms=20)) == (FOUND, None, None)
    assert ended.wait(5)
    assert redactor.failed == 2
    assert [(line["searched"], line["not_searched"]) for line in logged if line["event"] == "redaction"] == [(1, 2)]
    assert await redactor.answer(need("after")) == ((),)
    redactor.close()


async def test_nobody_waits_for_a_search_that_does_not_end_itself():
    go = threading.Event()

    def search(text: str, *_: object):
        go.wait(30)
        return ()

    redactor = Redactor(search=search, workers=1)
    assert await redactor.answer(need("stuck", deadline_ms=10)) == (None,)
    assert await redactor.answer(need("behind it", deadline_ms=10)) == (None,)
    go.set()
    redactor.close()


async def test_a_search_that_breaks_is_no_answer_and_says_nothing_of_the_text(logged: list):
    def search(text: str, packs: tuple[str, ...], late: Callable[[], bool]):
        if text.startswith("bad"):
            raise ValueError(text)
        return find(text, packs, late)

    redactor = Redactor(search=search)
    assert await redactor.answer(need(f"bad {KEY}", KEY)) == (None, FOUND)
    assert [line.get("error") for line in logged] == ["ValueError", None]
    assert KEY not in str(logged)
    redactor.close()
