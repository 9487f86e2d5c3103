"""What an answer made of the evidence: what it cites, what is supported, what went wrong first, and what to do next.

Knows: the sentences of an answer and the labels or ids in square brackets behind them; the four ways in which a case
fails, in the order in which they happen.
Does not know: what a sentence means. Support needs an expected quote, an expected answer and a label that joins them;
what cannot be shown like that is unjudged, never guessed. Groundedness is lexical: shared terms, not entailment.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from elbowroom.account.evaluate import Yardstick, is_there
from elbowroom.clean.sentences import units
from elbowroom.clean.terms import terms

GROUNDED = 0.8  # a sentence is grounded when the cited passages contain this share of its terms
_BRACKETS = re.compile(r"[\[【]([^\[\]【】\n]{1,256})[\]】]")


class Diagnosis(StrEnum):
    """Where a case failed first."""

    RECALL = "recall"  # never retrieved
    PACKING = "packing"  # retrieved, but excluded
    PROMPT = "prompt"  # included, but ignored
    VERIFICATION = "verification"  # cited, but wrong


NEXT = {
    Diagnosis.RECALL: "never retrieved: raise retrieve_k, search by words and by meaning, look at chunks and filters",
    Diagnosis.PACKING: "retrieved but excluded: replay the case for the reasons; raise the ceiling or loosen that gate",
    Diagnosis.PROMPT: "included but ignored: change the instructions or the order; try fewer passages",
    Diagnosis.VERIFICATION: "cited but wrong: check the answer against the passage it cites, or ask a stronger model",
}


class Statement(Struct, frozen=True):
    """A sentence of the answer without its brackets, and the labels of the passages that it cites."""

    text: str
    cited: tuple[str, ...]


class Verdict(Struct, frozen=True):
    """What became of one answer. None: unjudged."""

    cited: tuple[bool, ...]  # for each group: a cited passage carries some of it
    supported: bool | None  # True, or unjudged
    right: bool | None  # an expected answer stands in it
    sentences: int  # those with a citation
    grounded: int  # of these


def statements(answer: str, labels: Mapping[str, str]) -> list[Statement]:
    """The sentences of an answer. `labels` says which label a name in brackets means; other brackets are text.

    A citation at the beginning of a sentence belongs to the one before it, as the full stop often stands between.
    """
    found: list[Statement] = []
    for unit in units(answer):
        text = answer[unit.start : unit.end]
        leading, rest = _leading(text, labels)
        if leading and found:
            found[-1] = Statement(found[-1].text, (*found[-1].cited, *leading))
            leading = ()
        cited = (*leading, *_cited(rest, labels))
        said = _BRACKETS.sub(lambda match: "" if _named(match, labels) else match[0], rest).strip()
        if said:
            found.append(Statement(said, cited))
    return found


def judge(answer: str, yardstick: Yardstick, sent: Mapping[str, str], labels: Mapping[str, str]) -> Verdict:
    """The verdict on an answer; `sent` is what was sent of each passage, by label."""
    said = statements(answer, labels)
    earned = {label: yardstick.credits([body]) for label, body in sent.items()}
    used = dict.fromkeys(label for one in said for label in one.cited)
    groups = len(yardstick.credits([]))
    citing = [one for one in said if one.cited]
    supported = any(yardstick.answered(one.text) and any(any(earned[label]) for label in one.cited) for one in citing)
    return Verdict(
        cited=tuple(any(earned[label][group] for label in used) for group in range(groups)),
        supported=supported or None,
        right=yardstick.answered(answer),
        sentences=len(citing),
        grounded=sum(_is_grounded(one, sent) for one in citing),
    )


def diagnose(retrieved: Sequence[float], admitted: Sequence[float], verdict: Verdict | None) -> Diagnosis | None:
    """The first thing that went wrong, by each group's credit in the candidates and in what was admitted.

    None: nothing that can be seen. Without an answer only the first two can be.
    """
    if not all(map(is_there, retrieved)):
        return Diagnosis.RECALL
    if not all(map(is_there, admitted)):
        return Diagnosis.PACKING
    if verdict is None:
        return None
    if not all(verdict.cited):
        return Diagnosis.PROMPT
    return Diagnosis.VERIFICATION if verdict.right is False else None


def _leading(text: str, labels: Mapping[str, str]) -> tuple[tuple[str, ...], str]:
    """The labels before the first word, and the rest."""
    found: list[str] = []
    while (match := _BRACKETS.match(text)) and (named := _named(match, labels)):
        found += named
        text = text[match.end() :].lstrip()
    return tuple(found), text


def _cited(text: str, labels: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(label for match in _BRACKETS.finditer(text) for label in _named(match, labels))


def _named(match: re.Match[str], labels: Mapping[str, str]) -> list[str]:
    """The labels that one pair of brackets names: one, or several with commas between."""
    whole = match[1].strip()
    names = [whole] if whole in labels else [part.strip() for part in re.split("[,;，；]", whole)]
    return [labels[name] for name in names] if all(name in labels for name in names) else []


def _is_grounded(statement: Statement, sent: Mapping[str, str]) -> bool:
    wanted = set(terms(statement.text))
    have = set[str]().union(*(terms(sent[label]) for label in statement.cited))
    return len(wanted & have) >= GROUNDED * len(wanted)
