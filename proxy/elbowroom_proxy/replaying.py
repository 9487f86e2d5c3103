"""A recorded decision taken again: as it was, and under another policy, passage by passage.

Knows: which of a record's fields a decision must bring out again, and that its recorded answers are all that it asked.
Does not know: where records and requests are kept, or how a difference is shown.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs

from elbowroom.account.changes import Change, changes
from elbowroom.account.row import milliseconds
from elbowroom.account.trace import Facts, record
from elbowroom.clean.known import Known
from elbowroom.decision import Setting, decide
from elbowroom.needs import Answer, Need, NeedCounts, NeedRedaction
from elbowroom.read.policy import Policy
from elbowroom.read.request import read_request
from elbowroom.records import Fate, Learned, Mode, Packed, Principal, Refused
from elbowroom_proxy.answering import drive_here
from elbowroom_proxy.asked import accepted_by, accepting
from elbowroom_proxy.principal import OPEN
from elbowroom_proxy.settings import RERANKERS, Keys, Settings
from elbowroom_proxy.tracing import ContentKeys, kept_keys
from elbowroom_proxy.vocabularies import live

KNOWN_BYTES = 32 << 20  # of document texts whose analysis is kept
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


class Asked(Struct, frozen=True):
    """A request as the client sent it."""

    body: bytes
    headers: dict[str, str] = {}  # those that speak to the proxy: `x-elbowroom-class`, ...
    partial: bool = False  # it is what redaction, or a right that lacked, left of the request

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Asked:
        """`body` as an object, or as the text that it was; `redacted` and `hidden` as captured texts have them."""
        body, headers = row["body"], row.get("headers") or {}
        text = body if isinstance(body, str) else json.dumps(body)
        said = {str(name).lower(): str(value) for name, value in headers.items()}
        return cls(text.encode(), said, partial=bool(row.get("redacted") or row.get("hidden")))


class Again:
    """Recorded decisions taken again."""

    def __init__(
        self,
        configured: Settings,
        keys: Keys,
        policies: Sequence[Policy],
        answer: Callable[[Need], Answer],
        *,
        content: Callable[[Mapping[str, Any]], ContentKeys | None] | None = None,
        kept: Callable[[str], Policy | None] = lambda _: None,
    ) -> None:
        """`keys` are those that the records were made with; `content` has those of a record's hashes, without it they
        lie in the configured folder. A record under one of `policies`, or under one that is `kept` by its digest, is
        repeated; what a recording does not say is asked of `answer`.
        """
        self._keys = keys
        self._content = content or self._configured_keys
        self._kept = kept
        self._configured = configured
        self._policies = {policy.digest: policy for policy in policies}
        self._answer = answer
        self._known = Known(KNOWN_BYTES, live(configured.tokenizers.values()))

    def told(self, story: Mapping[str, Any], asked: Asked, other: Policy | None = None) -> Told:
        """The recorded decision, repeated where its policy is at hand, and what the other policy changes.

        Raises `ElbowroomError` for a body that is no request, or a model that is not configured.
        """
        recorded, tokens = msgspec.convert(story["documents"], list[Fate]), story.get("evidence_tokens", 0)
        digest = str((story.get("policy") or {}).get("digest"))
        own = self._policies.get(digest) or self._kept(digest)
        exact, note = None, "" if own else "the policy of this trace is not at hand"
        if own is not None:
            again = self.recorded(story, asked, own)
            differing = self._differing(story, again)
            exact = not differing or (None if asked.partial else False)  # what was left need not be decided about alike
            note = f"not as recorded: {', '.join(differing)}" if differing else ""
            if differing and asked.partial:
                note = f"only what redaction or rights left of the request is kept; {note}"
        if other is None:
            return Told(story["trace_id"], [], len(recorded), (tokens, tokens), exact, note)
        outcome = self._decided(story, asked, other, [], endpoint=False)
        told = compared(story["trace_id"], None, outcome, recorded, tokens)
        return structs.replace(told, exact=exact, note="; ".join(filter(None, (note, told.note))))

    def recorded(self, story: Mapping[str, Any], asked: Asked, policy: Policy) -> Packed | Refused | None:
        """The decision on the recorded answers; None where they do not fit its questions.

        In the mode that was carried out, which may be the key's, its cohort's, or the kill switch's. A trace does not
        say whether the model's endpoint could be asked, so both are tried.
        """
        outcome = None
        if story.get("mode") is not None:
            policy = structs.replace(policy, mode=Mode(story["mode"]))
        for endpoint in (False, True):
            answers = [tuple(answer) for answer in story["answers"]]
            try:
                outcome = self._decided(story, asked, policy, answers, endpoint=endpoint)
            except _Unfit:
                continue
            if not self._differing(story, outcome):
                break
        return outcome

    def _hash_key(self, story: Mapping[str, Any]) -> bytes | None:
        """What the record's hashes were made with; None: it was destroyed, or lies elsewhere."""
        if story.get("hash_key_id") is None:
            return self._keys.hash
        found = self._content(story)
        return found.hash if found is not None else None

    def _configured_keys(self, story: Mapping[str, Any]) -> ContentKeys | None:
        return kept_keys(Path(self._configured.general.traces), str(story["hash_key_id"]), self._keys.hash)

    def _differing(self, story: Mapping[str, Any], outcome: Packed | Refused | None) -> list[str]:
        """The fields of the record that came out otherwise. Hashes that nobody can make again say nothing."""
        if outcome is None:
            return ["the questions asked"]
        again = record(outcome.decision, Facts(trace_id="", time=""))
        plain = msgspec.json.decode(msgspec.json.encode(again))
        unsaid = () if self._hash_key(story) is not None else ("digest", "digest_sent")
        if not any(one.get("digest_sent") for one in story["documents"]):
            unsaid = (*unsaid, "digest_sent")  # an old record
        for one in (plain, story := dict(story)):
            one["documents"] = [{n: v for n, v in fate.items() if n not in unsaid} for fate in one["documents"]]
        return [name for name in DECIDED if plain.get(name) != story.get(name)]

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
            hash_key=self._hash_key(story) or self._keys.hash,
            known=self._known,
            endpoint=endpoint,
            learned=learned,
            now=_moment(story),
            label_keys=self._configured.identities.label_keys,
            limited=bool(story.get("limited")),
            **who_accepts(self._configured, policy),
        )
        request = read_request(
            asked.body, asked.headers, max_documents=policy.max_documents, documents=policy.documents
        )
        return drive_here(decide(request, setting), Recording(answers) if answers else self._answer)


def who_accepts(configured: Settings, policy: Policy) -> dict[str, Any]:
    """What a `Setting` knows of others that may be shown documents, each with its labels."""
    models, policies = configured.catalog.by_name, (configured.policy, *configured.policies.values(), policy)
    return {
        "rerankers": accepting(configured.reranker, policies, RERANKERS),
        "compressor": accepted_by(models, policy.evidence.compress.model),
        "summariser": accepted_by(models, policy.history.summary.model),
    }


def _moment(story: Mapping[str, Any]) -> float | None:
    """Seconds since 1970. Where the time made no difference to the decision, it may to one under another policy, and is
    the record's own.
    """
    said: float | None = story.get("now")
    return said if said is not None else milliseconds(str(story.get("time"))) / 1000 or None


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


def compared(
    ident: str,
    before: Packed | Refused | None,
    after: Packed | Refused,
    recorded: Sequence[Fate] = (),
    tokens: int = 0,
) -> Told:
    """What became otherwise. Without a decision before, `recorded` are its fates and `tokens` its evidence's."""
    old = before.decision if before is not None else None
    new = after.decision
    was = old.documents if old is not None else recorded
    now = new.documents if new is not None else ()
    found = changes(was, now)
    note = f"refused: {after.message}" if isinstance(after, Refused) else ""
    spent = (old.evidence_tokens if old is not None else tokens, new.evidence_tokens if new is not None else 0)
    return Told(ident, found, len(now) - len(found), spent, None, note)
