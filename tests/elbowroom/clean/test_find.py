"""Places are whole characters, apart from each other, and found in time that grows with the text."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.clean.find import PACKS, Overrun, apart, find
from elbowroom.clean.sanitise import sanitise
from tests.planted import BASE64, FORMS, drawn, planted

BOTH = ("secrets", "pii")
PIECES = (
    st.sampled_from(FORMS).map(lambda one: planted(*one)[1]) | st.text(max_size=8) | st.sampled_from("，。 \n@:/\"'")
)


def test_without_packs_nothing_is_looked_for():
    assert find(planted("aws_key")[1], ()) == ()
    assert set(PACKS) == set(BOTH)


def test_full_width_and_other_forms_are_found_where_they_stand():
    value, _ = planted("aws_key")
    wide = "".join(chr(ord(char) + 0xFEE0) for char in value)
    bold = "".join(chr(0x1D400 + ord(char) - 65) if char.isalpha() else char for char in value)
    for form in (wide, bold):
        text = f"退款㎏ {form} 到账？"
        assert [text[start:end] for start, end, _ in find(text, BOTH)] == [form]


def net(text: str) -> str:
    """As .NET writes JSON; others escape less of it."""
    return re.sub("[^\\w ./:=@-]", lambda found: f"\\u{ord(found[0]):04X}", text)


def every(text: str) -> str:
    return "".join(f"\\u{ord(char):04x}" for char in text)


def nested(text: str) -> str:
    return json.dumps(every(text))[1:-1]


def hidden(text: str) -> str:
    return text[:7] + "\\u200b\\u00AD" + text[7:]


def full_width(text: str) -> str:
    return "".join(f"\\u{ord(char) + 0xFEE0:04x}" if char.isalnum() else char for char in text)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("write", [net, every, nested, hidden, full_width])
def test_escapes_hide_nothing(form: tuple[str, int], write: Callable[[str], str]):
    value, text = planted(*form)
    before, _, after = text.partition(value)
    escaped = f'{{"退": "\\u9000\\uff0c{write(before)}{write(value)}{write(after)}"}}'
    wanted = [(start, end) for start, end, _ in find(f'{{"退": "\\u9000\\uff0c{text}"}}', BOTH)]
    found = [json.loads(f'"{escaped[start:end]}"', strict=False) for start, end, _ in find(escaped, BOTH)]
    assert len(found) == len(wanted) > 0
    assert value in found[0] or write not in (net, every)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("between", ["\n", "\t", "\r\n", "\b", "\f", "，"])
def test_in_json_a_line_may_begin_with_it(form: tuple[str, int], between: str):
    value, text = planted(*form)
    for written in (json.dumps, lambda value: json.dumps(json.dumps(value)), lambda value: json.dumps(value) + "\n"):
        whole = written({"log": f"keys:{between}{text}{between}end"})
        left = whole
        for start, end, _ in reversed(find(whole, BOTH)):
            left = f"{left[:start]}[REDACTED]{left[end:]}"
        assert "[REDACTED]" in left
        log = json.loads(left)
        told = (json.loads(log) if isinstance(log, str) else log)["log"]
        assert told == f"keys:{between}{text.replace(value, '[REDACTED]')}{between}end"


@pytest.mark.parametrize("form", FORMS)
def test_in_json_a_slash_may_have_a_backslash_before_it(form: tuple[str, int]):
    value, text = planted(*form, "2")
    whole = json.dumps({"log": f"keys {text} end"}).replace("/", "\\/")
    found = [json.loads(f'"{whole[start:end]}"') for start, end, _ in find(whole, BOTH)]
    assert found == [value]


@pytest.mark.parametrize("form", FORMS)
def test_a_terminals_colours_are_no_letters_of_a_word(form: tuple[str, int]):
    value, text = planted(*form)
    log = f"keys \x1b[1;32m{text}\x1b[0m end"
    for whole in (sanitise(log).text, sanitise(json.dumps({"log": log})).text):
        ((start, end, _),) = find(whole, BOTH)
        assert json.loads(f'"{whole[start:end]}"', strict=False) == value


def test_digits_may_be_kept_on_one_line():
    spaced, dashed, account = planted("card", 1)[0], planted("card", 2)[0], planted("iban", 1)[0]
    for form in (
        *(one.replace(" ", space) for one in (spaced, account) for space in "\u00a0\u2007\u2009\u202f\u3000"),
        *(dashed.replace("-", hyphen) for hyphen in "\u2010\u2011\u2013\u2212\uff0d"),
    ):
        for text in (f"Nº\u00a07 – {form}，", json.dumps(f"Nº\u00a07 – {form}，")):
            ((start, end, _),) = find(text, BOTH)
            assert json.loads(f'"{text[start:end]}"') == form


def test_places_are_characters_in_any_script():
    (one, _), (two, _) = planted("github_token"), planted("mail")
    text = f"退款多久到账？\ud800{one}，😀{two} é {one}"
    assert [text[start:end] for start, end, _ in find(text, BOTH)] == [one, two, one]
    assert [name for *_, name in find(text, BOTH)] == ["github_token", "mail", "github_token"]


def test_a_value_that_is_no_ascii_is_found_whole():
    value = "RL1SQb退款RL1S@ftp.example\x80"
    text = f"ftp://files:{value}@0"
    assert [(text[start:end], name) for start, end, name in find(text, BOTH)] == [(value, "url_password")]


def test_what_an_earlier_pack_names_is_not_named_again():
    value, text = planted("url_password")
    assert [(text[start:end], name) for start, end, name in find(text, BOTH)] == [(value, "url_password")]
    mail, _ = planted("mail")
    both = f"{mail} {text} {mail}"
    assert [name for *_, name in find(both, BOTH)] == ["mail", "url_password", "mail"]


def test_what_overlaps_is_one_under_the_longer_name():
    assert apart([(5, 9, "b"), (0, 6, "a"), (8, 30, "c"), (30, 31, "d")]) == ((0, 30, "c"), (30, 31, "d"))
    assert apart([(0, 10, "a"), (2, 4, "b")]) == ((0, 10, "a"),)


@given(st.lists(PIECES, max_size=8).map("".join))
def test_places_lie_in_the_text_in_order_and_apart(text: str):
    at = 0
    for start, end, name in find(text, BOTH):
        assert at <= start < end <= len(text)
        assert name in {rule.name for pack in BOTH for rule in PACKS[pack]}
        at = end


@given(st.lists(PIECES, max_size=8).map("".join))
def test_what_was_redacted_is_not_found_again(text: str):
    for start, end, name in reversed(find(text, BOTH)):
        text = f"{text[:start]}[REDACTED:{name}#1]{text[end:]}"
    again = [(text[start:end], name) for start, end, name in find(text, BOTH)]
    assert not [one for one in again if "REDACTED" in one[0]]


@pytest.mark.parametrize(
    "piece",
    [
        "a@",
        "-----BEGIN PRIVATE KEY-----",
        "A",
        "https://u:",
        "eyJa",
        "ghp_",
        "AKIA ",
        "a.b@c.",
        "\\",
        "\\u0041",
        "\\n",
        "\\/ab",
        "é@é.é",
        "\u00a0",
    ],
)
def test_no_text_is_slow(piece: str):
    start = time.process_time()
    find(piece * (400_000 // len(piece)), BOTH)
    assert time.process_time() - start < 1.0


@pytest.mark.parametrize("between", ["", "\n", "\\n", "> ", '" + "'])
def test_nor_is_one_that_might_be_the_lines_of_a_key(between: str):
    text = between.join(drawn(str(at), BASE64, 1 + (7 * at) % 120) for at in range(3_000))
    start = time.process_time()
    assert find(text, BOTH) == ()
    assert time.process_time() - start < 1.0


def test_new_secrets_are_found_as_fast_as_known_ones():
    texts = [planted("github_token", 0, str(at))[0] for at in range(120)]
    start = time.process_time()
    assert all(find(text, BOTH) for text in texts)
    assert time.process_time() - start < 0.1


def test_a_search_that_takes_too_long_ends_itself():
    asked = []

    def late() -> bool:
        asked.append(1)
        return len(asked) > 2

    for text, packs in (("4111 " * 2_000, ("pii",)), ("\\u0041" * 2_000, BOTH), (planted("npm_token")[0], BOTH)):
        asked.clear()
        with pytest.raises(Overrun):
            find(f"{text} {planted('card')[0]}", packs, late)
        assert len(asked) == 3
