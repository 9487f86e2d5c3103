"""The body that leaves: every difference is named, and everything else is the client's bytes."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from elbowroom.records import Context, Edit, Message, Model, Request
from elbowroom.write.place import output_limit, place, with_evidence
from tests.walk import MODEL as CHAT_MODEL

EVIDENCE = 'Note "S1"\n<S1-0417>\n退款 30 days\n</S1-0417>\n\n'
SYSTEM = '{ "role":"system",  "content":"Be \\u0062rief \\/ kind" }'
USER = '{"content" : "\\u4f60好,  \\/ok", "role":"user", "x":1.0}'


def message(raw: str) -> Message:
    return Message(raw.encode(), json.loads(raw))


def request(*raws: str, ours: bool = True, **others: Any) -> Request:
    """A request whose top-level members are the given raw JSON, spaced as no encoder would space them.

    Unless `documents` are `ours`, they are the provider's.
    """
    fields = {"model": '"small"', "messages": f"[ {' , '.join(raws)} ]", **others}
    body = "{ " + " , ".join(f'"{name}" :  {raw}' for name, raw in fields.items()) + " }\n"
    read = {"messages", "context", "documents"} if ours else {"messages", "context"}
    params = {name: json.loads(raw) for name, raw in fields.items() if name not in read}
    return Request(
        body=body.encode(),
        fields={name: raw.encode() for name, raw in fields.items()},
        model="small",
        messages=tuple(message(raw) for raw in raws),
        documents=(),
        tagged=False,
        context=Context(),
        params=params,
        stream=params.get("stream", False),
    )


def model(upstream_model: str = "small", family: str = "gpt-4o") -> Model:
    return Model("small", "openai", upstream_model, 8192, 1024, "openai_chat", family, "o200k_base")


def put(asked: Request, evidence: str = "", at: int | None = None, **changes: Any) -> tuple[bytes, tuple[Edit, ...]]:
    messages = list(changes.pop("messages", asked.messages))
    if at is not None:
        messages[at] = with_evidence(messages[at], evidence)
    values: dict[str, Any] = {"model": model(), "ask_usage": True, "max_tokens": None, "output_cap": None}
    placed = place(asked, messages, **{**values, **changes})
    return placed.body, placed.edits


def test_a_body_without_a_difference_is_the_clients_own_object():
    asked = request(SYSTEM, USER, temperature="0.10")
    body, edits = put(asked)
    assert body is asked.body
    assert edits == ()


def test_evidence_stands_before_the_users_own_bytes():
    asked = request(SYSTEM, USER, documents="[{}]", context="{}", temperature="0.10")
    body, edits = put(asked, evidence=EVIDENCE, at=1)
    assert edits == (Edit.TAGS_REMOVED,)  # evidence is named by who added it
    assert SYSTEM.encode() in body
    assert b'\\u4f60\xe5\xa5\xbd,  \\/ok"' in body  # the user's spelling survives
    assert "退款".encode() in body  # ours is UTF-8, not escapes
    assert b'"temperature":0.10' in body
    sent = json.loads(body)
    assert list(sent) == ["model", "messages", "temperature"]
    assert sent["messages"][1] == {"content": EVIDENCE + "你好,  /ok", "role": "user", "x": 1.0}


@pytest.mark.parametrize("parts", ['[ {"type":"text",  "text":"hi"} ]', "[]"])
def test_evidence_is_the_first_part_of_a_list(parts: str):
    asked = request('{"role":"user","content":' + parts + "}")
    body, edits = put(asked, evidence=EVIDENCE, at=0)
    assert edits == ()
    assert with_evidence(asked.messages[0], EVIDENCE).value == json.loads(body)["messages"][0]
    content = json.loads(body)["messages"][0]["content"]
    assert content == [{"type": "text", "text": EVIDENCE}, *json.loads(parts)]
    assert body.endswith(parts[1:].encode() + b"}]}")


@pytest.mark.parametrize(("behind", "at"), [(0, 2), (1, 1), (2, 0), (3, 0)])
def test_evidence_goes_back_between_the_parts_that_it_stood_between(behind: int, at: int):
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    message = request('{"role":"user","content":' + json.dumps(parts) + "}").messages[0]
    content = with_evidence(message, EVIDENCE, behind).value["content"]
    assert content == [*parts[:at], {"type": "text", "text": EVIDENCE}, *parts[at:]]


def test_lone_surrogates_travel_as_they_came():
    raw = '{ "role" : "user", "content" : "half \\ud83d of it", "n\\ud800" : [ 1 ] }'
    body, _ = put(request(raw), evidence=EVIDENCE, at=0)
    assert b'half \\ud83d of it"' in body
    assert json.loads(body)["messages"][0]["content"] == EVIDENCE + "half \ud83d of it"


@given(text=st.text(), evidence=st.text(st.characters(exclude_categories=["Cs"]), min_size=1), ascii_only=st.booleans())
def test_user_text_is_an_exact_suffix_in_bytes(text: str, evidence: str, ascii_only: bool):
    content = json.dumps(text, ensure_ascii=True if any("\ud800" <= c <= "\udfff" for c in text) else ascii_only)
    body, _ = put(request(SYSTEM, '{"role":"user","content":' + content + "}"), evidence=evidence, at=1)
    assert body.endswith(content[1:].encode() + b"}]}")
    sent = json.loads(body)["messages"]
    assert sent[1]["content"] == evidence + text
    assert SYSTEM.encode() in body


def test_documents_of_the_provider_stay():
    asked = request(USER, ours=False, documents='[{"text":"x"}]')
    assert put(asked)[0] is asked.body
    body, edits = put(request(USER, ours=False, documents='[{"text":"x"}]', context="{}"))
    assert edits == (Edit.TAGS_REMOVED,)
    assert list(json.loads(body)) == ["model", "messages", "documents"]


def test_an_empty_tag_goes_too():
    body, edits = put(request(USER, documents="null"))
    assert edits == (Edit.TAGS_REMOVED,)
    assert list(json.loads(body)) == ["model", "messages"]


def test_the_model_is_mapped():
    body, edits = put(request(USER), model=model('up/"stream"'))
    assert edits == (Edit.MODEL_MAPPED,)
    assert json.loads(body)["model"] == 'up/"stream"'


@pytest.mark.parametrize(
    ("given_options", "sent"),
    [
        (None, {"include_usage": True}),
        ("null", {"include_usage": True}),
        ("{}", {"include_usage": True}),
        ('{"include_usage":null}', {"include_usage": True}),
        ('{"other": [1] }', {"other": [1], "include_usage": True}),
    ],
)
def test_usage_is_asked_for_where_the_client_did_not_say(given_options: str | None, sent: dict[str, Any]):
    options: dict[str, Any] = {} if given_options is None else {"stream_options": given_options}
    body, edits = put(request(USER, stream="true", **options))
    assert edits == (Edit.USAGE_ASKED,)
    assert json.loads(body)["stream_options"] == sent


@pytest.mark.parametrize(
    "members",
    [
        {"stream": "true", "stream_options": '{"include_usage":false}'},
        {"stream": "true", "stream_options": '{"include_usage":true}'},
        {"stream": "false"},
    ],
)
def test_usage_is_not_asked_for_otherwise(members: dict[str, Any]):
    asked = request(USER, **members)
    assert put(asked)[0] is asked.body
    streamed = request(USER, stream="true")
    assert put(streamed, ask_usage=False)[0] is streamed.body


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_the_clients_own_maximum_is_lowered_in_its_own_member(name: str):
    def naming(value: str) -> Request:
        members: dict[str, Any] = {name: value}
        return request(USER, **members)

    body, edits = put(naming("900"), max_tokens=500)
    assert edits == (Edit.OUTPUT_CLAMPED,)
    assert json.loads(body)[name] == 500
    low = naming("400")
    assert put(low, max_tokens=500, output_cap=300) == (low.body, ())


@pytest.mark.parametrize(
    ("family", "upstream_model", "name"),
    [
        ("gpt-4o", "small", "max_tokens"),
        ("unknown", "org/llama", "max_tokens"),
        ("gpt-5-mini", "small", "max_completion_tokens"),
        ("o3", "small", "max_completion_tokens"),
        ("unknown", "openai/gpt-6", "max_completion_tokens"),
    ],
)
def test_a_cap_goes_into_the_member_that_the_model_obeys(family: str, upstream_model: str, name: str):
    body, edits = put(request(USER, max_tokens="null"), model=model(upstream_model, family), output_cap=500)
    assert Edit.OUTPUT_CAPPED in edits
    assert json.loads(body)[name] == 500


def test_echoed_annotations_go_only_from_a_body_that_is_rewritten():
    echo = '{"role":"assistant", "annotations":[{"type":"url_citation"}], "content":"[S1] \\u0041"}'
    asked = request(USER, echo, echo, USER)
    assert put(asked)[0] is asked.body
    body, edits = put(asked, evidence=EVIDENCE, at=3)
    assert edits == (Edit.ANNOTATIONS_STRIPPED,)
    assert b"annotations" not in body
    assert body.count(b'{"role":"assistant","content":"[S1] \\u0041"}') == 2


def test_our_own_flags_go_from_any_body():
    echo = '{"role":"assistant", "elbowroom_flags":{"links":[]}, "content":"[S1] \\u0041"}'
    body, edits = put(request(USER, echo, USER))
    assert edits == (Edit.ANNOTATIONS_STRIPPED,)
    assert b'{"role":"assistant","content":"[S1] \\u0041"}' in body


def test_messages_are_rebuilt_only_where_the_caller_changed_them():
    asked = request(SYSTEM, USER, USER)
    body, edits = put(asked, messages=asked.messages[:1] + asked.messages[2:])
    assert edits == ()  # who evicted it names it
    assert f'"messages":[{SYSTEM},{USER}]'.encode() in body
    mapped, _ = put(asked, model=model("big"))
    assert asked.fields["messages"] in mapped
    assert msgspec.json.decode(mapped)["model"] == "big"


def test_who_reasons_is_limited_by_the_newer_member() -> None:
    assert output_limit(CHAT_MODEL) == "max_tokens"
    assert output_limit(structs.replace(CHAT_MODEL, upstream_model="x/o3-mini")) == "max_completion_tokens"
    assert output_limit(structs.replace(CHAT_MODEL, family="gpt-5")) == "max_completion_tokens"


@pytest.mark.parametrize(
    ("said", "lowered", "cap", "limit"),
    [
        ({}, None, None, None),
        ({}, None, 50, 50),
        ({"max_tokens": "7"}, None, 50, 7),
        ({"max_tokens": "7", "max_completion_tokens": "9"}, None, 50, 9),  # who reads which is not known
        ({"max_tokens": "7", "max_completion_tokens": "9"}, 5, 50, 5),
        ({"max_tokens": "3", "max_completion_tokens": "9"}, 5, 50, 5),
    ],
)
def test_what_the_body_lets_one_choice_have_is_told(said, lowered, cap, limit):
    asked = request(USER, **said)
    placed = place(asked, asked.messages, model=model(), ask_usage=False, max_tokens=lowered, output_cap=cap)
    sent = json.loads(placed.body)
    assert placed.output_limit == limit
    assert limit == max((sent[name] for name in ("max_tokens", "max_completion_tokens") if name in sent), default=None)
