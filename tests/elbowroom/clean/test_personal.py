"""What tells of a person is taken for it only where its form says so for certain."""

from __future__ import annotations

import pytest

from elbowroom.clean.find import find
from elbowroom.clean.personal import PERSONAL
from tests.planted import FORMS, planted
from tests.planted import PERSONAL as KINDS

PII = ("pii",)


def test_every_rule_has_a_kind_and_every_kind_a_rule():
    assert {rule.name for rule in PERSONAL} == set(KINDS)


@pytest.mark.parametrize(("rule", "form"), [one for one in FORMS if one[0] in KINDS])
def test_what_it_names_is_found_and_nothing_beside_it(rule: str, form: int):
    for seed in map(str, range(12)):
        value, text = planted(rule, form, seed)
        for around in ("{}", "Use {} now.", "值为{}。", "| who | {} |", '"{}",', "{}, ABCD"):
            whole = around.format(text)
            ((start, end, name),) = find(whole, PII)
            assert (whole[start:end], name) == (value, rule)


@pytest.mark.parametrize(
    "address",
    [
        "jürgen.groß@mail.example",
        "élodie@mail.example",
        "kontakt@bücher.example",
        "a@xn--bcher-kva.example",
        "_bot@mail.example",
    ],
)
def test_an_address_may_have_any_latin_letter(address: str):
    for around in ("{}", "请联系{}。", "<{}>", "Grüße an {}!"):
        text = around.format(address)
        assert [text[start:end] for start, end, _ in find(text, PII)] == [address]


@pytest.mark.parametrize("rule", ["card", "iban"])
def test_another_digit_makes_it_a_number_like_others(rule: str):
    value, _ = planted(rule)
    for last in range(10):
        changed = value[:-1] + str(last)
        assert bool(find(changed, PII)) == (changed == value)


@pytest.mark.parametrize(
    "text",
    [
        "icon@2x.png and git@git.example:shop/app.git and pkg@1.2.3",
        "@mention and a@b and me@localhost",
        "0000 0000 0000 0000, order 4000000000000000000000",
        "4111 1111 1111 1112",
        "DE00 0000 0000 0000 0000 00",
        "XX82 0000 1234 5678 9012",
        "DE89 3704",
        "GB BANK 12",
    ],
)
def test_what_only_looks_like_it_stays(text: str):
    assert find(text, PII) == ()


def test_a_number_that_fails_does_not_hide_the_one_inside_it():
    value, _ = planted("card", 1)
    text = f"4111 {value}"
    assert [text[start:end] for start, end, _ in find(text, PII)] == [value]
