"""Older turns in few words: what is asked of the summariser, and what its answer costs.

Knows: how turns read as one text, how much of them may be sent and to whom, and which answers are no use.
Does not know: the summariser, when turns are evicted (`fit`), or how a summary is shown.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import structs

from elbowroom.clean.known import Known
from elbowroom.count.counter import Tally
from elbowroom.decide.access import accepted
from elbowroom.needs import NeedSummary, Steps
from elbowroom.read.policy import Access, Summaries
from elbowroom.records import Message

FRAME = 32  # tokens at most that show where a summary begins and ends


def room_for(policy: Summaries) -> int:
    """What a summary may add to a prompt, in tokens; 0 where nobody is asked for one."""
    return policy.max_tokens + FRAME if policy.model is not None else 0


def within(
    policy: Summaries, labels: Collection[str] | None, accepts: Collection[str] | None, access: Access
) -> Summaries:
    """The same, or nobody to ask: what was said about documents under `labels` (None: nobody knows which) is not for a
    model that may not see them. `accepts`: the labels that it may.
    """
    if policy.model is None or (labels is not None and accepted(labels, accepts, access)):
        return policy
    return structs.replace(policy, model=None)


def summarise(
    turns: Sequence[Sequence[Message]], policy: Summaries, room: int, known: Known, tally: Tally
) -> Steps[str]:
    """A summary that adds at most `room` tokens, cleaned like any text that is not the user's own; "" if there is none.

    The newest turns that `max_input_tokens` hold are sent, each whole. As long as the same turns are gone, the question
    is the same, and so is an answer that is remembered.
    """
    if policy.model is None or room <= FRAME:
        return ""
    told = [transcript(turn) for turn in turns]
    yield from tally.measure(told)
    left, many = policy.max_input_tokens, 0
    for text in reversed(told):
        left -= tally.tokens[text]
        if left < 0:
            break
        many += 1
    text = "".join(told[len(told) - many :])
    if not text.strip():
        return ""
    answer = yield NeedSummary(policy.model, text, min(room - FRAME, policy.max_tokens), policy.timeout)
    return known.text(answer[0]).clean if answer and isinstance(answer[0], str) else ""


def transcript(turn: Sequence[Message]) -> str:
    """Who said what, a paragraph each; a call reads as its names."""
    lines = []
    for message in turn:
        called = [call.get("function", {}).get("name", "") for call in message.value.get("tool_calls") or ()]
        text = message.text or (f"(calls {', '.join(called)})" if called else "")
        lines.append(f"{message.role}: {text}\n\n")
    return "".join(lines)
