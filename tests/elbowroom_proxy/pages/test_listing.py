"""The list: the words of an address and back, and what stands out in a row."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

from elbowroom.account.row import Row
from elbowroom.account.search import NAMES
from elbowroom_proxy.pages.listing import LABELS, address, chips, flags, onward, words


def test_each_filter_has_a_name_on_the_page():
    assert set(LABELS) == set(NAMES)


def test_words_that_say_nothing_and_words_of_others_are_left_out():
    assert words({"tenant": " acme ", "class": "", "mode": "  ", "after": "x", "utm": "y"}) == {"tenant": "acme"}


def test_each_filter_can_be_taken_away():
    said = {"tenant": "acme", "conversation": "a&b=c \u202e<"}
    first, second = chips(said)
    assert (first.name, first.value) == ("tenant", "acme")
    assert dict(parse_qsl(urlsplit(first.without).query)) == {"conversation": said["conversation"]}
    assert second.without == "/ui?tenant=acme"


def test_the_list_goes_on_with_the_same_filters():
    said = {"reason": "stale"}
    assert onward(said, None) is None
    assert onward(said, "abc=") == "/ui?reason=stale&after=abc%3D"
    assert address({}) == "/ui"
    assert address({"id": "\ud800"}) == "/ui?id=%3F"


def test_what_stands_out():
    quiet = Row(trace_id="a", at=0, time="")
    assert list(flags(quiet)) == []
    loud = Row(
        trace_id="a",
        at=0,
        time="",
        invented=1,
        tainted=1,
        over_budget=True,
        code="insufficient_quota",
        disconnected=True,
        count_error=-1,
    )
    assert [tone for tone, _ in flags(loud)] == ["bad", "warn", "bad", "warn", "warn", "warn"]
