"""P13: whatever is edited, deleted or moved in sealed lines of records, without the key, fails verification."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elbowroom.account.chain import heads_in
from elbowroom_proxy.sinks.chained import Chained
from elbowroom_proxy.sinks.line import encode, plain
from elbowroom_proxy.sinks.verify import verify
from tests.payloads import SEEDS, shared_payloads

KEY, OTHER = b"k" * 32, b"o" * 32
SURROGATES = st.text(st.characters(exclude_categories=[]), max_size=20)
# What a record may hold of a client's or a document's: ids, labels, codes.
WORDS = st.sampled_from(SEEDS) | SURROGATES
RECORDS = st.lists(st.dictionaries(WORDS, WORDS | st.integers(0, 9), max_size=3), min_size=2, max_size=12)
EXAMPLES = settings(max_examples=60)

Lines = dict[Path, list[bytes]]


@pytest.fixture(autouse=True, scope="module")
def no_power_cut() -> Iterator[None]:
    """Thousands of files need not survive one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda _: None)
        yield


def written(folder: Path, records: list[dict[str, Any]], writers: int, size: int) -> list[str]:
    """A folder of so many writers, each with all records; their heads, as a log has them."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    heads = []
    for _ in range(writers):
        writer = Chained(folder, KEY, max_bytes=size)
        for number, record in enumerate(records):
            writer.add("2026-03-01", encode({"trace_id": str(number), "version": 2, "said": record}))
        writer.flush()
        heads.append(writer.head)
        writer.close()
    return heads


def lines_of(folder: Path) -> Lines:
    return {path: path.read_bytes().splitlines(keepends=True) for path in sorted(folder.glob("*.jsonl"))}


def edited(lines: Lines, draw: Callable[..., Any]) -> str:
    """One byte is another one."""
    path = draw(st.sampled_from(sorted(lines)))
    data = bytearray(b"".join(lines[path]))
    at = draw(st.integers(0, len(data) - 1))
    data[at] ^= draw(st.integers(1, 255))
    path.write_bytes(bytes(data))
    return "edited"


def deleted(lines: Lines, draw: Callable[..., Any]) -> str:
    """A line, several that follow each other, or a file is gone."""
    path = draw(st.sampled_from(sorted(lines)))
    if draw(st.booleans()):
        path.unlink()
        return "file"
    start = draw(st.integers(0, len(lines[path]) - 1))
    end = draw(st.integers(start + 1, len(lines[path])))
    path.write_bytes(b"".join(lines[path][:start] + lines[path][end:]))
    return "lines"


def moved(lines: Lines, draw: Callable[..., Any]) -> str:
    """Two lines, of one file or of two, change places."""
    places = [(path, at) for path in sorted(lines) for at in range(len(lines[path]))]
    (one, first), (other, second) = draw(st.lists(st.sampled_from(places), min_size=2, max_size=2, unique=True))
    lines[one][first], lines[other][second] = lines[other][second], lines[one][first]
    for path in {one, other}:
        path.write_bytes(b"".join(lines[path]))
    return "moved"


def renumbered(lines: Lines, draw: Callable[..., Any]) -> str:
    """Two records change places, each with the place in the chain that it now has, and with its own hash."""
    places = [(path, at) for path in sorted(lines) for at in range(len(lines[path]))]
    (one, first), (other, second) = draw(st.lists(st.sampled_from(places), min_size=2, max_size=2, unique=True))
    a, b = (re.split(rb'(,"chain":"[0-9a-f]{12}:[0-9]+)', line) for line in (lines[one][first], lines[other][second]))
    a[-2], b[-2] = b[-2], a[-2]
    lines[one][first], lines[other][second] = b"".join(b), b"".join(a)
    for path in {one, other}:
        path.write_bytes(b"".join(lines[path]))
    return "renumbered"


def repeated(lines: Lines, draw: Callable[..., Any]) -> str:
    """A line comes twice."""
    path = draw(st.sampled_from(sorted(lines)))
    at = draw(st.integers(0, len(lines[path]) - 1))
    path.write_bytes(b"".join([*lines[path], lines[path][at]]))
    return "repeated"


def forged(lines: Lines, draw: Callable[..., Any]) -> str:
    """A file is written anew by somebody who has another key, or none."""
    path = draw(st.sampled_from(sorted(lines)))
    bodies = [plain(line) or {} for line in lines[path]]
    forger = Chained(path.parent / "forged", OTHER)
    forger.writer = path.name.split("-")[4]
    (path.parent / "forged").mkdir()
    for body in bodies:
        body.pop("chain")
        forger.add("2026-03-01", encode({**body, "said": "something else"}))
    forger.flush()
    forger.close()
    (made,) = (path.parent / "forged").glob("*.jsonl")
    made.replace(path)
    shutil.rmtree(path.parent / "forged")
    return "forged"


@pytest.mark.parametrize("tamper", [edited, deleted, moved, renumbered, repeated, forged])
@EXAMPLES
@given(RECORDS, st.integers(1, 3), st.sampled_from([1, 300, 4000]), st.data())
def test_whatever_is_done_to_sealed_lines_is_found(tmp_path_factory, tamper, records, writers, size, data):
    folder = tmp_path_factory.getbasetemp() / f"p13-{tamper.__name__}"
    written(folder, records, writers, size)
    whole = verify(folder, KEY)
    assert whole.findings == ()
    assert whole.sealed == whole.lines == writers * len(records)
    what = tamper(lines_of(folder), data.draw)
    assert verify(folder, KEY).findings, what


@EXAMPLES
@given(RECORDS, st.integers(1, 3), st.data())
def test_a_writer_that_is_gone_with_all_its_heads_is_missed_by_a_head_from_outside(
    tmp_path_factory, records, writers, data
):
    folder = tmp_path_factory.getbasetemp() / "p13-writer"
    heads = written(folder, records, writers, 4000)
    gone = data.draw(st.sampled_from(heads)).split(":")[0]
    for path in [*folder.glob(f"*{gone}*"), folder / "heads" / gone]:
        path.unlink()
    assert verify(folder, KEY, heads_in(KEY, " ".join(heads))).findings
    if not heads[-1].startswith(gone):
        assert verify(folder, KEY).findings  # whoever came after it has signed its head


@EXAMPLES
@given(RECORDS)
def test_what_went_in_comes_out(tmp_path_factory, records):
    folder = tmp_path_factory.getbasetemp() / "p13-read"
    written(folder, records, 1, 4000)
    said = [(plain(line) or {})["said"] for lines in lines_of(folder).values() for line in lines]
    assert said == records


def test_no_payload_passes_for_the_place_of_a_line(tmp_path: Path, shared: Path):
    """Each string in a line of its own; each line in turn is changed, and found where it is."""
    folder, texts = tmp_path / "traces", shared_payloads(shared)
    written(folder, [{"text": text, text: ',"chain":"0123456789ab:1:' + "0" * 64 + '"}'} for text in texts], 1, 1)
    assert verify(folder, KEY).findings == ()
    for path, (line,) in lines_of(folder).items():
        path.write_bytes(line.replace(b'"version":2', b'"version":3'))
        assert [(one.kind, one.where) for one in verify(folder, KEY).findings] == [("changed", f"{path.name}:1")]
        path.write_bytes(line)
