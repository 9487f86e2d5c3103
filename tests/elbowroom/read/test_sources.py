"""The source registry: who is meant, where a citation leads, and mistakes told with their line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.errors import InvalidConfig
from elbowroom.read.sources import Registry, SourceRow, _fits, link_of, read_sources
from elbowroom.records import Document

ROWS = """
sources:
  - match: "kb-*"
    authority: 0.7
  - id: kb-1
    authority: 0.9
    kind: handbook
    link: "https://wiki.example/{source_id}#{chunk_index}"
    freshness_days: 30
  - match: "https://*.example/*/faq"
    authority: 0.2
  - match: "*"
    authority: 0.4
"""


def document(**known) -> Document:
    return Document(**{"position": 0, "id": "d", "text": "", **known})


def authority(**known) -> float | None:
    row = read_sources("s.yaml", ROWS).find(document(**known))
    return None if row is None else row.authority


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({"source_id": "kb-1"}, 0.9),
        ({"source_id": "kb-2"}, 0.7),
        ({"id": "kb-1", "source_id": "kb-2"}, 0.9),
        ({"url": "https://a.example/b/c/faq"}, 0.2),
        ({"url": "https://a.example/faq"}, 0.4),
        ({}, 0.4),
    ],
)
def test_an_exact_name_comes_before_a_pattern_and_the_first_pattern_counts(known, expected):
    assert authority(**known) == expected


def test_what_is_not_registered_is_nobody():
    assert Registry().find(document()) is None
    assert Registry(sources=(SourceRow(id="kb"),)).find(document(source_id="kb-2")) is None


def test_a_link_is_filled_with_quoted_values_or_not_at_all():
    row = read_sources("s.yaml", ROWS).sources[1]
    assert link_of(row, document(source_id="a/b ?", chunk_index=3)) == "https://wiki.example/a%2Fb%20%3F#3"
    assert link_of(row, document(source_id="a")) is None
    assert link_of(SourceRow(id="kb"), document()) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sources: [{}]", "s.yaml:1: give it an id or a match, and not both (sources[0])"),
        ("sources:\n- {id: a, match: 'b*'}", "s.yaml:2: give it an id or a match, and not both"),
        ("sources: [{id: ''}]", "s.yaml:1: an empty name fits nothing"),
        ("sources: [{match: 'kb'}]", "s.yaml:1: has no star; write it as id (sources[0].match)"),
        ("sources:\n- {id: a}\n- {id: a}", "s.yaml:3: a is registered twice, first as sources[0] (sources[1])"),
        ("sources: [{id: a, authority: 2}]", "s.yaml:1: "),
        ("sources: [{id: a, freshness_days: 0}]", "s.yaml:1: "),
        ("sources: [{id: a, trust: 1}]", "s.yaml:1: there is no such key (sources[0].trust)"),
        ("sources: [{id: a, link: 'https://x/{title}'}]", "s.yaml:1: there is no {title}; there are id, source_id"),
        ("sources: [{id: a, link: 'javascript:x'}]", "s.yaml:1: must begin with https:// or http://"),
    ],
)
def test_mistakes(text, said):
    with pytest.raises(InvalidConfig) as caught:
        read_sources("s.yaml", text)
    assert caught.value.message.startswith(said)


def test_the_shipped_file_registers_nobody_and_explains_every_key(root: Path):
    text = (root / "config" / "sources.yaml").read_text()
    assert read_sources("sources.yaml", text) == Registry()
    example = [line.removeprefix("#").removeprefix(" ") for line in text.splitlines() if line.startswith("#")]
    shown = "\n".join(example[example.index("sources:") :])
    row = read_sources("example", shown).sources[0]
    assert row.id == "handbook"
    assert all(f"{name}:" in shown for name in SourceRow.__struct_fields__)


@given(st.lists(st.text("ab"), min_size=2, max_size=4), st.lists(st.text("abc"), min_size=3, max_size=3))
def test_a_pattern_fits_whatever_stands_for_its_stars(pieces, between):
    name = pieces[0] + "".join(gap + piece for gap, piece in zip(between, pieces[1:], strict=False))
    assert _fits(pieces, name)
    assert not _fits(["c" * 99, *pieces], name)
