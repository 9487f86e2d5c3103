"""The words that the story is told in.

Knows: the modes, how a count is known, why a passage was left out, and what may differ from the client's body.
Does not know: when any of them applies.
"""

from __future__ import annotations

from enum import StrEnum


class Mode(StrEnum):
    PASSTHROUGH = "passthrough"
    SHADOW = "shadow"
    ENFORCE = "enforce"


class Basis(StrEnum):
    """How a count is known."""

    EXACT = "exact"
    MODELLED = "modelled"
    BOUNDED = "bounded"
    CALIBRATED = "calibrated"


class Drop(StrEnum):
    """Why a passage was left out. One reason a passage; the detail is text."""

    NOT_PERMITTED = "not_permitted"
    WRONG_LANGUAGE = "wrong_language"
    STALE = "stale"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    EMPTY = "empty"
    REPEATED_ID = "repeated_id"
    REDACTION_FAILED = "redaction_failed"
    NOT_ADDED = "not_added"
    BELOW_FLOOR = "below_floor"
    DUPLICATE = "duplicate"
    SOURCE_CAP = "source_cap"
    OVER_COUNT = "over_count"
    LOW_NOVELTY = "low_novelty"
    OVER_BUDGET = "over_budget"


class Edit(StrEnum):
    """The whole list of differences there may be between the client's body and the upstream's."""

    TAGS_REMOVED = "tags_removed"
    MODEL_MAPPED = "model_mapped"
    USAGE_ASKED = "usage_asked"
    EVIDENCE_ADDED = "evidence_added"
    TOOL_RESULT_CAPPED = "tool_result_capped"
    TOOL_RESULT_CLEANED = "tool_result_cleaned"
    TOOL_RESULT_PACKED = "tool_result_packed"
    TOOL_RESULT_WITHHELD = "tool_result_withheld"
    TOOLS_REMOVED = "tools_removed"
    ANNOTATIONS_STRIPPED = "annotations_stripped"
    REDACTED = "redacted"
    DEVELOPER_FOLDED = "developer_folded"
    HISTORY_EVICTED = "history_evicted"
    HISTORY_SUMMARISED = "history_summarised"
    EXAMPLES_EVICTED = "examples_evicted"
    OUTPUT_CLAMPED = "output_clamped"
    OUTPUT_CAPPED = "output_capped"
