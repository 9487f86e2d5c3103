"""What a page writes: everything as text, what nobody can see as its escape, numbers as one reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError
from markupsafe import Markup

from elbowroom.account.search import Indexed
from elbowroom_proxy.pages import templating
from elbowroom_proxy.pages.templating import (
    LONGEST,
    STYLE,
    STYLE_AT,
    clock,
    day,
    ms,
    number,
    plain,
    render,
    share,
    signed,
    usd,
    when,
)  # fmt: skip

PROBLEM = {"title": "t", "message": "m", "status": 404, "code": "c", "back": None}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain 保修 שלום", "plain 保修 שלום"),
        ("two\nlines\tand 全角　空", "two\nlines\tand 全角　空"),
        ("\u202egpj.exe", "\\u202egpj.exe"),
        ("a\u200bb\u2066c\ufeff", "a\\u200bb\\u2066c\\ufeff"),
        ("\ud800\x00\x1b[31m", "\\ud800\\x00\\x1b[31m"),
    ],
)
def test_what_nobody_could_see_is_shown(text, shown):
    assert plain(text) == shown


def test_what_is_endless_is_cut_and_says_so():
    shown = plain("x" * (LONGEST + 1234))
    assert shown == "x" * LONGEST + "… (1,234 characters more)"


def test_what_a_page_is_there_to_show_is_not_cut():
    shown = templating.whole("<b>" + "x" * 2 * LONGEST + "\u202e")
    assert shown == "&lt;b&gt;" + "x" * 2 * LONGEST + "\\u202e"


@given(st.text(max_size=60))
def test_nothing_is_more_than_text(text):
    page = render(
        "problem.html", {**PROBLEM, "title": text, "message": f"'{text}\" onerror=alert(1) <script>"}
    ).decode()
    assert "<script" not in page
    start = page.index("<p>") + 3
    told = page[start : page.index("</p>", start)]
    assert "<" not in told
    assert '"' not in told
    assert "'" not in told
    assert all(c in "\n\t" or c.isprintable() or c.isspace() for c in told)


def test_only_what_a_template_wrote_is_markup():
    assert "&lt;b&gt;" in render("problem.html", {**PROBLEM, "message": "<b>"}).decode()
    assert templating._finalized(Markup("<b>")) == Markup("<b>")
    assert templating._finalized(None) == ""


def test_what_nobody_gave_is_no_silent_gap():
    with pytest.raises(UndefinedError):
        render("problem.html", {})


@pytest.mark.parametrize(("lag", "said"), [(0.9, "375 bytes to come"), (5.0, "! 375 bytes behind, for 5.00 s")])
def test_an_index_is_behind_where_that_lasts(lag, said):
    template = templating._ENVIRONMENT.from_string("{% from 'parts.html' import indexed %}{{ indexed(one) }}")
    shown = Markup(template.render(one=Indexed("2026-11-02T08:00:00+00:00", 3, behind=375, lag=lag))).striptags()
    assert shown == f"Indexed up to 2026-11-02 08:00:00 UTC, 3 records{',' if 'to come' in said else ''} {said}"


def test_the_style_has_an_address_of_its_own():
    assert STYLE_AT.startswith("/ui/static/desk-")
    assert STYLE_AT in render("problem.html", PROBLEM).decode()
    assert b"http" not in STYLE
    assert b"@import" not in STYLE
    assert b"url(" not in STYLE


def test_no_template_has_a_script_a_style_or_another_host():
    for file in sorted((templating.FOLDER / "templates").glob("*.html")):
        text = file.read_text("utf-8")
        assert "<script" not in text
        assert "<style" not in text
        assert " style=" not in text
        assert "|safe" not in text
        assert "autoescape" not in text
        assert "//" not in text.replace("http://www.w3.org/2000/svg", "")
        assert not [word for word in text.split() if word.startswith("on") and "=" in word]


@pytest.mark.parametrize(
    ("write", "value", "shown"),
    [
        (number, 1234567, "1,234,567"),
        (number, None, "–"),
        (signed, 12, "+12"),
        (signed, -1200, "−1,200"),
        (signed, 0, "0"),
        (signed, None, "–"),
        (ms, 3.14159, "3.1 ms"),
        (ms, 250.4, "250 ms"),
        (ms, 2500, "2.50 s"),
        (ms, None, "–"),
        (usd, 1_500_000, "$1.50"),
        (usd, 1234, "$0.001234"),
        (usd, 220, "$0.00022"),
        (usd, 0, "$0"),
        (usd, None, "–"),
        (when, "2026-11-02T08:00:00.123+00:00", "2026-11-02 08:00:00 UTC"),
        (when, "2026-11-02T10:00:00+02:00", "2026-11-02 08:00:00 UTC"),
        (when, "nonsense", "nonsense"),
        (when, None, "–"),
        (clock, "2026-11-02T08:00:00.123+00:00", "08:00:00"),
        (clock, "", "–"),
        (day, "2026-11-02T08:00:00.123", "2026-11-02"),
        (day, "?", ""),
    ],
)
def test_values_are_written(write, value, shown):
    assert write(value) == shown


def test_a_value_in_an_address_is_one_value():
    assert templating.quoted("a/b?c&d=\ud800é") == "a%2Fb%3Fc%26d%3D%3F%C3%A9"


def test_shares():
    assert share(1, 3) == "33.3 %"
    assert share(0, 0) == "–"
