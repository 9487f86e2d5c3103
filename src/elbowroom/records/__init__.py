"""Every record of the story, frozen, and the words it is told in.

Knows: which there are; who reads or writes one takes it from here.
Does not know: how any of them comes about; JSON, HTTP, files, clocks.
"""

from __future__ import annotations

from elbowroom.records.decision import (
    MOST_SPANS,
    Classified,
    Cleaning,
    Decision,
    Fate,
    Packed,
    Redaction,
    Refused,
    Reranking,
    Source,
    Spans,
    Summary,
    ToolResult,
    Window,
)
from elbowroom.records.model import ChatTemplate, Count, Learned, Model, Plan
from elbowroom.records.request import Cohort, Context, Document, Message, Principal, Request, Split
from elbowroom.records.words import Basis, Drop, Edit, Mode

__all__ = [
    "MOST_SPANS",
    "Basis",
    "ChatTemplate",
    "Classified",
    "Cleaning",
    "Cohort",
    "Context",
    "Count",
    "Decision",
    "Document",
    "Drop",
    "Edit",
    "Fate",
    "Learned",
    "Message",
    "Mode",
    "Model",
    "Packed",
    "Plan",
    "Principal",
    "Redaction",
    "Refused",
    "Request",
    "Reranking",
    "Source",
    "Spans",
    "Split",
    "Summary",
    "ToolResult",
    "Window",
]
