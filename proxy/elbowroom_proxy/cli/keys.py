"""`elbowroom keys`: makes keys, lists them, blocks them, puts others in their place.

Knows: how a key is made, that it is shown once and never again, and the words that each option stands for.
Does not know: what a key may (`directory` says so before anything is written), or how the file is kept (`keyfile`).
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import secrets
import string
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from msgspec import structs

from elbowroom.errors import InvalidConfig
from elbowroom_proxy import directory, keyfile, settings
from elbowroom_proxy.cli.render import printable
from elbowroom_proxy.directory import KeyRow, KeysFile, SecretRow

BEGINS = "sk-eb-"
LENGTH = 43  # characters behind that: 256 bits
SHOWN = 6  # of these are kept, to tell keys apart by
GRACE = 3600  # seconds, where nobody says how long
_LETTERS = string.ascii_letters + string.digits
_COLUMNS = "{:<20} {:<24} {:<8} {:<9} {}"
_NUMBERS = ("rpm_limit", "tpm_limit", "max_parallel_requests", "max_tokens", "output_cap")
_WORDS = ("tenant", "clearance", "policy")
_LISTS = ("groups", "classes", "models", "tools")


def arguments(parser: ArgumentParser) -> None:
    """Adds the commands and their options."""
    commands = parser.add_subparsers(required=True, metavar="new | list | block | rotate")
    new = commands.add_parser("new", help="make a key; it is printed once")
    new.set_defaults(do=_new)
    new.add_argument("--org", metavar="NAME", help="the organisation, as orgs.yaml has it")
    new.add_argument("--team", metavar="NAME", help="its team; who asks models needs one")
    new.add_argument("--name", metavar="NAME", help="the holder's, in traces; without it one is made of the team's")
    new.add_argument("--role", choices=("user", "auditor", "admin"), default="user", help="default: %(default)s")
    for name in _NUMBERS:
        new.add_argument(_option(name), type=_number, metavar="N")
    new.add_argument("--max-budget", type=_usd, metavar="USD")
    new.add_argument("--budget-duration", choices=("1h", "1d", "1mo", "30d"))
    new.add_argument("--mode", choices=("passthrough", "shadow", "enforce"))
    for name in _WORDS:
        new.add_argument(_option(name), metavar="NAME")
    for name in _LISTS:
        new.add_argument(_option(name), type=_names, metavar="NAME,...", help="'': none")
    new.add_argument(
        "--on-missing-label", type=_rule, action="append", metavar="KIND=RULE", help="deny, or assume:<label>"
    )
    listed = commands.add_parser("list", help="who has keys; none of them can be shown")
    listed.set_defaults(do=_list)
    block = commands.add_parser("block", help="let a key in no more; within a second, everywhere")
    block.set_defaults(do=_block)
    block.add_argument("--undo", action="store_true", help="let it in again")
    rotate = commands.add_parser("rotate", help="make another key for the same holder")
    rotate.set_defaults(do=_rotate)
    rotate.add_argument(
        "--grace",
        type=_number,
        default=GRACE,
        metavar="SECONDS",
        help="how long the old one holds (default: %(default)s)",
    )
    for command in (block, rotate):
        command.add_argument("name", metavar="NAME", help="the holder's name, or how the key begins: sk-eb-... ")
    for command in (new, listed, block, rotate):
        command.add_argument("--config", type=Path, metavar="FILE", help="elbowroom.yaml; without it the built-in one")


def run(args: Namespace) -> int:
    """0: done. 1: it cannot be done, and nothing was changed."""
    if args.config is None and settings.config_folder().parent == Path(settings.__file__).parent:
        print("The built-in configuration keeps no keys: name one of your own with --config.", file=sys.stderr)
        return 1
    try:
        status: int = args.do(args)
    except Refused as error:
        print(error, file=sys.stderr)
        return 1
    return status


class Refused(Exception):
    """It cannot be done; the message says why."""


def made() -> tuple[str, SecretRow]:
    """A key, and what is kept of it."""
    secret = "".join(secrets.choice(_LETTERS) for _ in range(LENGTH))
    key = f"{BEGINS}{secret}"
    kept = SecretRow(sha256=hashlib.sha256(key.encode()).hexdigest(), prefix=secret[:SHOWN], made=_now())
    return key, kept


def _new(args: Namespace) -> int:
    file, found = settings.who(args.config)
    key, secret = made()
    said = {name: value for name in KeyRow.__struct_fields__ if (value := getattr(args, name, None)) is not None}
    if args.on_missing_label:
        said["on_missing_label"] = dict(args.on_missing_label)

    def add(rows: KeysFile) -> KeysFile:
        taken = {row.name for row in rows.keys}
        name = args.name or next(one for one in _free(args.team or args.role) if one not in taken)
        if name in taken:
            raise Refused(f"--name: there is a key {name} already; rotate it, or choose another name.")
        row = KeyRow(**{**said, "name": name, "secrets": (secret,)})
        new = structs.replace(rows, keys=(*rows.keys, row))
        _check(new, file, found)
        return new

    row = keyfile.change(file, add).keys[-1]
    _show(key, f"It is {_whose(row)}'s, and shown only now: {file} keeps its SHA-256 and {BEGINS}{secret.prefix}.")
    return 0


def _list(args: Namespace) -> int:
    file = settings.keys_file(args.config)
    text, now = directory.kept(file), _now()
    print(_COLUMNS.format("name", "of", "role", "state", "begins with"))
    for row in () if text is None else directory.parsed(text, str(file)).keys:
        of = "/".join(one for one in (row.org, row.team) if one) or "-"
        held = [one for one in row.secrets if one.until is None or one.until > now]
        state = "blocked" if row.blocked else "active" if held else "ended"
        print(_COLUMNS.format(*map(printable, (row.name, of, row.role, state, ", ".join(map(_told, held))))))
    return 0


def _block(args: Namespace) -> int:
    file = settings.keys_file(args.config)
    rows = keyfile.change(file, partial(_changed, args.name, lambda row: structs.replace(row, blocked=not args.undo)))
    row = _found(rows, args.name)
    print(f"{row.name} is {'blocked' if row.blocked else 'let in'} from the next second on.")
    return 0


def _rotate(args: Namespace) -> int:
    file = settings.keys_file(args.config)
    key, secret = made()
    now = _now()
    end = now + dt.timedelta(seconds=args.grace)

    def turned(row: KeyRow) -> KeyRow:
        if row.blocked:
            raise Refused(f"{row.name} is blocked; a new key would be, too.")
        ends = [(one, min(one.until or end, end)) for one in row.secrets]
        ending = (structs.replace(one, until=until) for one, until in ends if until > now)
        return structs.replace(row, secrets=(*ending, secret))

    row = _found(keyfile.change(file, partial(_changed, args.name, turned)), secret.sha256)
    held = f"until {end:%Y-%m-%d %H:%M:%S} UTC" if args.grace else "no more"
    _show(key, f"It is {_whose(row)}'s, and shown only now. The one before it holds {held}.")
    return 0


def _show(key: str, said: str) -> None:
    """The key alone on standard output, so that it can go on without passing a screen."""
    print(key)
    print(said, file=sys.stderr)


def _check(rows: KeysFile, file: Path, found: directory.Directory) -> None:
    """Raises `Refused` where the rows would not hold, in the words of the options."""
    assert found.written is not None  # noqa: S101 -- it was read from files, within what there is
    try:
        directory.read(keyfile.written(rows), str(file), found.orgs, found.written)
    except InvalidConfig as error:
        what = error.message.removeprefix(f"{file}:").partition(": ")[2]
        at = re.fullmatch(rf"(.*) \(keys\[{len(rows.keys) - 1}\](?:\.(\w+))?.*\)", what)
        raise Refused(error.message if at is None else f"{_option(at[2])}: {at[1]}" if at[2] else at[1]) from error


def _changed(name: str, do: Callable[[KeyRow], KeyRow], rows: KeysFile) -> KeysFile:
    """The rows, with `do` done to the one that `name` means."""
    one = _found(rows, name)
    return structs.replace(rows, keys=tuple(do(row) if row is one else row for row in rows.keys))


def _found(rows: KeysFile, name: str) -> KeyRow:
    """The holder of that name; of the key that begins so; of a whole key. Raises `Refused`."""
    begins = name.removeprefix(BEGINS)[:SHOWN] if name.startswith(BEGINS) else None
    digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()
    named = [row for row in rows.keys if row.name == name]
    whole = [row for row in rows.keys if {digest, name} & {one.sha256 for one in row.secrets}]
    some = [row for row in rows.keys if begins and any(one.prefix == begins for one in row.secrets)]
    for found in (named, whole, some):
        if len(found) == 1:
            return found[0]
    if some:
        raise Refused(f"Keys that begin so have {', '.join(row.name for row in some)}; say which.")
    raise Refused("There is no key of that name or with that beginning.")


def _whose(row: KeyRow) -> str:
    return "/".join(one for one in (row.org, row.team, row.name) if one)


def _told(secret: SecretRow) -> str:
    return f"{BEGINS}{secret.prefix}" + (f" until {secret.until:%Y-%m-%d %H:%M:%S}" if secret.until else "")


def _free(word: str) -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"{word}-{number}"


def _now() -> dt.datetime:
    return dt.datetime.now(tz=dt.UTC).replace(microsecond=0)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _number(word: str) -> int:
    if not (word.isascii() and word.isdecimal()):
        raise ArgumentTypeError("must be a whole number")
    return int(word)


def _usd(word: str) -> float:
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,6})?", word):
        raise ArgumentTypeError("must be USD, such as 12.50; six digits behind the point at most")
    return float(word)


def _names(word: str) -> tuple[str, ...]:
    return tuple(name for one in word.split(",") if (name := one.strip()))


def _rule(word: str) -> tuple[str, str]:
    kind, sign, rule = word.partition("=")
    if not (kind and sign and rule):
        raise ArgumentTypeError("must be KIND=deny or KIND=assume:<label>; a KIND of default is for all others")
    return kind, rule
