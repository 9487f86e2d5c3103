"""What a client sees of a stream: the upstream's bytes, and exactly the differences that are promised."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletionChunk

from elbowroom.errors import UpstreamTimeout
from elbowroom.records import Source
from elbowroom.write.answer import Watch
from elbowroom.write.citations import Invented
from elbowroom_proxy.streamed import EVENT_MAX, Streamed

DONE = b"data: [DONE]\n\n"
USAGE = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13, "completion_tokens_details": {"x": 0}}
REPORT = b'{"admitted":["kb-1"]}'
SOURCES = (
    Source("S1", "kb-1", "Refunds", "https://kb.example/1", "kb"),
    Source("S2", "kb-2", None, "https://kb.example/2", None),
    Source("S3", "kb-3", "No address", None, None),
)


def chunk(delta: Any = None, finish: str | None = None, index: int = 0, **more: Any) -> dict:
    choice = {"index": index, "delta": {} if delta is None else delta, "logprobs": None, "finish_reason": finish}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1760000000, "model": "gpt-4o"}
    return {**head, "choices": [choice], **more}


def event(value: Any, **how: Any) -> bytes:
    how = how or {"separators": (",", ":"), "ensure_ascii": False}
    return b"data: " + json.dumps(value, **how).encode() + b"\n\n"


def stream(*texts: str, usage: bool = False, finish: str = "stop") -> bytes:
    """As OpenAI writes one; `usage` as it is when usage was asked for."""
    null: dict[str, Any] = {"usage": None} if usage else {}
    chunks = [chunk({"role": "assistant", "content": "", "refusal": None}, **null)]
    chunks += [chunk({"content": text}, **null) for text in texts]
    chunks.append(chunk({}, finish, **null))
    if usage:
        chunks.append({**chunk(usage=USAGE), "choices": []})
    return b"".join(map(event, chunks)) + DONE


def streamed(
    hide_usage: bool = False, report: bytes | None = None, verify: bool = False, invented: Invented = "flag"
) -> Streamed:
    watch = Watch(SOURCES, invented, hosts_allowed=()) if verify else Watch()
    return Streamed(hide_usage=hide_usage, report=report, watch=watch)


def run(it: Streamed, data: bytes, size: int | None = None) -> bytes:
    step = size or max(1, len(data))
    return b"".join(it.feed(data[at : at + step]) for at in range(0, len(data), step)) + it.finish()


def values(out: bytes) -> list[Any]:
    """What a client parses; that each event is one data line is checked on the way."""
    assert out.endswith(b"\n\n")
    lines = [one for one in out[:-2].split(b"\n\n") if not one.startswith(b":")]
    assert all(line.startswith(b"data: ") for line in lines)
    assert lines[-1] == b"data: [DONE]"
    return [json.loads(line[6:]) for line in lines[:-1]]


def text_of(parsed: list[Any], index: int = 0) -> str:
    pieces = [piece for one in parsed for piece in one["choices"] if piece["index"] == index]
    return "".join(piece["delta"].get("content") or "" for piece in pieces)


# --- relayed as it came -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [None, 1, 7, 150])
@pytest.mark.parametrize("usage", [False, True])
@pytest.mark.parametrize("verify", [False, True])
def test_an_untouched_stream_is_the_upstreams_bytes(size: int | None, usage: bool, verify: bool):
    data = b": OPENROUTER PROCESSING\n\n" + stream("Guten ", "Tag \u2028 日本 😀", usage=usage)
    it = streamed(verify=verify)
    assert run(it, data, size) == data
    assert it.usage == (USAGE if usage else None)
    assert it.finish_reason == "stop"
    assert it.text_chars == len("Guten Tag \u2028 日本 😀")
    assert it.first_text_seen
    assert it.failed is None
    assert it.ended


def test_an_event_is_relayed_when_it_is_whole():
    it = streamed()
    first = event(chunk({"role": "assistant"}))
    assert it.feed(first[:-1]) == b""
    assert it.feed(first[-1:] + b"da") == first
    assert not it.first_text_seen


def test_tool_calls_reasoning_and_parts_pass():
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"x":"[S1]"}'}}
    data = b"".join(
        map(
            event,
            [
                chunk({"role": "assistant", "content": None, "tool_calls": [call]}),
                chunk({"reasoning_content": "[S1]"}),
                chunk({"content": [{"type": "thinking"}]}),
                {"id": "x", "choices": [{"index": None, "delta": None, "finish_reason": "tool_calls"}]},
            ],
        )
    )
    it = streamed(verify=True)
    assert run(it, data + DONE) == data + DONE
    assert it.finish_reason == "tool_calls"
    assert it.citations == ()
    assert it.text_chars == 0


@pytest.mark.parametrize("size", [None, 1])
def test_text_in_parts_is_read_like_any_other(size: int | None):
    part = {"type": "text", "text": "Yes [S"}
    rest = [{"type": "text", "text": "1], no [S9]. ![](https://evil.example/x)"}, {"type": "text", "text": " [S1]"}]
    chunks = [chunk({"content": [{"type": "thinking"}, part]}), chunk({"content": rest}, "stop")]
    it = streamed(verify=True, invented="strip")
    parsed = values(run(it, b"".join(map(event, chunks)) + DONE, size))
    texts = [one.get("text", "") for value in parsed for one in value["choices"][0]["delta"]["content"]]
    assert "".join(texts) == "Yes [S1], no . ![](https://evil.example/x) [S1]"
    assert it.text_chars == len("".join(texts))
    assert ([one.label for one in it.citations], it.invented) == (["S1", "S1"], ("S9",))
    assert [link.host for link in it.foreign_links] == ["evil.example"]
    delta = parsed[-1]["choices"][0]["delta"]
    assert len(delta["annotations"]) == 2
    assert delta["elbowroom_flags"]["links"][0]["host"] == "evil.example"


def test_lines_that_harm_sdks_are_left_out():
    first, last = event(chunk({"content": "a"})), event(chunk({}, "stop"))
    data = b"id: 1\nretry: 10\n" + first + b"data: \n\nevent: ping\ndata:\n\n: ping\n\n" + last + b"id: 2\n\n" + DONE
    assert run(streamed(), data) == first + b": ping\n\n" + last + DONE


def test_what_is_no_chunk_is_not_ours_to_judge():
    odd = b'data: nonsense\n\ndata: 5\n\ndata: {"choices":7}\n\ndata: {"error":null}\n\n'
    data = odd + stream("a")
    assert run(streamed(hide_usage=True, report=REPORT), data).startswith(odd)
    it = streamed()
    assert run(it, data) == data
    assert it.failed is None


def test_half_a_surrogate_pair_passes_and_is_counted():
    data = b"".join(event(chunk({"content": half}), ensure_ascii=True) for half in ("\ud83d", "\ude00 [S", "1]"))
    data += event(chunk({}, "stop")) + DONE
    it = streamed(verify=True)
    out = run(it, data)
    assert text_of(values(out)) == "\ud83d\ude00 [S1]"
    assert out.startswith(data[:100])
    assert len(it.citations) == 1


# --- the end ----------------------------------------------------------------------------------------------------------


def error_of(out: bytes) -> dict:
    return values(out)[-1]["error"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b": ping\n\n",
        event(chunk({"content": "a"})),
        event(chunk({"content": "a"})) + DONE,
        event(chunk({"content": "a"})) + event(chunk({"content": "b"}))[:-9],
        event(chunk({"content": "a"}, "stop")) + event(chunk({"content": "b"}, index=1)) + DONE,
    ],
)
def test_an_answer_that_nobody_finished_is_an_error(data: bytes):
    it = streamed()
    out = run(it, data)
    assert out.count(DONE) == 1
    assert error_of(out)["code"] == "upstream_unavailable"
    assert it.failed == "upstream_unavailable"
    assert out.endswith(b"}}\n\n" + DONE)


@pytest.mark.parametrize("end", [b"", b"data: [DONE]", b"data: [DONE]\n", DONE, DONE + stream("late"), b"data: {cut"])
def test_done_is_sent_once(end: bytes):
    data = stream("a")[: -len(DONE)]
    it = streamed()
    assert run(it, data + end) == data + DONE
    assert it.failed is None
    assert it.feed(b"data: more\n\n") == it.fail(UpstreamTimeout("late")) == b""


def test_the_last_event_may_lack_its_blank_line():
    data = event(chunk({"content": "a"})) + event(chunk({}, "length"))
    it = streamed()
    assert run(it, data[:-2]) == data + DONE
    assert it.finish_reason == "length"


def test_an_error_of_ours_ends_the_stream():
    it = streamed()
    sent = event(chunk({"content": "a"}))
    assert it.feed(sent + b'data: {"half') == sent
    out = it.fail(UpstreamTimeout("No byte for 60 s."))
    assert values(out) == [
        {"error": {"message": "No byte for 60 s.", "type": "server_error", "param": None, "code": "upstream_timeout"}}
    ]
    assert it.failed == "upstream_timeout"
    assert it.finish() == b""


@pytest.mark.parametrize("before", [b"", b"event: error\n"])
def test_an_error_of_the_upstream_passes_and_ends_the_stream(before: bytes):
    first, error = event(chunk({"content": "a"})), before + event({"error": {"message": "boom", "code": 500}})
    it = streamed(hide_usage=True, verify=True)
    assert run(it, first + error + stream("never")) == first + error + DONE
    assert it.failed == "upstream_error"


def test_an_event_without_end_is_refused():
    it = streamed()
    assert it.feed(b"data: " + b"x" * (EVENT_MAX - 6)) == b""
    assert error_of(it.feed(b"x"))["code"] == "upstream_unavailable"
    assert it.ended


# --- usage that we asked for ------------------------------------------------------------------------------------------


def test_usage_that_the_client_did_not_ask_for_is_hidden():
    it = streamed(hide_usage=True)
    assert run(it, stream("a", "b", usage=True)) == stream("a", "b")
    assert it.usage == USAGE


@pytest.mark.parametrize("how", [{"separators": (",", ":")}, {"indent": 1}, {"separators": (", ", " : ")}])
@pytest.mark.parametrize("place", ["first", "last", "only nested"])
def test_usage_is_taken_out_wherever_it_stands(how: dict, place: str):
    one = chunk({"content": '"usage":null, "usage"', "usage": None}, "stop")
    two = {"first": {"usage": USAGE, **one}, "last": {**one, "usage": None}, "only nested": one}[place]
    data = b"\n".join(b"data: " + line for line in json.dumps(two, **how).encode().split(b"\n")) + b"\n\n"
    it = streamed(hide_usage=True)
    out = run(it, data)
    assert values(out)[0] == one if place != "only nested" else out == data + DONE
    assert it.usage == (USAGE if place == "first" else None)


def test_usage_with_the_finish_is_read_and_hidden():
    it = streamed(hide_usage=True)
    out = run(it, event(chunk({"content": "a"}, "stop", usage=USAGE, x_groq={"usage": 1})))
    assert values(out) == [chunk({"content": "a"}, "stop", x_groq={"usage": 1})]
    assert it.usage == USAGE


# --- the report -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [None, 3])
def test_the_report_is_on_the_first_chunk_and_nowhere_else(size: int | None):
    data = b": hello\n\n" + stream("a", "b")
    out = run(streamed(report=REPORT), data, size)
    assert out.count(b"context_report") == 1
    assert out == data.replace(b"}]}\n\n", b'}],"context_report":' + REPORT + b"}\n\n", 1)


def test_a_rewritten_event_keeps_its_other_lines():
    data = b'event: x\nid: 9\n: c\ndata: {\ndata: "choices": []}\r\n\r\n' + stream("a")
    first = b'event: x\n: c\ndata: { "choices": [],"context_report":' + REPORT + b"}\n\n"
    assert run(streamed(report=REPORT), data) == first + stream("a")


# --- citations --------------------------------------------------------------------------------------------------------


def url_citation(index: int, url: str, title: str, start: int, end: int) -> dict:
    return {
        "index": index,
        "type": "url_citation",
        "url_citation": {"url": url, "title": title, "start_index": start, "end_index": end},
    }


def same_citations(found: list[dict], expected: list[dict]) -> bool:
    """Extra keys are allowed."""
    keys = ("url", "title", "start_index", "end_index")
    cut = [{**one, "url_citation": {key: one["url_citation"][key] for key in keys}} for one in found]
    return cut == expected


def test_the_safe_order():
    it = streamed(report=REPORT, verify=True)
    data = stream("Refunds take ", "30 days [", "S", "1", "] and [S2][S9] or [S", usage=True)
    parsed = values(run(it, data))
    assert all("choices" in one for one in parsed)
    assert parsed[0]["context_report"] == json.loads(REPORT)
    kinds = [
        "usage" if not one["choices"] else one["choices"][0]["finish_reason"] or next(iter(one["choices"][0]["delta"]))
        for one in parsed
    ]
    assert kinds == ["role", *["content"] * 6, "annotations", "stop", "usage"]
    text = "Refunds take 30 days [S1] and [S2][S9] or [S"
    assert text_of(parsed) == text
    assert it.text_chars == len(text)
    assert same_citations(
        parsed[-3]["choices"][0]["delta"]["annotations"],
        [
            url_citation(0, "https://kb.example/1", "Refunds", text.index("[S1]"), text.index("[S1]") + 4),
            url_citation(1, "https://kb.example/2", "kb-2", text.index("[S2]"), text.index("[S2]") + 4),
        ],
    )
    assert [(citation.label, citation.status) for citation in it.citations] == [
        ("S1", "verified"), ("S2", "verified"), ("S9", "invented"),
    ]  # fmt: skip
    assert it.invented == ("S9",)
    made = parsed[-3]
    assert {key: made[key] for key in ("id", "object", "created", "model")} == {
        key: parsed[0][key] for key in ("id", "object", "created", "model")
    }


def test_text_that_is_not_held_back_moves_as_bytes():
    data = stream("Refunds take ", "30 days [S1].", " More", usage=True)
    out = run(streamed(verify=True), data)
    at = out.index(b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"gpt-4o",'
                   b'"choices":[{"index":0,"delta":{"annotations"')  # fmt: skip
    assert out[:at] + out[out.index(b"\n\n", at) + 2 :] == data


def test_text_and_finish_in_one_chunk():
    it = streamed(verify=True)
    whole = event(chunk({"role": "assistant", "content": "See [S1] and [S"}, "stop"))
    parsed = values(run(it, whole + event(chunk({"content": " after"}))))
    assert text_of(parsed) == "See [S1] and [S after"
    assert parsed[0]["choices"][0]["finish_reason"] == "stop"
    assert len(parsed[0]["choices"][0]["delta"]["annotations"]) == 1


def test_each_choice_has_its_own_verifier():
    chunks = [
        {**chunk(), "choices": [chunk({"content": "a [S"}, index=index)["choices"][0] for index in (0, 1)]},
        chunk({"content": "2]"}, index=1),
        chunk({"content": "1]"}),
        chunk({}, "stop", index=1),
        chunk({}, "length"),
    ]
    it = streamed(verify=True)
    parsed = values(run(it, b"".join(map(event, chunks)) + DONE))
    assert (text_of(parsed, 0), text_of(parsed, 1)) == ("a [S1]", "a [S2]")
    assert [citation.label for citation in it.citations] == ["S1", "S2"]
    assert it.finish_reason == "length"
    noted = [one["choices"][0] for one in parsed if "annotations" in one["choices"][0]["delta"]]
    assert [one["index"] for one in noted] == [1, 0]
    assert [len(one["delta"]["annotations"]) for one in noted] == [1, 1]


@pytest.mark.parametrize("text", ["plain", "[S3]", "https://kb.example/1"])
def test_without_an_address_there_are_no_annotations(text: str):
    assert run(streamed(verify=True), stream(text)) == stream(text)


def test_an_upstream_that_annotates_itself_is_left_alone():
    own = {"type": "url_citation", "url_citation": {"url": "u", "title": "t", "start_index": 0, "end_index": 1}}
    data = event(chunk({"content": "[S1]"})) + event(chunk({"annotations": [own]})) + event(chunk({}, "stop")) + DONE
    it = streamed(verify=True)
    assert run(it, data) == data
    assert len(it.citations) == 1


def test_what_was_held_back_is_delivered_before_an_error():
    it = streamed(verify=True)
    assert text_of(values(it.feed(event(chunk({"content": "a [S1"}))) + DONE)) == "a "
    parsed = values(it.fail(UpstreamTimeout("late")))
    assert text_of(parsed[:1]) == "[S1"
    assert parsed[1]["error"]["code"] == "upstream_timeout"
    assert it.text_chars == 5


def test_what_should_not_be_trusted_is_named_beside_the_annotations():
    it = streamed(verify=True)
    text = "[S1] [S9] ![x](https://evil.example/?q=1)"
    made = values(run(it, stream(*text)))[-2]["choices"][0]["delta"]
    assert len(made["annotations"]) == 1
    assert made["elbowroom_flags"] == {
        "invented_citations": [{"label": "S9", "start_index": 5, "end_index": 9}],
        "links": [{"kind": "image", "host": "evil.example", "start_index": 15, "end_index": 40}],
    }
    assert [link.host for link in it.foreign_links] == ["evil.example"]


def test_half_a_character_in_a_host_ends_no_stream():
    sent = event(chunk({"content": "https://evil\udc00.example/x"}), ensure_ascii=True) + stream()
    out = run(streamed(verify=True), sent)
    (flags,) = [flags for one in values(out) if (flags := one["choices"][0]["delta"].get("elbowroom_flags"))]
    assert [link["host"] for link in flags["links"]] == ["evil\udc00.example"]
    assert b'"finish_reason":"stop"' in out


def test_an_invented_marker_is_stripped_and_places_are_those_of_what_is_left():
    it = streamed(verify=True, invented="strip")
    parsed = values(run(it, stream("a [", "S9", "] b [S1]", "[S7]")))
    assert text_of(parsed) == "a  b [S1]"
    (note,) = parsed[-2]["choices"][0]["delta"]["annotations"]
    assert (note["url_citation"]["start_index"], note["url_citation"]["end_index"]) == (5, 9)
    assert (it.invented, it.text_chars) == (("S9", "S7"), 9)


@pytest.mark.parametrize("finish", [None, "stop"])
def test_an_invented_marker_can_end_the_stream(finish: str | None):
    it = streamed(verify=True, invented="error")
    other = chunk({"content": "c [S"}, index=1)
    last = chunk({"content": "9] b"}, finish)
    data = b"".join(map(event, [other, chunk({"content": "a [S"}), last])) + stream("never")
    parsed = values(run(it, data))
    assert (text_of(parsed[:-1], 0), text_of(parsed[:-1], 1)) == ("a ", "c [S")
    assert parsed[-1]["error"]["code"] == it.failed == "invented_citation"
    assert all(piece["finish_reason"] is None for one in parsed[:-1] for piece in one["choices"])
    assert it.invented == ("S9",)


def test_nothing_that_waited_follows_the_end():
    it = Streamed(hide_usage=False, report=None, watch=Watch(SOURCES, "error", tools=frozenset({"find"})))
    called = {"index": 0, "function": {"name": "find", "arguments": ""}}
    data = b"".join(map(event, [chunk({"tool_calls": [called]}), chunk({"content": "[S9]"}), chunk({}, "stop")]))
    parsed = values(run(it, data))
    assert [list(one) for one in parsed][-1] == ["error"]
    assert it.failed == "invented_citation"


WORDS = st.sampled_from(
    [
        "a",
        "[S1]",
        "[S",
        "1]",
        "[",
        "]",
        "[S12",
        "[S3][S2]",
        "[S9]",
        "![x](https://evil.example)",
        "中文",
        "😀",
        "\n",
        '"\\',
        "[S99999]",
    ]
)


@given(
    texts=st.lists(st.lists(WORDS, max_size=4).map("".join), max_size=6),
    ends=st.sampled_from([b"\n", b"\r\n", b"\r"]),
    flags=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    cuts=st.lists(st.integers(0, 3_000), max_size=8),
    drop=st.integers(0, 400),
    invented=st.sampled_from(["flag", "strip", "error"]),
)
def test_the_client_sees_the_same_however_the_bytes_are_cut(texts, ends, flags, cuts, drop, invented):
    data = stream(*texts, usage=True).replace(b"\n", ends)
    data = data[: max(0, len(data) - drop)]
    hide, report, verify = flags

    def fresh() -> Streamed:
        return streamed(hide, REPORT if report else None, verify, invented)

    whole = fresh()
    expected = run(whole, data)
    assert expected.count(b"[DONE]") == 1
    assert b"\nid" not in expected
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = fresh()
    out = b"".join(pieces.feed(data[a:b]) for a, b in pairwise(edges)) + pieces.finish()
    assert out == expected
    assert run(fresh(), data, 1) == expected
    assert (pieces.usage, pieces.failed, pieces.text_chars) == (whole.usage, whole.failed, whole.text_chars)
    assert (pieces.citations, pieces.invented) == (whole.citations, whole.invented)
    assert pieces.foreign_links == whole.foreign_links


@given(texts=st.lists(st.lists(WORDS, max_size=4).map("".join), max_size=6))
def test_the_sdks_own_accumulator_takes_it(texts: list[str]):
    state = ChatCompletionStreamState()
    for value in values(run(streamed(True, REPORT, True), stream(*texts, usage=True))):
        state.handle_chunk(ChatCompletionChunk.model_validate(value))
    message = state.get_final_completion().choices[0].message
    assert (message.content or "") == "".join(texts)
    for note in message.annotations or []:
        place = note.url_citation
        cited = "".join(texts)[place.start_index : place.end_index]
        assert cited in {"[S1]", "[S2]"}


@pytest.mark.parametrize("size", [None, 1])
def test_whoever_counts_is_told_of_every_chunk_as_it_came(size: int | None):
    came: list[bytes] = []
    it = Streamed(hide_usage=True, report=REPORT, watch=Watch(SOURCES, "strip", hosts_allowed=()), came=came.append)
    run(it, stream("a [S7] ", "b", usage=True), size)
    texts = [json.loads(data)["choices"] for data in came]
    assert "".join(choice["delta"].get("content") or "" for choices in texts for choice in choices) == "a [S7] b"
    assert all(b"context_report" not in data for data in came)


def test_names_that_are_called_are_known_however_they_are_cut():
    pieces = [
        {"tool_calls": [{"index": 0, "function": {"name": "se"}}]},
        {"tool_calls": [{"index": 0, "function": {"name": "arch"}}, {"index": 1, "function": {"name": "mail"}}]},
        {"tool_calls": [{"index": 1, "function": {"arguments": "{}"}}]},
        {"tool_calls": [{"function": {"name": "unnumbered"}}, {"function": {"name": "another"}}]},
        {"function_call": {"name": "old", "arguments": ""}},
        {"tool_calls": "none"},
    ]
    it = streamed()
    run(it, b"".join(event(chunk(piece)) for piece in pieces) + event(chunk({}, "tool_calls")) + DONE)
    assert it.calls == ("search", "mail", "unnumbered", "another", "old")


@pytest.mark.parametrize("keeps", [False, True])
def test_what_was_said_is_kept_where_that_is_wanted(keeps: bool):
    it = Streamed(hide_usage=False, report=None, watch=Watch(SOURCES), keeps_text=keeps)
    run(it, stream("one [S", "1] two"), 7)
    assert it.text == ("one [S1] two" if keeps else "")
