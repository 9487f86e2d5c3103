"""Everything in the prompt that is not evidence: tool results within their caps, and what each part costs.

Knows: which tool messages a policy may cap, and how the prompt's tokens divide into the terms of the window.
Does not know: what is left out when it is too long (`fit`), or evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct, structs

from elbowroom.count.counter import Counter, Tally
from elbowroom.decide.toolresult import cap
from elbowroom.read.message import with_text
from elbowroom.read.policy import Policy
from elbowroom.read.split import tool_names
from elbowroom.records import Basis, Count, Message, Request, Split, Steps, ToolResult

_TOOL_ROLES = ("tool", "function")
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
    request: Request, policy: Policy, tally: Tally, *, only_named: bool
) -> Steps[tuple[tuple[Message, ...], tuple[ToolResult, ...]]]:
    """The messages with each tool result within its caps, newest first, and what became of each result.

    With `only_named`, only results of tools that the policy names are touched.
    """
    messages = list(request.messages)
    results: list[ToolResult] = []
    names = tool_names(request)
    left = policy.tool_results.max_total_tokens
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.role not in _TOOL_ROLES:
            continue
        name = names.get(index)
        caps = policy.tools.get(name or "", policy.tool_results)
        if only_named and name not in policy.tools:
            continue
        text = message.text
        capped = yield from cap(text, max_tokens=min(caps.max_tokens, left), max_rows=caps.max_rows, tally=tally)
        left = max(0, left - capped.tokens)
        if capped.capped:
            messages[index] = with_text(message, capped.text)
        results.append(
            ToolResult(
                message=index,
                tool=name,
                bytes_before=len(text.encode("utf-8", "surrogatepass")),
                bytes_after=len(capped.text.encode("utf-8", "surrogatepass")),
                rows_before=capped.rows_before,
                rows_after=capped.rows_after,
                capped=capped.capped,
            )
        )
    return tuple(messages), tuple(reversed(results))


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
