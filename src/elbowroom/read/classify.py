"""Which class a question is of, and whether it leans on what was said before.

Knows: the cues of the policy, regular expressions by language, tried in the classes' order; all languages are tried, as
a question's language is not asked for.
Does not know: what a class then decides. A wrong class must do no harm: without a cue it is the policy's default class.

Only the first 2,000 characters are looked at, so that a pasted log costs no more than a question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from elbowroom.errors import ClassNotAllowed, InvalidRequest
from elbowroom.read.policy import Policy
from elbowroom.records import Classified, Principal

LOOKED_AT = 2000  # characters of the question

_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")


def classify(question: str, has_history: bool, policy: Policy, asked: str | None, principal: Principal) -> Classified:
    """The class that the client asked for, else the first whose cue matches, else the default.

    Raises `InvalidRequest` for a class that the policy does not have, `ClassNotAllowed` for one that the principal may
    not ask for; a cue never leads to a class that the principal may not have.
    """
    head = question[:LOOKED_AT]
    follow_up = has_history and _follows_up(head, policy)
    if asked is not None:
        if not policy.has_class(asked):
            raise InvalidRequest("There is no class of that name.", param="context.class")
        if principal.classes is not None and asked not in principal.classes:
            raise ClassNotAllowed("This key may not choose that class.", param="context.class")
        return Classified(asked, "client", follow_up=follow_up)
    for query_class in sorted(policy.classes, key=lambda one: one.priority):
        if principal.classes is None or query_class.name in principal.classes:
            cue = _first_match(query_class.cues, head)
            if cue is not None and _first_match(query_class.not_cues, head) is None:
                return Classified(query_class.name, "cue", cue, follow_up)
    return Classified(policy.default_class, "default", follow_up=follow_up)


def _follows_up(question: str, policy: Policy) -> bool:
    follow_up = policy.follow_up
    if _first_match(follow_up.not_cues, question) is not None:
        return False
    return _is_very_short(question, policy) or _first_match(follow_up.cues, question) is not None


def _is_very_short(question: str, policy: Policy) -> bool:
    characters = len(_CJK.findall(question))
    words = len(_WORD.findall(_CJK.sub(" ", question)))
    return characters <= policy.follow_up.max_characters and words <= policy.follow_up.max_words


def _first_match(cues: Mapping[str, Iterable[str]], text: str) -> str | None:
    return next((cue for some in cues.values() for cue in some if compiled(cue).search(text)), None)


@lru_cache(maxsize=4096)
def compiled(cue: str) -> re.Pattern[str]:
    """A cue, ready to search with; case does not matter. Raises `re.error`."""
    return re.compile(cue, re.IGNORECASE)
