"""Answers against the evidence: who is cited for what, what is supported, and where it went wrong first."""

from __future__ import annotations

import pytest

from elbowroom.account.evaluate import Alternative, Expected, Yardstick
from elbowroom.account.verdict import NEXT, Diagnosis, Statement, Verdict, diagnose, judge, statements

SENT = {"S1": "The pump is quiet below 40 dB.", "S2": "The fan motor is of type M-7."}
LABELS = {"S1": "S1", "S2": "S2", "noise": "S1", "parts, 2": "S2"}
GROUPS = ((Alternative("noise", ("quiet below 40 dB",)),), (Alternative("parts, 2", ("type M-7",)),))


def judged(answer: str, answers: tuple[str, ...] = ("40 dB",)) -> Verdict:
    yardstick = Yardstick(Expected(GROUPS, answers), {}, list(SENT.values()))
    return judge(answer, yardstick, SENT, LABELS)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("It is quiet [S1]. It has a fan.", [("It is quiet .", ("S1",)), ("It has a fan.", ())]),
        ("It is quiet. [S1] It has a fan. [S2]", [("It is quiet.", ("S1",)), ("It has a fan.", ("S2",))]),
        ("It is quiet. [S1][S2]", [("It is quiet.", ("S1", "S2"))]),
        ("[S1] says that it is quiet.", [("says that it is quiet.", ("S1",))]),
        ("Both [S1, S2]; one [noise], one [parts, 2].", [("Both ; one , one .", ("S1", "S2", "S1", "S2"))]),
        ("低于40分贝【S1】。", [("低于40分贝。", ("S1",))]),
        ("See [9] and [S1, S9].", [("See [9] and [S1, S9].", ())]),
        ("[S1]", []),
        ("", []),
    ],
)
def test_sentences_and_what_they_cite(answer, said):
    assert statements(answer, LABELS) == [Statement(text, cited) for text, cited in said]


def test_supported_joins_quote_label_and_answer():
    assert judged("It is quiet: below 40 dB [S1].") == Verdict((True, False), True, True, 1, 1)
    assert judged("It stays below 40 dB [noise]. It has an M-7 [S2].").cited == (True, True)


@pytest.mark.parametrize(
    ("answer", "answers"),
    [
        ("It stays below 40 dB.", ("40 dB",)),  # nothing cited
        ("It is quiet [S1]. That means 40 dB.", ("40 dB",)),  # the answer stands beside no label
        ("It stays below 40 dB [S1].", ("yes",)),  # no answer that could be found
    ],
)
def test_what_cannot_be_shown_is_unjudged(answer, answers):
    assert judged(answer, answers).supported is None


def test_another_passage_does_not_support():
    extra = {**SENT, "S3": "Nothing about that."}
    yardstick = Yardstick(Expected(GROUPS, ("40 dB",)), {}, list(SENT.values()))
    verdict = judge("It stays below 40 dB [S3].", yardstick, extra, {**LABELS, "S3": "S3"})
    assert verdict == Verdict((False, False), None, True, 1, 0)


def test_groundedness_is_shared_terms():
    verdict = judged("The pump is quiet [S1]. The pump is painted yellow and heavy [S1]. Uncited words.")
    assert (verdict.sentences, verdict.grounded) == (2, 1)


def test_the_first_failure_is_the_diagnosis():
    good = Verdict((True,), True, True, 1, 1)
    assert diagnose([0.5], [0.5], good) is Diagnosis.RECALL
    assert diagnose([1.0], [0.5], good) is Diagnosis.PACKING
    assert diagnose([1.0], [1.0], None) is None
    assert diagnose([1.0], [1.0], Verdict((False,), None, True, 0, 0)) is Diagnosis.PROMPT
    assert diagnose([1.0], [1.0], Verdict((True,), None, False, 1, 1)) is Diagnosis.VERIFICATION
    assert diagnose([1.0], [1.0], Verdict((True,), None, None, 1, 1)) is None
    assert diagnose([1.0], [1.0], good) is None


def test_each_diagnosis_has_its_next_action():
    assert set(NEXT) == set(Diagnosis)
