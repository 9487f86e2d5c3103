"""One proxy and one upstream a module, and the real OpenAI SDK in front of them.

Knows: how the three are put together, and how a test gets an upstream that remembers nothing of the test before.
Does not know: what any test expects.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import openai
import pytest

from tests.proxy import RunningProxy, config, wait_until
from tests.upstream import WAIT, FakeUpstream

CLIENT_KEY = "sk-client-only-5f0c"

REFUNDS: Any = {
    "id": "kb-1#1",
    "source_id": "kb-1",
    "title": "Refund policy",
    "url": "https://kb.example/refunds",
    "text": "Refunds are paid within fourteen days of the return.",
    "score": 0.9,
}
PARCELS: Any = {"id": "kb-2#1", "title": "Parcels", "text": "Parcels leave on Mondays and Thursdays.", "score": 0.4}
QUESTION: Any = {"role": "user", "content": "When are refunds paid?"}
HELLO: Any = {"role": "user", "content": "hello"}


@pytest.fixture(scope="module")
def module_upstream() -> Iterator[FakeUpstream]:
    with FakeUpstream() as upstream:
        yield upstream


@pytest.fixture
def upstream(module_upstream: FakeUpstream) -> Iterator[FakeUpstream]:
    """The module's upstream, as new: its requests are this test's, and what it was told to say was said."""
    module_upstream.requests.clear()
    yield module_upstream
    left = len(module_upstream._script)
    module_upstream._script.clear()
    assert left == 0, f"{left} scripted answers were not asked for"


@pytest.fixture(scope="module")
def proxy(module_upstream: FakeUpstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningProxy]:
    with RunningProxy(config(module_upstream), tmp_path_factory.mktemp("proxy")) as running:
        yield running


@pytest.fixture(scope="module")
def client(proxy: RunningProxy) -> Iterator[openai.OpenAI]:
    """The SDK, without its own retries unless a test asks for them."""
    with openai.OpenAI(base_url=proxy.base_url, api_key=CLIENT_KEY, max_retries=0, timeout=WAIT) as sdk:
        yield sdk


@pytest.fixture
async def async_client(proxy: RunningProxy) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=proxy.base_url, api_key=CLIENT_KEY, max_retries=0, timeout=WAIT) as sdk:
        yield sdk


def record_of(proxy: RunningProxy, request_id: str | None) -> dict[str, Any]:
    """The one trace record of the answer with this `x-request-id`, as soon as it is on disk."""
    assert request_id

    def found() -> list[dict[str, Any]]:
        return [record for record in proxy.traces() if record["request_id"] == request_id]

    wait_until(lambda: bool(found()))
    (record,) = found()
    return record
