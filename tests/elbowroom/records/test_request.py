from __future__ import annotations

import json
from typing import Any

import pytest

from elbowroom.records import Document, Message


def message(content: Any, role: str = "user") -> Message:
    value = {"role": role, "content": content}
    return Message(json.dumps(value).encode(), value)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        (None, ""),
        ([], ""),
        ([{"type": "text", "text": "one"}, {"type": "image_url"}, {"type": "text", "text": "two"}], "one\ntwo"),
    ],
)
def test_a_message_s_text_is_all_that_it_says(content: Any, text: str) -> None:
    assert message(content).text == text
    assert message(content, "tool").role == "tool"


def test_a_message_without_content_says_nothing() -> None:
    assert Message(b"{}", {"role": "assistant"}).text == ""


@pytest.mark.parametrize(
    ("given", "source"),
    [({"source_id": "s", "url": "u"}, "s"), ({"url": "u"}, "u"), ({}, "d")],
)
def test_a_document_belongs_to_its_source_or_its_address_or_itself(given: dict[str, str], source: str) -> None:
    assert Document(0, "d", "text", **given).source == source  # type: ignore[arg-type]
