"""Tool results before anybody counts them: checked against their schema, relieved of what is not to be seen, cleaned.

Knows: which tools a policy names, and the order: schema, then redaction, then cleaning. Cutting comes later.
Does not know: tokens, modes (what is done here is done in each of them), or what a result is for.

A result that cannot be checked or redacted as the policy wants is not sent at all; what is said instead names the
operator's own schema, and nothing of the result.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Struct

from elbowroom.clean.known import Known
from elbowroom.clean.result import bare_result, clean_result
from elbowroom.decide.redact import without_paths
from elbowroom.decide.shapes import NOTICE
from elbowroom.errors import InvalidRequest
from elbowroom.read.message import encode, with_text
from elbowroom.read.policy import Policy, Tool
from elbowroom.read.rawjson import decode, unambiguous, whole
from elbowroom.read.resultschema import fault_of
from elbowroom.records import Message, Redaction, Request, Spans

ROLES = ("tool", "function")


class Checked(Struct, frozen=True):
    """One result as it may be shown, and what was done to it."""

    text: str
    size: int  # bytes of the text as it came
    cleaned: int = 0  # hidden characters removed and control strings broken
    redacted: int = 0  # values dropped, or replaced
    withheld: str | None = None  # why nothing of it is shown
    spans: Spans = ()  # of the characters that were removed
    broken_spans: Spans = ()  # of the control strings that were broken
    redactions: tuple[Redaction, ...] = ()  # those that were replaced

    @property
    def changed(self) -> bool:
        return bool(self.cleaned or self.redacted or self.withheld)


def check_results(
    request: Request, names: Mapping[int, str], policy: Policy, known: Known, *, besides: Collection[int] = ()
) -> dict[int, Checked]:
    """What each tool message may say, by its index, for those about which the policy says something.

    A tool that the policy names is always looked at, the others where documents are tagged or the policy says so.
    `names` are the tools' names by message; `besides` are indexes of messages that documents were taken out of: some
    say nothing else.
    """
    every = request.tagged or policy.tool_results.clean_untagged
    checked = {}
    for index, message in enumerate(request.messages):
        if message.role not in ROLES or (index in besides and not message.text):
            continue
        tool = policy.tools.get(names.get(index, ""))
        if tool is not None or every:
            checked[index] = _checked(message, tool, known)
    return checked


def with_result(message: Message, checked: Checked | None) -> Message:
    """The message with what may be shown of its result; the same where nothing was done."""
    if checked is None or not checked.changed:
        return message
    return with_text(message, checked.text, alone=checked.withheld is not None)


def _checked(message: Message, tool: Tool | None, known: Known) -> Checked:
    text, redacted = message.text, 0
    size = len(text.encode("utf-8", "surrogatepass"))
    if tool is not None and tool.looks_inside and not _is_text(message):
        return withheld(size, "a part of it is no text, and cannot be looked at as it has to be")
    if tool is not None and tool.response_schema is not None:
        fault = _fault(bare_result(text, known), tool)  # as it will read: hidden characters would hide a name
        if fault is not None:
            return withheld(size, f"its form is not the one that is expected of it ({fault})")
    if tool is not None and tool.redact:
        kept = without_paths(text, tool.redact)
        if kept is None:
            return withheld(size, "parts of it are not to be shown, and it is no JSON in which they could be found")
        text, redacted = kept
    safe = clean_result(text, known)
    removed = safe.removed or _live_between(message, known)  # the line end that joins them in `text` breaks them
    return Checked(safe.text, size, removed, redacted, None, safe.spans, safe.broken_spans)


def _live_between(message: Message, known: Known) -> int:
    """How many control strings its parts make where a template puts one right behind the other, as many do."""
    content = message.value.get("content")
    texts = [part["text"] for part in content if isinstance(part.get("text"), str)] if isinstance(content, list) else []
    return known.text("".join(texts)).neutralised if len(texts) > 1 else 0


def _is_text(message: Message) -> bool:
    content = message.value.get("content")
    return not isinstance(content, list) or all(isinstance(part.get("text"), str) for part in content)


def _fault(text: str, tool: Tool) -> str | None:
    try:
        value = decode(whole(text).encode())
    except InvalidRequest:
        return "it is no JSON"
    fault = fault_of(value, tool.response_schema or {})
    if fault is not None:
        return f"schema {fault}"
    return None if unambiguous(text) else "a member is given twice"


def withheld(size: int, why: str) -> Checked:
    """The notice in place of a result."""
    return Checked(encode({NOTICE: f"this result was left out: {why}"}).decode(), size, withheld=why)
