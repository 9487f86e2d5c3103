"""The records that a command reads: where they lie, which of them are meant, and in whose name they are read.

Knows: the options that all such commands share, and that reading what the configuration keeps is itself recorded.
Does not know: what is done with the records, or how they are found (`desk`).
"""

from __future__ import annotations

import asyncio
import getpass
import logging
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, cast

import structlog
from msgspec import Struct

from elbowroom.account.chain import heads_in
from elbowroom.account.row import KINDS
from elbowroom.account.search import Filters, Indexed, read_filters
from elbowroom.errors import ElbowroomError
from elbowroom.records import Drop, Mode, Principal
from elbowroom_proxy import settings
from elbowroom_proxy.cli.render import printable
from elbowroom_proxy.crawl import Crawl
from elbowroom_proxy.desk import Desk
from elbowroom_proxy.indexes.sqlite import SqliteIndex
from elbowroom_proxy.settings import STATE, General
from elbowroom_proxy.sinks.chained import HEADS, others
from elbowroom_proxy.sinks.jsonl import JsonlSink
from elbowroom_proxy.stderr import Stderr

_OPTIONS = {
    "tenant": "of that tenant",
    "org": "of that organisation",
    "team": "of that team",
    "subject": "of that key or token",
    "class": "of that query class",
    "model": "for that model",
    "policy": "decided by that policy: its id, or how its digest begins",
    "conversation": "of that conversation",
    "status": "answered with that status, such as 429 or 4xx",
    "code": "ended in that error",
    "since": "from then on: a time as ISO 8601 has it, or how long ago: 15m, 2h, 7d",
    "until": "before then",
}
_CHOICES = {
    "mode": (tuple(map(str, Mode)), "decided in that mode"),
    "reason": (tuple(map(str, Drop)), "that left a document out for it"),
    "kind": (KINDS, "requests, who read records, or what a request in shadow would have become"),
}
_FLAGS = {
    "invented": "whose answer cites what nobody gave out",
    "tainted": "whose answer has a call that only documents and tools' results ask for",
    "over-budget": "that a budget refused, or that came to more than was held",
}


class Reading(Struct):
    """What a command reads from, and as whom."""

    desk: Desk
    reader: Principal
    index: SqliteIndex
    folder: Path


def arguments(parser: ArgumentParser) -> None:
    """Where the records lie."""
    parser.add_argument("--folder", type=Path, metavar="DIR", help="of the traces; without it the configured one")
    parser.add_argument("--config", type=Path, metavar="FILE", help="elbowroom.yaml; without it the built-in one")


def filters(parser: ArgumentParser, *, without: Collection[str] = ()) -> None:
    """Which records are meant: every one that is given must hold. `without` are names that another option has."""
    group = parser.add_argument_group("which traces")
    for name in (name for name in _OPTIONS if name not in without):
        group.add_argument(f"--{name}", dest=f"only_{name}", metavar=name.upper(), help=_OPTIONS[name])
    for name, (choices, says) in ((name, one) for name, one in _CHOICES.items() if name not in without):
        group.add_argument(f"--{name}", dest=f"only_{name}", choices=choices, help=says)
    for name, says in _FLAGS.items():
        group.add_argument(
            f"--{name}", dest=f"only_{name.replace('-', '_')}", action="store_const", const="yes", help=says
        )


def wanted(args: Namespace) -> Filters:
    """What the options say. Raises `InvalidRequest`."""
    words = {
        name.removeprefix("only_"): word
        for name, word in vars(args).items()
        if name.startswith("only_") and word is not None
    }
    return read_filters(words, round(time.time() * 1000))


@contextmanager
def opened(args: Namespace) -> Iterator[Reading]:
    """The folder's records, all of them indexed. Raises `InvalidConfig`, and `OSError` for a disk that fails."""
    _quiet()
    general = settings.load(args.config).general
    folder = args.folder or Path(general.traces)
    sink = _sink(folder, general)
    index, crawl = _current(folder)
    try:
        desk = Desk(index, crawl, sink.write if sink is not None else _untold)
        yield Reading(desk, shell(), index, folder)
    finally:
        index.close()
        if sink is not None:
            asyncio.run(sink.close())


def _current(folder: Path) -> tuple[SqliteIndex, Crawl]:
    """All that is there, indexed; for this command alone where the disk takes no more of it."""
    index = SqliteIndex(folder)
    try:
        crawl = Crawl(index)
        crawl.finish()
    except OSError as error:
        folders = index.folders()
        index.close()
        print(f"the index cannot be written, so one is made for this command: {printable(error)}", file=sys.stderr)
    else:
        return index, crawl
    index = SqliteIndex(folder, apart=True)
    index.cover(folders)
    crawl = Crawl(index)
    try:
        crawl.finish()
    except OSError:
        index.close()
        raise
    return index, crawl


@contextmanager
def recorded(general: General) -> Iterator[Callable[[Mapping[str, Any]], bool]]:
    """Records what a command reads, or changes, beside the records; in the configured folder, if it is there."""
    _quiet()
    sink = _sink(Path(general.traces), general)
    try:
        yield sink.write if sink is not None else _untold
    finally:
        if sink is not None:
            asyncio.run(sink.close())


def shell() -> Principal:
    """Whoever sits at this machine's shell."""
    return Principal(subject=f"shell:{_user()}", role="admin")


def refused(error: ElbowroomError | OSError) -> int:
    """Says why the records are not read, and returns the exit status for it."""
    print(printable(error.message if isinstance(error, ElbowroomError) else error), file=sys.stderr)
    return 1


def reach(indexed: Indexed) -> str:
    """How far what was found reaches, in words."""
    words = f"{indexed.records:,} traces, the latest of {printable(indexed.until)}" if indexed.until else "no traces"
    if len(indexed.folders) > 1:
        words += f", in {len(indexed.folders)} folders"
    if indexed.unread:
        words += f"; {indexed.unread:,} lines could not be read"
    if indexed.behind:
        words += f"; {indexed.behind:,} bytes are not indexed yet"
    return words


def _quiet() -> None:
    """What the parts of a service say while they work is for its log; what goes wrong is said here as well."""
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.WriteLoggerFactory(cast("TextIO", Stderr())),
    )


def chain_key(general: General) -> bytes | None:
    """The key of the configured folder's chains; None where the secret that it comes from is not at hand: making one
    would help nobody.
    """
    return settings.keys(general).chain if general.secret or (STATE / "secret").is_file() else None


def _sink(folder: Path, general: General) -> JsonlSink | None:
    """Where a reading of the configured folder is recorded; None, and a word about it, where it cannot be: of a copy
    for instance nobody here has the key.
    """
    if not folder.is_dir():
        return None
    own = folder.resolve() == Path(general.traces).resolve()
    key = chain_key(general) if own else None
    if key is None or not _fits(key, folder):
        why = "the secret of these traces is not at hand" if own else "these are not the traces of the configuration"
        print(f"this reading is not recorded: {why}", file=sys.stderr)
        return None
    return JsonlSink(folder, key)


def _fits(key: bytes, folder: Path) -> bool:
    """Whether the heads that are there were signed with it: a chain by another key would be taken for a forged one."""
    heads = folder / HEADS
    signed = others(heads) if heads.is_dir() else []
    return not signed or bool(heads_in(key, " ".join(signed)))


def _untold(_: Mapping[str, Any]) -> bool:
    return True


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may have no name for it, and 3.13 says so by another error
        return "unnamed"
