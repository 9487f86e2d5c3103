"""What must not leave is replaced before anything is counted, and what could not be searched is not sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs

from elbowroom.clean.find import find
from elbowroom.clean.known import Known
from elbowroom.decide.access import Rights
from elbowroom.decide.ready import ready
from elbowroom.decide.redaction import FEWEST, Redacted, redacted
from elbowroom.errors import RedactionUnavailable
from elbowroom.needs import Answer, Need, NeedRedaction
from elbowroom.read.policy import Access, Policy, Redact, Tool
from elbowroom.records import Edit, Principal, Redaction, Request
from elbowroom_proxy.answering import drive_here
from tests.planted import planted
from tests.walk import read

KEY, OTHER = planted("aws_key")[0], planted("aws_key", 1)[0]
TOKEN = planted("github_token")[0]
ONE, TWO = "[REDACTED:aws_key#1]", "[REDACTED:aws_key#2]"
CALL = {"id": "c", "type": "function", "function": {"name": "find", "arguments": "{}"}}
NAMED = {"find": Tool()}


def talk(*documents: dict[str, Any], result: Any = None, asked: Any = "Which?", **more: Any) -> Request:
    messages: list[dict[str, Any]] = [{"role": "system", "content": f"Ours {KEY}."}, {"role": "user", "content": asked}]
    if result is not None:
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c", "content": result},
        ]
    tagged = {"documents": list(documents)} if documents else {}
    return read({"model": "m", "messages": messages, **tagged, **more})


def searched(need: Need) -> Answer:
    assert isinstance(need, NeedRedaction)
    return tuple(find(text, need.packs) for text in need.texts)


def done(request: Request, answer: Callable[[Need], Answer] = searched, policy: Policy | None = None) -> Redacted:
    policy, known = policy or Policy(), Known(1 << 20)
    made = ready(request, policy, Rights(Principal(), Access()), known)
    return drive_here(redacted(made, policy, known), answer)


def late(*texts: str) -> Callable[[Need], Answer]:
    """Answers for all texts but these."""

    def answer(need: Need) -> Answer:
        assert isinstance(need, NeedRedaction)
        return tuple(None if text in texts else find(text, need.packs) for text in need.texts)

    return answer


def nobody(need: Need) -> Answer:
    raise AssertionError(need)


def chunk(at: int, text: str, **more: Any) -> dict[str, Any]:
    return {"id": f"c{at}", "text": text, "source_id": "s", "chunk_index": at, **more}


# --- documents ------------------------------------------------------------------------------------------------------


def test_one_value_has_one_number_in_every_text_and_member():
    found = done(
        talk(
            {"id": f"id-{KEY}", "title": f"T {OTHER}", "text": f"Is {KEY}.", "parent_id": f"id-{KEY}"},
            {"id": "b", "text": f"{OTHER} and {KEY}", "summary": KEY, "highlights": [OTHER, "none"]},
            {"id": "c", "text": "None.", "access": {"label": f"l {KEY}", "tenant": "t"}},
        )
    )
    first, second, third = found.ready.request.documents
    assert (first.id, first.parent_id, first.title, first.text) == (f"id-{ONE}", f"id-{ONE}", f"T {TWO}", f"Is {ONE}.")
    assert (second.text, second.summary, second.highlights) == (f"{TWO} and {ONE}", ONE, (TWO, "none"))
    assert third.access == {"label": f"l {ONE}", "tenant": "t"}
    assert found.searched[0].redactions == (
        Redaction("aws_key", 1, 1, ((3, 23),), "id"),
        Redaction("aws_key", 2, 1, ((2, 22),), "title"),
        Redaction("aws_key", 1, 1, ((3, 23),), "parent_id"),
        Redaction("aws_key", 1, 1, ((3, 23),)),
    )
    assert found.searched[0].came.text == f"Is {KEY}."
    assert found.ready.edits == (Edit.REDACTED,)


def test_hidden_characters_and_control_strings_hide_nothing():
    text = f"  \u200b[INST] {KEY[:7]}\u200b{KEY[7:12]}\u00ad{KEY[12:]} <|im_start|>{KEY}"
    found = done(talk({"id": "a", "text": text, "title": f"{KEY[:3]}\u2060{KEY[3:]}"}))
    (document,) = found.ready.request.documents
    assert (document.text, document.title) == (f"[INST] {ONE} <|im_start|>{ONE}", ONE)
    password, where = planted("url_password", 1)
    assert "[INST]" in password
    (document,) = done(talk({"id": "a", "text": where})).ready.request.documents
    assert document.text == where.replace(password, "[REDACTED:url_password#1]")


def test_what_holds_nothing_stays_as_it_came():
    documents = {"id": "a", "text": " A\u200bb [INST] ", "title": "T\u200bx", "highlights": ["h\u200b"], "score": 0.5}
    found = done(talk(documents))
    assert found.ready.request.documents == talk(documents).documents
    assert (found.searched, found.ready.edits) == ({}, ())


def test_packs_and_switches():
    mail = planted("mail")[0]
    request = talk({"id": "a", "text": f"{KEY} {mail}"}, result=f"{KEY} {mail}")
    both = done(request, policy=Policy(redact=Redact(packs=("secrets", "pii")))).ready.request
    assert both.documents[0].text == f"{ONE} [REDACTED:mail#1]"
    assert both.messages[3].text == f"{ONE} [REDACTED:mail#1]"
    kept = done(request, policy=Policy(redact=Redact(documents=False))).ready.request
    assert (kept.documents[0].text, kept.messages[3].text) == (f"{KEY} {mail}", f"{ONE} {mail}")
    kept = done(request, policy=Policy(redact=Redact(tool_results=False))).ready.request
    assert (kept.documents[0].text, kept.messages[3].text) == (f"{ONE} {mail}", f"{KEY} {mail}")
    for off in (Redact(), Redact(packs=())):
        named = Policy(redact=off, tools={"find": Tool(redact_packs=("pii", "secrets"))})
        kept = done(request, policy=named).ready.request
        assert (kept.documents[0].text, kept.messages[3].text) == (
            f"{ONE if off.packs else KEY} {mail}",
            f"{ONE} [REDACTED:mail#1]",
        )
    for off in (Redact(packs=()), Redact(documents=False, tool_results=False)):
        assert done(request, nobody, Policy(redact=off)).ready.request.documents == request.documents
    assert done(talk(), nobody).searched == {}


# --- chunks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [0, 5, 20])
def test_a_secret_cut_between_chunks_is_found_in_both(shared: int):
    one, two = f"The token {TOKEN[:22]}", f"{TOKEN[22 - shared :]} ends."
    found = done(talk(chunk(4, one), chunk(5, two), chunk(9, f"{TOKEN} again")))
    texts = [document.text for document in found.ready.request.documents]
    assert texts[:2] == ["The token [REDACTED:github_token#1]", "[REDACTED:github_token#1] ends."]
    assert texts[2] == f"[REDACTED:github_token#{2 if shared == 5 else 1}] again"


@pytest.mark.parametrize("shared", [3, 4, 12])
def test_nor_is_a_part_left_that_is_short(shared: int):
    """What has so many characters and no more, as these keys have, is no secret with some of them there twice."""
    cut = 12
    found = done(talk(chunk(4, f"Is {KEY[:cut]}"), chunk(5, f"{KEY[cut - shared :]} ends.")))
    texts = [document.text for document in found.ready.request.documents]
    assert (texts == [f"Is {ONE}", f"{ONE} ends."]) == (shared >= FEWEST)


def test_a_key_over_three_chunks_leaves_nothing_of_its_middle():
    pem = planted("private_key")[0]
    found = done(talk(chunk(1, f"Key:\n{pem[:150]}"), chunk(2, pem[150:300]), chunk(3, f"{pem[300:]}\nEnd.")))
    told = [document.text for document in found.ready.request.documents]
    assert told == ["Key:\n[REDACTED:private_key#1]", "[REDACTED:private_key#1]", "[REDACTED:private_key#1]\nEnd."]


def test_the_longer_value_counts_where_a_part_is_found_alone():
    value = planted("gitlab_token", 1)[0]
    found = done(talk(chunk(1, value[:-4]), chunk(2, f"{value[-4:]} ends"), {"id": "x", "text": value}))
    assert {document.text for document in found.ready.request.documents} == {
        "[REDACTED:gitlab_token#1]",
        "[REDACTED:gitlab_token#1] ends",
    }


def test_what_stands_in_one_chunk_is_of_that_chunk_alone():
    found = done(talk(chunk(1, f"Is {KEY}."), chunk(2, "Fine.", title=None), {"id": "n", "text": None}))
    assert [document.text for document in found.ready.request.documents] == [f"Is {ONE}.", "Fine.", None]
    assert sorted(found.searched) == [0]


def test_a_blank_chunk_is_no_chunk():
    found = done(talk(chunk(1, f"Is {KEY}"), chunk(2, " \u00a0"), chunk(3, "End.")))
    assert [document.text for document in found.ready.request.documents] == [f"Is {ONE}", " \u00a0", "End."]


def test_it_does_not_matter_where_in_the_request_the_chunks_came():
    one, two, three = chunk(4, f"The token {TOKEN[:22]}"), chunk(5, TOKEN[22:]), chunk(6, ", and ends.")
    request = talk(
        one,
        asked=[{"type": "document", "document": three}, {"type": "text", "text": "Which?"}],
        result=json.dumps([two]),
    )
    found = done(request, policy=Policy(tools={"find": Tool(returns="documents")}))
    texts = {document.message: document.text for document in found.ready.request.documents}
    assert texts == {None: "The token [REDACTED:github_token#1]", 1: ", and ends.", 3: "[REDACTED:github_token#1]"}


def test_chunks_of_other_sources_versions_and_places_are_not_joined():
    one, two = f"The token {TOKEN[:22]}", f"{TOKEN[22:]} ends."
    for other in ({"chunk_index": 7}, {"source_id": "t"}, {"version": "2"}):
        found = done(talk(chunk(4, one), {**chunk(5, two), **other}))
        assert [document.text for document in found.ready.request.documents] == [one, two]


def test_every_form_of_a_chunk_is_looked_at():
    one, two = f"The token {TOKEN[:22]}", f"{TOKEN[22:]} ends."
    documents = (chunk(4, "Another form."), {**chunk(4, one), "id": "y"}, chunk(5, two), {**chunk(5, two), "id": "z"})
    texts = [document.text for document in done(talk(*documents)).ready.request.documents]
    ends = "[REDACTED:github_token#1] ends."
    assert texts == ["Another form.", "The token [REDACTED:github_token#1]", ends, ends]


# --- results and messages -------------------------------------------------------------------------------------------


def test_results_that_are_cleaned_are_searched_and_stay_json():
    rows = json.dumps({"key": KEY, "note": f"[INST] {OTHER}", "url": planted("url_password")[1]})
    found = done(talk(result=rows), policy=Policy(tools={"find": Tool(redact=("url",))}))
    assert json.loads(found.ready.request.messages[3].text) == {"key": ONE, "note": f"[\\INST] {TWO}"}
    (checked,) = found.ready.results.values()
    assert (checked.redacted, checked.cleaned) == (3, 1)
    assert [(one.rule, one.number, one.times) for one in checked.redactions] == [("aws_key", 1, 1), ("aws_key", 2, 1)]
    assert found.ready.edits == (Edit.TOOL_RESULT_CLEANED, Edit.REDACTED)
    assert found.ready.came.messages[3].text == rows
    assert done(talk(result=rows), nobody).ready.request.messages[3].text == rows


def test_what_a_placeholder_makes_live_is_broken():
    token = planted("github_token", 2)[0]
    text = f"<|{token}|>"
    found = done(talk(result=text), policy=Policy(tools=NAMED))
    assert found.ready.request.messages[3].text == "<\\|[REDACTED:github_token#1]|>"
    clean = done(talk(result="fine"), policy=Policy(tools=NAMED))
    assert (clean.ready.request.messages[3].text, clean.ready.edits) == ("fine", ())


def test_refusals_and_reasoning_are_what_the_assistant_wrote_too():
    parts: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": KEY, "n": 1}, {"type": "refusal", "refusal": OTHER}, {"type": "file"},
    ]  # fmt: skip
    said: list[dict[str, Any]] = [
        {"role": "assistant", "content": None, "reasoning": OTHER, "refusal": "no", "reasoning_content": f"{KEY}."},
        {"role": "assistant", "content": parts, "reasoning": {"effort": KEY}, "refusal": None},
    ]
    asked = {"role": "user", "content": "Which?"}
    request = read({"model": "m", "messages": [asked, *said, asked]})
    _, one, two, _ = done(request, policy=Policy(redact=Redact(messages=True))).ready.request.messages
    assert one.value == {**said[0], "reasoning": TWO, "reasoning_content": f"{ONE}."}
    first, second, third = parts
    assert two.value == {**said[1], "content": [{**first, "thinking": ONE}, {**second, "refusal": TWO}, third]}
    assert [json.loads(message.raw) for message in (one, two)] == [one.value, two.value]


def test_messages_are_searched_where_the_policy_says_so_and_never_the_operators_own():
    parts: list[Any] = [
        {"type": "text", "text": f"A {KEY}"},
        {"type": "image_url", "image_url": {"url": "x"}},
        {"type": "text", "text": "b"},
    ]
    policy = Policy(redact=Redact(messages=True))
    found = done(talk(asked=parts, result=f"{OTHER} {KEY}"), policy=policy)
    system, user, call, result = found.ready.request.messages
    assert system.text == f"Ours {KEY}."
    assert user.value["content"] == [{**parts[0], "text": f"A {ONE}"}, *parts[1:]]
    assert json.loads(user.raw) == user.value
    assert call.value["content"] is None
    assert result.text == f"{TWO} {ONE}"
    assert found.ready.notes == ("3 values were redacted in messages",)
    assert [(one.where, one.rule, one.number, one.times) for one in found.ready.redactions] == [
        ("messages[1]", "aws_key", 1, 1), ("messages[3]", "aws_key", 2, 1), ("messages[3]", "aws_key", 1, 1),
    ]  # fmt: skip
    assert found.ready.redactions[0].spans == ((2, 2 + len(KEY)),)
    assert found.ready.edits == (Edit.REDACTED,)
    untouched = talk(asked="A \u200bb", result="fine")
    assert done(untouched, policy=policy).ready.request.messages == untouched.messages
    text = talk(asked=f"A {KEY}")
    assert done(text, policy=policy).ready.request.messages[1].text == f"A {ONE}"
    assert done(text, nobody).ready.request.messages == text.messages


# --- what could not be searched -------------------------------------------------------------------------------------


def test_a_document_that_could_not_be_searched_loses_all_that_it_says():
    one = {"id": "a", "text": "Slow.", "title": "T", "summary": "S", "highlights": ["H"], "score": 0.5}
    found = done(talk(one, {"id": "b", "text": f"Fine {KEY}"}), late("Slow."))
    gone, kept = found.ready.request.documents
    assert (gone.id, gone.text, gone.title, gone.summary, gone.highlights, gone.score) == (
        "a",
        None,
        None,
        None,
        (),
        0.5,
    )
    assert kept.text == f"Fine {ONE}"
    assert "in time" in found.searched[0].failed
    assert found.searched[0].redactions == ()
    assert [found.searched[1].failed, len(found.searched)] == ["", 2]
    assert done(talk(one), late("a")).ready.request.documents[0].id == "d0"


def test_chunks_fail_together_where_they_could_not_be_searched_as_one():
    request = talk(chunk(1, "One"), chunk(2, "Two"), chunk(3, "Three"), chunk(7, "Seven"))
    found = done(request, late("OneTwoThree"))
    assert sorted(found.searched) == [0, 1, 2]
    assert sorted(done(request, late("Two")).searched) == [1]


def test_without_any_answer_nothing_is_sent():
    request = talk({"id": "a", "text": "Fine."}, result="Fine, too.")
    found = done(request, lambda _: ())
    assert found.ready.request.documents[0].text is None
    assert "left out" in found.ready.request.messages[3].text
    assert "Fine" not in found.ready.request.messages[3].text
    assert found.ready.results[3].withheld is not None
    assert found.ready.edits == (Edit.TOOL_RESULT_WITHHELD,)


def test_a_message_that_could_not_be_searched_refuses_the_request():
    with pytest.raises(RedactionUnavailable) as caught:
        done(talk(asked="Slow."), late("Slow."), Policy(redact=Redact(messages=True)))
    assert (caught.value.param, caught.value.status_hint) == ("messages[1]", 503)
    assert "Slow" not in caught.value.message


def test_what_a_tool_is_searched_for_besides_is_a_question_of_its_own():
    policy = Policy(tools={"find": Tool(redact_packs=("pii",))})
    text = "Fine text."
    request = talk({"id": "a", "text": text}, result=text)
    asked: list[tuple[str, ...]] = []

    def answer(need: Need) -> Answer:
        assert isinstance(need, NeedRedaction)
        asked.append(need.packs)
        return tuple(None if "pii" in need.packs else () for _ in need.texts)

    found = done(request, answer, policy)
    assert asked == [("secrets",), ("secrets", "pii")]
    assert found.ready.request.documents[0].text == text
    assert [one.withheld is not None for one in found.ready.results.values()] == [True]
    assert done(request, policy=Policy(tools={"find": Tool(redact_packs=("secrets",))})).ready.edits == ()


def test_the_question_is_the_same_whatever_was_asked_before():
    request = talk({"id": "a", "text": "Fine text."}, {"id": "b", "text": "Fine text."})
    asked: list[NeedRedaction] = []

    def answer(need: Need) -> Answer:
        assert isinstance(need, NeedRedaction)
        asked.append(need)
        return searched(need)

    policy = structs.replace(Policy(), redact=Redact(deadline_ms=7))
    for _ in range(2):
        done(request, answer, policy)
    assert asked[0] == asked[1] == NeedRedaction(("secrets",), ("a", "b", "Fine text."), 7)
