"""Links in an answer that lead where nobody who is trusted pointed: images first, since those load by themselves.

Knows: how Markdown (inline, by reference, in angle brackets), HTML and CSS write a link, and bare addresses; how
browsers read one that is written oddly (entities, backslashes, tabs, invisible characters, a slash too few).
Does not know: whether a host is harmful, or what is behind it. A link without a host of its own leads nowhere else.
Text in code is read like any other: whoever renders the answer may not take it for code.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal
from urllib.parse import unquote

from msgspec import Struct

Kind = Literal["image", "link"]
Span = tuple[int, int]

_SCHEME = r"(?:https?|wss?|ftp):"
_ADDRESS = re.compile(rf"(?:{_SCHEME}[/\\]*|[/\\]{{2,}})(?P<authority>[^/?#]+)", re.IGNORECASE)
# In plain text, where `//host` is no address.
_BARE = re.compile(rf"(?<![a-z0-9])(?:{_SCHEME}[/\\]*|www\.)[^\s<>\"`]+", re.IGNORECASE)
# Looked ahead for, so that what only looks like an address hides none that stands in it.
_DESTINATION = (
    r"(?=\s*(?:<(?P<fenced>[^<>\n]{0,500})"
    r"|(?P<plain>[^\s<>()]{0,500}(?:\([^\s<>()]{0,999}\)[^\s<>()]{0,999}){0,9})))"
)
_INLINE = re.compile(rf"\]\({_DESTINATION}")
_DEFINITION = re.compile(rf"^[ \t>*+-]{{0,9}}\[(?P<name>[^\[\]]{{1,999}})\]:{_DESTINATION}", re.MULTILINE)
_IMAGE = re.compile(r"!\[(?P<text>[^\[\]]{0,999})\](?:\[(?P<name>[^\[\]]{0,999})\])?")
_BRACKET = re.compile(r"!?\[|\]")
_ATTRIBUTE = re.compile(
    r"(?<![\w-])(?P<name>src|srcset|poster|background|data|href|action|formaction|ping)\s*="
    r"(?=\s*(?:\"\s*(?P<double>[^\"]{0,500})|'\s*(?P<single>[^']{0,500})|(?P<unquoted>[^\s\"'<>]{1,500})))",
    re.IGNORECASE,
)
_SPACE = re.compile(r"\s")
_PART = re.compile(r"[^,\s][^,]*")  # of a srcset
_CSS = re.compile(r"\burl\((?=\s*[\"']?\s*(?P<plain>[^\"')\s]{1,500}))", re.IGNORECASE)
_CLICKED = frozenset({"href", "action", "formaction", "ping"})
_LOOK = 500  # characters of an address; a host that ends later is known to nobody
_HIDDEN = re.compile(  # what browsers leave out
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_BEGINS = re.compile(r"[hwf/\\&]|[^!-~]", re.IGNORECASE)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_STOPS = str.maketrans("。．｡", "...")
_PLAIN = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)+", re.IGNORECASE)
_GLUED = re.compile(r"(.*\.[a-z]{2,})[^\x00-\x7f]+", re.IGNORECASE | re.DOTALL)
_NAME = r"(?:[\w-]{1,63}\.){1,9}[^\W\d_][\w-]{1,62}|(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?!\.?\w)"
_TYPED = (re.compile(_NAME), re.compile(_NAME, re.ASCII))  # letters of other scripts may stand right beside one


class Link(Struct, frozen=True):
    """One address in the answer; `start` and `end` in code points of the whole answer's text."""

    kind: Kind
    host: str
    start: int
    end: int
    others: tuple[str, ...] = ()  # hosts that it leads to where it is rendered in another way


def links(text: str) -> tuple[Link, ...]:
    """Every link to a host, images first, then by place."""
    found = {
        (start, end): Link(kind, hosts[0], start, end, hosts[1:])
        for start, end, kind in _marked(text)
        if (hosts := _hosts(text[start:end]))
    }
    marked = sorted(found)
    for bare in _BARE.finditer(text):
        before = bisect_right(marked, (bare.start(), len(text))) - 1
        if (
            before >= 0
            and bare.start() < marked[before][1]
            and not _SPACE.search(text, marked[before][0], bare.start())
        ):
            continue  # it is that link, or goes with it as a parameter
        if hosts := _hosts(bare[0], bare=True):
            found[bare.span()] = Link("link", hosts[0], *bare.span(), hosts[1:])
    return tuple(sorted(found.values(), key=lambda link: (link.kind != "image", link.start)))


def foreign(found: Iterable[Link], hosts: Collection[str], allowed: Sequence[str] = ()) -> tuple[Link, ...]:
    """Those to none of the hosts, and to none that is allowed: `docs.example`, or `*.example` for all below it.

    Of several hosts that one may lead to, a stranger makes it one, and is its host here.
    """
    exact = {name.lower() for name in allowed}.union(hosts)
    below = tuple(name[1:].lower() for name in allowed if name.startswith("*."))
    left = []
    for link in found:
        for host in (link.host, *link.others):
            if host not in exact and not host.endswith(below):
                left.append(Link(link.kind, host, link.start, link.end))
                break
    return tuple(left)


def hosts_in(text: str) -> frozenset[str]:
    """Every host that somebody wrote, alone or in an address."""
    named = {_canonical(found[0]) for typed in _TYPED for found in typed.finditer(text)}
    return frozenset(named) | {link.host for link in links(text)}


def host_of(url: str) -> str | None:
    """The host of one address; None where it has none."""
    return next(iter(_hosts(url)), None)


def _marked(text: str) -> Iterator[tuple[int, int, Kind]]:
    """Where markup has an address, and what it does with it."""
    closes = _image_ends(text)
    for match in _INLINE.finditer(text):
        yield *_span(match, "fenced", "plain"), "image" if match.start() in closes else "link"
    used = {_same(image["name"] or image["text"]) for image in _IMAGE.finditer(text)}
    for match in _DEFINITION.finditer(text):
        yield *_span(match, "fenced", "plain"), "image" if _same(match["name"]) in used else "link"
    reached = 0
    for match in _ATTRIBUTE.finditer(text):
        start, end = _span(match, "double", "single", "unquoted")
        kind: Kind = "link" if match["name"].lower() in _CLICKED else "image"
        if match["name"].lower() != "srcset":
            yield start, end, kind
            continue
        for part in _PART.finditer(text, max(start, reached), end):
            yield *part.span(), kind
        reached = max(reached, end)
    for match in _CSS.finditer(text):
        yield *match.span("plain"), "image"


def _span(match: re.Match[str], *groups: str) -> Span:
    return next(match.span(group) for group in groups if match[group] is not None)


def _image_ends(text: str) -> frozenset[int]:
    """Where the brackets close that opened with `![`."""
    opened: list[bool] = []
    ends = []
    for bracket in _BRACKET.finditer(text):
        if bracket[0] != "]":
            opened.append(bracket[0] == "![")
        elif opened and opened.pop():
            ends.append(bracket.start())
    return frozenset(ends)


def _same(reference: str) -> str:
    return " ".join(reference.casefold().split())


def _hosts(address: str, *, bare: bool = False) -> tuple[str, ...]:
    """Where it leads, in each way in which it may be rendered: to a browser a backslash is a slash; Markdown takes it
    away before punctuation, or writes it as %5C, which may stand in what goes before an @.
    """
    if not _BEGINS.match(address):
        return ()
    plain = _HIDDEN.sub("", html.unescape(address).strip()[:_LOOK])
    if bare and plain[:4].lower() == "www.":
        plain = "//" + plain
    named: list[str] = []
    for form in dict.fromkeys((plain, _ESCAPED.sub(r"\1", plain))):
        if found := _ADDRESS.match(form):
            slashed, escaped = found["authority"].partition("\\")[0], found["authority"].rpartition("@")[2]
            named += slashed.rpartition("@")[2], escaped.partition("\\")[0]
    hosts = (_canonical(_written(one) if bare else one) for one in dict.fromkeys(named))
    return tuple(dict.fromkeys(filter(None, hosts)))


def _written(authority: str) -> str:
    """Without the punctuation, or the letters of another script, that a sentence goes on with. Unless to a browser all
    of it is one name, as an ideographic full stop or a %2E is a dot.
    """
    if authority.startswith("[") or _PLAIN.fullmatch(_folded(authority).partition(":")[0]):
        return authority
    ends = (at for at, one in enumerate(authority) if one not in ".-_" and unicodedata.category(one)[0] in "PS")
    authority = authority[: next(ends, None)]
    glued = _GLUED.fullmatch(authority)
    return glued[1] if glued else authority


def _canonical(host: str) -> str:
    host = _folded(host)
    host = (host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]).strip(".").lower()
    try:
        return host.encode("idna").decode()
    except UnicodeError:
        return host


def _folded(host: str) -> str:
    return unicodedata.normalize("NFKC", unquote(host)).translate(_STOPS)
