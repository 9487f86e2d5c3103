"""What a level inherits, and that it can narrow it and never widen it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.budget.rights import Rights, Widened, Written, both, check, check_labels, resolved, within
from elbowroom.errors import InvalidConfig
from elbowroom.read.policy import Access, Policy, QueryClass
from elbowroom.records import Mode

LABELS = ("public", "internal", "restricted")
POLICY = Policy(access=Access(labels=LABELS, inside=("restricted",)), classes=(QueryClass(name="c"),))
OTHER = Policy(access=Access(labels=("low", "high"), inside=("high",)))
WRITTEN = Written(POLICY, {"other": OTHER}, {"m", "n"})


def fault(path: str, what: str) -> InvalidConfig:
    return InvalidConfig(f"f:1: {what} ({path})")


def test_what_is_left_out_is_inherited():
    above = Rights(
        tenant="acme", groups=("support",), clearance="internal", classes=("a",), models=("m",), tools=("t",),
        on_missing_label={"default": "deny"}, policy="other", mode=Mode.SHADOW, output_cap=9,
    )  # fmt: skip
    assert within(above, Rights(), LABELS) == above
    assert within(Rights(), above, LABELS) == above
    assert within(above, above, LABELS) == above
    assert within(Rights(), Rights(), LABELS) == Rights()


@pytest.mark.parametrize(
    ("above", "own", "found"),
    [
        ({"clearance": "restricted"}, {"clearance": "public"}, {"clearance": "public"}),
        ({"models": ("m", "n")}, {"models": ("n",)}, {"models": ("n",)}),
        ({"tools": ("t",)}, {"tools": ()}, {"tools": ()}),
        ({"policy": "a", "output_cap": 5}, {"policy": "b", "output_cap": 9}, {"policy": "b", "output_cap": 9}),
        ({"mode": Mode.ENFORCE}, {"mode": Mode.SHADOW}, {"mode": Mode.SHADOW}),
        ({"groups": ("a", "b")}, {"groups": ("b", "a")}, {"groups": ("a", "b")}),
        (
            {"on_missing_label": {"faq": "assume:public", "default": "assume:internal"}},
            {"on_missing_label": {"default": "deny"}},
            {"on_missing_label": {"faq": "deny", "default": "deny"}},
        ),
        (
            {"on_missing_label": {"default": "assume:public"}},
            {"on_missing_label": {"faq": "assume:restricted"}},
            {"on_missing_label": {"faq": "assume:restricted", "default": "assume:public"}},
        ),
    ],
)
def test_a_level_may_narrow(above: dict[str, Any], own: dict[str, Any], found: dict[str, Any]):
    assert within(Rights(**above), Rights(**own), LABELS) == Rights(**found)


@pytest.mark.parametrize(
    ("above", "own", "field"),
    [
        ({"tenant": "acme"}, {"tenant": "other"}, "tenant"),
        ({"groups": ("a",)}, {"groups": ("a", "hr")}, "groups"),
        ({"groups": ("a", "barred")}, {"groups": ("a",)}, "groups"),
        ({"groups": ("a",)}, {"groups": ()}, "groups"),
        ({"clearance": "public"}, {"clearance": "internal"}, "clearance"),
        ({"models": ("m",)}, {"models": ("m", "n")}, "models"),
        ({"classes": ()}, {"classes": ("c",)}, "classes"),
        ({"tools": ("t",)}, {"tools": ("u",)}, "tools"),
        ({"on_missing_label": {"default": "deny"}}, {"on_missing_label": {"faq": "assume:public"}}, "on_missing_label"),
        ({"on_missing_label": {"faq": "deny"}}, {"on_missing_label": {"default": "assume:public"}}, "on_missing_label"),
        (
            {"on_missing_label": {"faq": "assume:internal"}},
            {"on_missing_label": {"faq": "assume:public"}},
            "on_missing_label",
        ),
    ],
)
def test_a_level_may_not_widen(above: dict[str, Any], own: dict[str, Any], field: str):
    with pytest.raises(Widened) as error:
        within(Rights(**above), Rights(**own), LABELS)
    assert error.value.field == field
    with pytest.raises(InvalidConfig, match=rf"\(keys\[3\].{field}\)"):
        resolved("keys[3]", Rights(**above), Rights(**own), WRITTEN, fault)


def test_a_token_is_given_what_both_agree_to():
    above = Rights(clearance="public", models=("m",), on_missing_label={"default": "deny"})
    own = Rights(clearance="restricted", models=("n", "m"), on_missing_label={"faq": "assume:public"})
    assert both(above, own, LABELS) == Rights(
        clearance="public", models=("m",), on_missing_label={"default": "deny", "faq": "deny"}
    )
    assert both(above, Rights(clearance="unheard of"), LABELS).clearance == "unheard of"


names = st.none() | st.lists(st.sampled_from("abc"), unique=True).map(tuple)
rules = st.sampled_from(["deny", *(f"assume:{label}" for label in LABELS)])
some_rights = st.builds(
    Rights,
    clearance=st.none() | st.sampled_from(LABELS),
    classes=names,
    models=names,
    tools=names,
    on_missing_label=st.none() | st.dictionaries(st.sampled_from(["default", "faq", "wiki"]), rules),
)


def sees(rights: Rights, label: str, kind: str) -> bool:
    """Whether a document of that kind, without a label, is seen by who is cleared up to `label`."""
    rules = rights.on_missing_label or {}
    rule = rules.get(kind, rules.get("default"))
    return rule is None or (rule != "deny" and LABELS.index(rule.removeprefix("assume:")) <= LABELS.index(label))


@given(some_rights, some_rights)
def test_nothing_is_permitted_that_a_level_above_does_not_permit(above: Rights, own: Rights):
    found = both(above, own, LABELS)
    for field in ("classes", "models", "tools"):
        given_above, given_here = getattr(above, field), getattr(found, field)
        assert given_above is None or (given_here is not None and set(given_here) <= set(given_above))
    if above.clearance is not None:
        assert found.clearance is not None
        assert LABELS.index(found.clearance) <= LABELS.index(above.clearance)
    for label in LABELS:
        for kind in ("faq", "wiki", "other"):
            assert sees(above, label, kind) or not sees(found, label, kind)
    assert both(above, found, LABELS) == found
    assert within(above, found, LABELS) == found


@given(some_rights, some_rights)
def test_what_an_operator_wrote_holds_as_it_stands_or_not_at_all(above: Rights, own: Rights):
    try:
        found = within(above, own, LABELS)
    except Widened:
        return
    for field in ("clearance", "classes", "models", "tools"):
        assert getattr(own, field) in (None, getattr(found, field))
    for kind, rule in (own.on_missing_label or {}).items():
        assert (found.on_missing_label or {})[kind] == rule


@pytest.mark.parametrize(
    ("own", "what"),
    [
        ({"clearance": "top"}, r"no label top; it has public, internal, restricted \(at.clearance\)"),
        ({"on_missing_label": {"faq": "assume:top"}}, r"no label top.*\(at.on_missing_label.faq\)"),
        ({"classes": ("d",)}, r"no class d \(at.classes\)"),
        ({"models": ("x",)}, r"no model x \(at.models\)"),
    ],
)
def test_what_is_not_there_cannot_be_named(own: dict[str, Any], what: str):
    with pytest.raises(InvalidConfig, match=what):
        check("at", Rights(**own), POLICY, WRITTEN.models, fault)
    with pytest.raises(InvalidConfig, match=what):
        resolved("at", Rights(), Rights(**own), WRITTEN, fault)


def test_what_is_there_can_be_named():
    own = Rights(
        clearance="public", classes=("c",), models=("m",), on_missing_label={"a": "deny", "b": "assume:public"}
    )
    check("at", own, POLICY, WRITTEN.models, fault)
    assert resolved("at", Rights(), own, WRITTEN, fault) == own


def test_labels_are_those_of_the_levels_own_policy():
    assert resolved("at", Rights(policy="other"), Rights(clearance="high"), WRITTEN, fault).clearance == "high"
    assert WRITTEN.labels("other") == ("low", "high")
    with pytest.raises(InvalidConfig, match=r"no policy x; there are other \(at.policy\)"):
        resolved("at", Rights(), Rights(policy="x"), WRITTEN, fault)
    with pytest.raises(InvalidConfig, match="there are none"):
        resolved("at", Rights(), Rights(policy="x"), Written(POLICY, {}, ()), fault)
    # A label that the level's own policy does not have is not above it.
    with pytest.raises(InvalidConfig, match="sees no more than internal"):
        resolved("at", Rights(clearance="internal"), Rights(policy="other", clearance="low"), WRITTEN, fault)


def test_a_list_of_labels_is_looked_through():
    check_labels("at", None, POLICY, fault)
    check_labels("at", ("public",), POLICY, fault)
    with pytest.raises(InvalidConfig, match="no label x"):
        check_labels("at", ("public", "x"), POLICY, fault)
