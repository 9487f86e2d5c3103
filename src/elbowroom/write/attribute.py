"""How a title, a version or an access label stands in a tag, whatever the form.

Knows: the characters that could end a quoted value or begin a tag, and their entities.
Does not know: where values come from; they are clean single lines by then.
"""

from __future__ import annotations

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})


def attributes(title: str, version: str, access_label: str) -> str:
    """` name="value"` for each that is given, in this order."""
    shown = (("title", title), ("version", version), ("access", access_label))
    return "".join(f' {name}="{value.translate(_ESCAPES)}"' for name, value in shown if value)
