"""What happens on the demo day, and when: a seed becomes a list of steps.

Knows: the files in `day/`, at which hours how much is asked, who asks what, and how a question, its pages and a tool's
result become a chat body.
Does not know: how a step is carried out (`walk`), or what comes of it. The same seed and date give the same steps.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct

from elbowroom_proxy.cli.day.upstream import Script

FOLDER = Path(__file__).parents[2] / "day"
MODEL = "demo-small"
# Of what is asked in a day, in thousandths, by the hour.
HOURS = (5, 5, 0, 0, 5, 10, 20, 45, 80, 100, 95, 75, 55, 75, 95, 100, 80, 55, 40, 25, 15, 10, 7, 3)
# (key, company, topic, share of the traffic in percent): who asks what on an ordinary day.
ASKING = (
    ("portal", "acme", "acme", 28),
    ("chat", "acme", "acme", 14),
    ("claims-desk", "acme", "claims", 12),
    ("trial", "acme", "acme", 10),
    ("wechat", "globex", "globex", 22),
    ("intranet", "globex", "globex", 14),
)
SYSTEM = {
    "acme": "You answer for acme, which lends cargo bikes. Answer from the evidence and name it.",
    "claims": "You help the claims desk of acme. Answer from the evidence and name it.",
    "globex": "你是globex共享办公的客服助手。请只根据所给资料回答，并注明出处。",
}
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in ("booking", "refund")
]


class Ask(Struct, frozen=True):
    """One request."""

    at: float  # seconds since 1970
    key: str  # whose
    body: bytes
    headers: Mapping[str, str] = {}
    leaves: bool = False  # its client goes before the answer has ended
    incident: str | None = None  # one that is to be found


class Turn(Struct, frozen=True):
    """The kill switch is turned."""

    at: float
    on: bool
    reason: str


class Day(Struct, frozen=True):
    """All of it, in order, and what the model's server has to say at its cues."""

    steps: tuple[Ask | Turn, ...]
    scripts: tuple[Script, ...]


def day(date: dt.date, seed: int, requests: int) -> Day:
    """About so many ordinary requests, UTC, and all events."""
    pages, questions, events = (_read(name) for name in ("pages", "questions", "events"))
    drawn = _Draw(seed)
    midnight = dt.datetime.combine(date, dt.time(), dt.UTC).timestamp()
    book = _Book(pages, date)
    usual = list(_ordinary(questions, book, midnight, requests, drawn))
    planned = [_event(one, book, midnight) for one in events]
    steps = sorted([*usual, *planned], key=lambda step: step.at)
    scripts = [
        Script(
            ask=one["ask"],
            says=one.get("says", ""),
            calls=tuple(one.get("calls", ())),
            status=one.get("status", 200),
            holds=one.get("holds", False),
            breaks=one.get("breaks", False),
        )
        for one in events
        if not one.keys().isdisjoint(("says", "status", "holds", "breaks"))
    ]
    return Day(tuple(steps), tuple(scripts))


def _read(name: str) -> Any:
    return yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))


class _Draw:
    """Numbers that look random: each depends on the seed and on what it is for, and on no other."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def __call__(self, *what: object) -> float:
        """From 0 to 1, 1 not included."""
        words = json.dumps([self._seed, *what]).encode()
        return int.from_bytes(hashlib.blake2b(words, digest_size=6).digest()) / (1 << 48)

    def one_of(self, some: Sequence[Any], *what: object) -> Any:
        return some[int(self(*what) * len(some))]


class _Book:
    """The pages as documents."""

    def __init__(self, pages: Mapping[str, Mapping[str, Any]], date: dt.date) -> None:
        self._pages = pages
        self._date = date

    def text(self, company: str, ident: str) -> str:
        return str(self._pages[company][ident]["text"]).strip()

    def documents(self, company: str, scores: Mapping[str, float]) -> list[dict[str, Any]]:
        return [self._document(company, ident, score) for ident, score in scores.items()]

    def _document(self, company: str, ident: str, score: float) -> dict[str, Any]:
        page = self._pages[company][ident]
        kept = {name: value for name, value in page.items() if name not in {"age", "label", "text"}}
        return {
            "id": ident,
            **kept,
            "text": self.text(company, ident),
            "url": f"https://{company}.example/{page['source_id']}/{ident}",
            "fetched_at": (self._date - dt.timedelta(days=page["age"])).isoformat(),
            "score": score,
            "access": {
                "tenant": company,
                "label": page.get("label", "internal"),
                "visibility": "tenant",
                "deny_groups": [],
                "expires_at": None,
            },
        }


def _ordinary(
    questions: Mapping[str, Sequence[Mapping[str, Any]]], book: _Book, midnight: float, requests: int, drawn: _Draw
) -> Iterator[Ask]:
    asking = [one for one in ASKING for _ in range(one[3])]
    for hour, share in enumerate(HOURS):
        for n in range(round(requests * share / sum(HOURS))):
            key, company, topic, _ = drawn.one_of(asking, hour, n, "key")
            asked = questions[topic]
            question = drawn.one_of(asked, hour, n, "question")
            scores = {
                ident: round(score - 0.06 * drawn(hour, n, ident), 3) for ident, score in question["pages"].items()
            }
            before: list[dict[str, Any]] = []
            if drawn(hour, n, "talk") < 0.3:
                for turn in range(1 + int(drawn(hour, n, "turns") * 4)):
                    earlier = drawn.one_of(asked, hour, n, "earlier", turn)
                    before += [
                        {"role": "user", "content": earlier["ask"]},
                        {"role": "assistant", "content": book.text(company, next(iter(earlier["pages"])))},
                    ]
            body: dict[str, Any] = {
                "model": MODEL,
                "messages": [*_begun(topic), *before, {"role": "user", "content": question["ask"]}],
                "documents": book.documents(company, scores),
                "context": {"conversation_id": f"{key}-{int(drawn(hour, n, 'conversation') * 10_000):04}"},
            }
            if drawn(hour, n, "stream") < 0.5:
                body["stream"] = True
            if key == "chat" and drawn(hour, n, "tool") < 0.5:
                hire = 50_000 + int(drawn(hour, n, "hire") * 9_999)
                body["messages"] += _called("booking", json.dumps({"hire": hire}), _bookings(hire))
                body["tools"] = TOOLS
            yield Ask(midnight + 3600 * (hour + drawn(hour, n, "minute")), key, _bytes(body))


def _event(one: Mapping[str, Any], book: _Book, midnight: float) -> Ask | Turn:
    time = dt.time.fromisoformat(one["at"])
    at = midnight + time.hour * 3600 + time.minute * 60 + time.second
    if "kill" in one:
        return Turn(at, one["kill"], one["reason"])
    headers = {"x-client-request-id": one["client_request_id"]} if "client_request_id" in one else {}
    if "body" in one:
        return Ask(at, one["by"], one["body"].encode(), headers)
    company = next((company for key, company, _, _ in ASKING if key == one["by"]), "globex")
    other = "acme" if company == "globex" else "globex"
    messages = [*_begun(company), {"role": "user", "content": one["ask"]}]
    body: dict[str, Any] = {"model": one.get("model", MODEL), "messages": messages}
    body["documents"] = book.documents(company, one["pages"]) + book.documents(other, one.get("foreign", {}))
    if "conversation" in one:
        body["context"] = {"conversation_id": one["conversation"]}
    if "tool" in one:
        tool = one["tool"]
        messages += _called(tool["name"], tool["arguments"], json.dumps(tool["result"]))
        body["tools"] = TOOLS
    leaves = one.get("holds", False)
    if leaves or one.get("breaks"):
        body["stream"] = True
    return Ask(at, one["by"], _bytes(body), headers, leaves, one.get("incident"))


def _begun(topic: str) -> list[dict[str, Any]]:
    return [{"role": "system", "content": SYSTEM[topic]}]


def _called(name: str, arguments: str, result: str) -> list[dict[str, Any]]:
    """A call and its result."""
    call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": result},
    ]


def _bookings(hire: int) -> str:
    """What the booking system says of a hire: where the bike was, every few minutes; often too many rows."""
    rows = [
        {"hire": hire, "minute": 5 * n, "km": round(n * 0.8, 1), "battery": max(9, 100 - n // 3)}
        for n in range(40 + hire % 260)
    ]
    return json.dumps(rows)


def _bytes(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode()
