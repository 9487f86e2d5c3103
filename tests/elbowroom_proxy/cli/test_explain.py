"""The policy in words: every gate in its order with its number, every class, every source."""

from __future__ import annotations

import pytest

from elbowroom.decide import gates
from elbowroom.read.policy import Compress, Evidence, EvidenceOverride, Minimum, Policy, QueryClass, Rollout
from elbowroom.read.sources import Registry, SourceRow
from elbowroom.records import Mode
from elbowroom_proxy import settings
from elbowroom_proxy.__main__ import main
from elbowroom_proxy.cli.explain import explained


def words(**policy) -> str:
    return "\n".join(explained(Policy(**policy)))


def test_the_built_in_policy_is_told_by_check(capsys):
    assert main(["check", "--explain"]) == 0
    told = capsys.readouterr().out
    assert "\n".join(explained(settings.load().policy)) in told
    assert "At most 6,000 tokens of evidence in 10 passages, 2 of one source, 1,500 tokens each" in told
    assert all(f". {name}: " in told for name in gates.NAMES)
    assert "  Switched off: none.\n" in told
    assert "No source is registered" in told
    main(["check"])
    assert "At most" not in capsys.readouterr().out


def test_gates_stand_in_the_policy_s_order_with_their_numbers():
    told = words(gates=("source_cap", "empty", "below_floor", "wrong_language"), evidence=Evidence(per_source=3))
    assert "1. source_cap: one source may not fill the evidence (3 are let in)." in told
    assert (
        "3. below_floor: the caller's own score says that it is hardly about the question (off: the floor is 0)."
        in told
    )
    assert "(off: all are wanted)" in told
    assert (
        "Switched off: duplicate, expired, low_novelty, over_budget, over_count, repeated_id, stale, superseded."
        in told
    )
    tuned = words(evidence=Evidence(floor=0.25, languages=("en", "zh"), merge_adjacent=False))
    assert "(the floor is 0.25)" in tuned
    assert "(wanted are en, zh)" in tuned
    assert "Chunks" in told
    assert "Chunks" not in tuned
    assert "fewer words" not in told
    assert "in fewer words by small, where that fits." in words(evidence=Evidence(compress=Compress("small")))


@pytest.mark.parametrize(
    ("own", "policy", "said"),
    [(None, "excerpt", False), ("others_first", "excerpt", True), ("excerpt", "others_first", False)],
)
def test_a_class_says_whether_its_best_passage_is_cut(own, policy, said):
    general = QueryClass("general", evidence=EvidenceOverride(crucial=own))
    told = words(classes=(general,), evidence=Evidence(crucial=policy))
    assert ("the best passage goes in whole" in told) is said


@pytest.mark.parametrize(
    ("mode", "said"), [(Mode.SHADOW, "worked out beside it"), (Mode.PASSTHROUGH, "nothing is done")]
)
def test_a_mode_says_what_is_done(mode, said):
    assert said in words(mode=mode)


def test_a_cohort_and_another_baseline_are_told():
    told = words(rollout=Rollout(enforce_percent=12.5, by="key"), baseline="as_sent")
    assert "for 12.5 % by key; all others are in shadow" in told
    assert "nothing is added" in told
    told = words(mode=Mode.SHADOW, rollout=Rollout(enforce_percent=5))
    assert "5 %" not in told
    assert "nothing is added" not in told


def test_classes_and_sources_say_what_is_theirs():
    told = words(
        classes=(
            QueryClass("general"),
            QueryClass(
                "news", priority=1, recency=True, rule="one_section", answer_reserve=1200, on_insufficient="refuse",
                evidence=EvidenceOverride(ceiling=1500), minimum=Minimum(passages=2, sources=2),
            ),
        ),
        sources=Registry(
            sources=(
                SourceRow(id="kb", authority=0.9, kind="handbook", link="https://w.example/{id}", freshness_days=30),
                SourceRow(match="web-*", authority=0.2),
            )
        ),
    ).splitlines()  # fmt: skip
    news, general, book, web = told[-4:]
    assert news.startswith(
        "Class news: 1,200 tokens for the answer; evidence ceiling 1,500; newer evidence weighs more; "
    )
    assert news.endswith("; with less than 2 passages of 2 sources: refuse.")
    assert general.endswith("; the default.")
    assert book == "Source kb: authority 0.9, handbook, cited at https://w.example/{id}, stale after 30 days."
    assert web == "Source web-*: authority 0.2."
