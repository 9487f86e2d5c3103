"""The envelope can be read back, and nothing in it can pass for a tag."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elbowroom.clean.known import Known
from elbowroom.clean.text import Text
from elbowroom.decide.passage import Admitted, Passage
from elbowroom.decide.prepare import shown_of
from elbowroom.records import Document
from elbowroom.write.envelope import (
    FORMS,
    Envelope,
    envelopes,
    nonce,
    note_text,
    pieces_of,
    render,
    scope_text,
    starts_apart,
)
from elbowroom_proxy.vocabularies import Vocabularies
from tests.payloads import SEEDS

KEY = b"a key of this test"
KNOWN = Known(1 << 20)
# What opens and what closes a passage, and how a tag looks that does neither's duty but looks like it.
TAGS = {
    "xml": (r"<(S\d+)-(\d+)(.*)>", "\n</{}-{}>\n"),
    "markdown": (r"### (S\d+)-(\d+)(.*)", "\n### end {}-{}\n"),
    "numbered": (r"\[(S\d+)-(\d+)(.*)\]", "\n[/{}-{}]\n"),
}
Prepared = tuple[str, str, str, str, str]  # label, title, version, access label, body

# What an attacker would try, beside what any text may hold.
HOSTILE = st.sampled_from(
    [
        "</S1-",
        "<S1-0417>",
        '">',
        "&quot;",
        "0417",
        "\n",
        "/",
        " ",
        "S1",
        "[S1]",
        "\n### end S1-",
        "### S2-0417",
        "[/S1-",
        "\u3000",
        "ａ",
        "<|im_start|>",
        "\u200b",
        "4" * 9,
    ]
)
PIECES = st.text(max_size=4) | HOSTILE | st.sampled_from(SEEDS) | st.text("0123456789", max_size=6)
TEXTS = st.lists(PIECES, max_size=5).map("".join)
DOCUMENTS = st.builds(
    Document,
    position=st.integers(0, 9),
    id=st.just("d"),
    text=TEXTS,
    title=st.none() | TEXTS,
    version=st.none() | TEXTS,
    access=st.none() | st.just({"tenant": "acme"}) | st.builds(lambda label: {"label": label}, TEXTS),
)


def admit(document: Document) -> Admitted:
    text = Text.of(document.text or "")
    title, version, label = shown_of(document, KNOWN)
    passage = Passage(document, text, title, 1.0, 0, 0, 0, version=version, access_label=label)
    return Admitted(passage, text.clean, 0)


def rendered(*documents: Document, key: bytes = KEY, form: str = "xml", line_prefix: str = "") -> Envelope:
    labelled = [(f"S{at}", admit(document)) for at, document in enumerate(documents, start=1)]
    return render(labelled, key, form, line_prefix)


def prepared(*documents: Document) -> list[Prepared]:
    return [
        (
            f"S{at}",
            *shown_of(document, KNOWN),
            Text.of(document.text or "").clean,
        )
        for at, document in enumerate(documents, start=1)
    ]


def parse(text: str, form: str) -> list[Prepared]:
    """Reads an envelope as a model would: an opening line, everything up to the closing line with the same name."""
    found = []
    rest = text.removeprefix(note_text(form))
    opens, closes = TAGS[form]
    while rest != "\n":
        opening, rest = rest.split("\n", 1)
        tag = re.fullmatch(opens, opening)
        assert tag
        assert re.fullmatch(r'(?: [a-z]+="[^"<>]*")*', tag[3])
        shown = {name: html.unescape(value) for name, value in re.findall(r' ([a-z]+)="([^"]*)"', tag[3])}
        body, closing, rest = rest.partition(closes.format(tag[1], tag[2]))
        assert closing
        found.append((tag[1], shown.pop("title", ""), shown.pop("version", ""), shown.pop("access", ""), body))
        assert not shown
    return found


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=60)
@given(documents=st.lists(DOCUMENTS, min_size=1, max_size=3))
def test_an_envelope_can_be_read_back_and_its_nonce_stands_in_tags_only(form: str, documents: list[Document]):
    envelope = rendered(*documents, form=form)
    assert envelope == rendered(*documents, form=form)
    assert parse(envelope.text, form) == prepared(*documents)
    assert envelope.text.count(envelope.nonce) == 2 * len(documents)
    for at in range(1, len(documents) + 1):
        assert envelope.text.count(f"S{at}-{envelope.nonce}") == 2
        assert envelope.text.count(TAGS[form][1].format(f"S{at}", envelope.nonce)) == 1


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=30)
@given(documents=st.lists(DOCUMENTS, min_size=1, max_size=3), prefix=st.sampled_from(["| ", "> ", "^^ "]))
def test_a_line_prefix_is_before_every_line_and_can_be_taken_away(form: str, documents: list[Document], prefix: str):
    envelope = rendered(*documents, form=form, line_prefix=prefix)
    assert "".join(envelope.pieces) == envelope.text
    found = []
    for *shown, body in parse(envelope.text, form):
        lines = body.split("\n")
        assert all(line.startswith(prefix) for line in lines)
        found.append((*shown, "\n".join(line[len(prefix) :] for line in lines)))
    assert found == prepared(*documents)
    plain = rendered(*documents, form=form)
    assert envelope.nonce != plain.nonce or len(plain.nonce) == 4  # four digits may be the same by chance


def test_envelopes_apart_from_each_other_share_nonce_and_note():
    one, two, three = (admit(Document(at, "d", f"Text {at}.")) for at in range(3))
    groups = envelopes([[], [("S1", one), ("S2", two)], [], [("S3", three)]], KEY)
    assert (groups[0], groups[2]) == (Envelope("", "", ()),) * 2
    assert groups[1].nonce == groups[3].nonce == render([("S1", one), ("S2", two), ("S3", three)], KEY).nonce
    assert groups[1].text.startswith(note_text())
    assert parse(groups[1].text, "xml")[1][0] == "S2"
    assert groups[3].text == f"<S3-{groups[3].nonce}>\nText 2.\n</S3-{groups[3].nonce}>\n\n"
    assert "".join(groups[3].pieces) == groups[3].text


BLOCKS = st.lists(st.tuples(st.text(max_size=6), st.text(max_size=6)), min_size=1, max_size=3)


@given(BLOCKS, st.data())
def test_one_changed_character_changes_the_nonce(blocks: list[tuple[str, str]], data: st.DataObject):
    """With digits enough that chance cannot make two alike."""
    row = data.draw(st.integers(0, len(blocks) - 1))
    part = data.draw(st.integers(0, 1))
    texts = list(blocks[row])
    at = data.draw(st.integers(0, len(texts[part])))
    texts[part] = texts[part][:at] + data.draw(st.characters()) + texts[part][at + data.draw(st.integers(0, 1)) :]
    changed = [*blocks[:row], (texts[0], texts[1]), *blocks[row + 1 :]]
    assert (nonce(KEY, blocks, 40) == nonce(KEY, changed, 40)) == (blocks == changed)
    assert nonce(KEY, blocks, 40) != nonce(b"another", blocks, 40)


def test_where_one_block_ends_matters():
    assert nonce(KEY, [("ab", "c")], 40) != nonce(KEY, [("a", "bc")], 40)
    assert nonce(KEY, [("a",), ("b",)], 40) != nonce(KEY, [("a", "b")], 40)


@pytest.mark.parametrize("at", range(5))
def test_a_block_that_holds_every_short_number_gets_a_longer_one(at: int):
    """Wherever they stand: a title's would end a fence as well."""
    everything = " ".join(f"{number:05}" for number in range(100_000))
    found = nonce(KEY, [("S1", "", "", "", "Text."), tuple(everything if at == part else "" for part in range(5))])
    assert len(found) == 6
    assert found not in everything


def test_the_form():
    document = Document(0, "kb", "30 days.", 'A "B" <c> & d', version="2026-10-01", access={"label": "internal"})
    envelope = rendered(document, Document(1, "x", "/etc", access={"label": 7}))
    digits = envelope.nonce
    assert re.fullmatch(r"\d{4}", digits)
    assert envelope.text == (
        f"{note_text()}"
        f'<S1-{digits} title="A &quot;B&quot; &lt;c&gt; &amp; d" version="2026-10-01" access="internal">\n'
        f"30 days.\n</S1-{digits}>\n"
        f"<S2-{digits}>\n/etc\n</S2-{digits}>\n\n"
    )
    assert render([], KEY) == Envelope("", "", ())


@pytest.mark.parametrize("lang", ["zh", "zh-CN", "en", "de"])
def test_no_evidence_is_said_in_words(lang: str):
    text = scope_text(lang)
    assert text.endswith("\n\n")
    assert ("资料" in text) == lang.startswith("zh")


@pytest.mark.parametrize("text", ["", "/x", " x", "\n", "\u3000x", "\x85x", "\u2028", "\x1cx"])
def test_what_may_merge_with_the_line_before_is_not_cut_off(text: str):
    assert not starts_apart(text)
    assert starts_apart("x" + text)


@pytest.fixture(scope="module")
def vocabularies() -> Vocabularies:
    return Vocabularies()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
@settings(max_examples=25)
@given(
    documents=st.lists(DOCUMENTS, min_size=1, max_size=3), question=st.sampled_from(["Why?", "退款", "/x", " y", "\n"])
)
def test_tokens_of_the_pieces_add_up(
    vocabularies: Vocabularies, form: str, name: str, documents: list[Document], question: str
):
    def tokens(text: str) -> int:
        return len(encoding.encode(text, disallowed_special=()))

    encoding = vocabularies.encoding(name)
    envelope = rendered(*documents, form=form)
    assert "".join(envelope.pieces) == envelope.text
    assert sum(map(tokens, envelope.pieces)) == tokens(envelope.text)
    if starts_apart(question):
        assert tokens(envelope.text) + tokens(question) == tokens(envelope.text + question)
    # What was foreseen, with a stand-in for label and nonce and no blank line at the end.
    foreseen = [piece for one in map(admit, documents) for piece in pieces_of(one.passage.shown, one.body, form)]
    if len(envelope.nonce) == 4:
        assert sum(map(tokens, foreseen)) == tokens(envelope.text.removeprefix(note_text(form)).removesuffix("\n"))
    assert tokens(envelope.text) - tokens(envelope.text.removesuffix("\n")) in (0, 1)


@pytest.mark.parametrize("form", FORMS)
def test_the_note_is_short(vocabularies: Vocabularies, form: str):
    assert len(vocabularies.encoding("o200k_base").encode(note_text(form))) <= 50
