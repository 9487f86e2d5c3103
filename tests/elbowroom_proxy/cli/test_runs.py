"""What the commands share: options as values, and progress in words."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace

import pytest

from elbowroom.price import Price
from elbowroom_proxy.cli import runs
from elbowroom_proxy.cli.cases import Variant


def parsed(*words: str) -> Namespace:
    parser = ArgumentParser()
    runs.arguments(parser)
    return parser.parse_args(["--cases", "c", *words])


def test_numbers_come_once_and_in_order():
    assert runs.numbers("500, 100,500") == (500, 100)
    for word in ("", "5,", "-1", "0", "1.5"):
        with pytest.raises(ArgumentTypeError):
            runs.numbers(word)


def test_a_share_is_from_0_to_1():
    assert runs.share("0.3") == 0.3
    for word in ("1.1", "-0.1", "x", "nan"):
        with pytest.raises(ArgumentTypeError):
            runs.share(word)


def test_what_options_do_to_the_candidates():
    assert runs.variant(parsed()) == Variant()
    spoilt = parsed("--without", "titles", "--without", "order", "--without", "titles", "--jitter", "0.3")
    assert runs.variant(spoilt) == Variant(("titles", "order"), 0.3)


def test_money_is_micro_usd_a_million_tokens():
    assert runs.usd(1_000_000, Price(input=2_500_000, output=0)) == 2.5


def test_progress_ends_its_line_when_all_is_done(capsys):
    runs._show(1, 2)
    runs._show(2, 2)
    assert capsys.readouterr().err == "\r1 of 2 cases\r2 of 2 cases\n"
