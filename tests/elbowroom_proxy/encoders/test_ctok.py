"""Claude's tokens, where ctok is there; what it is asked, everywhere."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from elbowroom.errors import CountUnavailable
from elbowroom_proxy.encoders import ctok as module
from elbowroom_proxy.encoders.ctok import LONGEST, build


@pytest.fixture
def asked(monkeypatch) -> list[tuple[str, str]]:
    """A stand-in that counts characters, as ctok would: with a frame."""
    seen: list[tuple[str, str]] = []

    def token_count(text: str, version: str) -> int:
        seen.append((text, version))
        return len(text) + 7

    monkeypatch.setitem(sys.modules, "ctok", SimpleNamespace(token_count=token_count))
    return seen


def test_the_frame_is_taken_off(asked):
    assert build("3.0", None).tokens("hello") == 5
    assert asked == [("hello", "3.0")]


def test_a_text_beyond_reason_is_refused(asked):
    assert build("3.0", None).tokens("a" * LONGEST) == LONGEST
    with pytest.raises(CountUnavailable, match=str(LONGEST)):
        build("3.0", None).tokens("a" * (LONGEST + 1))
    assert len(asked) == 1


def test_it_is_not_for_the_loops_thread(asked):
    assert not build("3.0", None).quick


@pytest.mark.parametrize("version", ["", "2.1", "5", "3.0 "])
def test_an_unknown_generation_is_refused(version):
    with pytest.raises(CountUnavailable, match="unknown"):
        build(version, None)


def test_the_real_one_counts():
    for version, tokens in (("3.0", 3), ("4.7", 8), ("4.8", 4)):
        assert module.build(version, None).tokens("hello, world") == tokens
        assert module.build(version, None).tokens("\ud800<|im_start|>\0") > 0
