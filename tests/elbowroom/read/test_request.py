"""A request keeps its bytes, and whatever is wrong with it is a 400 that names the member."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.errors import ElbowroomError, InvalidDocument, InvalidRequest, NoUserMessage
from elbowroom.read.request import read_request
from elbowroom.records import Context

USER = {"role": "user", "content": "hi"}


def read(headers=None, documents="ours", max_documents=1000, /, **members):
    body = json.dumps({"model": "m", "messages": [USER], **members}).encode()
    return read_request(body, headers or {}, max_documents=max_documents, documents=documents)


def refused(kind=InvalidRequest, /, *arguments, **members):
    with pytest.raises(ElbowroomError) as caught:
        read(*arguments, **members)
    assert type(caught.value) is kind
    assert caught.value.status_hint == 400
    return caught.value.param


def test_everything_stays_as_it_came():
    body = (
        b'{ "stream":true, "messages" : [ {"content":"a\\u0062", "role":"user"} ,{"role":"assistant","content":null}],'
        b' "x_unknown": {"b": [1.0, 2e1]}, "model":"m","documents":["d"], "context":{"class":"c"} }'
    )
    request = read_request(body, {}, max_documents=1)
    assert request.body == body
    assert list(request.fields) == ["stream", "messages", "x_unknown", "model", "documents", "context"]
    assert request.fields["x_unknown"] == b'{"b": [1.0, 2e1]}'
    assert request.messages[0].raw == b'{"content":"a\\u0062", "role":"user"}'
    assert request.messages[0].value == {"content": "ab", "role": "user"}
    assert request.params == {"stream": True, "x_unknown": {"b": [1.0, 20.0]}, "model": "m"}
    assert request.stream
    assert request.tagged
    assert [document.text for document in request.documents] == ["d"]


TEXTS = st.text(st.characters(exclude_categories=()), max_size=12)


@given(
    st.lists(
        st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "system"]), "content": TEXTS}), min_size=1
    ),
    st.dictionaries(st.text(max_size=5).map("x_".__add__), TEXTS | st.integers(0, 9) | st.none(), max_size=4),
    st.booleans(),
)
def test_bytes_round_trip(messages, extra, ascii_only):
    value = {"model": "m", **extra, "messages": messages}
    try:
        body = json.dumps(value, ensure_ascii=ascii_only).encode()
    except UnicodeEncodeError:  # a lone surrogate has no other form than its escape
        body = json.dumps(value).encode()
    request = read_request(body, {}, max_documents=1)
    assert request.body == body
    assert [message.value for message in request.messages] == messages
    assert all(message.raw in body for message in request.messages)
    assert {name: json.loads(raw) for name, raw in request.fields.items()} == value
    assert request.params == {"model": "m", **extra}


@given(st.binary(max_size=40) | st.text(max_size=40).map(str.encode))
def test_any_bytes_are_read_or_refused(body):
    with pytest.raises(ElbowroomError) as caught:
        read_request(body, {}, max_documents=1)
    assert caught.value.status_hint == 400


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
READ = (
    "model messages stream stream_options n max_tokens max_completion_tokens tools functions tool_choice function_call "
    "response_format reasoning reasoning_effort documents context temperature stop metadata"
)
NAMES = READ.split()


@given(st.dictionaries(st.sampled_from(NAMES), JSON, min_size=1, max_size=4))
def test_any_value_anywhere_is_read_or_refused(members):
    refusal = None
    try:
        assert read(**members).model
    except ElbowroomError as error:
        refusal = error
    if refusal is not None:
        assert refusal.status_hint == 400
        assert (refusal.param or "").split(".")[0].split("[")[0] in NAMES


@pytest.mark.parametrize(
    "body",
    [b"", b"hi", b"[]", b"null", b'{"model": NaN}', b'{"model":"m","messages":[{"role":"user","content":Infinity}]}'],
)
def test_no_json_object(body):
    with pytest.raises(InvalidRequest):
        read_request(body, {}, max_documents=1)


def test_a_model_has_a_name():
    for model in (None, 1, "", "  ", ["m"], "\ud800"):
        assert refused(model=model) == "model"
    with pytest.raises(InvalidRequest) as caught:
        read_request(b'{"messages":[{"role":"user","content":"x"}]}', {}, max_documents=1)
    assert caught.value.param == "model"


def test_messages_are_there():
    messages: object
    for messages in (None, [], {}, "hi", 3):
        assert refused(messages=messages) == "messages"
    with pytest.raises(InvalidRequest) as caught:
        read_request(b'{"model":"m"}', {}, max_documents=1)
    assert caught.value.param == "messages"


def test_a_message_that_is_none_is_named():
    assert refused(messages=[USER, {"role": "user", "content": 1}]) == "messages[1].content"
    assert refused(messages=[USER, None]) == "messages[1]"


def test_what_is_given_twice_is_refused():
    for body, param in (
        (b'{"model":"m","messages":[{"role":"user","content":"x"}],"model":"n"}', None),
        (b'{"model":"m","messages":[{"role":"user","content":"x","content":"y"}]}', "messages[0]"),
    ):
        with pytest.raises(InvalidRequest, match="twice") as caught:
            read_request(body, {}, max_documents=1)
        assert caught.value.param == param


@pytest.mark.parametrize(
    ("name", "meant"),
    [("Model", "model"), ("MESSAGES", "messages"), ("N", "n"), ("max_to\u212aens", "max_tokens"),
     ("Best_Of", "best_of"), ("Documents", "documents"), ("tool\u017f", "tools"), ("N_predict", "n_predict")],
)  # fmt: skip
def test_what_only_some_servers_would_read_is_refused(name: str, meant: str):
    assert refused(**{name: 1}) == meant
    assert refused(messages=[USER, {**USER, "Content": "y"}]) == "messages[1].content"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("stream", "yes"),
        ("stream", 1),
        ("stream_options", True),
        ("n", "2"),
        ("n", 0),
        ("n", -1),
        ("n", 1.5),
        ("n", True),
        ("n", 129),
        ("max_tokens", "100"),
        ("max_tokens", 0),
        ("max_completion_tokens", 2.5),
        ("max_completion_tokens", -5),
        ("tools", {}),
        ("functions", {}),
        ("tool_choice", 1),
        ("function_call", []),
        ("parallel_tool_calls", "no"),
        ("response_format", "json"),
        ("reasoning_effort", 3),
        ("reasoning", "high"),
        ("temperature", "hot"),
        ("top_p", []),
        ("presence_penalty", False),
        ("frequency_penalty", "0"),
        ("seed", 1.5),
        ("stop", 1),
        ("user", {}),
        ("logit_bias", []),
        ("metadata", "x"),
    ],
)
def test_wrong_types(name, value):
    assert refused(**{name: value}) == name
    assert read(**{name: None}).params[name] is None


@pytest.mark.parametrize(
    ("members", "param"),
    [
        ({"response_format": {}}, "response_format.type"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"schema": "x"}}},
            "response_format.json_schema.schema",
        ),
        ({"reasoning": {"effort": 1}}, "reasoning.effort"),
        ({"tools": [{"type": "function"}]}, "tools[0].function"),
        ({"functions": [{}]}, "functions[0].name"),
    ],
)
def test_wrong_types_deeper(members, param):
    assert refused(**members) == param


@pytest.mark.parametrize(
    "members",
    [
        {"response_format": {"type": "text"}},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}},
        {"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}}},
        {"reasoning": {"effort": "low"}},
        {"reasoning": {}},
        {"n": 128, "max_tokens": 1, "stop": ["a"], "temperature": 0, "seed": 1},
        {"tools": [{"type": "function", "function": {"name": "f"}}], "functions": [{"name": "f"}]},
    ],
)
def test_right_types(members):
    assert read(**members).params == {"model": "m", **members}


def test_documents_are_tags():
    assert not read().tagged
    for value, tagged in ((None, False), ([], True), (["x"], True)):
        request = read(documents=value)
        assert request.tagged is tagged
        assert "documents" in request.fields
        assert "documents" not in request.params


def test_documents_of_the_upstream_are_no_tags():
    body = b'{"model":"m","messages":[{"role":"user","content":"x"}],"documents":[{"title":"t"}],"context":{}}'
    request = read_request(body, {}, max_documents=1, documents="upstream")
    assert not request.tagged
    assert request.documents == ()
    assert request.params == {"model": "m", "documents": [{"title": "t"}]}
    with pytest.raises(InvalidDocument):
        read_request(body, {}, max_documents=1)


def test_too_many_documents():
    assert len(read({}, "ours", 3, documents=["a", "b", "c"]).documents) == 3
    assert refused(InvalidDocument, {}, "ours", 2, documents=["a", "b", "c"]) == "documents"


def test_documents_need_a_user_message():
    system = [{"role": "system", "content": "x"}]
    assert refused(NoUserMessage, messages=system, documents=["a"]) == "messages"
    assert refused(NoUserMessage, messages=system, documents=[]) == "messages"
    assert not read(messages=system, documents=None).tagged


def test_lone_surrogates_stay_but_in_documents():
    body = (
        b'{"model":"m","messages":[{"role":"user","content":"a\\ud800b"}],"x_y":"\\udc00",'
        b'"documents":[{"id":"\\ud800","text":"t\\udfffu","access":{"tenant":"\\ud800"}}],'
        b'"context":{"conversation_id":"c\\ud800"}}'
    )
    request = read_request(body, {}, max_documents=2)
    assert request.messages[0].text == "a\ud800b"
    assert request.messages[0].raw == b'{"role":"user","content":"a\\ud800b"}'
    assert request.params["x_y"] == "\udc00"
    (document,) = request.documents
    assert (document.id, document.text, document.access) == ("\ufffd", "t\ufffdu", {"tenant": "\ufffd"})
    assert request.context.conversation_id == "c\ufffd"


def test_context_by_body_and_by_header():
    headers = {
        "x-elbowroom-class": "by_header",
        "x-elbowroom-conversation": "c-header",
        "x-elbowroom-explain": " True ",
    }
    assert read().context == Context()
    assert read(context=None).context == Context()
    assert read(headers).context == Context("by_header", "c-header", (), True)
    body = {"class": "by_body", "conversation_id": "c-body", "explain": False, "examples": [0]}
    assert read(headers, context=body).context == Context("by_body", "c-body", (0,), False)
    assert read(headers, context={"class": None, "explain": None}).context == Context("by_header", "c-header", (), True)


@pytest.mark.parametrize(
    ("context", "param"),
    [
        ([], "context"),
        ("x", "context"),
        ({"clas": "x"}, "context.clas"),
        ({"\ud800": 1}, "context.\ufffd"),
        ({"class": 1}, "context.class"),
        ({"class": " "}, "context.class"),
        ({"class": "x" * 257}, "context.class"),
        ({"conversation_id": ["x"]}, "context.conversation_id"),
        ({"explain": 1}, "context.explain"),
        ({"examples": 1}, "context.examples"),
        ({"examples": [0, "1"]}, "context.examples[1]"),
        ({"examples": [True]}, "context.examples[0]"),
        ({"examples": [1]}, "context.examples[0]"),
        ({"examples": [-1]}, "context.examples[0]"),
    ],
)
def test_context_that_cannot_be(context, param):
    assert refused(context=context) == param


def test_headers_that_cannot_be():
    assert refused(InvalidRequest, {"x-elbowroom-class": ""}) == "x-elbowroom-class"
    assert refused(InvalidRequest, {"x-elbowroom-explain": "maybe"}) == "x-elbowroom-explain"


def test_examples_ascend_and_stand_once():
    messages = [USER] * 4
    assert read(messages=messages, context={"examples": [2, 0, 2]}).context.examples == (0, 2)


def test_what_real_clients_send(shared):
    bodies = json.loads((shared / "data" / "client_bodies.json").read_text())
    read_any = 0
    for name, recorded in bodies.items():
        if not name.startswith("_"):
            request = recorded["request"]
            read_one = read_request(json.dumps(request["body"]).encode(), request["headers"], max_documents=10)
            assert read_one.documents[0].id == "d1"
            assert read_one.context.query_class == "point_lookup"
            read_any += 1
    assert read_any >= 10
