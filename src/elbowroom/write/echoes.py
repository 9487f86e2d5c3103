"""What was put beside an answer comes back: clients send it along with the assistant's message in the next turn.

Knows: which members of a message those are, and which of them nobody else can have put there.
Does not know: what they said, or when a body is rewritten for other reasons.
"""

from __future__ import annotations

from elbowroom.read.message import join_members
from elbowroom.read.rawjson import members
from elbowroom.records import Message

FLAGS = "elbowroom_flags"
"""The member of a message, or of a delta, that names what a client should not trust."""

_ECHOED = ("annotations", FLAGS)


def is_ours(message: Message) -> bool:
    """Whether it has a member that no upstream knows, and a strict one refuses."""
    return message.role == "assistant" and FLAGS in message.value


def without_echoes(message: Message) -> bytes:
    """Its JSON without what was put beside the answer; of any other message than an assistant's, as it is."""
    if message.role != "assistant" or not any(name in message.value for name in _ECHOED):
        return message.raw
    return join_members({name: raw for name, raw in members(message.raw).items() if name not in _ECHOED})
