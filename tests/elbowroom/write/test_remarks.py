from __future__ import annotations

import pytest

from elbowroom.clean.neutralise import neutralise
from elbowroom.write.remarks import clarifying, earlier, language, remark


@pytest.mark.parametrize("kind", ["nothing", "thin", "narrow", "partial"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_remark_is_in_its_language_and_apart_from_what_follows(kind, lang):
    said = remark(kind, lang, shown=2, found=7)
    assert said.endswith("\n\n")
    assert language(said) == lang
    assert "{" not in said


def test_numbers_are_said():
    assert "2 of 7" in remark("partial", "en", shown=2, found=7)


def test_a_question_with_any_han_is_answered_in_chinese():
    assert language("退款 when?") == "zh"
    assert language("Wann? いつ") == "en"
    assert language("") == "en"


def test_the_user_is_asked_in_their_language():
    assert clarifying("en").endswith("?")
    assert clarifying("zh").endswith("？")


def test_a_summary_is_shown_as_one_whatever_it_says():
    assert (
        earlier("Of {shown} {x}.", "en")
        == "[Summary of the earlier conversation]\nOf {shown} {x}.\n[End of summary]\n\n"
    )
    assert earlier("一。", "zh").startswith("[此前对话的摘要]\n一。")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_no_summary_can_close_its_own_frame(lang: str):
    frame = earlier("…", lang).strip()
    head, tail = frame.split("\n…\n")
    for line in (head, tail):
        assert neutralise(line).text == f"[\\{line[1:]}"
