"""The overflow message: phrases that clients know, and every number."""

from __future__ import annotations

import re

from elbowroom.decide.window import overflow_message


def test_it_holds_both_phrases_and_window_input_and_reserve():
    message = overflow_message(window=8192, prompt=8000, reserve=256)
    assert message.startswith("context_length_exceeded: This model's maximum context length is 8192 tokens. ")
    assert "However, your messages resulted in 8000 tokens" in message
    assert re.findall(r"\d+", message) == ["8192", "8000", "256", "64"]
