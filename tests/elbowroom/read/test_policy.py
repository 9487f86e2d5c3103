"""One frozen value; what is not written has a default."""

import msgspec
import pytest

from elbowroom.read.policy import Policy, QueryClass, Tool


def test_a_class_that_nobody_wrote_down_has_the_default_numbers():
    policy = Policy(classes=(QueryClass("a", answer_reserve=5),))
    assert policy.query_class("a").answer_reserve == 5
    assert policy.query_class("b") == QueryClass("b")
    assert policy.has_class("a")
    assert not policy.has_class("b")


def test_the_default_class_is_there():
    assert Policy().has_class(Policy().default_class)


def test_which_tools_results_are_looked_into():
    assert not Tool(max_rows=1).looks_inside
    assert Tool(response_schema={}).looks_inside
    assert Tool(redact=("mail",)).looks_inside


def test_nothing_can_be_changed():
    with pytest.raises(AttributeError):
        setattr(Policy(), "mode", "passthrough")  # noqa: B010 - what a type checker would refuse


@pytest.mark.parametrize(
    "value",
    [
        {"nonsense": 1},
        {"input_limit": 0},
        {"evidence": {"floor": -0.1}},
        {"history": {"share": 2}},
        {"order": "x"},
        *(
            {"evidence": {"line_prefix": prefix}}
            for prefix in ("", " ", "|", "\n ", "<| ", "/ ", "1 ", "|||| ", "| \n")
        ),
    ],
)
def test_what_cannot_be(value):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(value, Policy)
