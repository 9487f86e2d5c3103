"""Sessions: a cookie is worth what its key is worth, until a time, and nobody else can make or read one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from structlog.testing import capture_logs

from elbowroom.errors import InvalidApiKey, RoleNotAllowed
from elbowroom.records import Principal
from elbowroom_proxy.session import LASTS, LONGEST, MOST_ENDED, Sessions
from tests.desk import SomeKeys, sha256

AUDITOR = Principal("ann", "acme", role="auditor", keyed=True)
ADMIN = Principal("root", role="admin", keyed=True)
USER = Principal("bot", "acme", keyed=True)
SECRET = b"a secret of the tests"


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def sessions(**more: Any) -> tuple[Sessions, SomeKeys, Clock]:
    held, clock = SomeKeys(auditor_key=AUDITOR, admin_key=ADMIN, user_key=USER), Clock()
    return Sessions(held, SECRET, clock=clock, **more), held, clock


def test_who_has_a_readers_key_is_known_again():
    found, _, _ = sessions()
    assert found.reader(found.begin("auditor-key")) == AUDITOR
    assert found.reader(found.begin(" admin-key\n")) == ADMIN


@pytest.mark.parametrize("key", ["", "  ", "nobodys", "auditor-ke", "x" * (LONGEST + 1), "\ud800"])
def test_nobody_elses_key_begins_one(key):
    with pytest.raises(InvalidApiKey, match=r"^That key is not valid\.$"):
        sessions()[0].begin(key)


def test_a_key_that_reads_nothing_begins_none_and_ends_one():
    found, held, _ = sessions()
    with pytest.raises(RoleNotAllowed):
        found.begin("user-key")
    cookie = found.begin("auditor-key")
    held.principals["auditor-key"] = structs.replace(AUDITOR, role="user")
    assert found.reader(cookie) is None


def test_it_ends_with_its_time():
    found, _, clock = sessions(lasts=60)
    cookie = found.begin("auditor-key")
    clock.now += 59.9
    assert found.reader(cookie) == AUDITOR
    clock.now += 0.2
    assert found.reader(cookie) is None


def test_it_ends_with_its_key():
    found, held, _ = sessions()
    cookie = found.begin("auditor-key")
    del held.principals["auditor-key"]
    assert found.reader(cookie) is None


def test_it_ends_when_it_is_said_to_and_no_other_does():
    found, _, _ = sessions()
    first, second = found.begin("auditor-key"), found.begin("auditor-key")
    found.end(first)
    assert found.reader(first) is None
    assert found.reader(second) == AUDITOR


def test_what_was_ended_is_kept_within_bounds():
    found, _, _ = sessions()
    for number in range(MOST_ENDED + 5):
        found.end(str(number))
    assert len(found._ended) == MOST_ENDED


def test_what_was_ended_in_one_process_is_ended_in_all_that_share_its_folder(tmp_path):
    found, held, clock = sessions(ended=tmp_path / "ended")
    other = Sessions(held, SECRET, clock=clock, ended=tmp_path / "ended")
    first, second = found.begin("auditor-key"), found.begin("auditor-key")
    assert other.reader(first) == AUDITOR
    found.end(first)
    assert other.reader(first) is None
    assert other.reader(second) == AUDITOR
    assert first not in str(list((tmp_path / "ended").iterdir()))
    clock.now += LASTS + 1  # it is over by itself, so nobody need know of it any longer
    other.end(second)
    assert [path.name for path in (tmp_path / "ended").iterdir()] == [sha256(second)]


def test_it_ends_here_where_others_cannot_be_told(tmp_path):
    (tmp_path / "file").touch()
    found, _, _ = sessions(ended=tmp_path / "file")
    cookie = found.begin("auditor-key")
    with capture_logs() as logged:
        found.end(cookie)
    assert [one["event"] for one in logged] == ["session_ended_here_alone"]
    assert found.reader(cookie) is None


def test_the_cookie_says_neither_the_key_nor_its_digest():
    cookie = sessions()[0].begin("auditor-key")
    assert "auditor" not in cookie
    assert sha256("auditor-key") not in cookie


def test_another_instance_with_the_secret_takes_it_and_one_with_another_does_not():
    found, held, clock = sessions()
    cookie = found.begin("auditor-key")
    assert Sessions(held, SECRET, clock=clock).reader(cookie) == AUDITOR
    assert Sessions(held, b"another", clock=clock).reader(cookie) is None


@pytest.mark.parametrize("cookie", [None, "", "x", "A" * 200, "é", "\ud800", "A" * 10_000])
def test_what_is_no_cookie_is_nobodys(cookie):
    assert sessions()[0].reader(cookie) is None


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_a_cookie_that_was_changed_is_nobodys(at, by):
    found, _, _ = sessions()
    cookie = found.begin("auditor-key")
    place = at % len(cookie)
    other = cookie[:place] + chr((ord(cookie[place]) + by) % 256) + cookie[place + 1 :]
    assert found.reader(other) == (AUDITOR if other == cookie else None)


def test_a_form_is_of_its_own_session_alone():
    found, _, _ = sessions()
    first, second = found.begin("auditor-key"), found.begin("auditor-key")
    assert found.is_own(first, found.form_token(first))
    assert not found.is_own(second, found.form_token(first))
    assert not found.is_own(first, "")
    assert not found.is_own(first, "é")
    assert not found.is_own(None, "")
    assert not found.is_own("", found.form_token(""))
