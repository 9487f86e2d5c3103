"""Labels decide who may see which document; what is missing, unknown or unreadable denies."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from elbowroom.decide.access import Permitted, Rights, accepted, check_model, keeps_egress, permit, rerank_within
from elbowroom.decide.signature import LabelKey, sign
from elbowroom.errors import LabelNotAccepted, RerankUnavailable
from elbowroom.read.policy import Access, Rerank, ToolAccess
from elbowroom.records import Document, Principal

NOW = 1_800_000_000.0
LABEL: dict[str, Any] = {
    "tenant": "acme", "label": "internal", "deny_groups": [], "visibility": "tenant", "expires_at": None,
}  # fmt: skip
ANN = Principal("ann", "acme", ("support",), "confidential", keyed=True)
KEYS = {"r1": LabelKey("acme", b"secret")}


def held(access: Any, principal: Principal = ANN, tool: ToolAccess | None = None, **policy: Any) -> Permitted:
    kind, now = policy.pop("kind", None), policy.pop("now", NOW)
    tools = policy.pop("tools", {} if tool is None else {3: tool})
    document = Document(0, "d", "text", access=access, kind=kind, message=3)
    return permit([document], Rights(principal, Access(**policy), KEYS, now), tools)


def why(access: Any, principal: Principal = ANN, tool: ToolAccess | None = None, **policy: Any) -> str:
    """`""` where it is permitted."""
    found = held(access, principal, tool, **policy)
    assert len(found.documents) + len(found.denied) == 1
    return found.denied[0].why if found.denied else ""


def label(**change: Any) -> dict[str, Any]:
    return {**LABEL, **change}


UNREADABLE = "its label is incomplete or cannot be read"


def test_a_whole_label_of_the_own_tenant_permits():
    assert held(LABEL) == Permitted(
        (Document(0, "d", "text", access=LABEL, message=3),), labels=frozenset({"internal"})
    )


@pytest.mark.parametrize("member", sorted(LABEL))
def test_each_of_its_members_must_be_there(member: str):
    assert why({name: value for name, value in LABEL.items() if name != member}) == UNREADABLE


@pytest.mark.parametrize(
    "change",
    [
        {"tenant": None}, {"tenant": ""}, {"tenant": 7}, {"label": None}, {"label": "secret"}, {"label": ["internal"]},
        {"deny_groups": None}, {"deny_groups": "hr"}, {"deny_groups": [1]}, {"visibility": "all"}, {"visibility": None},
        {"groups": "support"}, {"users": {"ann": 1}}, {"expires_at": "soon"}, {"expires_at": True}, {"expires_at": 1.5},
        {"expires_at": 10**400},
        {"expires_at": 1_900_000_000_000}, {"deny_users": []}, {"sig": "0", "kid": "r1"}, {"kid": "r1"}, {"iat": 1},
        {"sig": 1, "kid": "r1", "iat": 1}, {"sig": "0", "kid": "r1", "iat": True},
    ],
)  # fmt: skip
def test_what_cannot_be_read_denies(change: dict[str, Any]):
    found = held(label(**change))
    assert [(one.why, one.incomplete) for one in found.denied] == [(UNREADABLE, True)]
    assert found.labels == frozenset()


def test_another_tenant_is_denied_and_so_is_a_key_without_one():
    assert why(label(tenant="Acme")) == "it is another tenant's"
    assert why(LABEL, structs.replace(ANN, tenant=None)) == "it is another tenant's"


def test_dates():
    assert why(label(expires_at="2027-01-15T08:00:01Z")) == ""
    assert why(label(expires_at="2027-01-15T08:00:00Z")) == why(label(expires_at=1_700_000_000)) == "it has expired"
    assert why(label(expires_at="9999-12-31T23:59:59Z")) == ""
    assert why(label(expires_at="2099-01-01"), now=None) == "it has expired"
    assert held(label(expires_at="2099-01-01")).dated
    assert not held(LABEL).dated


def test_a_group_is_denied_however_its_letters_are_written():
    for said, own in (("Gr\u00fcn", "Gru\u0308n"), ("Gru\u0308n", "Gr\u00fcn")):
        assert (
            why(label(deny_groups=[said]), structs.replace(ANN, groups=(own,)))
            == "a group of the principal is denied it"
        )
        assert why(label(deny_groups=[said]), structs.replace(ANN, groups=("Gr\u00f6n",))) == ""


def test_groups_and_users():
    assert why(label(deny_groups=["support"], users=["ann"], visibility="listed")) == (
        "a group of the principal is denied it"
    )
    assert why(label(visibility="listed")) == "the principal is not on its list"
    assert why(label(visibility="listed", groups=["hr"], users=["bob"])) == "the principal is not on its list"
    assert why(label(visibility="listed", groups=["hr", "support"])) == ""
    assert why(label(visibility="listed", users=["ann"])) == ""


@pytest.mark.parametrize(
    ("clearance", "permitted"),
    [("restricted", True), ("confidential", True), ("internal", False), ("other", False), (None, False)],
)
def test_a_label_is_not_above_the_clearance(clearance: str | None, permitted: bool):
    principal = structs.replace(ANN, clearance=clearance)
    assert why(label(label="confidential"), principal) == ("" if permitted else "its label is above the clearance")


# --- no label -------------------------------------------------------------------------------------------------------


def test_without_a_label_a_tenant_sees_nothing_unless_one_is_assumed():
    found = held(None)
    assert [(one.why, one.incomplete) for one in found.denied] == [("it has no label", True)]
    assert why(None, on_missing_label={"default": "deny"}) == "it has no label"
    found = held(None, on_missing_label={"default": "assume:internal"})
    assert (found.documents[0].access, found.labels) == ({"label": "internal"}, frozenset({"internal"}))
    assert found.notes == ("documents without a label: 1 taken for internal",)
    for above in ("restricted", "nothing"):
        assert why(None, on_missing_label={"default": f"assume:{above}"}) == "its label is above the clearance"


def test_the_kind_and_the_key_have_a_say():
    rules = {"faq": "assume:public", "default": "deny"}
    assert why(None, on_missing_label=rules, kind="faq") == ""
    assert why(None, on_missing_label=rules, kind="kb") == why(None, on_missing_label=rules) == "it has no label"
    own = structs.replace(ANN, on_missing_label={"default": "deny"})
    assert why(None, own, on_missing_label=rules, kind="faq") == "it has no label"
    assert why(None, structs.replace(ANN, on_missing_label={"faq": "assume:public"}), kind="faq") == ""


def test_an_empty_label_is_not_a_missing_one():
    assert why({}, on_missing_label={"default": "assume:public"}) == UNREADABLE


def test_a_key_without_a_tenant_sees_what_has_no_label():
    found = held(None, Principal("svc", keyed=True))
    assert (len(found.documents), found.labels, found.notes) == (1, frozenset(), ())


def test_without_keys_labels_are_not_held_against_anybody():
    for access in (None, {}, {"tenant": 7}, label(tenant="other", expires_at="2001-01-01")):
        assert why(access, Principal(), require_sig=True) == ""
    assert why({}, Principal(tenant="acme")) == UNREADABLE


# --- tools ----------------------------------------------------------------------------------------------------------


def test_what_the_policy_says_of_a_tool_stands_in_for_a_label():
    found = held(None, tool=ToolAccess("internal"))
    assert (found.labels, found.notes) == (frozenset({"internal"}), ())
    assert why(None, tool=ToolAccess("restricted")) == "its label is above the clearance"
    assert why(None, tool=ToolAccess("internal", tenant="other")) == "it is another tenant's"
    assert why(None, tool=ToolAccess("internal", visibility="listed", groups=("hr",))) != ""
    assert why(None, tool=ToolAccess("internal", visibility="listed", users=("ann",))) == ""
    assert why(None, tool=ToolAccess("internal", deny_groups=("support",))) != ""
    assert why(None, Principal("svc", clearance="internal", keyed=True), ToolAccess("internal")) == ""


def test_a_tool_documents_own_label_can_only_narrow():
    tool = ToolAccess("internal")
    assert held(label(label="public"), tool=tool).labels == frozenset({"internal"})
    assert held(label(label="confidential"), tool=tool).labels == frozenset({"confidential"})
    assert why(label(label="restricted"), tool=tool) == "its label is above the clearance"
    assert why(LABEL, tool=ToolAccess("restricted")) == "its label is above the clearance"
    assert why({}, tool=tool) == UNREADABLE


def test_of_a_tool_that_the_policy_says_nothing_of_no_label_speaks_for_itself():
    said = "the policy does not say who may see what its tool returns"
    unsaid: dict[int, Any] = {3: None}
    assume = {"default": "assume:internal"}
    assert why(LABEL, tools=unsaid) == why(LABEL, tools=unsaid, on_missing_label={"default": "deny"}) == said
    assert why(LABEL, structs.replace(ANN, tenant=None), tools=unsaid) == said
    assert why(None, tools=unsaid) == "it has no label"
    found = held(label(label="public"), tools=unsaid, on_missing_label=assume)
    assert (found.labels, len(found.notes)) == (frozenset({"internal"}), 1)
    assert held(label(label="confidential"), tools=unsaid, on_missing_label=assume).labels == {"confidential"}
    assert why(label(tenant="other"), tools=unsaid, on_missing_label=assume) == "it is another tenant's"
    access = label(kid="r1", iat=1_800_000_000)
    assert why({**access, "sig": sign(Document(0, "d", "text", access=access), b"secret")}, tools=unsaid) == ""


# --- signatures -----------------------------------------------------------------------------------------------------


def test_a_signature_that_is_there_must_hold_and_one_may_be_demanded():
    access = label(kid="r1", iat=1_800_000_000)
    good = {**access, "sig": sign(Document(0, "d", "text", access=access), b"secret")}
    assert why(good) == why(good, require_sig=True) == ""
    assert held(good).dated
    assert why({**good, "label": "public"}) == "its label's signature does not hold: it is of something else"
    assert why(good, now=NOW + 10, sig_max_age=5.0) == "its label's signature does not hold: it is too old"
    for unsigned in (LABEL, None):
        said = why(unsigned, require_sig=True, on_missing_label={"default": "assume:public"})
        assert said == "its label's signature does not hold: there is none"


# --- what labels forbid ---------------------------------------------------------------------------------------------


def test_models_take_what_they_accept():
    access = Access()
    assert accepted({"public", "confidential"}, None, access)
    assert not accepted({"public", "restricted"}, None, access)
    assert accepted({"restricted"}, ("restricted",), access)
    assert not accepted({"public"}, ("restricted",), access)
    assert accepted(set(), (), access)
    check_model({"public"}, None, access)
    with pytest.raises(LabelNotAccepted) as refused:
        check_model({"restricted"}, None, access)
    assert "restricted" not in refused.value.message


def test_a_reranker_that_may_not_see_them_is_not_asked():
    access, asked, refusing = Access(), Rerank(by="http"), Rerank(by="http", on_failure="refuse")
    assert rerank_within({"internal"}, asked, None, access) is asked
    assert rerank_within({"restricted"}, asked, ("restricted",), access) is asked
    assert rerank_within({"restricted"}, asked, None, access) == Rerank()
    given_ = Rerank(min_score=0.5)
    assert rerank_within({"restricted"}, given_, None, access) is given_
    with pytest.raises(RerankUnavailable):
        rerank_within({"restricted"}, refusing, None, access)


def test_egress_ends_at_a_label():
    assert keeps_egress({"public"}, Access())
    assert keeps_egress((), Access())
    assert not keeps_egress({"public", "internal"}, Access())
    assert keeps_egress({"internal"}, Access(egress_up_to="internal"))
    assert not keeps_egress({"confidential"}, Access(egress_up_to="internal"))


# --- P10 ------------------------------------------------------------------------------------------------------------

WORDS = st.sampled_from(["acme", "other", "internal", "restricted", "public", "tenant", "listed", "support", "ann", ""])
BROKEN = st.none() | st.booleans() | st.integers(-2, 2) | st.floats() | WORDS | st.lists(WORDS, max_size=2) | (
    st.dictionaries(WORDS, WORDS, max_size=1)
)  # fmt: skip
NAMES = st.lists(st.sampled_from(["support", "hr", "ann", "bob"]), max_size=2)
LABELS = st.fixed_dictionaries(
    {
        "tenant": st.sampled_from(["acme", "other"]),
        "label": st.sampled_from(["public", "internal", "confidential", "restricted"]),
        "deny_groups": NAMES,
        "visibility": st.sampled_from(["tenant", "listed"]),
        "expires_at": st.sampled_from([None, "2001-01-01", "2099-01-01", 1_700_000_000, 1_900_000_000]),
    },
    optional={"groups": NAMES, "users": NAMES},
)
PRINCIPALS = st.builds(
    Principal,
    st.sampled_from(["ann", "eve"]),
    st.sampled_from(["acme", "other", None]),
    st.lists(st.sampled_from(["support", "hr"]), max_size=2).map(tuple),
    st.sampled_from([None, "public", "internal", "restricted", "unknown"]),
    keyed=st.just(True),
)
TOOLS = st.none() | st.builds(ToolAccess, st.sampled_from(["public", "restricted"]))
UNLABELLED = st.sampled_from([{}, {"default": "assume:public"}, {"default": "deny"}])


@given(LABELS, PRINCIPALS, TOOLS, UNLABELLED, st.data())
def test_making_a_label_incomplete_never_turns_no_into_yes(
    access: dict[str, Any], principal: Principal, tool: ToolAccess | None, rules: dict[str, str], data: st.DataObject
):
    before = why(access, principal, tool, on_missing_label=rules)
    name = data.draw(st.sampled_from(sorted(access)))
    without = {one: value for one, value in access.items() if one != name}
    assert not before or why(without, principal, tool, on_missing_label=rules)
    if name in LABEL:
        assert why(without, principal, tool, on_missing_label=rules)
    assert why({**access, data.draw(st.text(min_size=10)): None}, principal, tool, on_missing_label=rules)


@given(LABELS, PRINCIPALS, TOOLS, st.data())
def test_making_a_label_unreadable_denies(
    access: dict[str, Any], principal: Principal, tool: ToolAccess | None, data: st.DataObject
):
    name = data.draw(st.sampled_from(sorted(access)))
    kinds: dict[str, Any] = {"expires_at": (str, int, type(None)), "tenant": str, "label": str, "visibility": str}
    broken = data.draw(BROKEN)
    if isinstance(broken, bool) or not isinstance(broken, kinds.get(name, list)):
        assert why({**access, name: broken}, principal, tool)


@given(PRINCIPALS.filter(lambda one: one.tenant is not None), TOOLS)
def test_without_a_label_under_deny_nobody_with_a_tenant_sees_it(principal: Principal, tool: ToolAccess | None):
    assert why(None, principal) == why(None, principal, on_missing_label={"default": "deny"}) == "it has no label"


@given(LABELS, PRINCIPALS)
def test_what_is_permitted_is_so_by_the_rule_as_it_is_written(access: dict[str, Any], principal: Principal):
    ranks = ["public", "internal", "confidential", "restricted"]
    listed = principal.subject in access.get("users", []) or set(principal.groups) & set(access.get("groups", []))
    permitted = (
        access["tenant"] == principal.tenant
        and access["expires_at"] in (None, "2099-01-01", 1_900_000_000)
        and not set(access["deny_groups"]) & set(principal.groups)
        and (access["visibility"] == "tenant" or bool(listed))
        and principal.clearance in ranks
        and ranks.index(access["label"]) <= ranks.index(principal.clearance)
    )
    assert (why(access, principal) == "") is permitted
