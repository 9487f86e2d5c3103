"""Each way in which a chain can be amiss is found, and what is whole is proved."""

from __future__ import annotations

from elbowroom.account.chain import Chain, Head, Removed, parse
from elbowroom.account.proof import Proof

KEY = b"k" * 32
WRITER, STRANGER = "0123456789ab", "ba9876543210"


def chain(length, writer=WRITER):
    made = Chain(KEY, writer)
    return [made.link(b'{"n":%d}' % n) for n in range(1, length + 1)]


def head(line):
    found = parse(line)
    assert found is not None
    return found.head


def proved(lines, *heads, removed=()):
    proof = Proof(KEY, WRITER, heads, removed)
    for number, line in enumerate(lines, start=1):
        proof.line(line, f"f:{number}")
    proof.end()
    return proof


def kinds(proof):
    return [(one.kind, one.where) for one in proof.findings]


def test_what_is_whole_is_proved_up_to_its_head():
    lines = chain(5)
    proof = proved(lines, head(lines[3]), head(lines[1]))
    assert proof.findings == []
    assert (proof.lines, proof.sealed, proof.unsealed) == (5, 4, 1)


def test_a_writer_that_has_written_nothing_is_whole():
    proof = proved([], Chain(KEY, WRITER).head)
    assert (proof.findings, proof.sealed, proof.unsealed) == ([], 0, 0)


def test_a_changed_byte_is_found_where_it_is():
    lines = chain(3)
    changed = [lines[0], lines[1].replace(b'"n":2', b'"n":3'), lines[2]]
    assert kinds(proved(changed, head(lines[2]))) == [("changed", "f:2")]


def test_a_line_that_went_is_found():
    lines = chain(4)
    proof = proved([lines[0], lines[3]], head(lines[3]))
    assert kinds(proof) == [("missing", "before f:2")]
    assert "lines 2 to 3" in proof.findings[0].says
    assert "line 2 of" in proved([lines[0], *lines[2:]], head(lines[3])).findings[0].says


def test_lines_that_changed_places_are_found():
    one, two, three, four = lines = chain(4)
    assert kinds(proved([one, three, two, four], head(lines[3]))) == [("missing", "before f:2"), ("moved", "f:3")]


def test_a_line_of_another_writer_or_of_none_is_found():
    lines = chain(2)
    proof = proved([lines[0], chain(2, STRANGER)[1], b'{"n":9}', lines[1]], head(lines[1]))
    assert kinds(proof) == [("moved", "f:2"), ("unchained", "f:3")]


def test_a_tail_that_was_cut_is_found_by_the_head():
    lines = chain(4)
    proof = proved(lines[:2], head(lines[3]))
    assert kinds(proof) == [("cut", WRITER)]
    assert proof.sealed == 0
    assert kinds(proved(lines[:2])) == [("no_head", WRITER)]


def test_another_line_than_the_signed_one_is_found():
    lines = chain(2)
    assert kinds(proved(lines, Head(WRITER, 2, "0" * 64))) == [("forged", WRITER)]


def gone(lines, first, last, **changed):
    told = {"file": f"f{first}", "writer": WRITER, "first": first, "last": last, "mac": head(lines[last - 1]).mac}
    return Removed(**{**told, "why": "age", "time": "2026-01-01T00:00:00Z", **changed})


def test_what_was_removed_on_purpose_leaves_the_rest_provable():
    lines = chain(6)
    words = [gone(lines, 1, 2), gone(lines, 5, 6)]
    proof = proved(lines[2:4], head(lines[5]), removed=words)
    assert proof.findings == []
    assert (proof.lines, proof.removed, proof.sealed, proof.unsealed) == (2, 4, 6, 0)
    again = [lines[2], lines[3].replace(b'"n":4', b'"n":5')]
    assert kinds(proved(again, head(lines[5]), removed=words)) == [("changed", "f:2")]


def test_a_word_about_a_file_that_is_still_there_changes_nothing():
    lines = chain(3)
    proof = proved(lines, head(lines[2]), removed=[gone(lines, 1, 2)])
    assert (proof.findings, proof.removed) == ([], 0)


def test_a_word_about_other_lines_excuses_nothing():
    lines = chain(6)
    assert kinds(proved(lines[4:], head(lines[5]), removed=[gone(lines, 1, 2)])) == [("missing", "before f:1")]
    wrong = [gone(lines, 1, 2, mac="0" * 64)]
    assert kinds(proved(lines[2:], head(lines[5]), removed=wrong)) == [("changed", "f:1")]
