"""A policy in words: what becomes of the documents of a request under it, step by step.

Knows: which number belongs to which step, and that each gate, rule and packer says itself what it does (its file's
first sentence), so that a new one need not be told about here.
Does not know: whether the policy is wise, or anything of models and requests.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from msgspec import structs

from elbowroom.decide import gates, packers, rules
from elbowroom.read.policy import Policy, QueryClass
from elbowroom.read.sources import SourceRow
from elbowroom.records import Mode

MODES = {
    Mode.ENFORCE: "what follows is done to every request that tags documents",
    Mode.SHADOW: "everything that has text is sent while there is room; what follows is worked out beside it",
    Mode.PASSTHROUGH: "everything that has text is sent while there is room; of what follows nothing is done",
}
ORDERS = {
    "best_first": "the best first",
    "edges": "the best first, the second best last, the weakest in the middle",
    "document": "as the client listed them",
}
SUMMED = (
    "At most {ceiling:,} tokens of evidence in {max_passages} passages, {per_source} of one source, {cap:,} tokens each"
)


def explained(policy: Policy) -> Iterator[str]:
    """The policy, a sentence a line."""
    yield f"Policy {policy.id} {policy.version}. Mode {policy.mode}: {MODES[policy.mode]}."
    yield (
        f"A prompt has {policy.input_limit:,} tokens, or the model's window where that is smaller; "
        f"{policy.safety_margin} of them stay free. The answer's room is kept before any evidence."
    )
    percent = policy.rollout.enforce_percent
    if policy.mode is Mode.ENFORCE and percent < 100:
        yield f"That is for {percent:g} % by {policy.rollout.by}; all others are in shadow."
    if policy.baseline == "as_sent":
        yield "Where nothing is enforced, nothing is added: the client's own messages say what it tags."
    evidence = policy.evidence
    yield (
        SUMMED.format(cap=evidence.max_passage_tokens, **structs.asdict(evidence))
        + "; a longer one is shortened to its highlights, its parent's text from the anchor on, its summary or whole "
        + f"sentences, if {evidence.min_excerpt_tokens} tokens or more are left."
    )
    yield "Left out is, in this order, and for the first reason that holds:"
    for at, name in enumerate(policy.gates, start=1):
        yield f"  {at}. {name}: {_said(gates.__name__, name)}{_number(name, policy)}."
    off = sorted(gates.NAMES.difference(policy.gates))
    yield f"  Switched off: {', '.join(off) or 'none'}."
    if evidence.merge_adjacent:
        yield "Chunks of one source that follow each other go in as one passage."
    if evidence.compress.model is not None:
        yield f"What finds no room is said in fewer words by {evidence.compress.model}, where that fits."
    yield f"Packer {policy.packer}: {_said(packers.__name__, policy.packer)}."
    yield f"Passages are shown {ORDERS[policy.order]}, as {policy.format}."
    for one in sorted(policy.classes, key=lambda one: (one.priority, one.name)):
        yield f"Class {one.name}: {_class(one, policy)}."
    for row in policy.sources.sources:
        yield f"Source {row.id or row.match}: {_source(row)}."
    if not policy.sources.sources:
        yield "No source is registered: all have the same authority, and none becomes stale."


def _said(package: str, name: str) -> str:
    """What the file's docstring says behind the colon, up to the end of its first paragraph."""
    words = (import_module(f"{package}.{name}").__doc__ or "").partition("\n\n")[0].partition(": ")[2]
    return " ".join(words.split()).rstrip(".")


def _number(gate: str, policy: Policy) -> str:
    evidence = policy.evidence
    numbers = {
        "wrong_language": f"wanted are {', '.join(evidence.languages)}"
        if evidence.languages
        else "off: all are wanted",
        "below_floor": f"the floor is {evidence.floor:g}" if evidence.floor else "off: the floor is 0",
        "source_cap": f"{evidence.per_source} are let in",
        "over_count": f"{evidence.max_passages} are let in",
        "low_novelty": f"less than {evidence.min_novelty:g}",
    }
    return f" ({numbers[gate]})" if gate in numbers else ""


def _class(one: QueryClass, policy: Policy) -> str:
    words = [f"{one.answer_reserve:,} tokens for the answer"]
    own = {name: value for name, value in structs.asdict(one.evidence).items() if value is not None}
    crucial = own.pop("crucial", policy.evidence.crucial)
    if own:
        words.append("evidence " + ", ".join(f"{name} {value:,}" for name, value in own.items()))
    if crucial == "others_first":
        words.append("the best passage goes in whole, the others are cut for it")
    if one.recency:
        words.append("newer evidence weighs more")
    if one.rule:
        words.append(_said(rules.__name__, one.rule))
    needs = f"{one.minimum.passages} passages of {one.minimum.sources} sources"
    words.append(f"with less than {needs}: {one.on_insufficient.replace('_', ' ')}")
    if one.name == policy.default_class:
        words.append("the default")
    return "; ".join(words)


def _source(row: SourceRow) -> str:
    words = [f"authority {row.authority:g}"]
    words += [row.kind] if row.kind else []
    words += [f"cited at {row.link}"] if row.link else []
    words += [f"stale after {row.freshness_days:g} days"] if row.freshness_days else []
    return ", ".join(words)
