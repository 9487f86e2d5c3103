"""Who names the question's version, error and platform goes before who is merely like it."""

from __future__ import annotations

import pytest

from elbowroom.decide import packers
from elbowroom.decide.rules.exact_matches import pack
from tests.passages import drive, job, passages
from tests.rules import Case, with_and_without

EN: Case = (
    "The installer of version 4.2 stops with error E1042 while it copies files, what should I do?",
    [
        *(
            {"id": f"like-{at}", "source_id": f"l{at}", "score": 1 - at / 50,
             "text": f"When the installer of version 3.{at} stops while it copies files, what should you do?"}
            for at in range(5)
        ),
        {"id": "match", "source_id": "kb", "score": 0.05, "version": "4.2", "text": "E1042: the disk is full."},
    ],
)  # fmt: skip
ZH: Case = (
    "4.2版本的安装程序在Windows 11上报错E1042，怎么办？",
    [
        *(
            {"id": f"like-{at}", "source_id": f"l{at}", "score": 1 - at / 50,
             "text": f"安装程序报错怎么办：3.{at}版本的安装程序报错时，请重试{at}次。"}
            for at in range(5)
        ),
        {"id": "match", "source_id": "kb", "score": 0.05, "version": "4.2", "text": "E1042：磁盘已满（Windows 11）。"},
    ],
)  # fmt: skip


@pytest.mark.parametrize(("case", "ceiling"), [(EN, 130), (ZH, 130)], ids=["en", "zh"])
def test_the_exact_match_is_first(case, ceiling):
    on, off = with_and_without("troubleshooting", case[0], case[1], ceiling=ceiling)
    assert on[0] == "match"
    assert off[0] != "match"


def order(question, *texts_, **versions):
    documents = [{"text": text, "score": 1 - at / 10} for at, text in enumerate(texts_)]
    for at, version in versions.items():
        documents[int(at[1:])]["version"] = version
    packing = drive(pack(job(passages(documents), question=question), packers.load("topk")))
    return [one.passage.document.id for one in packing.admitted]


def test_more_matches_go_before_fewer():
    assert order("Error 503 on Ubuntu", "a", "It says 503.", "503 on Ubuntu.") == ["d2", "d1", "d0"]


def test_another_version_goes_last():
    assert order("crash in 4.2", "In 4.1 it crashes.", "It crashes.", "In 4.2.1 it crashes.") == ["d2", "d1", "d0"]
    assert order("crash in version 5", "x", "y", d0="4", d1="version 5") == ["d1", "d0"]


def test_both_versions_are_a_match():
    assert order("crash in 4.2", "It crashes.", "In 4.1 and 4.2 it crashes.") == ["d1", "d0"]


@pytest.mark.parametrize(
    ("question", "match"),
    [
        ("got ValueError", "raises ValueError here"),
        ("code 0x80070005", "0x80070005: denied"),
        ("ECONNREFUSED again", "ECONNREFUSED means"),
        ("MY_LIMIT_REACHED appears", "on MY_LIMIT_REACHED wait"),
        ("错误码1203是什么", "错误码 1203 表示"),
        ("安卓上闪退", "安卓系统"),
        ("macOS 14 hangs", "on macOS 14"),
    ],
)
def test_names_of_errors_and_platforms(question, match):
    assert order(question, "something else", match) == ["d1", "d0"]


def test_without_any_name_it_does_nothing():
    assert order("it does not work", "a", "b") == ["d0", "d1"]
