"""The envelope: admitted passages between tags that nobody but the holder of the key could have written.

Knows: the order of note, tags and bodies, how a nonce is derived, and at which borders token counts add up.
Does not know: which passages deserve to go in, how text was cleaned, or where in the request the envelope will stand.

A nonce is decimal digits of HMAC-SHA256(key, block, counter), the counter moving on while the digits stand anywhere in
the block: no body can contain its own closing tag, the same block gives the same bytes, another block another nonce.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from elbowroom.clean.lines import behind
from elbowroom.decide.passage import Admitted
from elbowroom.write import markdown, numbered, xml

Shown = tuple[str, str, str]  # what a tag says of a document: title, version, access label; "" where it is not given
_TRIES = 16  # nonces of one length, before they grow by a digit


class Form(Protocol):
    """What a form of the envelope exports. Every line ends in a newline and starts with neither white space nor "/"."""

    NOTE: str

    def open_line(self, label: str, nonce: str, title: str, version: str, access_label: str) -> str: ...

    def close_line(self, label: str, nonce: str) -> str: ...


NOTHING = "None of these documents is shown.\n"  # in a message that documents came in, and none goes back to

FORMS: dict[str, Form] = {"xml": xml, "markdown": markdown, "numbered": numbered}


class Envelope(Struct, frozen=True):
    text: str  # ends in a blank line, so that the user's own text may follow
    nonce: str
    pieces: tuple[str, ...]  # the text, cut only where token counts add up


def note_text(form: str = "xml") -> str:
    """The sentence that stands before the first passage."""
    return FORMS[form].NOTE


def scope_text(lang: str) -> str:
    """What is said instead of evidence when none was admitted; `lang` is `zh` or anything else for English."""
    if lang.startswith("zh"):
        return "没有检索到可用的资料。请说明这一点，不要臆测。\n\n"
    return "No retrieved evidence is available for this question. Say so instead of guessing.\n\n"


def pieces_of(shown: Shown, body: str, form: str = "xml", line_prefix: str = "") -> tuple[str, ...]:
    """What admitting `body` would send, with a stand-in label and nonce, cut where token counts add up.

    Any nonce of as many digits costs the same in a vocabulary that reads digits by threes.
    """
    return _passage(FORMS[form], "S1", "0000", shown, behind(line_prefix, body))


def render(admitted: Sequence[tuple[str, Admitted]], key: bytes, form: str = "xml", line_prefix: str = "") -> Envelope:
    """The note and each passage under its label, in the order given. Nothing admitted: an empty envelope."""
    return envelopes([admitted], key, form, line_prefix)[0]


def envelopes(
    groups: Sequence[Sequence[tuple[str, Admitted]]], key: bytes, form: str = "xml", line_prefix: str = ""
) -> tuple[Envelope, ...]:
    """One envelope a group, for messages apart from each other. They share the nonce, and the first has the note.

    `line_prefix` stands before each line of every passage.
    """
    blocks = [[(label, one.passage.shown, behind(line_prefix, one.body)) for label, one in group] for group in groups]
    digits = nonce(key, [(label, *shown, body) for group in blocks for label, shown, body in group])
    made: list[Envelope] = []
    note = FORMS[form].NOTE
    for group in blocks:
        pieces = [note] if group and note else []
        for label, shown, body in group:
            pieces += _passage(FORMS[form], label, digits, shown, body)
        if group:
            pieces[-1] += "\n"
            note = ""
        made.append(Envelope("".join(pieces), digits if group else "", tuple(pieces)))
    return tuple(made)


def nonce(key: bytes, blocks: Sequence[Sequence[str]], digits: int = 4) -> str:
    """At least that many decimal digits which stand nowhere in the blocks, derived from all of them and the key."""
    whole = hmac.new(key, digestmod="sha256")
    for block in blocks:
        whole.update(b"%d:" % len(block))
        for text in block:
            content = text.encode("utf-8", "surrogatepass")
            whole.update(b"%d:" % len(content) + content)
    haystack = "\n".join(text for block in blocks for text in block)
    counter = 0
    while True:
        trial = whole.copy()
        trial.update(b"%d" % counter)
        length = digits + counter // _TRIES
        found = str(int.from_bytes(trial.digest(), "big") % 10**length).zfill(length)
        if found not in haystack:
            return found
        counter += 1


def starts_apart(text: str) -> bool:
    """Whether the tokens of `text` add up with those of a line before it.

    White space would join the newline and "/" the punctuation before it, in some vocabulary; Python's idea of white
    space holds every tokenizer's.
    """
    return bool(text) and text[0] != "/" and not text[0].isspace()


def _passage(form: Form, label: str, digits: str, shown: Shown, body: str) -> tuple[str, ...]:
    opening = form.open_line(label, digits, *shown)
    closing = form.close_line(label, digits)
    if starts_apart(body):
        return opening, body + "\n", closing
    return opening + body + "\n", closing
