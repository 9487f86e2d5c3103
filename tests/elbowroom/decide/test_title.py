"""When a title is named."""

from __future__ import annotations

import pytest

from elbowroom.clean.text import Text
from elbowroom.decide.title import title_of


def named(title: str, text: str) -> bool:
    read = Text.of(text)
    return title_of(title).named_in(read.terms.keys(), read.normal)


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Refund policy", "As the refund policy says, it takes a week."),
        ("Mercury (planet)", "The smallest is Mercury."),
        ("退款政策", "根据退款政策，七天之内退款。"),
        ("水星记（剧集）", "他演过《水星记》。"),
    ],
)
def test_named(title, text):
    assert named(title, text)


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Art", "The party was long."),  # inside a word
        ("Refund policy", "The policy on a refund."),  # not side by side
        ("", "Anything."),
        ("The Who", "The one who sings."),  # nothing but stop words
        ("C", "Written in C."),  # too short to be told
        ("水星（行星）", "最小的行星是水星，离太阳最近。"),
    ],
)
def test_not_named(title, text):
    assert not named(title, text)


def test_the_remark_is_part_of_its_terms_but_not_of_its_name():
    title = title_of("Mercury (planet)")
    assert title.terms == {"mercury", "planet"}
    assert title.name == "mercury"
    assert title_of("(untitled)").name == "untitled"
