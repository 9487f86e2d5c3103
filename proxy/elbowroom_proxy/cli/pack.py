"""`elbowroom pack`: what the proxy would send, and why, without sending it.

Knows: where requests are read from, how the engine is driven without a loop, and how its decision is printed.
Does not know: how anything is decided. Nothing is written: no trace, no secret, no count.
"""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from elbowroom.account.trace import Facts, record
from elbowroom.clean.known import Known
from elbowroom.decision import Setting, decide, recount
from elbowroom.errors import ElbowroomError
from elbowroom.read.policy import Policy
from elbowroom.read.request import read_request
from elbowroom.records import Count, Packed, Principal, Refused
from elbowroom_proxy import settings
from elbowroom_proxy.answering import drive_here, offline
from elbowroom_proxy.cli import render
from elbowroom_proxy.principal import OPEN, check_model
from elbowroom_proxy.replaying import who_accepts
from elbowroom_proxy.settings import Settings
from elbowroom_proxy.sinks.line import encode
from elbowroom_proxy.tokens import Tokens
from elbowroom_proxy.vocabularies import Vocabularies, live

# Where no secret is configured: the same request gives the same bytes on every machine, and no file is made for it.
OFFLINE_SECRET = "elbowroom pack, offline"  # noqa: S105 -- it protects nothing: nothing leaves
KNOWN_BYTES = 64 << 20


def arguments(parser: ArgumentParser) -> None:
    """Adds the options."""
    parser.add_argument("request", metavar="REQUEST", help="a chat body; .jsonl: one a line; -: standard input")
    parser.add_argument("--config", type=Path, metavar="FILE", help="elbowroom.yaml; without it the built-in one")
    parser.add_argument("--policy", type=Path, metavar="FILE", help="another policy, classes/ beside it")
    parser.add_argument("--budget", type=_tokens, metavar="TOKENS", help="evidence ceiling, over any policy")
    who = "who asks: a key's name, by its policy, mode and rights; without it everybody does"
    parser.add_argument("--as", dest="name", metavar="NAME", help=who)
    parser.add_argument("--json", action="store_true", help='{"body": ..., "decision": ...} a line')


def run(args: Namespace) -> int:
    """0: packed. 1: the one request was refused. 2: there is nothing to read."""
    configured = settings.load(args.config)
    holders = configured.directory.holders.values()
    named = {one.principal.subject: one.principal for one in holders}
    if args.name is not None and args.name not in named:
        print(f"--as {args.name}: there is no key of that name", file=sys.stderr)
        return 2
    offline = Offline(configured, args.policy, args.budget, named.get(args.name, OPEN))
    try:
        bodies = list(_bodies(args.request))
    except OSError as error:
        print(f"{args.request}: {error.strerror}", file=sys.stderr)
        return 2
    many = args.request.endswith(".jsonl")
    refused = False
    for number, body in bodies:
        outcome = offline.pack(body)
        refused = refused or outcome.story["error"] is not None
        if args.json:
            sys.stdout.buffer.write(outcome.json(number if many else None))
        else:
            print(*outcome.lines(f"{args.request}:{number}" if many else None), sep="\n")
    return 1 if refused and not many else 0


class Outcome(Struct, frozen=True):
    """What became of one request."""

    body: bytes | None  # None: refused, or no model is asked
    story: dict[str, Any]
    context_window: int | None
    reply: str | None = None  # the whole answer, where no model is asked

    def json(self, number: int | None) -> bytes:
        """One line. A body's own line feeds stand between its tokens only, so a space does as well."""
        body = b"null" if self.body is None else self.body.replace(b"\n", b" ").replace(b"\r", b" ")
        story = encode(self.story)
        error = self.story["error"]
        if self.reply is not None:
            return b'{"body":null,"reply":%b,"decision":%b}\n' % (
                json.dumps(self.reply, ensure_ascii=False).encode(),
                story,
            )
        if error is None:
            return b'{"body":%b,"decision":%b}\n' % (body, story)
        if number is not None:
            error = {**error, "line": number}
        return b'{"body":%b,"decision":%b,"error":%b}\n' % (body, story, encode(error))

    def lines(self, name: str | None) -> Iterator[str]:
        """For people."""
        if name is not None:
            yield render.line("line", name)
        if self.body is not None:
            pretty = json.dumps(json.loads(self.body), indent=2, ensure_ascii=False)
            yield from map(render.printable, pretty.split("\n"))
            yield ""
        if self.reply is not None:
            yield render.line("reply", f"{self.reply} (no model is asked)")
            yield ""
        yield render.record(self.story, context_window=self.context_window)
        if name is not None:
            yield ""


class Offline:
    """The engine and what it asks, without a service around them."""

    def __init__(
        self, configured: Settings, policy: Path | None, budget: int | None, principal: Principal = OPEN
    ) -> None:
        general = configured.general
        self._keys = settings.keys(structs.replace(general, secret=general.secret or OFFLINE_SECRET))
        self._configured = configured
        self._principal = principal
        own = configured.policy if principal.policy is None else configured.policies[principal.policy]
        chosen = own if policy is None else settings.load_policy(policy)
        chosen = structs.replace(chosen, mode=principal.mode or chosen.mode)
        self._policy = chosen if budget is None else with_ceiling(chosen, budget)
        self._answer = offline(Tokens(Vocabularies(files=configured.tokenizers), secret=self._keys.counts).count_now)
        self._known = Known(KNOWN_BYTES, live(configured.tokenizers.values()))

    def pack(self, body: bytes) -> Outcome:
        """Decides about one body. Whatever is wrong with it is in the outcome."""
        policy, catalog = self._policy, self._configured.catalog
        facts = Facts(trace_id="", time="", principal=self._principal)
        window = None
        try:
            request = read_request(body, {}, max_documents=policy.max_documents, documents=policy.documents)
            facts = structs.replace(facts, conversation_id=request.context.conversation_id, stream=request.stream)
            model = catalog.find(request.model)
            window = model.context_window
            check_model(self._principal, model, request.params)
            facts = structs.replace(facts, upstream=model.upstream, upstream_model=model.upstream_model)
            setting = Setting(
                principal=self._principal,
                label_keys=self._configured.identities.label_keys,
                policy=policy,
                model=model,
                counter=self._configured.counters[model.name],
                nonce_key=self._keys.nonce,
                hash_key=self._keys.hash,
                known=self._known,
                now=time.time(),
                **who_accepts(self._configured, policy),
            )
            outcome = drive_here(decide(request, setting), self._answer)
            if isinstance(outcome, Packed) and outcome.decision.counted is None:
                counted: Count = drive_here(recount(request, setting), self._answer)
                facts = structs.replace(facts, counted=counted)
        except ElbowroomError as error:
            outcome = Refused(error.code, error.message, error.param, error.status_hint, None)
        if isinstance(outcome, Packed):
            asked = outcome.body if outcome.reply is None else None
            return Outcome(asked, record(outcome.decision, facts), window, outcome.reply)
        told = {"code": outcome.code, "message": outcome.message, "param": outcome.param}
        facts = structs.replace(facts, status=outcome.status_hint, error=told)
        return Outcome(None, record(outcome.decision, facts), window)


def with_ceiling(policy: Policy, tokens: int) -> Policy:
    """The policy with this evidence ceiling, for every class."""
    classes = tuple(
        structs.replace(one, evidence=structs.replace(one.evidence, ceiling=tokens)) for one in policy.classes
    )
    return structs.replace(policy, evidence=structs.replace(policy.evidence, ceiling=tokens), classes=classes)


def _bodies(name: str) -> Iterator[tuple[int, bytes]]:
    """(line, body) of each request; the line is 1 where the whole file is one request."""
    whole = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    if not name.endswith(".jsonl"):
        yield 1, whole
        return
    yield from ((number, body) for number, body in enumerate(whole.split(b"\n"), start=1) if body.strip())


def _tokens(word: str) -> int:
    if not word.isdecimal():
        raise ArgumentTypeError("must be a number of tokens, 0 or more")
    return int(word)
