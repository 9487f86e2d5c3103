"""A webhook over a real socket: what it is sent, what of its answer is taken, and everything that is no answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from elbowroom.errors import UpstreamUnavailable
from elbowroom_proxy.asked import Retriever
from elbowroom_proxy.retrievers import http
from elbowroom_proxy.retrievers.http import Http
from tests.upstream import Answer, Break, FakeUpstream, answer_json


@pytest.fixture
def server() -> Iterator[FakeUpstream]:
    with FakeUpstream() as running:
        yield running


async def brought(server: FakeUpstream, **fields: Any) -> Any:
    retriever = Http(Retriever(url=f"{server.url}/search", **fields))
    try:
        return json.loads(await retriever.documents("which \ud800?"))
    finally:
        await retriever.close()


async def test_it_is_sent_a_query_and_how_many_are_taken(server):
    server.answers(answer_json({"documents": [{"text": str(at)} for at in range(5)]}))
    assert await brought(server, api_key="key", max_documents=2) == [{"text": "0"}, {"text": "1"}]
    seen = server.request()
    assert (seen.method, seen.path) == ("POST", "/v1/search")
    assert seen.headers["authorization"] == "Bearer key"
    assert seen.json == {"query": "which \ud800?", "max_documents": 2}


@pytest.mark.parametrize("answer", [["one"], {"documents": ["one"]}, {"results": ["one"]}])
async def test_a_list_or_an_object_with_one(server, answer):
    server.answers(answer_json(answer))
    assert await brought(server) == ["one"]
    assert "authorization" not in server.request().headers


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (answer_json([], 500), "The retriever answered with status 500."),
        (answer_json([], 302), "The retriever answered with status 302."),
        (answer_json({"hits": []}), "The retriever's answer is no list of documents."),
        (answer_json({"documents": {}}), "The retriever's answer is no list of documents."),
        (answer_json("text"), "The retriever's answer is no list of documents."),
        (Answer(parts=[b"?"]), "The retriever's answer is no list of documents."),
        (Answer(parts=[b"[" * 200_000]), "The retriever's answer is no list of documents."),
        (Answer(parts=[b"x" * (http.LARGEST + 1)], sized=False), "The retriever's answer is too long."),
        (Answer(parts=[Break()], sized=False), "The retriever did not answer (RemoteProtocolError)."),
    ],
    ids=["status", "redirect", "no list", "no array", "a text", "no JSON", "deep", "too long", "broken off"],
)
async def test_what_is_no_answer(server, answer, why):
    server.answers(answer)
    with pytest.raises(UpstreamUnavailable) as caught:
        await brought(server)
    assert caught.value.message == why


async def test_one_that_was_not_asked_has_nothing_to_close():
    await Http(Retriever(url="http://127.0.0.1:9")).close()
