"""What an operator may say of records, and keys that can be destroyed."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from textwrap import indent

import pytest

from elbowroom.errors import InvalidConfig
from elbowroom.read import yaml
from elbowroom.read.policy import Config
from elbowroom_proxy.tracing import Traces, checked, content_keys, kept_keys

DAY = dt.date(2026, 3, 1)
FULL = "capture: full\nfull: {reason: incident 4711, until: 2026-03-05, tenants: [acme]}\n"


class Around(Config, frozen=True):
    """As the section stands in a file."""

    traces: Traces


def read(text):
    """The section's first line is the file's second."""
    marked = yaml.read("traces:\n" + indent(text, "  "), "elbowroom.yaml", Around)
    return checked(marked.value.traces, marked.fault)


def test_without_a_word_nothing_of_a_text_is_kept_but_instructions():
    traces = read("{}")
    assert traces.captures("acme", DAY) == "hash"
    assert (traces.instructions, traces.sample, traces.on_trace_failure) == ("stored", 1.0, "serve")
    assert (traces.retention_days, traces.retention_bytes) == (None, None)


def test_redacted_texts_are_kept_for_everybody_and_for_so_many_days():
    traces = read("{capture: redacted, capture_days: 3}")
    assert traces.captures(None, DAY) == "redacted"
    assert traces.until("redacted", DAY) == dt.date(2026, 3, 4)


def test_full_texts_are_kept_of_those_who_agreed_and_until_the_last_day():
    traces = read(FULL)
    assert traces.captures("acme", DAY) == "full"
    assert traces.captures("acme", dt.date(2026, 3, 6)) == "hash"
    assert traces.captures("other", DAY) == traces.captures(None, DAY) == "hash"
    assert traces.until("full", DAY) == dt.date(2026, 3, 5)
    assert traces.until("full", dt.date(2026, 2, 1)) == dt.date(2026, 2, 8)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("capture: full\n", "elbowroom.yaml:2: full needs"),
        ("full: {reason: x, until: 2026-03-05, tenants: [a]}\n", "elbowroom.yaml:2: says nothing while"),
        ("sample: 0.5\non_trace_failure: reject\n", "elbowroom.yaml:2: a request that may not go"),
        ("sample: 1.5\n", "elbowroom.yaml:2: "),
        ("capture: everything\n", "elbowroom.yaml:2: "),
        ("hash_key_id: ../secret\n", "elbowroom.yaml:2: "),
        ("retention_days: 0\n", "elbowroom.yaml:2: "),
        ("capture: full\nfull: {reason: '', until: 2026-03-05, tenants: [a]}\n", "elbowroom.yaml:3: "),
        ("capture: full\nfull: {reason: x, until: 2026-03-05, tenants: []}\n", "elbowroom.yaml:3: "),
        ("capture: full\nfull: {reason: x, until: soon, tenants: [a]}\n", "elbowroom.yaml:3: "),
        ("capture: full\nfull: {until: 2026-03-05, tenants: [a]}\n", "elbowroom.yaml:3: "),
        ("kapture: hash\n", "elbowroom.yaml:2: there is no such key"),
    ],
)
def test_what_cannot_be_is_an_error_with_its_line(text, says):
    with pytest.raises(InvalidConfig) as error:
        read(text)
    assert error.value.message.startswith(says)


def test_keys_are_made_once_and_differ_by_purpose_id_and_secret(tmp_path: Path):
    keys = content_keys(tmp_path, "1", b"secret")
    assert content_keys(tmp_path, "1", b"secret") == keys == kept_keys(tmp_path, "1", b"secret")
    other = content_keys(tmp_path, "2", b"secret")
    strange = kept_keys(tmp_path, "1", b"another")
    assert strange is not None
    assert len({keys.hash, keys.texts, other.hash, other.texts, strange.hash, strange.texts}) == 6
    assert (tmp_path / "keys" / "1").stat().st_mode & 0o777 == 0o600


def test_the_folder_that_they_make_is_their_owners_only(tmp_path: Path):
    """Records come into it: it is made here first, and nobody makes it narrower afterwards."""
    content_keys(tmp_path / "a" / "traces", "1", b"secret")
    for folder in (tmp_path / "a" / "traces", tmp_path / "a" / "traces" / "keys"):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_a_key_that_was_destroyed_is_gone(tmp_path: Path):
    keys = content_keys(tmp_path, "1", b"secret")
    (tmp_path / "keys" / "1").unlink()
    assert kept_keys(tmp_path, "1", b"secret") is None
    assert content_keys(tmp_path, "1", b"secret") != keys


def test_a_key_that_is_damaged_or_cannot_be_kept_is_an_error(tmp_path: Path):
    content_keys(tmp_path, "1", b"secret")
    (tmp_path / "keys" / "1").write_text("short")
    assert kept_keys(tmp_path, "1", b"secret") is None
    with pytest.raises(InvalidConfig, match="the key of hashes is damaged"):
        content_keys(tmp_path, "1", b"secret")
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidConfig, match="cannot be kept here"):
        content_keys(tmp_path / "file", "1", b"secret")


def test_of_two_processes_that_make_a_key_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    first = content_keys(tmp_path, "1", b"secret")
    monkeypatch.setattr(Path, "exists", lambda _: False)  # as the second one saw it
    assert content_keys(tmp_path, "1", b"secret") == first
    assert [path.name for path in (tmp_path / "keys").iterdir()] == ["1"]
