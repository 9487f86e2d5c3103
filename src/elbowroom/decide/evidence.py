"""Which passages go in: the sift, then the packer, under the policy's gates.

Knows: how a mode and a policy become gates and a packer, and in which order they act.
Does not know: what any gate or packer does, the envelope, or the conversation.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, structs

from elbowroom.clean.text import Text
from elbowroom.decide import baseline, gates, packers
from elbowroom.decide.limits import limits_for
from elbowroom.decide.order import Order
from elbowroom.decide.passage import Gate, Job, Limits, Packer, Packing, Passage
from elbowroom.decide.sift import Ids, sift
from elbowroom.read.policy import Policy, QueryClass
from elbowroom.records import Drop, Mode, Model, Steps


class Recipe(Struct, frozen=True):
    """How to choose and show: gate names in order, a packer, the numbers they use, the order in the prompt."""

    gates: tuple[str, ...]
    pack: Packer
    limits: Limits
    order: Order


class Choice(Struct, frozen=True):
    """Every passage, admitted or dropped, and which dropped ids an admitted one also stands for."""

    packing: Packing
    also_in: Ids  # of those that a kept one stands for
    disputes: Ids = {}  # of those that a kept one disagrees with


def recipe_for(policy: Policy, query_class: QueryClass, model: Model) -> Recipe:
    """The policy's gates, packer and numbers, the class's own over them; the baseline where nothing is enforced."""
    if policy.mode is not Mode.ENFORCE:
        return Recipe(baseline.GATES, baseline.pack, _unlimited(policy, model), baseline.ORDER)
    return Recipe(policy.gates, packers.load(policy.packer), limits_for(policy, query_class), policy.order)


def _unlimited(policy: Policy, model: Model) -> Limits:
    window = model.context_window
    every = policy.max_documents
    return structs.replace(
        Limits(**structs.asdict(policy.evidence)),
        ceiling=window,
        max_passages=every,
        per_source=every,
        max_passage_tokens=window,
    )


def choose(
    passages: Sequence[Passage],
    recipe: Recipe,
    *,
    question: Text,
    earlier: Text | None,
    budget: int,
    vocabulary: str,
) -> Steps[Choice]:
    """Sifts and packs. `earlier` is the user's previous turn where the question follows up on it: half weight."""
    loaded = [(module, module.build(recipe.limits)) for module in map(gates.load, recipe.gates)]

    def moment(name: str) -> tuple[tuple[Drop, Gate], ...]:
        return tuple((module.REASON, gate) for module, gate in loaded if name == module.MOMENT)

    sifted = sift(passages, moment("sift"))
    packing = yield from recipe.pack(
        Job(
            passages=sifted.kept,
            question=weights(question, earlier),
            question_text=question.clean,
            budget=budget,
            limits=recipe.limits,
            vocabulary=vocabulary,
            gates=moment("pack"),
        )
    )
    return Choice(Packing(packing.admitted, sifted.dropped + packing.dropped), sifted.also_in, sifted.disputes)


def weights(question: Text, earlier: Text | None) -> dict[str, float]:
    """Terms to look for: the question's at full weight, those only of the previous turn at half."""
    terms = dict.fromkeys(earlier.terms, 0.5) if earlier is not None else {}
    return {**terms, **dict.fromkeys(question.terms, 1.0)}
