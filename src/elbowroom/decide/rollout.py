"""In which mode a request is served: the key's own, else the policy's and its cohort; the baseline where all is killed.

Knows: that a keyed hash puts every conversation, or every key, at a place between 0 and 100 for good, and that whoever
stands below the percentage is enforced. So raising it never takes anybody out.
Does not know: what a mode does, who killed it, or any text.
"""

from __future__ import annotations

import hashlib
import json

from msgspec import Struct, structs

from elbowroom.read.policy import Policy
from elbowroom.records import Cohort, Mode, Principal

_PLACES = 10_000  # hundredths of a percent


class Stage(Struct, frozen=True):
    """How one request is served."""

    mode: Mode
    killed: bool = False
    cohort: Cohort | None = None  # None: nobody was drawn

    def of(self, policy: Policy) -> Policy:
        """The policy as it holds for that request."""
        return policy if policy.mode is self.mode else structs.replace(policy, mode=self.mode)


def stage(policy: Policy, principal: Principal, conversation: str | None, *, key: bytes, killed: bool) -> Stage:
    """A key's own mode is final. The policy's `enforce` is for its cohort, and shadow for all others.

    `conversation` is the client's id of it; a request without one goes with its key. `key` hashes.
    """
    if killed:
        return Stage(Mode.PASSTHROUGH, killed=True)
    if principal.mode is not None:
        return Stage(principal.mode)
    percent = policy.rollout.enforce_percent
    if policy.mode is not Mode.ENFORCE or percent >= 100:
        return Stage(policy.mode)
    by, name = policy.rollout.by, conversation
    if by == "key" or name is None:
        by, name = "key", principal.subject
    at = _place(json.dumps([policy.id, by, principal.org, principal.tenant, name]), key)
    inside = at < percent
    return Stage(Mode.ENFORCE if inside else Mode.SHADOW, cohort=Cohort(by, percent, at, inside))


def _place(name: str, key: bytes) -> float:
    """Where it stands, 0 to 99.99."""
    digest = hashlib.blake2b(name.encode("ascii"), digest_size=8, key=key, person=b"elbowroom cohort").digest()
    return int.from_bytes(digest, "big") % _PLACES * 100 / _PLACES
