"""Whoever may not see a document learns nothing of it, in any mode, packer and form that there is."""

from __future__ import annotations

import json
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import json as msgjson
from msgspec import structs

from elbowroom.account.trace import Facts, record, report
from elbowroom.decide import packers
from elbowroom.decide.fates import keyed
from elbowroom.decision import Setting, decide
from elbowroom.read.policy import Access, History, Policy, QueryClass, Summaries, Tool, ToolAccess
from elbowroom.records import Mode, Packed, Principal, Refused
from elbowroom_proxy.answering import drive_here, offline
from tests.property.chats import TEXT, bodies, policies, read
from tests.walk import MODEL, TOKENS, run, setting

ANN = Principal("ann", "acme", ("support",), "confidential", keyed=True)
LABEL: dict[str, Any] = {
    "tenant": "acme", "label": "internal", "deny_groups": [], "visibility": "tenant", "expires_at": None,
}  # fmt: skip
DENIED: dict[str, dict[str, Any] | None] = {
    "tenant": {**LABEL, "tenant": "other"},
    "clearance": {**LABEL, "label": "restricted"},
    "group": {**LABEL, "deny_groups": ["support"]},
    "listed": {**LABEL, "visibility": "listed", "groups": ["hr"]},
    "expired": {**LABEL, "expires_at": "2001-01-01"},
    "unknown": {**LABEL, "label": "secret"},
    "incomplete": {"tenant": "acme", "label": "public"},
    "none": None,
}
FORMS = get_args(get_type_hints(Policy)["format"])
ON_INSUFFICIENT = get_args(get_type_hints(QueryClass)["on_insufficient"])
CALL = {"id": "c", "type": "function", "function": {"name": "find", "arguments": "{}"}}
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in ("find", "mail")
]


def secret(name: str) -> dict[str, Any]:
    access = DENIED[name.partition("-")[0]]
    said = f"canary-{name}"
    return {
        "id": f"id-{said}", "text": f"Refunds: {said} text, paid within fourteen days.", "title": f"{said} title",
        "version": f"{said} version", "source_id": f"{said} source", "url": f"https://{said}.example/", "score": 1.0,
        "summary": f"{said} summary", "highlights": [f"{said} text"], "supersedes": ["open"],
        **({} if access is None else {"access": access}),
    }  # fmt: skip


OPEN = {"id": "open", "text": "Refunds of annual plans are paid within ten days.", "score": 0.1, "access": LABEL}

LONG = {**OPEN, "text": "Refunds of annual plans are paid within ten days. " * 100}


def everywhere() -> dict[str, Any]:
    """Denied documents in every place where a document may stand."""
    return {
        "model": "m",
        "messages": [
            {"role": "user", "content": [
                *({"type": "document", "document": secret(f"{name}-part")} for name in DENIED),
                {"type": "text", "text": "When are refunds paid?"},
            ]},
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c", "content": json.dumps([secret(f"{name}-tool") for name in DENIED])},
        ],
        "documents": [*(secret(f"{name}-tag") for name in DENIED), OPEN],
        "tools": TOOLS,
        "context": {"explain": True},
    }  # fmt: skip


def as_ann(policy: Policy) -> Setting:
    return structs.replace(setting(policy), principal=ANN, now=1_800_000_000.0)


def told(outcome: Packed | Refused) -> tuple[str, dict[str, Any]]:
    """All that leaves this process, and the trace."""
    trace = record(outcome.decision, Facts(trace_id="t", time=""))
    said = [msgjson.encode(report(trace)).decode()]
    if isinstance(outcome, Packed):
        said += [outcome.body.decode(), str(outcome.sources), str(outcome.reply)]
    else:
        said.append(f"{outcome.code} {outcome.message} {outcome.param}")
    return "\n".join(said), trace


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("packer", sorted(packers.NAMES))
@pytest.mark.parametrize("form", FORMS)
def test_a_denied_document_is_nowhere_and_in_the_trace_by_its_hash_alone(mode: Mode, packer: str, form: Any):
    asked: list[Any] = []

    def answer(need: Any) -> Any:
        asked.append(need)
        return offline(TOKENS.count_now)(need)

    tools = {"find": Tool(returns="documents"), "mail": Tool(egress=True)}
    policy = Policy(mode=mode, packer=packer, format=form, tools=tools)
    outcome = drive_here(decide(read(everywhere()), as_ann(policy)), answer)
    assert isinstance(outcome, Packed)
    said, trace = told(outcome)
    assert "canary" not in said
    assert "canary" not in str(asked)
    assert "canary" not in json.dumps(trace)
    assert "ten days" in outcome.body.decode()
    denied = [one for one in trace["documents"] if one["reason"] == "not_permitted"]
    assert len(denied) == 3 * len(DENIED)
    assert {one["digest"] for one in denied} == {
        keyed(secret(f"{name}-{place}")["text"], b"h" * 32) for name in DENIED for place in ("tag", "part", "tool")
    }
    assert trace["label_incomplete"] == 9
    assert [one["function"]["name"] for one in json.loads(outcome.body)["tools"]] == ["find"]


@pytest.mark.parametrize("way", ON_INSUFFICIENT)
@pytest.mark.parametrize("asked_by", get_args(get_type_hints(QueryClass)["asked_by"]))
def test_nor_where_nothing_is_left(way: Any, asked_by: Any):
    policy = Policy(classes=(QueryClass("general", on_insufficient=way, asked_by=asked_by),))
    body = {**everywhere(), "documents": [secret(f"{name}-tag") for name in DENIED]}
    body["messages"] = [{"role": "user", "content": "When are refunds paid?"}]
    outcome = run(decide(read(body), as_ann(policy)))
    said, trace = told(outcome)
    assert "canary" not in said + json.dumps(trace)
    assert trace["dropped"] == {"not_permitted": len(DENIED)}


def test_nor_by_a_refusal_that_comes_later():
    body = {**everywhere(), "messages": [{"role": "user", "content": "word " * 20_000}]}
    outcome = run(decide(read(body), as_ann(Policy())))
    assert isinstance(outcome, Refused)
    said, trace = told(outcome)
    assert "canary" not in said + json.dumps(trace)
    assert len(trace["documents"]) == len(DENIED)


def test_a_label_keeps_a_document_from_a_model_and_from_a_reranker():
    body = {**everywhere(), "documents": [{**OPEN, "access": {**LABEL, "label": "restricted"}}]}
    body["messages"] = [{"role": "user", "content": "When?"}]
    cleared = structs.replace(as_ann(Policy()), principal=structs.replace(ANN, clearance="restricted"))
    refused = run(decide(read(body), cleared))
    assert isinstance(refused, Refused)
    assert (refused.code, refused.status_hint, refused.param) == ("label_not_accepted", 403, "model")
    inside = structs.replace(cleared, model=structs.replace(MODEL, accepts=("restricted",)))
    assert isinstance(run(decide(read(body), inside)), Packed)
    reranked = Policy(rerank=structs.replace(Policy().rerank, by="http"))
    packed = run(decide(read(body), structs.replace(inside, policy=reranked)))
    assert isinstance(packed, Packed)
    assert packed.decision.notes[0] == "degraded: labels keep documents from the reranker http"
    assert packed.decision.rerank is None
    asked = run(decide(read(body), structs.replace(inside, policy=reranked, rerankers={"http": ("restricted",)})))
    assert isinstance(asked, Packed)
    assert asked.decision.rerank is not None


def test_nothing_of_a_denied_document_stays_for_a_later_request():
    """One text, one cache of analyses; between the requests the reader's groups change, then the label."""
    shared, body = as_ann(Policy()), {**everywhere(), "messages": [{"role": "user", "content": "When?"}]}
    for groups, label, seen in (
        (("hr",), "internal", True), (("support",), "internal", False), (("hr",), "internal", True),
        (("hr",), "restricted", False), (("hr",), "confidential", True), ((), "internal", False),
    ):  # fmt: skip
        access = {**LABEL, "label": label, "visibility": "listed", "groups": ["hr"]}
        request = read({**body, "documents": [{**secret("listed"), "access": access}]})
        outcome = run(decide(request, structs.replace(shared, principal=structs.replace(ANN, groups=groups))))
        assert isinstance(outcome, Packed)
        assert ("canary" in told(outcome)[0]) is seen


LABELS = st.sampled_from([LABEL, *DENIED.values(), {**LABEL, "label": "public"}, {**LABEL, "label": "confidential"}])


@settings(max_examples=60)
@given(bodies(tagged=True), policies(), st.data())
def test_equal_labels_give_equal_tools_whatever_the_texts_are(
    body: dict[str, Any], policy: Policy, data: st.DataObject
):
    egress = {"find": Tool(egress=True)}
    policy = structs.replace(policy, tools=data.draw(st.sampled_from([{}, egress])))
    labels = {one["id"]: data.draw(LABELS) for one in body["documents"]}
    made: list[Any] = []
    for _ in range(2):
        texts = {name: data.draw(TEXT) for name in labels}
        documents = [
            {"id": name, "text": texts[name], **({} if labels[name] is None else {"access": labels[name]})}
            for name in labels
        ]
        outcome = run(decide(read({**body, "documents": documents}), as_ann(policy)))
        if isinstance(outcome, Packed):
            sent = {name: one for name, one in json.loads(outcome.body).items() if name != "messages"}
            made.append((sent, outcome.tools, outcome.decision.tools_removed, outcome.decision.labels))
            permitted = {name for name, one in labels.items() if one is not None and one not in DENIED.values()}
            told_ = {fate.id for fate in outcome.decision.documents}
            assert told_ <= permitted | {""}
    assert made[1:] in ([], made[:1])


@settings(max_examples=40)
@given(bodies(tagged=True), policies(), st.data())
def test_denied_documents_change_nothing_that_is_sent(body: dict[str, Any], policy: Policy, data: st.DataObject):
    assumed = Access(on_missing_label={"default": "assume:internal"})
    documents = [{name: one for name, one in document.items() if name != "access"} for document in body["documents"]]
    policy = structs.replace(policy, access=assumed)
    without = run(decide(read({**body, "documents": documents}), as_ann(policy)))
    hidden = [
        secret(data.draw(st.sampled_from(["tenant", "clearance", "expired", "incomplete"])) + f"-{at}")
        for at in range(2)
    ]
    for document in hidden:
        document["supersedes"] = [one["id"] for one in documents]
    mixed = run(decide(read({**body, "documents": [*documents, *hidden]}), as_ann(policy)))
    assert type(without) is type(mixed)
    if isinstance(without, Packed) and isinstance(mixed, Packed):
        assert mixed.body == without.body
        assert mixed.tools == without.tools


def test_history_that_is_summed_up_holds_no_denied_document():
    """Earlier turns may hold documents; what is asked for a summary of them is read by another model."""
    asked: list[Any] = []

    def answer(need: Any) -> Any:
        asked.append(need)
        return offline(TOKENS.count_now)(need)

    classes = (QueryClass("general", answer_reserve=200),)
    policy = Policy(input_limit=1_200, classes=classes, history=History(max_tokens=300, summary=Summaries(model="m")))
    early = {"role": "user", "content": [
        {"type": "document", "document": secret("tenant")}, {"type": "text", "text": "First? " * 200},
    ]}  # fmt: skip
    messages = [early, {"role": "assistant", "content": "Well. " * 200}, {"role": "user", "content": "And refunds?"}]
    drive_here(decide(read({"model": "m", "messages": messages, "documents": [LONG]}), as_ann(policy)), answer)
    assert any(type(need).__name__ == "NeedSummary" for need in asked)
    assert "canary" not in str(asked)


@pytest.mark.parametrize(
    ("accepts", "told"), [(None, False), (("internal", "restricted"), True), (("internal",), False)]
)
def test_what_was_said_about_a_document_is_not_summed_up_by_who_may_not_see_it(accepts: Any, told: bool):
    asked: list[Any] = []

    def answer(need: Any) -> Any:
        asked.append(type(need).__name__)
        return offline(TOKENS.count_now)(need)

    classes = (QueryClass("general", answer_reserve=200),)
    policy = Policy(input_limit=1_200, classes=classes, history=History(max_tokens=300, summary=Summaries(model="m")))
    early = {"role": "user", "content": [
        {"type": "document", "document": {**OPEN, "access": {**LABEL, "label": "restricted"}}},
        {"type": "text", "text": "First? " * 200},
    ]}  # fmt: skip
    messages = [early, {"role": "assistant", "content": "Well. " * 200}, {"role": "user", "content": "And refunds?"}]
    cleared = structs.replace(as_ann(policy), principal=structs.replace(ANN, clearance="restricted"))
    inside = structs.replace(
        cleared, model=structs.replace(MODEL, accepts=("restricted", "internal")), summariser=accepts
    )
    packed = drive_here(decide(read({"model": "m", "messages": messages, "documents": [LONG]}), inside), answer)
    assert isinstance(packed, Packed)
    assert packed.decision.history_dropped == (0, 1)
    assert (
        ("NeedSummary" in asked)
        == told
        == ("degraded: labels keep earlier turns from the model that sums up" not in packed.decision.notes)
    )


def test_a_tools_label_holds_for_what_it_returns():
    tool = Tool(returns="documents", access=ToolAccess("internal", tenant="other"))
    body = {**everywhere(), "documents": []}
    body["messages"][2]["content"] = json.dumps([{"text": "canary"}, {"text": "canary", "access": LABEL}])
    outcome = run(decide(read(body), as_ann(Policy(tools={"find": tool}))))
    assert isinstance(outcome, Packed)
    assert "canary" not in told(outcome)[0]
