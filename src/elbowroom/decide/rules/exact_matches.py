"""Rule `exact_matches`: who names the question's own version, error and environment comes before who is like it.

Knows: what versions, error codes and names of platforms look like, and that another version of the same thing is no
match for the one that was asked about.
Does not know: which products there are, or which versions are compatible. Without such a name it does nothing.
"""

from __future__ import annotations

import re

from elbowroom.decide.passage import Job, Packer, Packing, Passage
from elbowroom.decide.tiers import in_tiers
from elbowroom.needs import Steps

REMARKS = False
WHOLE = False

_VERSION = re.compile(
    r"(?<![A-Za-z0-9_.-])v?(\d+(?:\.\d+)+)(?![A-Za-z0-9_]|\.\d)|(?:\bversions?\s*|版本\s*)v?(\d+)(?![A-Za-z0-9_.])",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"(?<![A-Za-z0-9])(?:[A-Z]{1,8}[-_]?\d{2,6}|0x[0-9A-Fa-f]+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|E[A-Z]{4,}"
    r"|[A-Za-z]\w*(?:Error|Exception)|[45]\d\d)(?![A-Za-z0-9])"
    r"|(?:错误码|错误代码|代码)\s*([A-Za-z0-9]+)"
)
_PLATFORM = re.compile(
    r"(?<![a-z])(?:windows|mac ?os|linux|ubuntu|debian|centos|red hat|android|ios|ipados|chrome|safari|firefox|edge|"
    r"docker|kubernetes|aws|azure|java|python|node(?:\.js)?)(?: ?\d+(?:\.\d+)*)?(?![a-z\d])|安卓|鸿蒙|苹果",
    re.IGNORECASE,
)


def pack(job: Job, packer: Packer) -> Steps[Packing]:
    """Tiers by how many of the three a passage matches; one that names other versions only stands behind all."""
    asked = [_found(pattern, job.question_text) for pattern in (_VERSION, _ERROR, _PLATFORM)]
    kinds = sum(map(bool, asked))

    def tier(one: Passage) -> int:
        text = "\n".join((one.title, one.document.version or "", one.text.clean))
        versions = _found(_VERSION, text)
        if asked[0] and versions and not _same(asked[0], versions):
            return kinds + 1
        has = [_same(asked[0], versions), bool(asked[1] & _found(_ERROR, text)), _named(asked[2], text)]
        return kinds - sum(has)

    return (yield from packer(in_tiers(job, tier) if kinds else job))


def _found(pattern: re.Pattern[str], text: str) -> frozenset[str]:
    return frozenset(next(filter(None, (*found.groups(), found[0]))).lower() for found in pattern.finditer(text))


def _same(asked: frozenset[str], named: frozenset[str]) -> bool:
    """Whether a version is named that was asked for: the same, or either one more exactly ("4.2" and "4.2.1")."""
    return any(
        one == other or one.startswith(other + ".") or other.startswith(one + ".") for one in asked for other in named
    )


def _named(platforms: frozenset[str], text: str) -> bool:
    text = text.lower()
    return any(re.search(rf"(?<![a-z]){re.escape(one)}(?![a-z\d])", text) for one in platforms)
