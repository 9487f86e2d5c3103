"""Versions compared, claims heard, and whoever outdates another put before it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.decide.versions import Claims, is_newer, newer_first, same_subject, version_of
from elbowroom.records import Document
from tests.passages import passage


@pytest.mark.parametrize(
    ("version", "read"),
    [("2026-10-01", (2026, 10, 1)), ("2026-10-01T08:00Z", (2026, 10, 1)), ("v1.10", (1, 10)), ("3", (3,)),
     ("final", None), ("", None), (None, None)],
)  # fmt: skip
def test_versions_are_dates_or_numbers(version, read):
    assert version_of(Document(0, "d", "", version=version)) == read


def test_a_date_and_a_number_cannot_be_compared():
    assert is_newer((1, 10), (1, 9))
    assert is_newer((2026, 10, 1), (2026, 9))
    assert not is_newer((2026,), (3,))
    assert not is_newer((3,), (3,))


def test_one_subject():
    assert same_subject(passage(), passage(title="Fees"))
    assert same_subject(passage(title="Fees!"), passage(title="fees"))
    assert not same_subject(passage(title="Monthly plans"), passage(title="Annual plans"))
    chunks = [
        passage(source_id="kb", chunk_index=at, version=version) for at, version in ((1, "1"), (2, "1"), (2, "2"))
    ]
    assert not same_subject(chunks[0], chunks[1])
    assert same_subject(chunks[0], chunks[2])


def outdated_by(document: dict, *others: dict) -> list[tuple[str, bool]]:
    claims = Claims()
    for at, other in enumerate(others):
        claims.add(passage(**{"position": at, **other}))
    return [(one.document.id, named) for one, named in claims.against(passage(**{"position": 9, **document}))]


@pytest.mark.parametrize(
    ("name", "document", "meant"),
    [
        ("old", {"id": "old"}, True),
        ("kb", {"source_id": "kb"}, True),
        ("kb@2026-03", {"source_id": "kb", "version": "2026-03-15"}, True),
        ("kb@2026-03", {"source_id": "kb", "version": "2026-10-15"}, False),
        ("kb@1", {"source_id": "kb", "version": "10"}, False),
        ("kb@1", {"id": "kb@1"}, True),
        ("other", {"id": "old", "source_id": "kb"}, False),
        ("old", {"id": "old", "source_id": "new"}, True),
    ],
)
def test_a_claim_names_an_id_a_source_or_a_version_of_it(name, document, meant):
    assert outdated_by(document, {"supersedes": (name,), "source_id": "new"}) == ([("d0", True)] if meant else [])


def test_nobody_outdates_itself_or_its_whole_source():
    one = {"position": 9, "id": "a", "source_id": "kb", "supersedes": ("a",)}
    assert outdated_by(one, one) == []
    assert outdated_by({"source_id": "kb"}, {"source_id": "kb", "supersedes": ("kb",)}) == []


def test_newer_versions_of_one_source_and_title():
    old = {"source_id": "kb", "version": "1.9", "title": "Fees"}
    assert outdated_by(old, {**old, "version": "1.10"}, {**old, "version": "1.11"}, {**old, "version": "1.2"}) == [
        ("d1", False)
    ]
    assert outdated_by(old, {**old, "version": "2", "title": "Plans"}) == []
    assert outdated_by(old, {**old, "version": "2", "source_id": None}) == []
    assert outdated_by({**old, "version": "draft"}, {**old, "version": "2"}) == []
    assert outdated_by(old, {**old, "version": "2026-01-01"}) == []


def order(*documents: dict) -> list[int]:
    return [
        one.document.position for one in newer_first([passage(position=at, **one) for at, one in enumerate(documents)])
    ]


def test_whoever_outdates_another_comes_before_it():
    assert order({}, {}, {}) == [0, 1, 2]
    assert order({"id": "a"}, {}, {"supersedes": ("a",)}) == [1, 2, 0]
    assert order({"id": "a", "supersedes": ("b",)}, {"id": "b", "supersedes": ("a",)}, {}) == [2, 0, 1]
    chain = [{"source_id": "kb", "version": version} for version in ("1.9", "1.10", "1.2")]
    assert order(*chain) == [1, 0, 2]


@given(st.lists(st.sets(st.sampled_from("abcdef"), max_size=2), max_size=6))
def test_everybody_is_there_once_whatever_they_claim(claims):
    documents = [{"id": "abcdef"[at], "supersedes": tuple(sorted(one))} for at, one in enumerate(claims)]
    assert sorted(order(*documents)) == list(range(len(documents)))
