"""What must not leave is replaced, after access and before anything is counted, merged or cut, in every mode.

Knows: which texts of a request are searched, that chunks which follow each other may hold two parts of one secret, and
that what could not be searched is not sent.
Does not know: what is searched for (`clean.find`, which the service runs under a deadline), or what a passage is worth.

Documents are searched without their hidden characters and before their control strings are broken: neither can keep a
secret from being found. Results of tools were cleaned before, as JSON has to stay JSON; of what a control string may
hold only a password can hold one, too, and its rule knows the backslash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from msgspec import Struct, field, structs

from elbowroom.clean.known import Known
from elbowroom.clean.redact import Numbers, Place, redact
from elbowroom.clean.result import clean_result
from elbowroom.clean.sanitise import sanitise
from elbowroom.decide.merge import SEAM, overlap
from elbowroom.decide.ready import Ready
from elbowroom.decide.results import Checked, with_result, withheld
from elbowroom.errors import RedactionUnavailable
from elbowroom.needs import NeedRedaction, Steps
from elbowroom.read.message import encode, join_members
from elbowroom.read.policy import Policy, Tool
from elbowroom.read.rawjson import members
from elbowroom.records import Document, Edit, Message, Redaction

_OURS = ("system", "developer")
# All members that are shown, recorded, or compared with one that is. A URL goes back to the client alone.
_LINES = ("id", "title", "section", "source_id", "version", "kind", "lang", "parent_id", "anchor", "summary")
_LISTS = ("supersedes", "highlights")
# What somebody wrote in a message, and in a part of one.
_IN_MESSAGES, _IN_PARTS = ("content", "refusal", "reasoning_content", "reasoning"), ("text", "refusal", "thinking")
FEWEST = 4  # characters of a secret that are worth a search: with so few nobody can begin
_LATE = "it could not be searched in time for what must not leave"

Places = Mapping[str, Sequence[Place] | None]  # by text; None: it could not be searched
Change = Callable[[str, str], str]  # (where, text) -> text


class Searched(Struct, frozen=True):
    """A document in which something was found, or that could not be searched."""

    came: Document
    redactions: tuple[Redaction, ...] = ()
    failed: str = ""  # why nothing of it is sent


class Redacted(Struct, frozen=True):
    ready: Ready
    searched: Mapping[int, Searched] = {}  # by the documents' positions
    numbers: Numbers = field(default_factory=Numbers)


def redacted(made: Ready, policy: Policy, known: Known, numbers: Numbers | None = None) -> Steps[Redacted]:
    """The request with placeholders in it; asks one question, one more where a tool's results are searched for more
    than the rest, and none where nothing is to be searched.

    `numbers`: those of what was searched before in the same request.

    Raises `RedactionUnavailable` for a message that could not be searched, where the policy wants messages searched.
    """
    asked, request, numbers = policy.redact, made.request, numbers or Numbers()
    documents = request.documents if asked.packs and asked.documents else ()
    packs = {at: _packs(made.names.get(at), policy) for at, one in made.results.items() if one.withheld is None}
    messages = {
        at: one
        for at, one in enumerate(request.messages)
        if asked.packs and asked.messages and one.role not in _OURS and at not in made.results
    }
    runs = list(_runs(documents, known))
    parts = chain.from_iterable(_parts(document, known) for document in documents)
    said = chain.from_iterable(map(_said, messages.values()))
    texts: dict[tuple[str, ...], set[str]] = {}
    if documents or messages:
        texts[asked.packs] = {*parts, *(run.text for run in runs), *said}
    for at, some in packs.items():
        if some:
            texts.setdefault(some, set()).add(made.results[at].text)
    places: dict[tuple[str, ...], Places] = {}
    for some, searched in texts.items():
        order = tuple(sorted(searched - {""}, key=lambda text: (len(text), text)))  # whatever takes long comes last
        answer = yield NeedRedaction(some, order, asked.deadline_ms)
        found = dict(zip(order, answer or [None] * len(order), strict=True))
        places[some] = _places(found, runs if some == asked.packs else ())
    if not places:
        return Redacted(made, numbers=numbers)
    results = {at: places[some] for at, some in packs.items() if some}
    return _replaced(made, documents, results, messages, places.get(asked.packs, {}), known, numbers)


def _packs(tool: str | None, policy: Policy) -> tuple[str, ...]:
    """What a tool's results are searched for."""
    own = policy.tools.get(tool or "", Tool()).redact_packs
    return tuple(dict.fromkeys((*(policy.redact.packs if policy.redact.tool_results else ()), *own)))


# --- what is searched -----------------------------------------------------------------------------------------------


class _Run(Struct, frozen=True):
    """Chunks that follow each other, as the one text that they were cut from, and where each begins in it."""

    text: str
    chunks: tuple[tuple[str, int], ...]


def _changed(document: Document, known: Known, change: Change) -> Document:
    """The document with its members changed; what comes back as it was stays as it came, hidden characters included."""

    def line(where: str, value: str) -> str:
        bare = sanitise(value).text
        now = change(where, bare)
        return value if now is bare else now

    new: dict[str, Any] = {name: line(name, value) for name in _LINES if (value := getattr(document, name))}
    for name in _LISTS:
        if values := getattr(document, name):
            new[name] = tuple(line(name, value) for value in values)
    if document.text:
        bare = known.text(document.text).bare
        now = change("text", bare)
        new["text"] = document.text if now is bare else now
    label = (document.access or {}).get("label")
    if isinstance(label, str):
        new["access"] = {**(document.access or {}), "label": line("access", label)}
    return structs.replace(document, **new)


def _parts(document: Document, known: Known) -> list[str]:
    """All that is searched of it."""
    found: list[str] = []

    def note(_: str, text: str) -> str:
        found.append(text)
        return text

    _changed(document, known, note)
    return found


def _runs(documents: Sequence[Document], known: Known) -> Iterator[_Run]:
    """Chunks of one version of one text that follow each other, two or more, wherever in the request they came; of
    several forms of one, each once.
    """
    sources: dict[tuple[Any, ...], dict[int, dict[str, None]]] = {}
    for one in documents:
        if one.source_id is not None and one.chunk_index is not None and one.text and known.text(one.text).clean:
            chunks = sources.setdefault((one.source_id, one.version, one.lang), {})
            chunks.setdefault(one.chunk_index, {})[known.text(one.text).bare] = None
    for chunks in sources.values():
        run: list[list[str]] = []
        for at in sorted(chunks):
            if at - 1 not in chunks:
                yield from _joined(run)
                run = []
            run.append(list(chunks[at]))
        yield from _joined(run)


def _joined(run: Sequence[Sequence[str]]) -> Iterator[_Run]:
    if len(run) < 2:
        return
    for form in range(max(map(len, run))):
        texts = [forms[min(form, len(forms) - 1)] for forms in run]
        apart, close = (
            _one(texts, overlap),
            _one(texts, lambda before, text: overlap(before, text) or _touch(before, text)),
        )
        yield apart
        if close != apart:
            yield close  # a few characters that both have may be shared, or there twice: either may make a secret whole


def _one(texts: Sequence[str], shared: Callable[[str, str], int]) -> _Run:
    whole, chunks = "", []
    for text in texts:
        whole = whole[: len(whole) - shared(whole, text)]
        chunks.append((text, len(whole)))
        whole += text
    return _Run(whole, tuple(chunks))


def _touch(text: str, after: str) -> int:
    """Like `overlap`, of fewer characters than are surely no chance."""
    return next((n for n in range(min(SEAM, len(text), len(after)), FEWEST - 1, -1) if text.endswith(after[:n])), 0)


def _said(message: Message) -> list[str]:
    """All that is searched of it."""
    found: list[str] = []

    def note(text: str) -> str:
        found.append(sanitise(text).text)
        return text

    _reworded(message, note)
    return found


def _reworded(message: Message, change: Callable[[str], str]) -> dict[str, Any]:
    """The members of it that hold text, their texts changed."""

    def part(one: Mapping[str, Any]) -> dict[str, Any]:
        return {**one, **{name: change(text) for name in _IN_PARTS if isinstance(text := one.get(name), str)}}

    value = message.value
    new: dict[str, Any] = {name: change(text) for name in _IN_MESSAGES if isinstance(text := value.get(name), str)}
    if isinstance(value.get("content"), list):
        new["content"] = [part(one) for one in value["content"]]
    return new


# --- what is done about it ------------------------------------------------------------------------------------------


def _places(found: Mapping[str, Any], runs: Sequence[_Run]) -> Places:
    """What each text holds: alone, and as a chunk of a longer one."""
    places: dict[str, list[Place] | None] = {
        text: None if some is None else [Place(start, end, rule, text[start:end]) for start, end, rule in some]
        for text, some in found.items()
    }
    for run in runs:
        some = found[run.text]
        for text, begin in run.chunks:
            held = places[text]
            if some is None or held is None:
                places[text] = None
                continue
            for start, end, rule in some:
                first, last = max(start - begin, 0), min(end - begin, len(text))
                if first < last:
                    held.append(Place(first, last, rule, run.text[start:end]))
    return places


def _replaced(
    made: Ready,
    documents: Sequence[Document],
    results: Mapping[int, Places],
    messages: Mapping[int, Message],
    places: Places,
    known: Known,
    numbers: Numbers,
) -> Redacted:
    request = made.request
    searched: dict[int, Searched] = {}
    kept = [_document(one, places, numbers, known, searched) for one in documents] or request.documents
    checked = {at: _result(made.results[at], found, numbers, known) for at, found in results.items()}
    said = {at: _message(at, one, places, numbers) for at, one in messages.items()}
    now = [
        said[at][0]
        if at in said
        else with_result(one, checked.get(at))
        if at in checked and checked[at] is not made.results[at]
        else one
        for at, one in enumerate(request.messages)
    ]
    in_messages = tuple(one for _, told in said.values() for one in told)
    happened = {
        Edit.REDACTED: bool(in_messages)
        or any(one.redactions for one in searched.values())
        or any(one.redactions for one in checked.values()),
        Edit.TOOL_RESULT_WITHHELD: any(one.withheld for one in checked.values()),
    }
    edits = dict.fromkeys((*made.edits, *(edit for edit, happens in happened.items() if happens)))
    times = sum(one.times for one in in_messages)
    notes = (f"{times} values were redacted in messages",) if times else ()
    ready = structs.replace(
        made,
        request=structs.replace(request, documents=tuple(kept), messages=tuple(now)),
        results={**made.results, **checked},
        edits=tuple(edits),
        notes=made.notes + notes,
        redactions=made.redactions + in_messages,
    )
    return Redacted(ready, searched, numbers)


def _document(
    came: Document, places: Places, numbers: Numbers, known: Known, searched: dict[int, Searched]
) -> Document:
    """The document as it goes on; what became of it, if anything, goes into `searched`."""
    redactions: list[Redaction] = []
    late = False

    def change(where: str, text: str) -> str:
        nonlocal late
        held = places.get(text, ())
        if held is None:
            late = True
            return ""
        if not held:
            return text
        now, told = redact(text, held, numbers, where)
        redactions.extend(told)
        return now

    now = _changed(came, known, change)
    if late:
        searched[came.position] = Searched(came, (), _LATE)
        return structs.replace(
            now, id=now.id or f"d{came.position}", text=None, title=None, summary=None, highlights=()
        )
    if redactions:
        searched[came.position] = Searched(came, tuple(redactions))
    return now


def _result(checked: Checked, places: Places, numbers: Numbers, known: Known) -> Checked:
    held = places.get(checked.text, ())
    if held is None:
        return withheld(checked.size, _LATE)
    if not held:
        return checked
    text, told = redact(checked.text, held, numbers, "text")
    safe = clean_result(text, known)  # what stands around a placeholder may have become a control string
    times = sum(one.times for one in told)
    return structs.replace(
        checked,
        text=safe.text,
        cleaned=checked.cleaned + safe.removed,
        redacted=checked.redacted + times,
        redactions=told,
    )


def _message(at: int, message: Message, places: Places, numbers: Numbers) -> tuple[Message, tuple[Redaction, ...]]:
    """The message, and the values that were replaced in it."""
    redactions: list[Redaction] = []

    def change(text: str) -> str:
        bare = sanitise(text).text
        held = places.get(bare, ())
        if held is None:
            raise RedactionUnavailable(
                "A message could not be searched in time for what must not leave.", param=f"messages[{at}]"
            )
        now, told = redact(bare, held, numbers, f"messages[{at}]")
        redactions.extend(told)
        return now if told else text

    new = _reworded(message, change)
    if not redactions:
        return message, ()
    changed = {name: encode(said) for name, said in new.items() if said != message.value[name]}
    return Message(join_members({**members(message.raw), **changed}), {**message.value, **new}), tuple(redactions)
