"""What is owed is tried until it is done, or until it does not matter any more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from elbowroom.budget.limits import Account, Limits
from elbowroom.errors import LedgerUnavailable
from elbowroom_proxy.stores.owed import Owed
from tests.ledgers import account

SOME = account(Limits())


class Releases:
    """`fails` says how often a hold's release is refused."""

    def __init__(self, fails: Callable[[str, int], bool] = lambda *_: False) -> None:
        self._fails = fails
        self.tried: list[str] = []
        self.begun = asyncio.Event()

    async def __call__(self, ident: str, account: Account) -> None:
        assert account is SOME
        self.tried.append(ident)
        self.begun.set()
        await asyncio.sleep(0)
        if self._fails(ident, self.tried.count(ident)):
            raise LedgerUnavailable("It was away.")


async def test_it_is_tried_until_it_is_done():
    releases = Releases(lambda ident, times: ident == "a" and times < 4)
    owed = Owed(releases, pause=0.001)
    owed.add("a", SOME, 60)
    owed.add("b", SOME, 60)
    assert owed._task is not None
    await owed._task
    assert (releases.tried.count("a"), releases.tried.count("b"), len(owed)) == (4, 1, 0)
    owed.add("c", SOME, 60)  # it begins anew
    await owed._task
    assert releases.tried[-1] == "c"
    await owed.close()


async def test_a_hold_that_is_over_is_owed_no_longer():
    releases = Releases(lambda *_: True)
    owed = Owed(releases, pause=0.001)
    owed.add("a", SOME, 0)
    assert owed._task is not None
    await owed._task
    assert (releases.tried, len(owed)) == (["a"], 0)


async def test_at_the_end_it_is_tried_once_more():
    releases = Releases(lambda *_: True)
    owed = Owed(releases, pause=3600)
    owed.add("a", SOME, 3600)
    await releases.begun.wait()
    await owed.close()
    assert (releases.tried, len(owed)) == (["a"] * 2, 1)


async def test_where_nothing_is_owed_there_is_nothing_to_close():
    await Owed(Releases(), pause=1).close()
