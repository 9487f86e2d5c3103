"""Traces with what was asked, for `elbowroom replay`: supplied in a file, or captured beside the records.

Knows: how a line names its trace, which traces the filters leave, and that texts whose key is gone cannot be read.
Does not know: what a replay does with them (`replaying`), or how a record is found (`desk`).
"""

from __future__ import annotations

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from elbowroom.account.search import Filters, Scope, Shown
from elbowroom.errors import ElbowroomError, TraceNotFound
from elbowroom_proxy import settings
from elbowroom_proxy.cli import lines, reading, runs
from elbowroom_proxy.cli.render import printable
from elbowroom_proxy.replaying import Asked
from elbowroom_proxy.settings import Settings
from elbowroom_proxy.sinks.kept import Kept

IDS = ("trace_id", "request_id", "client_request_id")
TAKEN = ("model", "policy", "kind")  # other options of a replay have these names, and a reading is not replayed


class Traced(Struct, frozen=True):
    """One record and its request."""

    at: str  # where it was said, for messages
    story: Mapping[str, Any]
    asked: Asked


def arguments(parser: ArgumentParser) -> None:
    """Where requests come from, and which traces are meant."""
    parser.add_argument(
        "--requests",
        metavar="FILE.jsonl",
        help='{"trace_id", "body", "headers"} a line: what was asked',
    )
    parser.add_argument("--captured", action="store_true", help="what was asked is what was captured beside the traces")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="of the traces; without it the configured one")
    reading.filters(parser, without=TAKEN)
    for name in ("model", "policy"):
        parser.add_argument(
            f"--trace-{name}", dest=f"only_{name}", metavar=name.upper(), help=f"only traces of that {name}"
        )


def read(args: Namespace, configured: Settings, folders: list[str]) -> Iterator[Traced | str]:
    """Each, or what is wrong with a line; `folders` is told where they are read from. Raises `Unusable` where nothing
    can be read at all.
    """
    try:
        wanted = reading.wanted(args)
        with reading.opened(args) as found:
            folders += found.index.folders()
            yield from _captured(found, wanted, configured) if args.captured else _supplied(args, found, wanted)
    except ElbowroomError as error:
        raise runs.Unusable(error.message) from error


def _supplied(args: Namespace, found: reading.Reading, wanted: Filters) -> Iterator[Traced | str]:
    try:
        data = lines.content(args.requests)
    except OSError as error:
        raise runs.Unusable(f"{args.requests}: {error.strerror}") from error
    for number, row in lines.objects(data):
        at = f"{args.requests}:{number}"
        if isinstance(row, str):
            yield f"{at}: {row}"
            continue
        ident = next((row[name] for name in IDS if isinstance(row.get(name), str)), None)
        if not isinstance(row.get("body"), dict | str) or ident is None:
            yield f"{at}: a line needs a trace_id, request_id or client_request_id, and a body"
            continue
        try:
            shown = asyncio.run(found.desk.show(ident, found.reader))
        except TraceNotFound:
            yield f"{at}: no trace in {found.folder} has the id {printable(ident)}"
            continue
        # Another trace may have that id as the client's own: this very one must be among the wanted.
        if found.index.count(structs.replace(wanted, id=shown.row.trace_id), Scope()):
            yield Traced(at, shown.record, Asked.of(row))


def _captured(found: reading.Reading, wanted: Filters, configured: Settings) -> Iterator[Traced | str]:
    if reading.chain_key(configured.general) is None:
        raise runs.Unusable("the secret of these traces is not at hand, so no captured text can be read")
    kept = Kept(found.folder, settings.keys(configured.general).hash, found.index.folders)
    for shown in asyncio.run(_all(found, wanted)):
        story = shown.record
        if story.get("policy") is None:
            continue  # it was refused before anything was decided
        texts = kept.texts(story)
        if texts is None:
            until = (story.get("captured") or {}).get("until")
            why = f"kept until {printable(until)}, and no longer there" if until else "not kept (capture: hash)"
            yield f"{printable(shown.row.trace_id)}: its texts are {why}"
            continue
        yield Traced(shown.row.trace_id, story, Asked.of(texts))


async def _all(found: reading.Reading, wanted: Filters) -> list[Shown]:
    return [one async for one in found.desk.export(wanted, found.reader)]
