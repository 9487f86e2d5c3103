"""Cues route questions; a client may choose if it may; what cannot be told is the default class."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.decide import rules
from elbowroom.errors import ClassNotAllowed, InvalidRequest
from elbowroom.read.classify import LOOKED_AT, classify
from elbowroom.read.policy import FollowUp, Policy, QueryClass
from elbowroom.read.policyfile import read_policy
from elbowroom.records import Classified, Principal

OPEN = Principal()
POLICY = Policy(
    classes=(
        QueryClass("general"),
        QueryClass("late", priority=50, cues={"en": ("when", "shared")}),
        QueryClass("early", priority=10, cues={"zh": ("何时",), "en": ("shared",)}, not_cues={"en": ("never",)}),
    ),
    follow_up=FollowUp(max_words=2, max_characters=3, cues={"en": (r"\bit\b",)}, not_cues={"en": ("i mean",)}),
)


def test_the_first_class_in_order_whose_cue_matches():
    assert classify("WHEN was that again?", False, POLICY, None, OPEN) == Classified("late", "cue", "when")
    assert classify("shared", False, POLICY, None, OPEN) == Classified("early", "cue", "shared")
    assert classify("发货何时", False, POLICY, None, OPEN) == Classified("early", "cue", "何时")
    assert classify("never shared", False, POLICY, None, OPEN) == Classified("late", "cue", "shared")
    assert classify("", False, POLICY, None, OPEN) == Classified("general", "default")


def test_the_client_may_choose_if_it_may():
    assert classify("when", False, POLICY, "early", OPEN) == Classified("early", "client")
    some = Principal(classes=("late",))
    assert classify("", False, POLICY, "late", some).name == "late"
    with pytest.raises(ClassNotAllowed) as caught:
        classify("", False, POLICY, "early", some)
    assert (caught.value.code, caught.value.status_hint) == ("class_not_allowed", 403)
    with pytest.raises(InvalidRequest) as unknown:
        classify("", False, POLICY, "nonsense", OPEN)
    assert unknown.value.param == "context.class"


def test_a_cue_leads_only_where_the_principal_may_go():
    assert classify("shared", False, POLICY, None, Principal(classes=("late",))).name == "late"
    assert classify("shared", False, POLICY, None, Principal(classes=())).name == "general"


@pytest.mark.parametrize(
    ("question", "follow_up"),
    [
        ("does it cost much, all in all?", True),
        ("two words", True),
        ("", True),
        ("three plain words", False),
        ("价格呢", True),
        ("价格多少", False),
        ("i mean it", False),
        ("ok", True),
    ],
)
def test_follow_up_needs_history_and_a_reason(question, follow_up):
    assert classify(question, True, POLICY, None, OPEN).follow_up is follow_up
    assert classify(question, True, POLICY, "late", OPEN).follow_up is follow_up
    assert not classify(question, False, POLICY, None, OPEN).follow_up


def test_only_the_head_of_a_long_text_is_looked_at():
    assert classify("x" * LOOKED_AT + " when", False, POLICY, None, OPEN).name == "general"


# --- what ships ---


@pytest.fixture(scope="module")
def shipped(root):
    folder = root / "config"
    files = [(path.name, path.read_text()) for path in sorted((folder / "classes").glob("*.yaml"))]
    gates = Policy().gates
    policy = ("policy.yaml", (folder / "policy.yaml").read_text())
    return read_policy(
        policy, files, known_gates=gates, known_packers=("cover",), known_rules=rules.NAMES, known_rerankers=("given",)
    )


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Who approves refunds above 500 euros?", "point_lookup"),
        ("When does the annual plan renew?", "point_lookup"),
        ("Hi, how many seats are in the team plan?", "point_lookup"),
        ("What is the deadline for returns?", "point_lookup"),
        ("谁负责审批退款？", "point_lookup"),
        ("企业版多少钱一年？", "point_lookup"),
        ("合同何时到期？", "point_lookup"),
        ("When does it renew and how do I stop it?", "how_to"),
        ("How do I reset my password?", "how_to"),
        ("如何申请退款？", "how_to"),
        ("怎么设置双重认证？", "how_to"),
        ("What is the difference between Basic and Pro?", "comparison"),
        ("套餐A和套餐B有什么区别？", "comparison"),
        ("买断还是订阅更划算？", "comparison"),
        ("List all supported regions.", "aggregation"),
        ("列出所有支持的地区", "aggregation"),
        ("I get an error when I log in", "troubleshooting"),
        ("How do I fix the sync, it is not working", "troubleshooting"),
        ("登录时报错怎么办", "troubleshooting"),
        ("What is a refund?", "general"),
        ("Tell me about the annual plan", "general"),
        ("介绍一下退款政策", "general"),
        ("为什么账单比上个月高？", "general"),
        ("运费由谁承担？", "point_lookup"),
        ("退货的运费由谁承担？退款多久到账？", "general"),
        ("退货的运费由谁承担，退款多久到账？", "general"),
        ("损坏由谁承担，申请时要什么材料", "general"),
        ("押金和维修费分别由谁承担？", "general"),
        ("运费由谁承担？？谢谢", "point_lookup"),
        ("Who pays for the return? Which documents do I need?", "general"),
        ("How much is charged for each of the plans?", "general"),
    ],
)
def test_shipped_cues(shipped, question, name):
    assert classify(question, False, shipped, None, OPEN).name == name


@pytest.mark.parametrize(
    ("question", "follow_up"),
    [
        ("What about the Pro plan, is that included?", True),
        ("Does it include support on weekends?", True),
        ("那企业版的价格是怎么算的呢？", True),
        ("它支持哪些语言和地区？", True),
        ("What is the refund period for annual plans?", False),
        ("I meant the annual plan, not the monthly one", False),
        ("年度套餐的退款期限是多少天？", False),
    ],
)
def test_shipped_follow_ups(shipped, question, follow_up):
    assert classify(question, True, shipped, None, OPEN).follow_up is follow_up


def test_shipped_cues_against_labelled_turns(shipped, shared):
    rows = [json.loads(line) for line in (shared / "data/packing/query_class.jsonl").read_text().splitlines()]
    found = [(row, classify(row["question"], row["n_history"] > 0, shipped, None, OPEN)) for row in rows]
    lookups = [row for row, one in found if one.name == "point_lookup"]
    wrong = [row for row in lookups if row["labels"] != ["Factoid"]]
    assert len(lookups) >= 20
    assert len(wrong) / len(rows) <= 0.05
    how_to = ["How-To" in row["labels"] for row, one in found if one.name == "how_to"]
    assert sum(how_to) / len(how_to) >= 0.85
    follow_ups = [row["multi_turn"] == ["Follow-up"] for row, one in found if one.follow_up]
    assert sum(follow_ups) / len(follow_ups) >= 0.9


HOSTILE = st.sampled_from(
    [
        "who ",
        "how many ",
        "a, ",
        "if ",
        "and ",
        ". ",
        "(a",
        "don't ",
        "differ ",
        "比较",
        "哪些",
        "和",
        "还是",
        "list ",
        "it",
        "\n",
    ]
)


@given(st.lists(HOSTILE, min_size=1, max_size=3))
def test_no_text_makes_the_shipped_cues_slow(shipped, words):
    began = time.process_time()
    classify("".join(words) * LOOKED_AT, True, shipped, None, OPEN)
    assert time.process_time() - began < 0.5
