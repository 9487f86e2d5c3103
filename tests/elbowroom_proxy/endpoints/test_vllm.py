"""vLLM's tokenize: messages and tools as they are."""

from __future__ import annotations

import pytest

from elbowroom.errors import CountUnavailable
from elbowroom_proxy.addresses import CountEndpoint
from elbowroom_proxy.endpoints.vllm import build

HELLO = {"role": "user", "content": "hello"}


def test_the_prompt_is_passed_on_as_it_is():
    tool = {"type": "function", "function": {"name": "f"}}
    body = {"messages": [HELLO], "tools": [tool], "chat_template_kwargs": {"enable_thinking": False}}
    asked = build(CountEndpoint("vllm", "http://127.0.0.1:8000/v1", "key", "org/name")).question(
        {**body, "tool_choice": "auto", "functions": None}
    )
    assert asked.url == "http://127.0.0.1:8000/tokenize"
    assert asked.headers == {"authorization": "Bearer key"}
    assert asked.value == {"model": "org/name", "add_generation_prompt": True, **body}


def test_the_older_form_is_refused():
    with pytest.raises(CountUnavailable, match="older form"):
        build(CountEndpoint("vllm", "http://127.0.0.1", None, "m")).question({"messages": [], "functions": [{}]})


def test_the_number_stands_in_count():
    told = build(CountEndpoint("vllm", "http://127.0.0.1", None, "m"))
    assert told.answer({"count": 3, "max_model_len": 4096, "tokens": [1, 2, 3]}) == 3
    assert told.question({"messages": []}).headers == {}
