"""Templates filled in, so that nothing a document, a client or a model wrote can be more than text on a page.

Knows: that everything is escaped unless a template wrote it, and that characters nobody can see are shown as what they
are; how numbers, times and money are written.
Does not know: what is on any page.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

FOLDER = Path(__file__).parents[1]
STYLE = (FOLDER / "static" / "desk.css").read_bytes()
STYLE_AT = f"/ui/static/desk-{hashlib.sha256(STYLE).hexdigest()[:12]}.css"  # another style is another address
LONGEST = 4_000  # characters of one value on a page
PATIENCE = 5.0  # seconds that the index may be behind: each reading is itself a record that it does not have yet
_SEEN = frozenset("\n\t")  # white space that HTML collapses or a `pre` keeps


def plain(text: str) -> str:
    """The text with everything that nobody could see, or that turns the writing round, as its escape; cut where it is
    endless.
    """
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}… ({len(text) - LONGEST:,} characters more)"
    return _seen(text)


def whole(text: str) -> Markup:
    """The same, uncut: for what a page is there to show."""
    return escape(_seen(text))


def _seen(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c in _SEEN or c.isprintable() or unicodedata.category(c) == "Zs" else _escape(c) for c in text)


def number(value: float | None) -> str:
    """1,234; a dash where there is none."""
    return "–" if value is None else f"{value:,.0f}"


def signed(value: float | None) -> str:
    """+12, −3, 0."""
    return "–" if value is None else f"{value:+,.0f}".replace("-", "−") if value else "0"


def ms(value: float | None) -> str:
    """Milliseconds, three digits; seconds from one second on."""
    if value is None:
        return "–"
    return f"{value / 1000:,.2f} s" if value >= 1000 else f"{value:.0f} ms" if value >= 100 else f"{value:.1f} ms"


def usd(micro: float | None) -> str:
    """Micro-USD as dollars, no digit that says nothing."""
    if micro is None:
        return "–"
    return f"${micro / 1e6:,.2f}" if abs(micro) >= 1e6 else f"${micro / 1e6:.6f}".rstrip("0").rstrip(".")


def share(part: float, whole: float) -> str:
    """A share in percent."""
    return "–" if not whole else f"{100 * part / whole:.1f} %"


def when(time: str | None) -> str:
    """A record's time as `2026-11-29 23:10:48 UTC`; as it stands where it is none."""
    moment = _moment(time)
    return str(time or "–") if moment is None else f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def clock(time: str | None) -> str:
    """Its time of day."""
    moment = _moment(time)
    return str(time or "–") if moment is None else f"{moment:%H:%M:%S}"


def day(time: str | None) -> str:
    """Its day."""
    moment = _moment(time)
    return "" if moment is None else f"{moment:%Y-%m-%d}"


def quoted(text: object) -> str:
    """A value as a part of an address; what UTF-8 cannot say is a question mark there, as it is in the index."""
    return quote(str(text), safe="", errors="replace")


def render(name: str, values: Mapping[str, Any]) -> bytes:
    """The page. Raises for a value that the template names and nobody gave."""
    return _ENVIRONMENT.get_template(name).render(values).encode()


def _moment(time: str | None) -> datetime | None:
    try:
        found = datetime.fromisoformat(time or "")
    except ValueError:
        return None
    return found.astimezone(UTC) if found.tzinfo is not None else found


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode()


def _finalized(value: Any) -> Any:
    """What a template prints: not a string made by a template, and nothing else, goes through unread."""
    if hasattr(value, "__html__"):
        return value
    return "" if value is None else plain(str(value))


_ENVIRONMENT = Environment(
    loader=FileSystemLoader(FOLDER / "templates"),
    autoescape=True,
    auto_reload=False,
    undefined=StrictUndefined,
    finalize=_finalized,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters.update(
    clock=clock, day=day, ms=ms, number=number, share=share, signed=signed, urlencode=quoted, usd=usd, when=when,
    whole=whole,
)  # fmt: skip
_ENVIRONMENT.globals.update(style_at=STYLE_AT, patience=PATIENCE)
