"""What a question wants compared, as far as its words tell: "Basic or Pro", "A、B 和 C 的区别".

Knows: the words that stand between two options, and those that options end or begin at, in English and Chinese.
Does not know: what the options are. A sentence that only looks like a comparison yields options that no passage names.
"""

from __future__ import annotations

import re

from elbowroom.clean.terms import terms

_BETWEEN = re.compile(
    r"\s+(?:vs\.?|versus|compared (?:to|with)|rather than|than|different from|and|or|with|to)\s+"
    r"|\s*(?:还是|和|与|跟|同|及|相比于?|对比)\s*",
    re.IGNORECASE,
)
# Strongest first: "which is faster for A and B, C or D" is about C and D.
_STRONG = re.compile(
    r"\s+(?:vs\.?|versus|compared (?:to|with)|rather than|different from|than)\s+|还是|相比于?", re.IGNORECASE
)
_BEGINS = re.compile(
    r"\b(?:between|compar\w+|of|is|are|does|do|has|have|choose|using|use|either|whether|difference|which)\b"
    r"|[:,;?，；：？]\s(?=.*\bor\b)|比较一下|比较|对比|请问|在|哪个更\S{1,4}[，,：:]|[：:？?]",
    re.IGNORECASE,
)
_ENDS = re.compile(
    r"\s(?:in|for|on|at|when|if|regarding|about|with respect|as|by|differ\w*|better|is|are|has|have)\b"
    r"|[?.;]\s*|,\s(?:and|which|what|in|for)\b"
    r"|有什么|有何|的|在|哪|相比|比较|之间|区别|差异|[，。；？?]|更",
    re.IGNORECASE,
)
# "cheaper", "less expensive": what is asked of the options, none of them.
_MEASURE = re.compile(r"\b(?:\w{2,}er|(?:more|less) \w+)\b(?: \w+){0,2}\s*$", re.IGNORECASE)
_LIST = re.compile(r"\s*[,、，]\s*")

Options = tuple[frozenset[str], ...]  # the terms that tell each option from the others


def options_of(question: str) -> Options:
    """Two options or more, each by the terms that no other has; `()` where the question names none."""
    for between in (_STRONG, _BETWEEN):
        for found in between.finditer(question):
            named = _tell_apart([*_left(question[: found.start()]), *_right(question[found.end() :])])
            if len(named) > 1:
                return named
    return ()


def _left(text: str) -> list[str]:
    """The names before the word between: what stands behind the last word that options begin at."""
    begins = [match.end() for match in _BEGINS.finditer(text)]
    text = _MEASURE.sub("", text[begins[-1] :] if begins else text)
    *others, last = _LIST.split(text)
    return [*(one for one in others if not _MEASURE.search(one)), last]


def _right(text: str) -> list[str]:
    """The names behind it: up to the first word that options end at."""
    ends = _ENDS.search(text)
    return re.split(r"\s+(?:and|or)\s+|和|与|还是|,\s*|、", text[: ends.start()] if ends else text)


def _tell_apart(names: list[str]) -> Options:
    sets = [frozenset(terms(name)) for name in names if name.strip()]
    own = [one.difference(*(other for other in sets if other is not one)) for one in sets]
    return tuple(one for one in own if one) if all(own) and all(len(one) <= 8 for one in own) else ()
