"""`elbowroom count`: what requests will be billed for, and how far that is from what they were billed for.

Knows: the lines of a file, whose model each is, and how counts and errors are printed.
Does not know: any counting rule. A model that is configured is counted as it is served; any other by what its
provider's and its own name say. Nothing is written, and nobody is asked over the network.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, structs

from elbowroom import count
from elbowroom.count.bounded import VOCABULARY as BYTES
from elbowroom.count.counter import Counter, Tally
from elbowroom.count.openai.images import Size
from elbowroom.count.openai_chat import OpenAIChat
from elbowroom.count.openai_responses import OpenAIResponses
from elbowroom.errors import CountUnavailable, ElbowroomError, ModelNotFound
from elbowroom.read.catalog import Catalog, LitellmParams, ModelInfo, ModelRow
from elbowroom.records import Basis, Count, Model
from elbowroom_proxy import encoders, settings
from elbowroom_proxy.answering import drive_here
from elbowroom_proxy.cli.render import printable
from elbowroom_proxy.settings import Settings
from elbowroom_proxy.tokens import Tokens
from elbowroom_proxy.vocabularies import Vocabularies

COLUMNS = "{:<32} {:>9} {:<10} {:>6} {:>9} {:>7}"
TABLE = "{:<44} {:<28} {:>5} {:>6} {:>7} {:>12} {:>11}"
Side = Annotated[int, Meta(ge=1)]  # pixels
SOME_WINDOW = 1 << 20  # tokens; a count does not depend on the window


def arguments(parser: ArgumentParser) -> None:
    """Adds the options."""
    parser.add_argument("file", metavar="FILE.jsonl", help="chat requests, one a line; -: standard input")
    parser.add_argument("--model", metavar="M", help="counts every request as this model's")
    parser.add_argument("--config", type=Path, metavar="FILE", help="elbowroom.yaml, for models of your own")
    parser.add_argument("--json", action="store_true", help='{"id", "tokens", "basis", "margin"} a line')


class Counted(Struct, frozen=True):
    """One line of the file, counted or not."""

    id: Any  # as the row has it
    group: tuple[str, str]  # provider and kind
    count: Count | None
    error: str | None = None
    billed: int | None = None

    @property
    def difference(self) -> int | None:
        """Counted minus billed, in tokens; None where either is missing."""
        return None if self.count is None or self.billed is None else self.count.tokens - self.billed

    @property
    def inside(self) -> bool:
        """Within the margin either way; a bound may lie as far above as it likes."""
        above, found = self.difference, self.count
        if above is None or found is None:
            return False
        return -found.margin <= above and (above <= found.margin or found.basis is Basis.BOUNDED)

    def json(self) -> str:
        """One line for programs."""
        value: dict[str, Any] = {"id": self.id, "tokens": None}
        if self.count is None:
            value["error"] = self.error
        else:
            value.update(tokens=self.count.tokens, basis=self.count.basis.value, margin=self.count.margin)
        return json.dumps(value)

    def line(self) -> str:
        """One line for people."""
        name = "-" if self.id is None else printable(str(self.id))
        if self.count is None:
            return f"{name:<32} {'-':>9} {printable(self.error or '')}"
        billed = "" if self.billed is None else self.billed
        error = "" if self.difference is None else f"{self.difference:+d}"
        return COLUMNS.format(
            name, self.count.tokens, self.count.basis.value, self.count.margin, billed, error
        ).rstrip()


def run(args: Namespace) -> int:
    """0: every line was a request, counted or not. 1: a line was none. 2: there is nothing to read."""
    counts = Counts(settings.load(args.config), args.model)
    try:
        lines = (sys.stdin.buffer.read() if args.file == "-" else Path(args.file).read_bytes()).split(b"\n")
    except OSError as error:
        print(f"{args.file}: {error.strerror}", file=sys.stderr)
        return 2
    done, status = [], 0
    if not args.json:
        print(COLUMNS.format("id", "tokens", "basis", "margin", "billed", "error"))
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            counted = counts.line(line)
        except ValueError as error:
            print(f"{args.file}:{number}: {error}", file=sys.stderr)
            counted, status = Counted(None, ("-", "-"), None, f"line {number}: {error}"), 1
        print(counted.json() if args.json else counted.line())
        done.append(counted)
    if not args.json and any(one.billed is not None for one in done):
        print("", *table(done), sep="\n")
    return status


class Counts:
    """Counts rows by the counters that serve requests."""

    def __init__(self, configured: Settings, model: str | None = None) -> None:
        self._configured = configured
        self._model = model
        self._tokens = Tokens(Vocabularies(files=configured.tokenizers), secret=b"")
        self._counters: dict[tuple[str, str, bool], Counter] = {}

    def line(self, line: bytes) -> Counted:
        """One row. Raises `ValueError` for a line that is no request."""
        try:
            row = json.loads(line)
        except ValueError as error:
            raise ValueError(f"not JSON: {error}") from error
        except RecursionError:
            raise ValueError("not JSON that can be read: nested too deeply") from None
        if not isinstance(row, dict):
            raise ValueError("not a JSON object")
        ident, group, billed = row.get("id"), _group(row), row.get("expected_prompt_tokens")
        billed = billed if isinstance(billed, int) else None
        try:
            return Counted(ident, group, self.count(row), None, billed)
        except ElbowroomError as error:
            return Counted(ident, group, None, error.message, billed)

    def count(self, row: Mapping[str, Any]) -> Count:
        """The count of a decoded row. Raises what a request of that body would be refused for."""
        name = self._model or row.get("model")
        if not isinstance(name, str) or not name:
            raise CountUnavailable("the row names no model, and --model none either", param="model")
        responses = is_responses(row)
        if row.get("messages") is None and not responses:
            raise CountUnavailable("the row has no messages", param="messages")
        counter = self._counter(str(row.get("provider") or "openai"), name, responses=responses)
        if isinstance(counter, OpenAIChat | OpenAIResponses):
            plan = counter.plan(row, _sizes(row.get("image_dims")))
        else:
            plan = counter.plan(row)
        tally = Tally(counter.vocabulary)
        drive_here(tally.measure(plan.texts), self._tokens.count_now)
        return tally.count(plan)

    def _counter(self, provider: str, name: str, *, responses: bool) -> Counter:
        key = (provider, name, responses)
        if key not in self._counters:
            model = self._find(provider, name)
            if responses and model.counter == "openai_chat":
                model = structs.replace(model, counter="openai_responses")
            self._counters[key] = count.build(model)
        return self._counters[key]

    def _find(self, provider: str, name: str) -> Model:
        """The configured model of that name; else one that is not configured, as its row in the catalog would be."""
        with suppress(ModelNotFound):
            return self._configured.catalog.find(name)
        info = ModelInfo(context_window=SOME_WINDOW, max_output_tokens=SOME_WINDOW)
        row = ModelRow(model_name=name, litellm_params=LitellmParams(model=f"{provider}/{name}"), model_info=info)
        model = Catalog.of([row]).find(name)
        if encoders.missing(model.vocabulary):
            return structs.replace(model, counter="bounded", vocabulary=BYTES)
        return model


def _sizes(told: Any) -> list[Size]:
    """The pictures' sizes, in pixels. Raises `CountUnavailable` for what are none."""
    try:
        return msgspec.convert(told or [], list[tuple[Side, Side]])
    except msgspec.ValidationError as error:
        raise CountUnavailable(f"image_dims are pairs of pixels, each 1 or more: {error}", param="image_dims") from None


def is_responses(row: Mapping[str, Any]) -> bool:
    """Whether the row is a request of OpenAI's Responses form."""
    return row.get("endpoint") == "responses" or "input" in row


def _group(row: Mapping[str, Any]) -> tuple[str, str]:
    """(provider, kind) in the table; bills in another form, or that are doubted, are compared apart."""
    provider, kind = str(row.get("provider") or "openai"), str(row.get("kind") or "-")
    return f"{provider} responses" if is_responses(row) else provider, f"{kind} suspect" if row.get("suspect") else kind


def table(done: Iterable[Counted]) -> Iterator[str]:
    """How far the counts are from the bills, a line for each provider and kind, and one for all."""
    groups: dict[tuple[str, str], list[Counted]] = {}
    for one in done:
        if one.billed is not None:
            groups.setdefault(one.group, []).append(one)
    yield TABLE.format("provider", "kind", "n", "exact", "inside", "worst under", "worst over")
    for group in sorted(groups):
        yield _row(*group, groups[group])
    yield _row("all", "", [one for group in groups.values() for one in group])


def _row(provider: str, kind: str, rows: list[Counted]) -> str:
    """`n` are all that were billed; what could not be counted is in `n` only. Worst over leaves bounds out."""
    errors = [one.difference for one in rows if one.difference is not None]
    modelled = [
        one.difference
        for one in rows
        if one.difference is not None and one.count is not None and one.count.basis is not Basis.BOUNDED
    ]
    inside = sum(one.inside for one in rows)
    worst = min([0, *errors]), max([0, *modelled])
    return TABLE.format(printable(provider), printable(kind), len(rows), errors.count(0), inside, *worst)
