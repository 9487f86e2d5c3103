"""Every message is in one part, and no call is parted from its result."""

import json
from itertools import zip_longest

from hypothesis import given
from hypothesis import strategies as st

from elbowroom.read.request import read_request
from elbowroom.read.split import split, tool_names
from elbowroom.records import Split


def request_of(*messages, examples=()):
    body = {"model": "m", "messages": list(messages), "context": {"examples": list(examples)}}
    return read_request(json.dumps(body).encode(), {}, max_documents=1)


def said(role, content="x", **more):
    return {"role": role, "content": content, **more}


def call(*ids, names=()):
    calls = [
        {"id": i, "type": "function", "function": {"name": name or "f", "arguments": "{}"}}
        for i, name in zip_longest(ids, names)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call_id):
    return {"role": "tool", "tool_call_id": call_id, "content": "r"}


def test_a_plain_conversation():
    request = request_of(
        said("system"),
        said("user"),
        said("assistant"),
        said("user"),
        said("assistant"),
        said("developer"),
        said("user"),
    )
    assert split(request) == Split((0, 5), (), ((1, 2), (3, 4)), 6, ())


def test_an_agent_in_its_loop():
    request = request_of(
        said("user"), call("a"), result("a"), said("assistant"), said("user"), call("b", "c"), result("b"), result("c"),
        said("assistant"), call("d"), result("d"),
    )  # fmt: skip
    assert split(request) == Split((), (), ((0, 1, 2, 3),), 4, ((5, 6, 7), (8,), (9, 10)))


def test_a_greeting_before_any_user():
    assert split(request_of(said("assistant"), said("user"))) == Split((), (), ((0,),), 1, ())


def test_no_user_at_all():
    request = request_of(said("system"), said("assistant"), said("assistant"))
    assert split(request) == Split((0,), (), ((1, 2),), None, ())


def test_examples_by_name_and_by_index():
    request = request_of(
        said("system", name="example_user"),
        said("user", name="example_user"),
        said("assistant", name="example_assistant"),
        said("user"),
        call("a"),
        result("a"),
        said("user"),
        examples=(3, 4),
    )
    assert split(request) == Split((0,), (1, 2, 3, 4, 5), (), 6, ())


def test_the_last_user_message_is_the_question_whatever_its_name():
    request = request_of(said("user", name="example_user"), said("user", name="example_user"), examples=(0, 1))
    assert split(request) == Split((), (0,), (), 1, ())


def test_a_result_goes_where_its_call_is():
    request = request_of(said("user"), call("a"), said("user"), result("a"), result("zz"))
    assert split(request) == Split((), (), ((0, 1, 3),), 2, ((4,),))
    marked = request_of(call("a"), result("a"), said("user"), examples=(1,))
    assert split(marked) == Split((), (), ((0, 1),), 2, ())


def test_a_result_without_a_call_stays_with_what_precedes_it():
    request = request_of(result("zz"), said("user"), said("assistant"), {"role": "tool", "content": "x"}, said("user"))
    assert split(request) == Split((), (), ((0,), (1, 2, 3)), 4, ())
    assert tool_names(request) == {}


def test_an_id_that_was_used_before_means_the_nearest_call():
    request = request_of(said("user"), call("a"), result("a"), said("user"), call("a", names=("g",)), result("a"))
    assert split(request) == Split((), (), ((0, 1, 2),), 3, ((4, 5),))
    assert tool_names(request) == {2: "f", 5: "g"}


def test_several_calls_with_one_id_are_answered_in_their_order():
    """Some upstreams give the empty one to all of a message."""
    again = call("", "", names=("f", "h"))
    request = request_of(
        said("user"), call("", "", "", names=("f", "g", "h")), result(""), result(""), again, *[result("")] * 3
    )
    assert tool_names(request) == {2: "f", 3: "g", 5: "f", 6: "h", 7: "h"}


def test_functions_of_the_older_form():
    legacy = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    request = request_of(
        said("user"), legacy, {"role": "function", "name": "f", "content": "r"}, said("user"),
        {"role": "function", "name": "g", "content": "r"},
    )  # fmt: skip
    assert split(request) == Split((), (), ((0, 1, 2),), 3, ((4,),))
    assert tool_names(request) == {2: "f", 4: "g"}


def test_names_of_tools():
    custom = {"role": "assistant", "tool_calls": [{"id": "b", "type": "custom", "custom": {"name": "c\ud800"}}]}
    without_id = {"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}
    request = request_of(
        said("user"), call("a", names=("search",)), result("a"), custom, result("b"), without_id,
        {"role": "tool", "content": "x", "name": "said"}, result("zz"),
    )  # fmt: skip
    assert tool_names(request)[2] == "search"
    assert tool_names(request)[4] == "c\ufffd"
    assert tool_names(request)[6] == "said"
    assert 7 not in tool_names(request)
    assert 0 not in tool_names(request)


IDS = st.sampled_from(["a", "b", "c"])
MESSAGES = st.lists(
    st.one_of(
        st.sampled_from(["system", "developer", "user", "assistant"]).map(said),
        st.sampled_from(["user", "assistant"]).map(lambda role: said(role, name=f"example_{role}")),
        st.lists(IDS, min_size=1, max_size=2, unique=True).map(lambda ids: call(*ids)),
        IDS.map(result),
        IDS.map(lambda name: {"role": "assistant", "function_call": {"name": name}}),
        IDS.map(lambda name: {"role": "function", "name": name, "content": "r"}),
    ),
    min_size=1,
    max_size=14,
)


@given(MESSAGES, st.sets(st.integers(0, 13)))
def test_one_part_each_and_groups_whole(messages, marked):
    request = request_of(*messages, examples=[i for i in marked if i < len(messages)])
    parts = split(request)
    groups = [parts.instructions, parts.examples, *parts.turns, *parts.tail]
    if parts.question is not None:
        groups.append((parts.question,))
    assert sorted(i for group in groups for i in group) == list(range(len(messages)))
    assert all(list(group) == sorted(group) for group in groups)
    assert all(group for group in (*parts.turns, *parts.tail))

    users = [i for i, message in enumerate(messages) if message["role"] == "user"]
    assert parts.question == (users[-1] if users else None)
    instructions = [i for i, message in enumerate(messages) if message["role"] in ("system", "developer")]
    assert list(parts.instructions) == instructions

    where = {i: number for number, group in enumerate(groups) for i in group}
    for i, message in enumerate(messages):
        if message["role"] == "tool":
            calls = [
                j for j in range(i)
                if any(one["id"] == message["tool_call_id"] for one in messages[j].get("tool_calls", ()))
            ]  # fmt: skip
            assert not calls or where[i] == where[calls[-1]]
