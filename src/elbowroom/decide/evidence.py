"""Which passages go in: the reranker, the sift, then the packer under the class's rule and the policy's gates.

Knows: how a mode and a policy become gates, a packer and a rule, and in which order they act.
Does not know: what any gate, packer or rule does, the envelope, or the conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from msgspec import Struct, structs

from elbowroom.clean.text import Text
from elbowroom.count.counter import Tally
from elbowroom.decide import baseline, gates, packers, rules
from elbowroom.decide.access import accepted
from elbowroom.decide.crucial import others_first
from elbowroom.decide.limits import limits_for
from elbowroom.decide.merge import merge
from elbowroom.decide.order import Order
from elbowroom.decide.passage import Gate, Job, Limits, Packer, Packing, Passage
from elbowroom.decide.registered import registered
from elbowroom.decide.reranking import GIVEN, rerank
from elbowroom.decide.rules import Rule
from elbowroom.decide.sift import Ids, sift
from elbowroom.needs import Steps
from elbowroom.read.policy import Compress, Policy, QueryClass, Rerank
from elbowroom.read.sources import Registry
from elbowroom.records import Drop, Mode, Model, Reranking

# What these find depends on scores, so they come behind a reranker. It is shown only what all others let through.
_BY_SCORE = frozenset({Drop.BELOW_FLOOR, Drop.DUPLICATE})


class Recipe(Struct, frozen=True):
    """How to choose and show: gate names in order, a packer, the numbers they use, the order in the prompt."""

    gates: tuple[str, ...]
    pack: Packer
    limits: Limits
    order: Order
    rerank: Rerank = Rerank()
    rule: Rule | None = None
    registry: Registry = Registry()
    indoors: frozenset[str] = frozenset()  # access labels of documents that whoever compresses may not see

    @property
    def keeps_whole(self) -> bool:
        """Whether the rule takes what it takes whole or not at all."""
        return self.rule is not None and self.rule.WHOLE


class Choice(Struct, frozen=True):
    """Every passage, admitted or dropped, and which dropped ids an admitted one also stands for."""

    packing: Packing
    also_in: Ids  # of those that a kept one stands for
    job: Job  # what the packer was given
    disputes: Ids = {}  # of those that a kept one disagrees with
    rerank: Reranking | None = None


Choosing = Callable[[Sequence[Passage], Recipe], Steps[Choice]]


def recipe_for(
    policy: Policy,
    query_class: QueryClass,
    model: Model,
    now: float | None = None,
    compressor: Collection[str] | None = None,
) -> Recipe:
    """The policy's gates, packer and numbers, the class's own over them; the baseline where nothing is enforced.

    `now` in seconds since 1970, UTC; without it nothing is too old. `compressor`: the labels that the model accepts
    which says passages in fewer words; None: all that may leave the house.
    """
    if policy.mode is not Mode.ENFORCE:
        limits = structs.replace(_unlimited(policy, model), now=now)
        pack = baseline.pack if policy.baseline == "render_all" else baseline.pack_as_sent
        return Recipe(baseline.GATES, pack, limits, baseline.ORDER, registry=policy.sources)
    return Recipe(
        policy.gates,
        packers.load(policy.packer),
        structs.replace(limits_for(policy, query_class), now=now),
        policy.order,
        policy.rerank,
        rules.load(query_class.rule) if query_class.rule else None,
        policy.sources,
        frozenset(one for one in policy.access.labels if not accepted([one], compressor, policy.access)),
    )


def _unlimited(policy: Policy, model: Model) -> Limits:
    window = model.context_window
    every = policy.max_documents
    return structs.replace(
        Limits(**structs.asdict(policy.evidence)),
        ceiling=window,
        max_passages=every,
        per_source=every,
        max_passage_tokens=window,
        merge_adjacent=False,
        crucial="excerpt",
        compress=Compress(),
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
    """Reranks, sifts and packs. `earlier` is the user's turn that the question follows up on: half weight.

    Raises `RerankUnavailable` where the policy wants a reranker's order or none.
    """
    passages = registered(passages, recipe.registry)
    shown: Sequence[Passage] = ()
    if recipe.rerank.by != GIVEN:
        shown = sift(passages, [one for one in gates_of(recipe, "sift") if one[0] not in _BY_SCORE]).kept
    ranked = yield from rerank(passages, shown, recipe.rerank, question.clean, Tally(vocabulary))
    sifted = sift(ranked.passages, gates_of(recipe, "sift"))
    kept = sifted.kept
    if recipe.limits.merge_adjacent:
        kept = yield from merge(
            kept, min(recipe.limits.max_passage_tokens, budget), Tally(vocabulary, recipe.limits.line_prefix or "")
        )
    job = Job(
        passages=kept,
        question=weights(question, earlier),
        question_text=question.clean,
        budget=budget,
        limits=recipe.limits,
        vocabulary=vocabulary,
        gates=gates_of(recipe, "pack"),
        reranked=ranked.ran,
    )
    pack = recipe.pack
    if recipe.limits.crucial == "others_first" and not recipe.keeps_whole:
        pack = others_first(pack)
    packing = yield from pack(job) if recipe.rule is None else recipe.rule.pack(job, pack)
    # Those that were dropped for another which then did not go in whole may have had their turn.
    again = {one.passage.document.position: one.passage.document.id for one in packing.admitted}
    dropped = (
        one for one in ranked.dropped + sifted.dropped + packing.dropped if one.passage.document.position not in again
    )
    also_in = {
        position: tuple(name for name in names if name not in again.values())
        for position, names in sifted.also_in.items()
    }
    return Choice(structs.replace(packing, dropped=tuple(dropped)), also_in, job, sifted.disputes, ranked.told)


def gates_of(recipe: Recipe, moment: str) -> tuple[tuple[Drop, Gate], ...]:
    """The recipe's gates of that moment, as new: a gate lives as long as one list of admitted passages."""
    modules = [module for module in map(gates.load, recipe.gates) if moment == module.MOMENT]
    return tuple((module.REASON, module.build(recipe.limits)) for module in modules)


def weights(question: Text, earlier: Text | None) -> dict[str, float]:
    """Terms to look for: the question's at full weight, those only of the previous turn at half."""
    terms = dict.fromkeys(earlier.terms, 0.5) if earlier is not None else {}
    return {**terms, **dict.fromkeys(question.terms, 1.0)}
