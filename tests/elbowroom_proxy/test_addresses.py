"""Each row of the model list leads somewhere, or the mistake has a line."""

from __future__ import annotations

import re

import pytest

from elbowroom.errors import InvalidConfig
from elbowroom_proxy.addresses import COUNT_ENDPOINTS, UPSTREAMS, CountEndpoint
from elbowroom_proxy.settings import load
from tests.elbowroom_proxy.test_settings import DEMO, OPENAI, written


def test_there_is_an_upstream_and_an_endpoint_for_each_file():
    assert {"demo", "openai", "litellm"} <= UPSTREAMS
    assert {"openai", "anthropic", "gemini", "vllm"} <= COUNT_ENDPOINTS


def test_a_models_provider_is_asked_to_count_where_its_row_says_how(tmp_path):
    text = OPENAI + "    model_info: {count_endpoint: openai}\n"
    found = load(written(tmp_path, text + DEMO.removeprefix("model_list:\n")), {"BASE": "http://host/v1/", "KEY": "k"})
    assert found.count_endpoints == {"big": CountEndpoint("openai", "http://host/v1", "k", "gpt-4o")}
    bare = text.replace("      api_base: os.environ/BASE\n", "").replace("big", "c")
    assert load(written(tmp_path, bare), {"KEY": "k"}).count_endpoints["c"].api_base is None


def test_openais_own_address_is_the_default(tmp_path):
    text = "model_list:\n  - {model_name: big, litellm_params: {model: gpt-4o}}\n"
    endpoint = load(written(tmp_path, text), {}).endpoints["big"]
    assert (endpoint.api_base, endpoint.api_key) == ("https://api.openai.com/v1", None)


@pytest.mark.parametrize(
    ("params", "address", "version"),
    [
        ("model: groq/llama-3", "https://api.groq.com/openai/v1", None),
        ("model: groq/llama-3, api_base: http://mine/v1", "http://mine/v1", None),
        ("model: azure/mine, api_base: https://x.example", "https://x.example/openai/v1", None),
        ("model: azure/mine, api_base: https://x.example/openai/v1/", "https://x.example/openai/v1", None),
        (
            "model: azure/mine, api_base: https://x.example, api_version: os.environ/VERSION",
            "https://x.example/openai/deployments/mine",
            "2024-10-21",
        ),
    ],
)
def test_who_speaks_openais_protocol_is_asked_in_it(tmp_path, params, address, version):
    info = "{context_window: 9000, max_output_tokens: 900}"
    text = f"model_list:\n  - {{model_name: m, litellm_params: {{{params}}}, model_info: {info}}}\n"
    endpoint = load(written(tmp_path, text), {"VERSION": "2024-10-21"}).endpoints["m"]
    assert (endpoint.upstream, endpoint.api_base, endpoint.api_version) == ("openai", address, version)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (OPENAI.replace("os.environ/BASE", "host:8000"), 5, "http://"),
        (DEMO.replace("family", "upstream: nobody, family"), 4, "no upstream nobody"),
        (
            OPENAI.replace("openai/gpt-4o", "azure/gpt-4o").replace("      api_base: os.environ/BASE\n", ""),
            3,
            "http://",
        ),
        (
            DEMO.replace("family", "count_endpoint: nobody, family"),
            5,
            "there is no endpoint nobody; there are anthropic",
        ),
        (DEMO.replace("family", "count_endpoint: vllm, family"), 3, "api_base is needed"),
    ],
)
def test_a_mistake_is_told_with_file_and_line(tmp_path, text, line, words):
    file = written(tmp_path, text)
    with pytest.raises(InvalidConfig, match=re.escape(words)) as caught:
        load(file, {"BASE": "http://host/v1", "KEY": "k"})
    assert caught.value.message.startswith(f"{file}:{line}: ")
