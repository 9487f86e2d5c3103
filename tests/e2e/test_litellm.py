"""The real SDK, the whole proxy, and behind it a provider that speaks Anthropic's protocol."""

from __future__ import annotations

import json
from collections.abc import Iterator

import openai
import pytest

from tests.e2e.conftest import CLIENT_KEY, QUESTION, REFUNDS, record_of
from tests.providers import AnthropicSays
from tests.proxy import SECRET, RunningProxy
from tests.upstream import WAIT, FakeUpstream, answer_stream

PROVIDER = AnthropicSays()


@pytest.fixture(scope="module")
def proxy(module_upstream: FakeUpstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningProxy]:
    from elbowroom_proxy.upstreams.litellm import imported

    imported()  # first, and not while a test waits for the service to be ready
    params = {"model": PROVIDER.model, "api_base": module_upstream.url.removesuffix("/v1"), "api_key": "the-key"}
    models = [{"model_name": "claude", "litellm_params": params}]
    text = json.dumps({"model_list": models, "general_settings": {"secret": SECRET}})
    with RunningProxy(text, tmp_path_factory.mktemp("proxy")) as running:
        yield running


@pytest.fixture(scope="module")
def client(proxy: RunningProxy) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=proxy.base_url, api_key=CLIENT_KEY, max_retries=0, timeout=WAIT) as sdk:
        yield sdk


def test_evidence_reaches_it_and_the_bill_comes_back(proxy, client, upstream):
    upstream.answers(PROVIDER.whole())
    raw = client.chat.completions.with_raw_response.create(
        model="claude", messages=[QUESTION], extra_body={"documents": [REFUNDS]}
    )
    answer = raw.parse()
    assert answer.choices[0].message.content == "Hello there"
    (message,) = upstream.request().json["messages"]
    assert "within fourteen days" in message["content"][0]["text"]
    assert upstream.request().json["model"] == "claude-sonnet-4-5"
    assert CLIENT_KEY not in str(upstream.request().headers)
    record = record_of(proxy, raw.headers["x-request-id"])
    assert (record["billed"]["prompt_tokens"], record["billed"]["completion_tokens"]) == (12, 7)


def test_a_stream_ends_as_sdks_want_it(client, upstream):
    upstream.answers(answer_stream(*PROVIDER.begin(), *PROVIDER.rest()))
    with client.chat.completions.create(model="claude", messages=[QUESTION], stream=True) as stream:
        chunks = list(stream)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "Hello there"
    assert chunks[-1].choices[0].finish_reason == "stop"


def test_a_stream_that_is_cut_is_an_error_for_the_client(client, upstream):
    upstream.answers(answer_stream(*PROVIDER.begin()))
    stream = client.chat.completions.create(model="claude", messages=[QUESTION], stream=True)
    with stream, pytest.raises(openai.APIError, match="broke off"):
        list(stream)


def test_a_client_that_leaves_takes_the_call_along(client, upstream):
    upstream.answers(answer_stream(*PROVIDER.begin(), upstream.gate()))
    with client.chat.completions.create(model="claude", messages=[QUESTION], stream=True) as stream:
        next(stream)
    assert upstream.request().gone.wait(1.0)


def test_the_providers_no_is_the_clients(client, upstream):
    upstream.answers(PROVIDER.error(429, "Slow down.", retry_after="7"))
    with pytest.raises(openai.RateLimitError, match="Slow down") as caught:
        client.chat.completions.create(model="claude", messages=[QUESTION])
    assert caught.value.response.headers["retry-after"] == "7"
