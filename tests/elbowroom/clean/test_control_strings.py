from __future__ import annotations

import re

import pytest

from elbowroom.clean.control_strings import RULES, Rule
from elbowroom.clean.neutralise import LIVE, compile_rules, neutralise

CASES = [pytest.param(rule, example, id=f"{rule.family}: {example!r}") for rule in RULES for example in rule.examples]


@pytest.mark.parametrize(("rule", "example"), CASES)
def test_each_example_is_broken(rule: Rule, example: str) -> None:
    broken = neutralise(f"before {example} after")
    assert broken.removed >= 1
    assert example not in broken.text
    assert broken.text.replace("\\", "") == f"before {example} after"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.family}: {rule.examples[0]!r}")
def test_no_rule_can_be_spared(rule: Rule) -> None:
    """Without the rule every example of it stays live; so each row is needed, and each example is its own."""
    others = compile_rules(other for other in RULES if other is not rule)
    for example in rule.examples:
        assert neutralise(example, others).text == example


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.family}: {rule.examples[0]!r}")
def test_the_conditions_that_make_one_backslash_enough(rule: Rule) -> None:
    assert len(rule.first) == 1
    alone = compile_rules([rule])
    for example in rule.examples:
        place = example.index(rule.first)
        assert not alone.search(example[:place] + rule.first + "\\" + example[place + 1 :])
        assert not any(
            alone.search(f"{example[:cut]}\\{example[cut:]}") for cut in range(place + 1, _end(rule, example))
        )
        assert re.search(re.escape(rule.first) + rule.rest, example).end() - place >= 2  # type: ignore[union-attr]
        assert "(?!" not in rule.rest  # nothing that a cut could bring to life
        # Nor that a tag's own line could, behind a text that ends anywhere.
        ends = (neutralise(example[:end], alone).text.strip() for end in range(len(example) + 1))
        assert not any(alone.search(f"\n{text}\n") for text in ends)
        # Nor may a form of several characters be needed as two: where one is excluded it is searched for as one.
        assert not re.search(r"\[\^[^\]]*\]\[\^[^\]]*\](?!\{0,)", rule.rest)


def _end(rule: Rule, example: str) -> int:
    match = re.search(re.escape(rule.first) + rule.rest, example)
    assert match is not None
    return match.end()


@pytest.mark.parametrize(
    "text",
    [
        "if (a < b && b > c) { return xs[0] << 2; }",
        "map <|> filter, x |> f, f <| x, List.map <| g |> h",
        "grep '<|>' file; echo [i] [x] [INSTALL] [s]",
        "class Box<T extends Item> { } <b>bold</b> <span> <script> <table>",
        "User: jdoe\nAssistant: none\nHuman: yes",
        "see [12] and [Section 3] and <https://example.com>",
        "## S3 and S3-compatible storage\n# The end S1 had",
        "<user@example.com> <sub> <1 hour> [A-Z] |a|b|",
        "Arc<[String]>, Box<[u8]>; <filename>, <args>, <role>admin</role>, <end_of_line>, [BOM] [EOF]",
    ],
)
def test_lookalikes_stay(text: str) -> None:
    assert not LIVE.search(text)
    assert neutralise(text) == (text, 0, ())
