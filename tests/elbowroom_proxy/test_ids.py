"""No two names are the same, in this process or in one that is forked off."""

from __future__ import annotations

import os
import re

from elbowroom_proxy.ids import BYTES, Ids, drawn


def test_each_name_is_another_of_the_same_form():
    names = {drawn() for _ in range(1000)}
    assert len(names) == 1000
    assert all(re.fullmatch(rf"[0-9a-f]{{{2 * BYTES}}}", name) for name in names)


def test_no_two_processes_have_the_same_secret():
    assert Ids()() != Ids()()


def test_a_forked_process_does_not_go_on_with_its_parents():
    ids = Ids()
    told, tell = os.pipe()
    if (child := os.fork()) == 0:
        os.write(tell, ids().encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(tell)
    with os.fdopen(told) as said:
        name = said.read()
    assert len(name) == 2 * BYTES
    assert name != ids()
