from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from elbowroom.clean.sentences import units


def pieces(text: str) -> list[str]:
    return [text[unit.start : unit.end] for unit in units(text)]


def kinds(text: str) -> list[tuple[str, str, int | None]]:
    return [(text[unit.start : unit.end], unit.kind, unit.header) for unit in units(text)]


@pytest.mark.parametrize(
    "sentences",
    [
        ["Dr. Smith paid $3.50 on Jan. 5.", 'He said: "It is fine."', "Version v1.2.3 came!", "Really?"],
        ["It is so (see p. 4).", "Prof. Roe agrees."],
        ["At 5 p.m. we left the U.S. for good.", "Mr. J. K. Doe stayed, e.g. in Paris."],
        ["Rates rose by 2.5 % in 2021.", "They fell again."],
        ["Is it “yes”?", "It is."],
        ["Это первое предложение.", "А это второе!"],
    ],
)  # fmt: skip
def test_western_sentences(sentences: list[str]) -> None:
    assert pieces(" ".join(sentences)) == sentences


@pytest.mark.parametrize(
    "marked",
    [
        "退款期限为30天。|30天后不可退！|15天内呢？|可以。",  # a digit right after the full stop
        "他问：“可以吗？”她没有回答。| 第二天……",  # an ellipsis alone ends nothing
        "“可以吗？”他问。|见第3.5节；例如：甲。|（括号里也是一句。）|下一句",
        "「そうです。」と彼は言った。|とても良い。|明日は3.5度。|はい！！",
        "使用v1.2版本。|See the docs. |Then go。|然后。",
        "यह ठीक है। |वह गया।",
        "هل هذا صحيح؟ |نعم، هذا صحيح.",
    ],
)
def test_sentences_with_and_without_spaces(marked: str) -> None:
    assert pieces(marked.replace("|", "")) == [piece.strip() for piece in marked.split("|")]


def test_a_line_ends_a_sentence_that_has_no_full_stop() -> None:
    assert pieces("Opening hours\nMonday to Friday\n\nClosed on Sundays") == [
        "Opening hours", "Monday to Friday", "Closed on Sundays",
    ]  # fmt: skip


def test_a_hard_wrapped_sentence_is_one() -> None:
    long = (
        "This sentence was wrapped by an editor that knows only columns\nand goes on in the second line. A second one."
    )
    assert pieces(long) == [long[:-14], "A second one."]
    comma = "Bring water,\nbread and salt.\nThen wait"
    assert pieces(comma) == ["Bring water,\nbread and salt.", "Then wait"]
    assert pieces("款项将退回，\n请等待。") == ["款项将退回，\n请等待。"]
    # ... but a list, a table or an object is no paragraph.
    assert len(pieces("Bring water,\n- bread")) == 2
    assert len(pieces("Bring water,\n1. bread")) == 2
    assert len(pieces("water,\na | b")) == 2
    assert len(pieces('"a": 1,\n"b": 2,\n"c": 3')) == 3


def test_a_paragraph_that_never_ends_is_bounded() -> None:
    assert len(pieces("word,\n" * 100)) == 5


def test_fenced_code_is_one_unit() -> None:
    code = "```py\nx = 1. Really.\n\n| not | a table |\n```"
    text = f"Run this.\n{code}\nDone. Yes."
    assert kinds(text) == [
        ("Run this.", "prose", None), (code, "code", None), ("Done.", "prose", None), ("Yes.", "prose", None),
    ]  # fmt: skip
    nested = "````\n```\ninner\n```\n````"
    assert kinds(nested) == [(nested, "code", None)]
    assert kinds("~~~\na\n```\nb\n~~~")[0][1] == "code"


def test_a_fence_that_nothing_closes_is_no_fence() -> None:
    assert kinds("End of a block.\n```\nFirst. Second.") == [
        ("End of a block.", "prose", None),
        ("```", "prose", None),
        ("First.", "prose", None),
        ("Second.", "prose", None),
    ]
    assert kinds("``` a ``` b\nx\n``` not closing\ny")[0][1] == "prose"


def test_a_row_names_its_header() -> None:
    text = "Prices:\n| plan | price |\n|:---|---:|\n| basic | 1. Yes. No. |\n| pro | 2 |\n\n| lone | row |\nafter | all"
    assert kinds(text) == [
        ("Prices:", "prose", None),
        ("| plan | price |\n|:---|---:|", "header", None),
        ("| basic | 1. Yes. No. |", "row", 1),
        ("| pro | 2 |", "row", 1),
        ("| lone | row |", "row", None),
        ("after | all", "prose", None),
    ]
    open_ended = "plan | price\n---|---\nbasic | 1\nThe end | of it\n# Next\nx | y"
    assert [(kind, header) for _, kind, header in kinds(open_ended)] == [
        ("header", None), ("row", 0), ("row", 0), ("heading", None), ("prose", None),
    ]  # fmt: skip
    assert kinds("a | b\nno table | here")[0][1] == "prose"
    assert kinds("|\n| a")[0][1] == "prose"


@pytest.mark.parametrize("marker", ["- ", "* ", "• ", "1. ", "12) ", "(3) ", "a) ", "2、", "•"])
def test_an_item_keeps_its_marker_with_its_first_sentence(marker: str) -> None:
    assert kinds(f"{marker}First one. Second one.") == [
        (f"{marker}First one.", "item", None), ("Second one.", "item", None),
    ]  # fmt: skip


def test_a_heading_is_one_unit() -> None:
    assert kinds("## 1. Refunds. Again\nText") == [("## 1. Refunds. Again", "heading", None), ("Text", "prose", None)]


@pytest.mark.parametrize("text", ["", " ", "\n\n \n"])
def test_nothing_has_no_units(text: str) -> None:
    assert units(text) == ()


def test_spaces_and_quotes_that_upset_the_library_are_harmless() -> None:
    # Without the plain copy the first panics, and the second takes minutes.
    assert pieces("p. 5 -No. A\u3000名 x. So. He\u2003said. Yes") != []
    assert len(pieces("“a. " * 25_000)) > 10_000
    assert pieces("He\u00a0came\u3000late. Dr.\u2003Roe “left. Soon”.")[0] == "He\u00a0came\u3000late."


MARKS = "aB1 .!?。！？…\n\t|-#`~*•“”‘«»「」『』\"'()（）,，、:;；\u3000\u2003\xa0é名とم؟।"
PHRASES = ["Dr. ", "e.g. ", "U.S. ", "J. K. ", "```", "\n| a |", "\n|-|", "1. ", "word " * 12]
HOSTILE = st.lists(
    st.sampled_from([*MARKS, *PHRASES]) | st.characters(exclude_categories=["Cs", "Cc"]), max_size=40
).map("".join)


@given(HOSTILE)
@example("•\u3000")
@example("- ")
@example("a。 ")
def test_units_are_in_order_apart_and_leave_only_white_space(text: str) -> None:
    end = 0
    found = units(text)
    for at, unit in enumerate(found):
        assert end <= unit.start < unit.end
        assert not text[end : unit.start].strip()
        piece = text[unit.start : unit.end]
        assert piece == piece.strip()
        if unit.header is not None:
            assert found[unit.header].kind == "header"
            assert unit.header < at
        end = unit.end
    assert not text[end:].strip()


@given(HOSTILE)
def test_deterministic(text: str) -> None:
    assert units(text) == units(text)


@pytest.mark.parametrize(
    "piece",
    [
        *("a", "!", ". ", "。", "“", "“a. ", '"', "|", "|\n", "`", "```\n", "````\n```\n", "1. ", "\n", " ", "- \n"),
        *("a,\n", "」", "(", "！」", "a\u3000. ", "|-|\n", "।"),
    ],
)
def test_time_is_linear(piece: str) -> None:
    """Eight times the text in far less than the sixty-four times that a quadratic step would take."""

    def seconds(characters: int) -> float:
        text = "x" + piece * (characters // len(piece))
        times = []
        for _ in range(3):
            start = time.process_time()
            units(text)
            times.append(time.process_time() - start)
        return min(times)

    assert seconds(24_000) < 32 * max(seconds(3_000), 0.0005)
