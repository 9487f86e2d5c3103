"""A tool's result, cleaned like any untrusted text, and still JSON where it was.

Knows: that inside a JSON string a backslash is written twice and a line end is an escape.
Does not know: which tool it came from, whether it will be cut, or what it says.
"""

from __future__ import annotations

import re

from elbowroom.clean.known import Known
from elbowroom.clean.neutralise import neutralise
from elbowroom.clean.sanitise import Cleaned, sanitise
from elbowroom.errors import InvalidRequest
from elbowroom.read.rawjson import decode, whole

_LINE_ENDS = re.compile("[\x85\u2028\u2029]")  # legal as they are in a JSON string, where a line feed is not


def clean_result(text: str, known: Known) -> Cleaned:
    """The text with nothing hidden or live in it; `removed` counts both. A known clean text costs one lookup.

    What has nothing to remove comes back as it is, white space and line ends included. The spans are those of the
    removed characters in the text that came.
    """
    seen = known.text(text)
    if not seen.stripped and not seen.neutralised:
        return Cleaned(text, 0, ())
    mark = "\\"
    if _is_json(text):
        text, mark = _LINE_ENDS.sub(r"\\n", text), r"\\"
    bare = sanitise(text)
    safe = neutralise(bare.text, known.live, mark)
    return Cleaned(safe.text, bare.removed + safe.removed, seen.stripped_spans)


def _is_json(text: str) -> bool:
    """JSON, or JSON on every line."""
    if not text.lstrip().startswith(("{", "[", '"')):
        return False
    return _decodes(text) or all(_decodes(line) for line in text.split("\n") if line.strip())


def _decodes(text: str) -> bool:
    try:
        decode(whole(text).encode())
    except InvalidRequest:
        return False
    return True
