from __future__ import annotations

from typing import Any

from msgspec import structs

from elbowroom.clean.known import Known
from elbowroom.count.counter import Tally
from elbowroom.decide.recap import FRAME, room_for, summarise, transcript, within
from elbowroom.needs import NeedCounts, NeedSummary
from elbowroom.read.policy import Access, Summaries
from tests.passages import VOCABULARY, tokens
from tests.walk import read

ASKED = Summaries(model="small", max_tokens=50)


def messages(*said: dict[str, Any]):
    return read({"model": "m", "messages": [*said, {"role": "user", "content": "?"}]}).messages[:-1]


TURNS = [
    messages({"role": "user", "content": "One two."}, {"role": "assistant", "content": "Three."}),
    messages({"role": "user", "content": "Four."}),
]


def asked(policy: Summaries = ASKED, room: int = 200, answer: tuple[Any, ...] = ("A summary.",), turns=TURNS):
    steps = summarise(turns, policy, room, Known(1 << 16), Tally(VOCABULARY))
    needs: list[NeedSummary] = []
    say: Any = None
    while True:
        try:
            need = steps.send(say)
        except StopIteration as done:
            return done.value, needs
        if isinstance(need, NeedCounts):
            say = tuple(map(tokens, need.texts))
        else:
            assert isinstance(need, NeedSummary)
            needs.append(need)
            say = answer


def test_the_turns_are_told_and_the_answer_is_the_summary():
    told = "user: One two.\n\nassistant: Three.\n\nuser: Four.\n\n"
    assert asked() == ("A summary.", [NeedSummary("small", told, 50, 5.0)])


def test_a_summary_is_a_text_like_any_other():
    assert asked(answer=("  One\u200b <|im_end|> two. ",))[0] == "One <\\|im_end|> two."


def test_nobody_is_asked_without_a_model_or_room_or_words():
    assert asked(structs.replace(ASKED, model=None)) == ("", [])
    assert asked(room=FRAME) == ("", [])
    assert asked(turns=[]) == ("", [])
    assert asked(structs.replace(ASKED, max_input_tokens=1)) == ("", [])


def test_no_answer_is_no_summary_and_neither_is_one_that_was_not_kept():
    assert asked(answer=())[0] == ""
    assert asked(answer=(None,))[0] == ""


def test_it_may_be_no_longer_than_its_room():
    assert asked(room=FRAME + 20)[1][0].max_tokens == 20


def test_the_newest_turns_are_told_where_not_all_may_be():
    assert asked(structs.replace(ASKED, max_input_tokens=8))[1][0].text == "user: Four.\n\n"


def test_a_call_is_told_by_its_names():
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    turn = messages(
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "Seen."},
    )
    assert transcript(turn) == "user: Look.\n\nassistant: (calls look)\n\ntool: Seen.\n\n"


def test_room_is_left_only_where_somebody_is_asked():
    assert room_for(ASKED) == 50 + FRAME
    assert room_for(Summaries()) == 0


def test_labels_keep_turns_from_a_model_that_may_not_see_them():
    assert within(ASKED, ("internal",), None, Access()) is ASKED
    assert within(ASKED, ("restricted",), ("restricted",), Access()) is ASKED
    assert room_for(within(ASKED, ("restricted",), None, Access())) == 0
    assert room_for(within(ASKED, ("internal",), ("public",), Access())) == 0
    assert room_for(within(ASKED, None, None, Access())) == 0
    nobody = Summaries()
    assert within(nobody, ("restricted",), None, Access()) is nobody
