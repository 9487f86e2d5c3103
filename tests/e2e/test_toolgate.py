"""Tools that a policy does not allow: gone from the request, and calls to them gone from the answer, over the wire."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.e2e.conftest import CLIENT_KEY, HELLO
from tests.proxy import RunningProxy, config, wait_until
from tests.upstream import DONE, WAIT, FakeUpstream, answer_json, answer_stream, chunk, completion

TOOLS: Any = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in ("find", "pay")
]


@pytest.fixture(scope="module")
def gated(module_upstream: FakeUpstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningProxy]:
    folder = tmp_path_factory.mktemp("gated")
    policy = (Path(__file__).parents[2] / "config" / "policy.yaml").read_text("utf-8")
    (folder / "policy.yaml").write_text(policy.replace("tools_allow: null", "tools_allow: [find]"))
    with RunningProxy(config(module_upstream, policy="policy.yaml"), folder) as running:
        yield running


@pytest.fixture
def sdk(gated: RunningProxy) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=gated.base_url, api_key=CLIENT_KEY, max_retries=0, timeout=WAIT) as sdk:
        yield sdk


def call(name: str, index: int) -> dict[str, Any]:
    return {"index": index, "id": f"c{index}", "type": "function", "function": {"name": name, "arguments": "{}"}}


def test_calls_outside_of_the_tools_do_not_arrive(sdk: openai.OpenAI, gated: RunningProxy, upstream: FakeUpstream):
    whole = completion(tool_calls=[call("pay", 0), call("find", 1)])
    pieces = [chunk({"role": "assistant", "tool_calls": [call("pay", 0)]}), chunk({"tool_calls": [call("find", 1)]})]
    upstream.answers(answer_json(whole), answer_stream(*pieces, chunk(finish="tool_calls"), DONE))
    answer = sdk.chat.completions.create(model="fake", messages=[HELLO], tools=TOOLS)
    assert [made.function.name for made in answer.choices[0].message.tool_calls or ()] == ["find"]  # type: ignore[union-attr]
    with sdk.chat.completions.stream(model="fake", messages=[HELLO], tools=TOOLS) as stream:
        streamed = stream.get_final_completion()
    assert [made.function.name for made in streamed.choices[0].message.tool_calls or ()] == ["find"]
    assert [tool["function"]["name"] for seen in upstream.requests for tool in seen.json["tools"]] == ["find", "find"]
    wait_until(lambda: len(gated.traces()) == 2)
    assert [record["calls_refused"] for record in gated.traces()] == [1, 1]
    assert {name for record in gated.traces() for name in record["tools_removed"]} == {"pay"}


def test_a_demand_for_such_a_tool_is_refused_by_name(sdk: openai.OpenAI, upstream: FakeUpstream):
    choice: Any = {"type": "function", "function": {"name": "pay"}}
    with pytest.raises(openai.BadRequestError, match="pay") as caught:
        sdk.chat.completions.create(model="fake", messages=[HELLO], tools=TOOLS, tool_choice=choice)
    assert caught.value.param == "tool_choice"
    assert upstream.requests == []
