"""Offline, texts are counted, and everything else is not to be had."""

from __future__ import annotations

from elbowroom.needs import NeedCounts, NeedEndpointCount
from elbowroom_proxy.cli.offline import answering
from elbowroom_proxy.tokens import Tokens
from elbowroom_proxy.vocabularies import Vocabularies


def test_counts_are_answered_and_the_network_is_not_asked():
    answer = answering(Tokens(Vocabularies(), secret=b""))
    assert answer(NeedCounts("o200k_base", ("hello", ""))) == (1, 0)
    assert answer(NeedEndpointCount("m", b"{}")) == ()
