"""Everything in the prompt that is not evidence: tool results within their caps, and what each part costs.

Knows: which tool messages a policy may cap, and how the prompt's tokens divide into the terms of the window.
Does not know: what is left out when it is too long (`fit`), or evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from msgspec import Struct, structs

from elbowroom.count.counter import Counter, Tally
from elbowroom.decide.ready import Ready
from elbowroom.decide.results import ROLES
from elbowroom.decide.shapes import NOTICE
from elbowroom.decide.toolresult import Capped, cap
from elbowroom.needs import Steps
from elbowroom.read.message import encode, with_text
from elbowroom.read.policy import Caps, Policy, Tool
from elbowroom.records import MOST_SPANS, Basis, Count, Message, Request, Split, ToolResult

_WORTHWHILE = 32  # tokens; with less than that to show nothing of a result is
_TOOL_PARAMS = ("tools", "tool_choice", "functions", "function_call")


class Costs(Struct, frozen=True):
    """The prompt without evidence, in tokens; `total` is the sum of all terms and the framing."""

    total: Count
    instructions: int
    tools: int
    examples: tuple[int, ...]  # one cost an example message, in order
    turns: tuple[int, ...]  # one cost an earlier turn, oldest first
    tail: int
    question: int

    @property
    def framing(self) -> int:
        """Roles, separators, reply priming: whatever belongs to no part."""
        parts = self.instructions + self.tools + sum(self.examples) + sum(self.turns) + self.tail + self.question
        return self.total.tokens - parts


def cap_tool_results(
    ready: Ready, policy: Policy, tally: Tally, *, only_named: bool
) -> Steps[tuple[tuple[Message, ...], tuple[ToolResult, ...]]]:
    """The messages with each tool result within its caps, newest first, and what became of each result.

    With `only_named`, only results of tools that the policy names are cut. Where the results together are too long the
    older ones become a line that says so. What was left out already stays as it is, and so do results that are
    documents and nothing else.
    """
    messages = list(ready.request.messages)
    cut: dict[int, Capped] = {}
    left = policy.tool_results.max_total_tokens
    for index in range(len(messages) - 1, -1, -1):
        name, checked = ready.names.get(index), ready.results.get(index)
        if messages[index].role not in ROLES or (only_named and name not in policy.tools):
            continue
        text, left_out = messages[index].text, checked is not None and checked.withheld is not None
        if left_out or (index in ready.homes and not text):
            continue
        tool = policy.tools.get(name or "")
        caps: Caps = tool or policy.tool_results
        if left < _WORTHWHILE and len(text) > len(stub(text)):
            capped = Capped(stub(text), 0, None, None, capped=True)
        else:
            more = f", {_next_page(ready.request, name, tool)}" if _next_page(ready.request, name, tool) else ""
            capped = yield from cap(
                text,
                max_tokens=min(caps.max_tokens, left),
                max_rows=caps.max_rows,
                max_bytes=caps.max_bytes,
                tally=tally,
                more=more,
            )
        left = max(0, left - capped.tokens)
        cut[index] = capped
        if capped.capped:
            messages[index] = with_text(messages[index], capped.text)
    return tuple(messages), results_told(ready, cut)


def results_told(ready: Ready, cut: Mapping[int, Capped] = MappingProxyType({})) -> tuple[ToolResult, ...]:
    """What became of each result that was looked at; `cut` are those that caps were held against."""
    told = []
    for index in sorted({*ready.results, *cut}):
        checked, capped = ready.results.get(index), cut.get(index)
        text = ready.request.messages[index].text
        told.append(
            ToolResult(
                message=index,
                tool=ready.names.get(index),
                bytes_before=_bytes(text) if checked is None else checked.size,
                bytes_after=_bytes(text if capped is None else capped.text),
                rows_before=None if capped is None else capped.rows_before,
                rows_after=None if capped is None else capped.rows_after,
                capped=capped is not None and capped.capped,
                cleaned=0 if checked is None else checked.cleaned,
                cleaned_spans=() if checked is None else checked.spans[:MOST_SPANS],
                neutralised_spans=() if checked is None else checked.broken_spans[:MOST_SPANS],
                redacted=0 if checked is None else checked.redacted,
                redactions=() if checked is None else checked.redactions,
                withheld=None if checked is None else checked.withheld,
            )
        )
    return tuple(told)


def stub(text: str) -> str:
    """What stands for an older result."""
    return encode({NOTICE: f"an older result of {_bytes(text)} bytes, left out"}).decode()


def _next_page(request: Request, name: str | None, tool: Tool | None) -> str:
    """How a tool can be asked for more; "" where this request has no such tool or the tool no such parameter."""
    offered = [one["function"] for one in request.params.get("tools") or () if one["type"] == "function"]
    for one in (*offered, *(request.params.get("functions") or ())):
        known = (one.get("parameters") or {}).get("properties") if one["name"] == name else None
        if tool is not None and tool.pagination is not None and isinstance(known, dict) and tool.pagination in known:
            return f"the rest by another call with {tool.pagination}"
    return ""


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def body(request: Request, messages: Iterable[Message]) -> dict[str, Any]:
    """The decoded body that a counter reads: the client's members without tags, and these messages."""
    return {**request.params, "messages": [message.value for message in messages]}


def measure(
    request: Request,
    messages: Sequence[Message],
    parts: Split,
    counter: Counter,
    tally: Tally,
    also: Iterable[str] = (),
) -> Steps[Costs]:
    """What each part costs. `also` names texts that will be wanted later, so that one question asks for all."""
    whole = counter.plan(body(request, messages))
    bare_params = {name: value for name, value in request.params.items() if name not in _TOOL_PARAMS}
    without_tools = counter.plan({**bare_params, "messages": [message.value for message in messages]})
    empty = counter.plan({"messages": []})

    def plan_of(indexes: Iterable[int]) -> Any:
        return counter.plan({"messages": [messages[index].value for index in indexes]})

    question = () if parts.question is None else (parts.question,)
    tail = [index for group in parts.tail for index in group]
    examples = [(index,) for index in parts.examples]
    pieces = [plan_of(part) for part in (parts.instructions, question, tail, *examples, *parts.turns)]
    texts = [text for plan in (whole, without_tools, empty, *pieces) for text in plan.texts]
    yield from tally.measure([*texts, *also])

    base = tally.count(empty).tokens
    instructions, asked, after, *others = (tally.count(piece).tokens - base for piece in pieces)
    total = tally.count(whole)
    return Costs(
        total=total,
        instructions=instructions,
        tools=total.tokens - tally.count(without_tools).tokens,
        examples=tuple(others[: len(examples)]),
        turns=tuple(others[len(examples) :]),
        tail=after,
        question=asked,
    )


def within(costs: Costs, total: Count) -> Costs:
    """The same parts of another total: where that is less, each in proportion; where it is more, framing takes it."""
    if total.tokens >= costs.total.tokens:
        return structs.replace(costs, total=total)

    def part(tokens: int) -> int:
        return tokens * total.tokens // costs.total.tokens

    return Costs(
        total=total,
        instructions=part(costs.instructions),
        tools=part(costs.tools),
        examples=tuple(map(part, costs.examples)),
        turns=tuple(map(part, costs.turns)),
        tail=part(costs.tail),
        question=part(costs.question),
    )


def undivided(total: int, parts: Split) -> Costs:
    """The costs where only the whole is known: all of it is framing, so nothing of it can yield."""
    nothing = (0,) * len(parts.turns)
    return Costs(Count(total, Basis.EXACT), 0, 0, (0,) * len(parts.examples), nothing, 0, 0)
