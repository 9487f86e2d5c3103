"""`elbowroom replay`: decisions taken again, and what another policy would have made of them, passage by passage.

Knows: where the first decision comes from (a trace and its request, or a case under the policy in force), and how a
changed fate is told.
Does not know: what makes a decision (the engine), or any request that it is not given: traces hold no text.

A trace is replayed on the answers that it recorded, so nothing is counted anew; under the policy that it names this
gives the same bytes. What the other policy asks beyond that is counted.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs

from elbowroom.account.changes import Change, changes
from elbowroom.account.trace import Facts, record
from elbowroom.clean.known import Known
from elbowroom.decision import Setting, decide
from elbowroom.errors import ElbowroomError
from elbowroom.needs import Answer, Need, NeedCounts, NeedRedaction
from elbowroom.read.policy import Policy
from elbowroom.read.request import read_request
from elbowroom.records import Fate, Learned, Packed, Principal, Refused
from elbowroom_proxy import settings
from elbowroom_proxy.answering import drive_here
from elbowroom_proxy.cli import lines, runs
from elbowroom_proxy.cli.offline import answering
from elbowroom_proxy.cli.pack import KNOWN_BYTES, OFFLINE_SECRET
from elbowroom_proxy.cli.render import line, pad, printable
from elbowroom_proxy.cli.trials import Bench
from elbowroom_proxy.principal import OPEN
from elbowroom_proxy.settings import STATE, Settings
from elbowroom_proxy.sinks import read
from elbowroom_proxy.tokens import Tokens
from elbowroom_proxy.vocabularies import Vocabularies

IDS = ("trace_id", "request_id", "client_request_id")
DECIDED = (
    "mode", "model", "policy", "query_class", "classified", "window", "evidence_tokens", "documents", "tool_results",
    "history_dropped", "examples_dropped", "edits",
)  # fmt: skip


class Told(Struct, frozen=True):
    """One request, decided twice."""

    id: str
    changes: list[Change]
    same: int  # documents whose fate did not change
    tokens: tuple[int, int]  # of evidence, before and after
    exact: bool | None = None  # the recorded decision came out again; None: that was not tried
    note: str = ""


def arguments(parser: ArgumentParser) -> None:
    """Adds the options."""
    runs.inputs(parser, required=False)
    parser.add_argument(
        "--requests",
        metavar="FILE.jsonl",
        help='{"trace_id", "body", "headers"} a line: what was asked',
    )
    parser.add_argument("--folder", type=Path, default=STATE / "traces", help="of the traces (default: %(default)s)")


def run(args: Namespace) -> int:
    """0: all replayed. 1: a line was bad, or a trace did not come out as it was recorded. 2: nothing to replay."""
    if (args.cases is None) == (args.requests is None):
        print("either --cases or --requests says what is to be replayed", file=sys.stderr)
        return 2
    told: list[Told] = []
    faults = 0
    try:
        for one in _traces(args) if args.cases is None else _cases(args):
            if isinstance(one, str):
                print(one, file=sys.stderr)
                faults += 1
            else:
                told.append(one)
                print(_json(one) if args.json else "\n".join(_lines(one)))
    except runs.Unusable as error:
        print(error, file=sys.stderr)
        return 2
    if not args.json:
        print(*_summary(told), sep="\n")
    return 1 if faults or any(one.exact is False for one in told) else 0


def _cases(args: Namespace) -> Iterator[Told | str]:
    """Each case under the first setup and under the second: two policies, or the one in force and another."""
    inputs = runs.read(args)
    yield from inputs.faults
    if args.policy and len(args.policy) == 1:
        inputs = structs.replace(inputs, policies={"in force": inputs.configured.policy, **inputs.policies})
    setups = runs.setups(inputs, args, runs.variant(args))
    if len(setups) != 2:
        raise runs.Unusable(f"two ways of packing can be compared; the options name {len(setups)}")
    bench = Bench(setups, inputs.model, inputs.configured.tokenizers)
    for case in inputs.cases:
        try:
            request = bench.read(case.varied(setups[0].variant))
        except ElbowroomError as error:
            yield f"{case.id}: {error.message}"
            continue
        before, after = (bench.pack(request, setup) for setup in setups)
        yield _told(case.id, before, after)


def _traces(args: Namespace) -> Iterator[Told | str]:
    """Each request whose trace is found: as recorded, and under another policy."""
    configured = settings.load(args.config)
    others = [settings.load_policy(file) for file in args.policy or ()]
    again = Again(configured, others)
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
        story = read.find(args.folder, ident) if ident else None
        if not isinstance(row.get("body"), dict | str) or ident is None:
            yield f"{at}: a line needs a trace_id, request_id or client_request_id, and a body"
        elif story is None:
            yield f"{at}: no trace in {args.folder} has the id {printable(ident)}"
        else:
            try:
                yield again.told(story, Asked.of(row))
            except ElbowroomError as error:
                yield f"{at}: {error.message}"


class Asked(Struct, frozen=True):
    """A request as the client sent it."""

    body: bytes
    headers: dict[str, str] = {}  # those that speak to the proxy: `x-elbowroom-class`, ...

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Asked:
        """`body` as an object, or as the text that it was."""
        body, headers = row["body"], row.get("headers") or {}
        text = body if isinstance(body, str) else json.dumps(body)
        return cls(text.encode(), {str(name).lower(): str(value) for name, value in headers.items()})


class Again:
    """Recorded decisions taken again."""

    def __init__(self, configured: Settings, others: Sequence[Policy]) -> None:
        general = configured.general
        kept = (STATE / "secret").is_file()
        self._keys = settings.keys(
            general if general.secret or kept else structs.replace(general, secret=OFFLINE_SECRET)
        )
        self._configured = configured
        self._other = others[-1] if others else None
        self._policies = {policy.digest: policy for policy in (configured.policy, *others)}
        self._count = answering(Tokens(Vocabularies(files=configured.tokenizers), secret=self._keys.counts))
        self._known = Known(KNOWN_BYTES)

    def told(self, story: Mapping[str, Any], asked: Asked) -> Told:
        """The recorded decision, repeated where its policy is at hand, and what the other policy changes.

        Raises `ElbowroomError` for a body that is no request, or a model that is not configured.
        """
        recorded, tokens = msgspec.convert(story["documents"], list[Fate]), story.get("evidence_tokens", 0)
        own = self._policies.get(str((story.get("policy") or {}).get("digest")))
        exact, note = None, "" if own else "the policy of this trace is not at hand"
        if own is not None:
            again = self.recorded(story, asked, own)
            differing = _differing(story, again)
            exact = not differing
            note = f"not as recorded: {', '.join(differing)}" if differing else ""
        if self._other is None:
            return Told(story["trace_id"], [], len(recorded), (tokens, tokens), exact, note)
        outcome = self._decided(story, asked, self._other, [], endpoint=False)
        told = _told(story["trace_id"], None, outcome, recorded, tokens)
        return structs.replace(told, exact=exact, note="; ".join(filter(None, (note, told.note))))

    def recorded(self, story: Mapping[str, Any], asked: Asked, policy: Policy) -> Packed | Refused | None:
        """The decision on the recorded answers; None where they do not fit its questions.

        A trace does not say whether the model's endpoint could be asked, so both are tried.
        """
        outcome = None
        for endpoint in (False, True):
            answers = [tuple(answer) for answer in story["answers"]]
            try:
                outcome = self._decided(story, asked, policy, answers, endpoint=endpoint)
            except _Unfit:
                continue
            if not _differing(story, outcome):
                break
        return outcome

    def _decided(
        self, story: Mapping[str, Any], asked: Asked, policy: Policy, answers: list[Answer], *, endpoint: bool
    ) -> Packed | Refused:
        model = self._configured.catalog.find(story["model"])
        learned = {story["shape"]: msgspec.convert(story["learned"], Learned)} if story.get("learned") else {}
        setting = Setting(
            principal=msgspec.convert(story["principal"], Principal) if story.get("principal") else OPEN,
            policy=policy,
            model=model,
            counter=self._configured.counters[model.name],
            nonce_key=self._keys.nonce,
            hash_key=self._keys.hash,
            known=self._known,
            endpoint=endpoint,
            learned=learned,
            now=story.get("now"),
            label_keys=self._configured.identities.label_keys,
        )
        request = read_request(
            asked.body, asked.headers, max_documents=policy.max_documents, documents=policy.documents
        )
        return drive_here(decide(request, setting), Recording(answers) if answers else self._count)


class _Unfit(Exception):
    """Another question than the recorded one."""


class Recording:
    """Answers from a trace, in order."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self._answers = iter(answers)

    def __call__(self, need: Need) -> Answer:
        answer = next(self._answers, None)
        if answer is None or not _fits(answer, need):
            raise _Unfit
        return answer


def _fits(answer: Answer, need: Need) -> bool:
    """Whether it can be what was answered to that question."""
    if isinstance(need, NeedCounts):
        return len(answer) == len(need.texts) and all(isinstance(one, int) for one in answer)
    if isinstance(need, NeedRedaction):
        places = all(one is None or isinstance(one, list | tuple) for one in answer)
        return places and len(answer) in (0, len(need.texts))
    return True


def _differing(story: Mapping[str, Any], outcome: Packed | Refused | None) -> list[str]:
    """The fields of the record that came out otherwise."""
    if outcome is None:
        return ["the questions asked"]
    again = record(outcome.decision, Facts(trace_id="", time=""))
    plain = msgspec.json.decode(msgspec.json.encode(again))
    return [name for name in DECIDED if plain.get(name) != story.get(name)]


def _told(
    ident: str,
    before: Packed | Refused | None,
    after: Packed | Refused,
    recorded: Sequence[Fate] = (),
    tokens: int = 0,
) -> Told:
    old = before.decision if before is not None else None
    new = after.decision
    was = old.documents if old is not None else recorded
    now = new.documents if new is not None else ()
    found = changes(was, now)
    note = f"refused: {after.message}" if isinstance(after, Refused) else ""
    spent = (old.evidence_tokens if old is not None else tokens, new.evidence_tokens if new is not None else 0)
    return Told(ident, found, len(now) - len(found), spent, None, note)


def _lines(told: Told) -> Iterator[str]:
    same = "" if told.exact is None else ", as recorded" if told.exact else ", NOT as recorded"
    before, after = told.tokens
    yield (
        f"{printable(told.id)}: {len(told.changes)} changed, {told.same} as before; "
        f"evidence {before:,} -> {after:,} tokens{same}"
    )
    if told.note:
        yield f"  {printable(told.note)}"
    for change in told.changes:
        name = pad(printable(change.before.id), 32)
        yield f"  {change.kind:<9}{name} {_fate(change.before)} -> {_fate(change.after)}"


def _fate(fate: Fate) -> str:
    if fate.reason is not None:
        return f"{fate.reason}" + (f" ({printable(fate.detail)})" if fate.detail else "")
    cut = f" of {fate.tokens_before}" if fate.spans else ""
    return f"{fate.label} {fate.tokens}{cut}"


def _summary(told: Sequence[Told]) -> Iterator[str]:
    kinds = ("admitted", "dropped", "reason", "cut", "moved")
    changed = [change.kind for one in told for change in one.changes]
    yield line("together", f"{len(told)} replayed, {sum(bool(one.changes) for one in told)} of them changed")
    if changed:
        yield line("passages", ", ".join(f"{kind} {changed.count(kind)}" for kind in kinds if kind in changed))
    before, after = (sum(one.tokens[at] for one in told) for at in (0, 1))
    yield line("evidence", f"{before:,} -> {after:,} tokens")
    tried = [one.exact for one in told if one.exact is not None]
    if tried:
        yield line("exact", f"{sum(tried)} of {len(tried)} came out as recorded")


def _json(told: Told) -> str:
    value = {
        "id": told.id,
        "exact": told.exact,
        "note": told.note,
        "tokens": list(told.tokens),
        "same": told.same,
        "changes": [
            {"kind": one.kind, "before": structs.asdict(one.before), "after": structs.asdict(one.after)}
            for one in told.changes
        ],
    }
    return json.dumps(value, ensure_ascii=False)
