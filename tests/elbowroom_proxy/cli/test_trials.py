"""Cases driven through the engine: setups, measures, processes, and a file that remembers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from elbowroom.account.evaluate import Alternative, Expected, Yardstick
from elbowroom.account.verdict import Diagnosis
from elbowroom.read.policy import EvidenceOverride, Policy, QueryClass
from elbowroom.records import Refused
from elbowroom_proxy.cli import trials
from elbowroom_proxy.cli.cases import Case, Variant
from elbowroom_proxy.cli.trials import ANY, Bench, Setup, Trials, measured, run, setup
from tests.walk import MODEL

TEXTS = {
    "loud": "The FH-300 is heard with 41 dB in the quiet mode. It stands on four feet.",
    "motor": "The FH-300 needs the fan motor M-7. It is kept in the central store of the house.",
    "colour": "The casing comes in graphite, sand and white, and a sample card is sent on request.",
}


def case(ident: str = "one", **more: Any) -> Case:
    fields: dict[str, Any] = {
        "id": ident,
        "lang": "en",
        "question": "How loud is the FH-300 in the quiet mode?",
        "documents": tuple(
            {"id": name, "text": text, "score": score}
            for (name, text), score in zip(TEXTS.items(), (0.9, 0.5, 0.1), strict=True)
        ),
        "expected": Expected(((Alternative("loud", ("heard with 41 dB",)),),), ("41 dB",)),
        "texts": TEXTS,
    }
    return Case(**{**fields, **more})


def one(budget: int | None = 500, packer: str | None = None, *, uncapped: bool = True, **more: Any) -> Setup:
    return setup("p", Policy(), packer=packer, budget=budget, uncapped=uncapped, **more)


def done(some: list[Case], *setups: Setup, **more: Any) -> Trials:
    return run(some, setups, MODEL, {}, **more)


def test_a_budget_is_a_ceiling_for_every_class_and_a_lower_one_stays():
    classes = (QueryClass("general"), QueryClass("short", evidence=EvidenceOverride(ceiling=100)))
    policy = Policy(classes=classes)
    capped = setup("p", policy, packer="topk", budget=300, uncapped=False).policy
    assert (capped.packer, capped.evidence.ceiling) == ("topk", 300)
    assert [one.evidence.ceiling for one in capped.classes] == [300, 100]
    assert setup("p", policy, packer=None, budget=None, uncapped=False).policy == policy


def test_open_takes_every_cap_off():
    opened = one(500).policy
    assert opened.evidence.ceiling == 500
    assert {opened.evidence.max_passages, opened.evidence.per_source, opened.evidence.rerank_keep} == {ANY}
    assert opened.evidence.max_passage_tokens == opened.input_limit == ANY
    assert opened.classes[0].evidence.max_passages == ANY
    assert one(None).policy.evidence.ceiling == ANY
    ruled = Policy(classes=(QueryClass("general", rule="one_section"),))
    assert [setup("p", ruled, packer=None, budget=9, uncapped=on).policy.classes[0].rule for on in (True, False)] == [
        None,
        "one_section",
    ]


def test_what_is_kept_of_a_case():
    ((found,),) = done([case(query_class="point_lookup", dataset="d")], one(500)).results
    assert (found.case, found.lang, found.dataset, found.query_class) == ("one", "en", "d", "point_lookup")
    assert (found.recall, found.all, found.answer, found.retrieved) == (1.0, True, True, 1.0)
    assert 50 < found.tokens < found.prompt_tokens < 300
    assert (found.over, found.diagnosis, found.judged) == (False, None, False)
    assert found.ms > 0


def test_the_budget_covers_note_tag_lines_and_bodies():
    whole = done([case()], one(500)).results[0][0].tokens
    assert done([case()], one(whole)).results[0][0].tokens == whole
    less = done([case()], one(whole - 1)).results[0][0]
    assert less.tokens < whole
    assert not less.over


def test_what_is_left_out_is_diagnosed_with_its_reasons():
    wanted = Expected(((Alternative("colour", ("comes in graphite",)),),))
    (found,) = done([case(expected=wanted)], one(80, "topk")).results[0]
    assert (found.recall, found.diagnosis, found.lost_by) == (0.0, Diagnosis.PACKING, ("over_budget",))
    (found,) = done([case(expected=wanted)], one(500, variant=Variant(top_k=2))).results[0]
    assert (found.retrieved, found.diagnosis, found.lost_by) == (0.0, Diagnosis.RECALL, ())


def test_an_answer_is_judged_by_labels_or_ids():
    for answer in ("It is heard with 41 dB [loud].", "It is heard with 41 dB [S1]."):
        (found,) = done([case(answer=answer)], one(500)).results[0]
        assert (found.judged, found.cited, found.supported, found.diagnosis) == (True, 1.0, True, None)
        assert (found.sentences, found.grounded) == (1, 1)
    (found,) = done([case(answer="Nobody knows.")], one(500)).results[0]
    assert (found.cited, found.supported, found.diagnosis) == (0.0, None, Diagnosis.PROMPT)
    (found,) = done([case(answer="It is heard with 60 dB [loud].")], one(500)).results[0]
    assert found.diagnosis is Diagnosis.VERIFICATION


def test_a_refused_request_admits_nothing():
    yardstick = Yardstick(case().expected, TEXTS, list(TEXTS.values()))
    found = measured(case(), one(), Refused("no", "No.", None, 400, None), yardstick, [1.0], 1.0)
    assert (found.recall, found.tokens, found.over, found.lost_by) == (0.0, 0, False, ("refused",))


def test_a_case_that_is_no_request_is_a_fault():
    broken = case("broken", documents=({"id": "a", "text": 5},))
    found = done([case(), broken], one())
    assert [len(some) for some in found.results] == [1]
    assert found.faults[0].startswith("broken: ")


def test_setups_come_out_in_their_order_and_variants_apart():
    found = done([case(), case("two")], one(500), one(500, variant=Variant(top_k=1)), one(80, "topk"))
    assert [[result.case for result in some] for some in found.results] == [["one", "two"]] * 3
    tokens = [some[0].tokens for some in found.results]
    assert tokens[0] > tokens[1] >= tokens[2]


def test_several_processes_find_the_same(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(trials, "WORTH_IT", 2)
    some = [case(str(n)) for n in range(5)]

    def timeless(found: Trials) -> list[list[Any]]:
        return [[structs.replace(result, ms=0.0) for result in results] for results in found.results]

    assert timeless(done(some, one(500), one(80), jobs=2)) == timeless(done(some, one(500), one(80)))


def test_what_a_file_remembers_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file, told = tmp_path / "results.jsonl", []
    first = done([case("a"), case("b")], one(), file=file, progress=lambda at, whole: told.append((at, whole)))
    assert told == [(1, 2), (2, 2)]
    with file.open("ab") as torn:
        torn.write(b'{"key": "half')
    worked: list[str] = []

    def results(bench: Bench, case: Case) -> str:
        worked.append(case.id)
        return "not again"

    monkeypatch.setattr(Bench, "results", results)
    again = done([case("a"), case("c"), case("b")], one(), file=file)
    assert worked == ["c"]
    assert again.results == first.results
    assert again.faults == ["not again"]
    done([case("a")], one(499), file=file)
    done([case("a", question="Another?")], one(), file=file)
    assert worked == ["c", "a", "a"]


def test_the_work_of_a_process_is_its_bench(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(trials, "_bench", [])
    trials._begin([one()], MODEL, {})
    found = trials._one(case())
    assert not isinstance(found, str)
    assert found[0].recall == 1.0
