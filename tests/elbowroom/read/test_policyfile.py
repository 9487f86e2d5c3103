"""The policy's files are checked against each other, and the shipped ones hold."""

import re
from pathlib import Path

import pytest

from elbowroom.errors import InvalidConfig
from elbowroom.read import yaml
from elbowroom.read.policy import Policy, QueryClass
from elbowroom.read.policyfile import read_policy

GATES = Policy().gates
PACKERS = ("cover", "topk", "weighted")
RULES = ("one_section", "whole_section", "each_option", "distinct_sources", "exact_matches")
RERANKERS = ("given", "lexical", "http")
GENERAL = ("general.yaml", "name: general\n")


def policy(text="", *classes):
    files = [GENERAL, *((f"{i}.yaml", one) for i, one in enumerate(classes))]
    return read_policy(
        ("p.yaml", text), files, known_gates=GATES, known_packers=PACKERS, known_rules=RULES, known_rerankers=RERANKERS
    )


def shipped(root: Path):
    folder = root / "config"
    files = [(path.name, path.read_text()) for path in sorted((folder / "classes").glob("*.yaml"))]
    return read_policy(
        ("policy.yaml", (folder / "policy.yaml").read_text()),
        files,
        known_gates=GATES,
        known_packers=PACKERS,
        known_rules=RULES,
        known_rerankers=RERANKERS,
    )


def test_without_files_of_classes_there_is_the_default_one():
    found = read_policy(
        ("p.yaml", ""), [], known_gates=GATES, known_packers=PACKERS, known_rules=RULES, known_rerankers=RERANKERS
    )
    assert [one.name for one in found.classes] == ["general"]
    assert found == Policy(digest=found.digest, files=found.files)


def test_classes_stand_in_the_order_in_which_they_are_tried():
    found = policy("", "name: b\npriority: 1\n", "name: a\n", "name: c\npriority: 1\nanswer_reserve: 5\n")
    assert [one.name for one in found.classes] == ["b", "c", "a", "general"]
    assert found.query_class("c").answer_reserve == 5


def test_sources_lie_beside_the_policy_and_count_in_its_digest():
    def read(text: str):
        return read_policy(
            ("p.yaml", ""),
            [],
            known_gates=GATES,
            known_packers=PACKERS,
            known_rules=RULES,
            known_rerankers=RERANKERS,
            sources=("s.yaml", text),
        )

    found = read("sources: [{id: kb, authority: 0.9}]")
    assert [(one.id, one.authority) for one in found.sources.sources] == [("kb", 0.9)]
    assert len({found.digest, read("").digest, policy().digest}) == 3
    with pytest.raises(InvalidConfig, match=r"s\.yaml:1: "):
        read("sources: [{}]")


def test_the_digest_is_of_the_texts_alone():
    one = policy("id: x\n", "name: a\n")
    assert re.fullmatch("[0-9a-f]{64}", one.digest)
    files = [("elsewhere/a.yaml", "name: a\n"), ("elsewhere/general.yaml", GENERAL[1])]
    other = read_policy(
        ("elsewhere/p.yaml", "id: x\n"),
        files,
        known_gates=GATES,
        known_packers=PACKERS,
        known_rules=RULES,
        known_rerankers=RERANKERS,
    )
    assert other.digest == one.digest
    assert policy("id: x \n", "name: a\n").digest != one.digest
    assert policy("id: x\n", "name: a \n").digest != one.digest
    assert policy("id: x\n").digest != one.digest


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id: x\nclasses: []\n", "p.yaml:2: there is no such key; each class has a file"),
        ("digest: x\n", "p.yaml:1: there is no such key"),
        ("\ngates: [empty, nonsense]\n", "p.yaml:2: there is no gate nonsense; there are below_floor, duplicate,"),
        ("gates:\n- empty\n- empty\n", "p.yaml:3: empty is given twice (gates[1])"),
        ("packer: os.system\n", "p.yaml:1: there is no packer os.system; there are cover, topk, weighted"),
        ("\ndefault_class: none\n", "p.yaml:2: there is no class none; there are general"),
        ("input_limit: 300\n", "p.yaml:1: must be more than answer.min_output_tokens and safety_margin"),
        ("answer:\n  output_cap: 10\n", "p.yaml:2: must not be less than answer.min_output_tokens"),
        ("evidence: {min_excerpt_tokens: 2000}\n", "p.yaml:1: must not be more than evidence.max_passage_tokens"),
        ("follow_up:\n  cues:\n    en:\n    - '('\n", "p.yaml:4: not a regular expression"),
        ("follow_up: {not_cues: {zh: ['(']}}\n", "p.yaml:1: not a regular expression"),
        ("mode: strict\n", "p.yaml:1: 'strict' is none of passthrough, shadow, enforce (mode)"),
        ("\nhistory: {share: 1.5}\n", "p.yaml:2: expected `float` <= 1.0 (history.share)"),
        ("evidence: {floor: 2}\n", "p.yaml:1: expected `float` <= 1.0 (evidence.floor)"),
        ("input_limit: -5\n", "p.yaml:1: expected `int` >= 1 (input_limit)"),
        ("budget: 5\n", "p.yaml:1: there is no such key (budget)"),
    ],
)
def test_mistakes_in_the_policy(text, message):
    with pytest.raises(InvalidConfig) as caught:
        policy(text)
    assert caught.value.message.startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: general\n", "0.yaml:1: there is another class general (name)"),
        ("priority: 1\n", "0.yaml:1: object missing required field `name`"),
        ("name: a\nanswer_reserve: 31936\n", "0.yaml:2: with the policy's safety_margin it must be less"),
        ("name: a\nevidence:\n  min_excerpt_tokens: 1501\n", "0.yaml:2: min_excerpt_tokens must not be more"),
        ("name: a\nevidence: {max_passage_tokens: 40}\n", "0.yaml:2: min_excerpt_tokens must not be more"),
        ("name: a\ncues:\n  en:\n  - fine\n  - '['\n", "0.yaml:5: not a regular expression"),
        ("name: a\ncues: {en: ['a*']}\n", "0.yaml:2: matches everything"),
        ("name: a\ncues: {en: ['(a+)+b']}\n", "0.yaml:2: a repeat inside a repeat"),
        ("name: a\ncues: {en: ['x(?:a|b*c){2,}']}\n", "0.yaml:2: a repeat inside a repeat"),
        ("name: a\nnot_cues: {en: ['(']}\n", "0.yaml:2: not a regular expression"),
        ("name: a\ncue: x\n", "0.yaml:2: there is no such key (cue)"),
    ],
)
def test_mistakes_in_a_class(text, message):
    with pytest.raises(InvalidConfig) as caught:
        policy("", text)
    assert caught.value.message.startswith(message)


@pytest.mark.parametrize("cue", ["(?:a b){2,3}", r"(a\+)+", "(?:ab?c)*x", "(?:a+)?b"])
def test_cues_that_only_look_dangerous(cue):
    assert policy("", f"name: a\ncues: {{en: ['{cue}']}}\n").query_class("a").cues == {"en": (cue,)}


def test_the_shipped_policy_is_the_default_with_its_classes(root):
    found = shipped(root)
    assert {one.name: one.answer_reserve for one in found.classes} == {
        "point_lookup": 300,
        "how_to": 700,
        "comparison": 900,
        "aggregation": 1200,
        "troubleshooting": 900,
        "general": 700,
    }
    assert found.query_class("point_lookup").evidence.ceiling == 1500
    assert found.query_class("aggregation").evidence.ceiling == 12_000
    plain = Policy()
    different = [name for name in Policy.__struct_fields__ if getattr(found, name) != getattr(plain, name)]
    assert different == ["follow_up", "classes", "digest", "files"]
    assert found.follow_up.max_words == plain.follow_up.max_words
    assert found.follow_up.max_characters == plain.follow_up.max_characters


def test_the_shipped_files_explain_every_key(root):
    """The file is the schema's documentation: each key stands in it."""
    text = (root / "config" / "policy.yaml").read_text()
    lines = yaml.read(text, "policy.yaml", Policy).lines
    expected = set(Policy.__struct_fields__) - {"classes", "sources", "digest", "files"}
    for name in ("answer", "history", "tool_results", "access", "evidence", "follow_up"):
        kind = type(getattr(Policy(), name))
        expected |= {f"{name}.{inner}" for inner in kind.__struct_fields__}
    assert expected <= set(lines)
    text = (root / "config" / "classes" / "point_lookup.yaml").read_text()
    assert set(QueryClass.__struct_fields__) <= set(yaml.read(text, "c", QueryClass).lines)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("tools:\n  find:\n    response_schema: {type: nothing}\n", 3, "no JSON schema"),
        ("tools:\n  find:\n    response_schema:\n      $ref: https://example.com/a\n", 3, "no JSON schema"),
        ("tools:\n  find:\n    redact: [a.b, '*..c']\n", 3, "names joined by dots"),
        ("tools:\n  find: {returns: documents, redact: [a]}\n", 2, "neither response_schema nor redact"),
        ("tools:\n  find: {returns: documents, redact_packs: [pii]}\n", 2, "nor redact, of either kind"),
        ("tools:\n  find:\n    access: {label: public}\n", 3, "returns: documents"),
        ("tools:\n  find: {returns: documents, access: {label: x}}\n", 2, "there is no label x; there are public, int"),
        ("access:\n  labels: [a, b, a]\n", 2, "given twice"),
        ("access:\n  inside: [public, x]\n", 2, "there is no label x"),
        ("access:\n  egress_up_to: x\n", 2, "there is no label x"),
        ("access:\n  on_missing_label:\n    default: deny\n    kb: assume:x\n", 4, "there is no label x"),
        ("access:\n  on_missing_label:\n    default: admit\n", 2, "matching regex"),
    ],
)
def test_a_tool_that_cannot_be_is_named_with_its_line(text: str, line: int, what: str):
    with pytest.raises(InvalidConfig, match=what) as caught:
        policy(text)
    assert caught.value.message.startswith(f"p.yaml:{line}: ")


def test_what_a_tool_may_have():
    found = policy(
        "tools:\n  find: {max_rows: 3, response_schema: {type: array, items: {type: object}}, redact: ['*.mail']}"
    )
    assert found.tools["find"].response_schema == {"type": "array", "items": {"type": "object"}}
    assert found.tools["find"].redact == ("*.mail",)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("rerank: {by: oracle}", "p.yaml:1: there is no reranker oracle; there are given, http, lexical (rerank.by)"),
        ("rerank: {on_failure: guess}", "p.yaml:1: "),
        ("history: {summary: {timeout: 0}}", "p.yaml:1: "),
    ],
)
def test_rerankers_and_summaries_are_checked(text: str, fault: str):
    with pytest.raises(InvalidConfig, match=re.escape(fault)):
        read_policy(
            ("p.yaml", text), [], known_gates=GATES, known_packers=PACKERS, known_rules=RULES, known_rerankers=RERANKERS
        )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("name: general\nrule: anything", "c.yaml:2: there is no rule anything"),
        ("name: general\nminimum: {sources: 11}", "c.yaml:2: must not be more than the 10 passages"),
        ("name: general\non_insufficient: guess", "c.yaml:2: "),
    ],
)
def test_a_class_s_rule_and_minimum_are_checked(text: str, fault: str):
    with pytest.raises(InvalidConfig, match=re.escape(fault)):
        read_policy(
            ("p.yaml", ""), [("c.yaml", text)], known_gates=GATES, known_packers=PACKERS, known_rules=RULES,
            known_rerankers=RERANKERS,
        )  # fmt: skip


def test_labels_of_ones_own():
    found = policy("access: {labels: [green, red], egress_up_to: red, on_missing_label: {default: assume:green}}")
    assert (found.access.labels, found.access.egress_up_to) == (("green", "red"), "red")
    assert policy("access: {labels: [green, red], inside: [red]}").access.inside == ("red",)
