"""Offline, texts are counted, and everything else is not to be had."""

from __future__ import annotations

from elbowroom.needs import NeedCounts, NeedEndpointCount, NeedRedaction, NeedRerank, NeedSummary
from elbowroom_proxy.cli.offline import answering
from elbowroom_proxy.tokens import Tokens
from elbowroom_proxy.vocabularies import Vocabularies
from tests.planted import planted


def test_counts_are_answered_and_the_network_is_not_asked():
    answer = answering(Tokens(Vocabularies(), secret=b""))
    assert answer(NeedCounts("o200k_base", ("hello", ""))) == (1, 0)
    assert answer(NeedRedaction(("secrets",), ("fine", planted("aws_key")[0]), 1)) == ((), ((0, 20, "aws_key"),))
    assert answer(NeedEndpointCount("m", b"{}")) == ()
    assert answer(NeedRerank("http", "which?", ("one",))) == ()
    assert answer(NeedSummary("m", "user: Hello.", 60, 5.0)) == ()


def test_the_reranker_of_this_process_is_there_offline_too():
    answer = answering(Tokens(Vocabularies(), secret=b""))
    worse, better = answer(NeedRerank("lexical", "refunds", ("Parcels.", "Refunds.")))
    assert better > worse
