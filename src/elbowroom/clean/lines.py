"""The line prefix: an operator's mark before each line of a passage, so that no line of it looks like any other.

Knows: what a line is in a cleaned text, where only LF ends one.
Does not know: tags, tokens, or whether a model makes anything of the mark.
"""

from __future__ import annotations


def behind(prefix: str, body: str) -> str:
    """Every line of the body behind the prefix, empty ones too; without a prefix the body itself."""
    return prefix + body.replace("\n", "\n" + prefix) if prefix else body
