"""Calls whose arguments say what only untrusted text said: an address that the user never wrote, a number to pay to.

Knows: what of a call's arguments could send something somewhere (addresses, hosts, mail, paths, long numbers), what the
model was shown, and what the user wrote of it.
Does not know: whether the call is wanted. A document that was asked for names hosts and numbers too, so most of what is
found here is harmless: it is flagged before it is blocked.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Any

from elbowroom.write.links import hosts_in

# Letters of other scripts may be part of one, or stand right beside it: each is looked for in both ways.
_BOTH = (re.IGNORECASE, re.IGNORECASE | re.ASCII)
_URL = (
    re.compile(r"(?<![a-z0-9])(?:https?|wss?|ftp)://[^\s\"'<>`\\]+", re.IGNORECASE),
    re.compile(r"(?<![a-z0-9])(?:https?|wss?|ftp)://[!#-&(-;=?-\[\]^_a-z{-~]+", re.IGNORECASE),
)
_MAIL = [re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,9}", way) for way in _BOTH]
_PATH = [re.compile(r"(?<![\w/])(?:~|\.{1,2})?/[\w.~-]+(?:/[\w.~-]+)*/?|\b[a-z]:\\[^\s\"'<>|]+", way) for way in _BOTH]
_NUMBER = re.compile(r"(?<!\d)\d(?:[ -]?\d){6,40}(?!\d)")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[ -]?\d\d)*")
_UNICODE = re.compile(r"\\u([0-9a-fA-F]{4})")
_BACKSLASHES = re.compile(r"\\{2,}")
_MEDIA = ("image_url", "input_audio", "file")  # pictures and recordings
_ENDS = ".,;:!?)]}"  # a sentence goes on
_SHORT = 4  # characters; a shorter path is in any text


class Taint:
    """One request's. `tools`: those with side effects. `said`: what user and operator wrote. `sent`: what left.

    What is in `sent` and not in `said` was brought by documents and results. Nothing is read before there is a call.
    """

    def __init__(self, tools: Collection[str], said: Sequence[str], sent: bytes, *, blocks: bool) -> None:
        self.tools = frozenset(tools)
        self.blocks = blocks  # such a call does not reach the client
        self._said = said
        self._sent = sent

    def __call__(self, tool: str, arguments: str) -> bool:
        """Whether the call is to one of the tools, and says what only untrusted text said."""
        if tool not in self.tools:
            return False
        suspects = {one for text in _leaves(_decoded(arguments)) for one in telling(text)}
        return any(self._shown.says(one) and not self._trusted.names(one) for one in suspects)

    @cached_property
    def _trusted(self) -> _Read:
        return _Read(self._said)

    @cached_property
    def _shown(self) -> _Read:
        return _Read([text for message in json.loads(self._sent)["messages"] for text in _of_others(message)])


class _Read:
    """Texts, and what is telling in them."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._text = _plain("\n".join(texts))
        self._telling = telling(self._text)

    def says(self, one: str) -> bool:
        return one in self._telling or one in self._text

    def names(self, one: str) -> bool:
        """Whether it is said as such: a part of another word is none of it."""
        return one in self._telling or bool(re.search(rf"(?<![a-z0-9]){re.escape(one)}(?![a-z0-9])", self._text))


def telling(text: str) -> frozenset[str]:
    """What of a text could say where something goes, in one spelling."""
    text = _plain(text)
    numbers = (found[0] for found in _NUMBER.finditer(text) if not _DATE.fullmatch(found[0]))
    return frozenset(
        (
            *(found[0].rstrip(_ENDS) for way in _URL for found in way.finditer(text)),
            *(found[0] for way in _MAIL for found in way.finditer(text)),
            *(path for way in _PATH for found in way.finditer(text) if len(path := found[0].rstrip(_ENDS)) >= _SHORT),
            *(re.sub("[ -]", "", number) for number in numbers),
            *hosts_in(text),
        )
    )


def _plain(text: str) -> str:
    """One spelling: results are often JSON inside a string, with escapes of their own."""
    text = _BACKSLASHES.sub(r"\\", text)
    text = _UNICODE.sub(lambda found: chr(int(found[1], 16)), text).replace("\\/", "/")
    return unicodedata.normalize("NFKC", text).lower()


def _decoded(arguments: str) -> Any:
    """Arguments that are no JSON are one text."""
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments


def _leaves(value: Any, without: Collection[str] = ()) -> Iterator[str]:
    """Every text and number in a value, names included, but for some members."""
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, dict):
            pending += [*one, *(inside for name, inside in one.items() if name not in without)]
        elif isinstance(one, list):
            pending += one
        elif one is not None and not isinstance(one, bool):
            yield str(one)


def _of_others(message: dict[str, Any]) -> Iterator[str]:
    """What the model was shown of others: results, and user messages, where evidence stands."""
    if message["role"] not in ("system", "developer", "assistant"):
        yield from _leaves(message.get("content"), without=_MEDIA)
