from __future__ import annotations

from elbowroom.decide.registered import registered
from elbowroom.read.sources import Registry, SourceRow
from tests.passages import passage

ROWS = Registry(
    sources=(
        SourceRow(id="kb", authority=0.9, kind="handbook", freshness_days=7, link="https://w.example/{chunk_index}"),
    )
)


def test_what_is_registered_of_a_source_is_on_its_passages():
    stranger = passage(source_id="x", position=1)
    mine, other = registered([passage(source_id="kb", chunk_index=3), stranger], ROWS)
    assert (mine.authority, mine.kind, mine.freshness_days, mine.link) == (0.9, "handbook", 7, "https://w.example/3")
    assert other is stranger


def test_without_a_registry_nothing_changes():
    one = passage(source_id="kb")
    assert registered([one], Registry()) == (one,)
