"""What a record says of a request's texts, and which of them are kept beside it.

Knows: the operator's words about it (`traces`), that every hash is made with a key that has an id, and that a document
which may not be seen is not kept, whatever is.
Does not know: how anything is kept (`sinks`), or when a request has ended (`story`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from elbowroom.account.requested import Instruction, ResultSince, Tools, instructions, results_since, tools
from elbowroom.account.trace import Captured
from elbowroom.read.policy import Policy
from elbowroom.records import Decision, Drop, Principal, Request
from elbowroom_proxy.ports import Capture, Texts
from elbowroom_proxy.tracing import ContentKeys, Traces

_SPEAKS = "x-elbowroom-"  # headers that say to the proxy what the body could have said


class Told(Struct, frozen=True, kw_only=True):
    """The facts of a record that come from the request's texts."""

    hash_key_id: str | None = None
    instructions: tuple[Instruction, ...] = ()
    tools: Tools = Tools()
    results_since: tuple[ResultSince, ...] = ()
    captured: Captured | None = None


class Seen(Struct, frozen=True, kw_only=True):
    """What there is of one request when it has ended."""

    trace_id: str
    day: dt.date
    principal: Principal | None = None
    request: Request | None = None
    decision: Decision | None = None
    policy: Policy | None = None
    permitted: bool = False  # which documents may be seen was decided
    headers: Mapping[str, str] = {}
    calls: Sequence[str] = ()  # names that the answer calls
    answer: str = ""


class Keeper(Struct, frozen=True):
    """One process's."""

    traces: Traces
    keys: ContentKeys
    policies: dict[str, bytes] = msgspec.field(default_factory=dict)  # by digest: their files, as they are kept

    def captures(self, principal: Principal | None, day: dt.date) -> bool:
        """Whether the texts of such a request are kept at all, the answer's among them."""
        return self.traces.captures(principal.tenant if principal is not None else None, day) != "hash"

    def of(self, seen: Seen) -> tuple[Told, Texts]:
        """The facts, and what is to be kept."""
        request, policy = seen.request, seen.policy
        files = (policy.digest, self._files(policy)) if policy is not None and policy.digest else None
        if request is None:
            return self.nothing, Texts(policy=files)
        capture, said = self._capture(seen), instructions(request, self.keys.hash)
        stored = said if self.traces.instructions == "stored" else ()
        told = Told(
            hash_key_id=self.keys.id,
            instructions=tuple(one for one, _ in said),
            tools=tools(request, seen.decision),
            results_since=results_since(request, seen.calls, self.keys.hash),
            captured=Captured("redacted" if capture.redacted else "full", capture.until) if capture else None,
        )
        texts = Texts(policy=files, instructions=tuple((one.digest, text) for one, text in stored), capture=capture)
        return told, texts

    @property
    def nothing(self) -> Told:
        """The facts where no text is known, or not yet."""
        return Told(hash_key_id=self.keys.id)

    @property
    def promises(self) -> bool:
        """Whether a request may leave only after it was said that it will."""
        return self.traces.on_trace_failure == "reject"

    def _files(self, policy: Policy) -> bytes:
        known = self.policies.get(policy.digest)
        if known is None:
            known = self.policies[policy.digest] = msgspec.json.encode(policy.files)
        return known

    def _capture(self, seen: Seen) -> Capture | None:
        request, decision, principal = seen.request, seen.decision, seen.principal
        if request is None or decision is None or not seen.permitted:
            return None
        kept = self.traces.captures(principal.tenant if principal is not None else None, seen.day)
        if kept == "hash":
            return None
        denied = [one for one in decision.documents if one.reason is Drop.NOT_PERMITTED]
        return Capture(
            trace_id=seen.trace_id,
            redacted=kept == "redacted",
            until=self.traces.until(kept, seen.day).isoformat(),
            body=request.body,
            headers={name: value for name, value in seen.headers.items() if name.startswith(_SPEAKS)},
            answer=seen.answer,
            hidden=frozenset(one.position for one in denied if one.message is None),
            hidden_in=frozenset(one.message for one in denied if one.message is not None),
        )
