"""Endpoints by name."""

from __future__ import annotations

import pytest

from elbowroom_proxy import endpoints
from elbowroom_proxy.addresses import COUNT_ENDPOINTS, CountEndpoint


def test_what_the_folder_holds_is_what_there_is():
    assert {"anthropic", "gemini", "openai", "vllm"} == COUNT_ENDPOINTS


@pytest.mark.parametrize("name", sorted(COUNT_ENDPOINTS))
def test_each_can_be_built_and_asks_where_it_was_told_to(name):
    counter = endpoints.load(name)(CountEndpoint(name, "http://127.0.0.1:9", "key", "m"))
    asked = counter.question({"messages": [{"role": "user", "content": "hello"}]})
    assert asked.url.startswith("http://127.0.0.1:9/")
    assert any("key" in value for value in asked.headers.values())
    assert counter.answer({}) is None


def test_nothing_else_can_be_loaded():
    with pytest.raises(KeyError):
        endpoints.load("os")
