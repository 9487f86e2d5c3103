"""Reranker `http`: a /rerank endpoint in Cohere's, Jina's or Text Embeddings Inference's words.

Knows: what each of the three is asked and how it answers, and what a question costs by what the answer says of itself.
Does not know: which candidates are shown, how long anybody waits, or what follows where there is no answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import httpx

from elbowroom.errors import RerankUnavailable
from elbowroom_proxy import asked
from elbowroom_proxy.ports import Reranker, Scored

PATHS = {"cohere": "/v2/rerank", "jina": "/v1/rerank", "tei": "/rerank"}
PER_SEARCH = 100  # documents of one search, as Cohere bills it


class Http:
    """One endpoint and its connections."""

    def __init__(self, row: asked.Reranker) -> None:
        self._row = row
        self._url = row.api_base if row.api_base.endswith("/rerank") else row.api_base + PATHS[row.shape]
        self._client: httpx.AsyncClient | None = None

    async def scores(self, question: str, texts: Sequence[str]) -> Scored:
        """One score a text. Raises `RerankUnavailable` for whatever is no such answer."""
        row = self._row
        if self._client is None:
            self._client = httpx.AsyncClient(timeout=row.timeout, follow_redirects=False)
        headers = {"authorization": f"Bearer {row.api_key}"} if row.api_key else {}
        try:
            response = await self._client.post(self._url, json=self._asked(question, texts), headers=headers)
            answer = response.json() if response.status_code == 200 else None
        except (httpx.HTTPError, ValueError, RecursionError) as error:
            raise RerankUnavailable(f"The reranker did not answer ({type(error).__name__}).") from error
        if answer is None:
            raise RerankUnavailable(f"The reranker answered with status {response.status_code}.")
        scores = _scores(answer, len(texts))
        if scores is None:
            raise RerankUnavailable("The reranker's answer is not one score a text.")
        return Scored(scores, self._cost(answer, len(texts)))

    def most(self, question: str, texts: Sequence[str]) -> int:
        """By the number of texts, and by their bytes, which are never fewer than their tokens: each is read with the
        question.
        """
        question_size, *sizes = (len(text.encode("utf-8", "surrogatepass")) for text in (question, *texts))
        size = sum(sizes) + len(sizes) * question_size
        units = math.ceil(len(texts) / PER_SEARCH)
        row = self._row
        return math.ceil(1_000_000 * (row.input_cost_per_query * units + row.input_cost_per_token * size))

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    def _asked(self, question: str, texts: Sequence[str]) -> dict[str, Any]:
        if self._row.shape == "tei":
            return {"query": question, "texts": list(texts), "truncate": True}
        model = {"model": self._row.model} if self._row.model else {}
        asked = {**model, "query": question, "documents": list(texts), "top_n": len(texts)}
        return {**asked, "return_documents": False} if self._row.shape == "jina" else asked

    def _cost(self, answer: Any, texts: int) -> int:
        """Micro-USD, by what the answer says was billed, else by the number of texts."""
        row = self._row
        units = _number(answer, "meta", "billed_units", "search_units") or math.ceil(texts / PER_SEARCH)
        tokens = _number(answer, "usage", "total_tokens") or 0
        return round(1_000_000 * (row.input_cost_per_query * units + row.input_cost_per_token * tokens))


def _scores(answer: Any, many: int) -> tuple[float, ...] | None:
    """By position, whatever order they came in; None where that is not one finite number each."""
    rows = answer.get("results") if isinstance(answer, dict) else answer
    if not isinstance(rows, list):
        return None
    found: dict[Any, Any] = {}
    for row in rows:
        if isinstance(row, dict):
            found[row.get("index")] = row.get("relevance_score", row.get("score"))
    scores = [found.get(at) for at in range(many)]
    numbers = [float(one) for one in scores if isinstance(one, int | float) and math.isfinite(one)]
    return tuple(numbers) if len(rows) == many == len(numbers) else None


def _number(answer: Any, *path: str) -> float | None:
    """None for what nobody can be billed for, too: `json` reads NaN and Infinity as numbers."""
    for name in path:
        answer = answer.get(name) if isinstance(answer, dict) else None
    return answer if isinstance(answer, int | float) and 0 <= answer < math.inf else None


def build(row: asked.Reranker | None) -> Reranker:
    """The reranker of elbowroom.yaml's entry, which is there where a policy asks for it."""
    assert row is not None  # noqa: S101 -- `settings.load` refuses such a policy
    return Http(row)
