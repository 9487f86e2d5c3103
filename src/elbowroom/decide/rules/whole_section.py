"""Rule `whole_section`: a procedure complete or not at all, and before it what it says must be done first.

Knows: sections by source and heading or by parent; that half of one is worse than none; that those whose heading says
so, and those that the procedure names, are its prerequisites.
Does not know: what a step is. A passage that is nobody's chunk is packed like any other.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from math import fsum

from msgspec import structs

from elbowroom.clean.text import normal
from elbowroom.decide.intake import Intake
from elbowroom.decide.passage import Dropped, Job, Packer, Packing, Passage
from elbowroom.decide.tiers import in_tiers, section_of
from elbowroom.decide.title import title_of
from elbowroom.needs import Steps
from elbowroom.records import Drop

REMARKS = False
WHOLE = True

Section = tuple[str, ...]

_FIRST = re.compile(
    r"\b(?:prerequisites?|requirements?|before you (?:begin|start)|what you need)\b"
    r"|前提|先决条件|准备工作|事前准备|开始之前",
    re.IGNORECASE,
)


def pack(job: Job, packer: Packer) -> Steps[Packing]:
    """The most telling section that fits, what it presupposes, then the rest; what is incomplete in the end goes."""
    sections: dict[Section, list[Passage]] = {}
    for one in job.passages:
        sections.setdefault(section_of(one), []).append(one)
    weights = Intake(job).weights
    telling = sorted(sections, key=lambda section: -_telling(sections[section], weights))
    lead = next((section for section in telling if _cost(sections[section]) <= job.budget), None)
    first = _prerequisites(sections, lead) if lead else frozenset()

    def tier(section: Section) -> int:
        return 0 if section == lead else 1 if section in first else 2

    room, without = job.budget, []
    for section in sorted(telling, key=tier):
        members = sections[section]
        if _is_whole(members):
            continue
        cost = _cost(members)
        if cost <= room:
            room -= cost
        else:
            told = f"its section needs {cost} tokens, {cost - room} too many"
            without += [Dropped(one, Drop.OVER_BUDGET, told) for one in members]
    out = {one.passage.document.position for one in without}
    narrowed = structs.replace(job, passages=tuple(one for one in job.passages if one.document.position not in out))
    packing = yield from packer(in_tiers(narrowed, lambda one: tier(section_of(one))))
    packing = structs.replace(packing, dropped=packing.dropped + tuple(without))
    return _complete(packing, sections, first)


def _telling(section: Sequence[Passage], weights: Mapping[str, float]) -> float:
    """What of the question its chunks and its heading speak of together, and the best relevance of any."""
    found = set(title_of(section[0].document.section or "").terms)
    for one in section:
        found.update(one.text.terms, title_of(one.title).terms)
    share = fsum(weights[term] for term in weights.keys() & found) / (sum(weights.values()) or 1.0)
    return share + max(one.relevance for one in section)


def _cost(section: Sequence[Passage]) -> int:
    return sum(one.tokens for one in section)


def _is_whole(section: Sequence[Passage]) -> bool:
    """Whether it is one passage that nobody cut out of anything, as far as is known."""
    return len(section) == 1 and not section[0].parts


def _prerequisites(sections: Mapping[Section, Sequence[Passage]], lead: Section) -> Collection[Section]:
    """Sections that stand before the procedure by their heading, in its source, or that it names."""
    source = sections[lead][0].document.source
    text = " ".join(one.text.normal for one in sections[lead])
    terms = {term for one in sections[lead] for term in one.text.terms}
    found = set()
    for section, members in sections.items():
        document, title = members[0].document, title_of(members[0].title)
        heading = document.section or members[0].title
        by_heading = document.source == source and _FIRST.search(heading)
        named = document.section is not None and len(normal(document.section)) > 5 and normal(document.section) in text
        if section != lead and (by_heading or named or (title.name and title.named_in(terms, text))):
            found.add(section)
    return found


def _complete(packing: Packing, sections: Mapping[Section, Sequence[Passage]], first: Collection[Section]) -> Packing:
    """Without the sections of which something is missing or was shortened."""
    whole = {one.passage.document.position for one in packing.admitted if one.form == "whole"}
    partly = {
        section
        for section, members in sections.items()
        if not _is_whole(members) and any(one.document.position not in whole for one in members)
    }
    kept = tuple(one for one in packing.admitted if section_of(one.passage) not in partly)
    gone = tuple(
        Dropped(one.passage, Drop.OVER_BUDGET, "there is no room for all of its section")
        for one in packing.admitted
        if section_of(one.passage) in partly
    )
    lacks = ""
    if partly and not kept:
        lacks = "no section fits whole"
    elif partly.intersection(first):
        lacks = "a prerequisite of the procedure is missing"
    return structs.replace(packing, admitted=kept, dropped=packing.dropped + gone, lacks=lacks)
