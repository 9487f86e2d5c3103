"""The three words that rerankers speak, over a real socket, and everything that is no answer."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from elbowroom.errors import RerankUnavailable
from elbowroom_proxy.asked import Reranker
from elbowroom_proxy.rerankers.http import build
from tests.upstream import Answer, Break, FakeUpstream, answer_json


@pytest.fixture
def server() -> Iterator[FakeUpstream]:
    with FakeUpstream() as running:
        yield running


def row(server: FakeUpstream, shape: str = "cohere", **fields) -> Reranker:
    return Reranker(api_base=server.url.removesuffix("/v1"), shape=shape, **fields)  # type: ignore[arg-type]


RESULTS = {"results": [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.2}]}


async def test_cohere(server):
    server.answers(answer_json({**RESULTS, "meta": {"billed_units": {"search_units": 2}}}))
    reranker = build(row(server, model="rerank-v3.5", api_key="key", input_cost_per_query=0.002))
    scored = await reranker.scores("which?", ["one", "two"])
    assert (scored.scores, scored.micro_usd) == ((0.2, 0.9), 4_000)
    seen = server.request()
    assert (seen.method, seen.path) == ("POST", "/v2/rerank")
    assert seen.headers["authorization"] == "Bearer key"
    assert seen.json == {"model": "rerank-v3.5", "query": "which?", "documents": ["one", "two"], "top_n": 2}
    await reranker.close()


async def test_jina(server):
    server.answers(answer_json({**RESULTS, "usage": {"total_tokens": 500}}))
    reranker = build(row(server, "jina", input_cost_per_token=0.00000002))
    scored = await reranker.scores("which?", ["one", "two"])
    assert (scored.scores, scored.micro_usd) == ((0.2, 0.9), 10)
    assert server.request().path == "/v1/rerank"
    assert server.request().json["return_documents"] is False
    assert "authorization" not in server.request().headers
    await reranker.close()


@pytest.mark.parametrize("units", ["NaN", "Infinity", "-3", '"2"', "null"])
async def test_units_that_nobody_can_be_billed_for_are_reckoned_by_the_texts(server, units: str):
    body = json.dumps({**RESULTS, "meta": {"billed_units": {"search_units": 0}}}).replace(": 0}", f": {units}}}")
    server.answers(Answer(parts=[body.encode()]))
    reranker = build(row(server, input_cost_per_query=0.002))
    assert (await reranker.scores("which?", ["one", "two"])).micro_usd == 2_000
    await reranker.close()


async def test_text_embeddings_inference(server):
    server.answers(answer_json([{"index": 1, "score": 0.9}, {"index": 0, "score": -3}]))
    reranker = build(row(server, "tei"))
    scored = await reranker.scores("which?", ["one", "two"])
    assert (scored.scores, scored.micro_usd) == ((-3.0, 0.9), 0)
    assert server.request().path == "/rerank"
    assert server.request().json == {"query": "which?", "texts": ["one", "two"], "truncate": True}
    await reranker.close()


async def test_an_address_may_be_whole_and_a_search_has_a_hundred_texts(server):
    texts = [str(at) for at in range(101)]
    server.answers(answer_json({"results": [{"index": at, "relevance_score": 1} for at in range(101)]}))
    reranker = build(Reranker(api_base=f"{server.url}/rerank", shape="cohere", input_cost_per_query=0.001))
    assert (await reranker.scores("?", texts)).micro_usd == 2_000
    assert server.request().path == "/v1/rerank"
    await reranker.close()


@pytest.mark.parametrize(
    "answer",
    [
        answer_json(RESULTS, 500),
        Answer(parts=[b"nonsense"]),
        Answer(parts=[Break()], sized=False),
        answer_json("no list"),
        answer_json({"results": [{"index": 0, "relevance_score": 1}]}),
        answer_json({"results": [{"index": 0, "relevance_score": "1"}, {"index": 1, "relevance_score": 1}]}),
        answer_json({"results": [{"index": 0, "relevance_score": 1}, "two"]}),
        answer_json({"results": [{"index": 0, "relevance_score": 1}, {"index": 0, "relevance_score": 1}]}),
    ],
    ids=["status", "no JSON", "broken off", "no list", "too few", "no number", "no object", "twice the same"],
)
async def test_what_is_no_score_a_text_is_no_answer(server, answer):
    server.answers(answer)
    reranker = build(row(server))
    with pytest.raises(RerankUnavailable):
        await reranker.scores("which?", ["one", "two"])
    await reranker.close()


async def test_one_that_was_never_asked_is_closed_too(server):
    await build(row(server)).close()


async def test_what_a_question_costs_at_most_is_never_less_than_what_it_costs(server):
    texts = ["one", "zwei für drei"] * 60
    reranker = build(row(server, "jina", input_cost_per_query=0.002, input_cost_per_token=0.000001))
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) + len(texts) * len("which?")
    assert reranker.most("which?", texts) == 2 * 2_000 + size
    answers = [{"index": at, "relevance_score": 0.1} for at in range(len(texts))]
    server.answers(answer_json({"results": answers, "usage": {"total_tokens": size}}))
    assert (await reranker.scores("which?", texts)).micro_usd <= reranker.most("which?", texts)
    await reranker.close()


async def test_one_without_a_price_costs_nothing(server):
    assert build(row(server)).most("which?", ["one"]) == 0
