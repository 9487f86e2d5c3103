"""A summary is asked for once; whatever goes wrong on the way is no answer and a reason."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator

import pytest
from msgspec import structs

from elbowroom.account.trace import Aside
from elbowroom.budget.usage import Usage
from elbowroom.errors import InsufficientQuota, RerankUnavailable, UpstreamUnavailable
from elbowroom.needs import NeedRerank, NeedRetrieve, NeedSummary
from elbowroom.price import Price
from elbowroom_proxy import asides, upstreams
from elbowroom_proxy.addresses import Endpoint
from elbowroom_proxy.asides import Asides, nobody
from elbowroom_proxy.ports import Scored, Upstream
from tests.upstream import Answer, Break, FakeUpstream, answer_json, completion
from tests.walk import MODEL

PRICED = structs.replace(
    MODEL, name="small", upstream_model="gpt-4o-mini", price=Price(input=1_000_000, output=4_000_000)
)
NEED = NeedSummary("small", "user: Hello.\n\n", 60, 5.0)
RERANK = NeedRerank("mine", "which?", ("one", "two"))


class Kept:
    """A cache of texts that may be lost."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    async def get_text(self, key: str) -> str | None:
        return self.texts.get(key)

    async def put_text(self, key: str, text: str) -> None:
        self.texts[key] = text


class Mine:
    def __init__(self, scores: tuple[float, ...] | None = (0.1, 0.2), gate: asyncio.Event | None = None) -> None:
        self.given, self.gate, self.closed = scores, gate, False

    async def scores(self, question, texts) -> Scored:
        if self.gate is not None:
            await self.gate.wait()
        if self.given is None:
            raise RerankUnavailable("The reranker answered with status 500.")
        return Scored(self.given, 7)

    def most(self, question, texts) -> int:
        return 9

    async def close(self) -> None:
        self.closed = True


class Pays:
    """A purse that tells what it was asked for, and what it came to."""

    def __init__(self, refuses: bool = False) -> None:
        self.refuses = refuses
        self.held: list[tuple] = []
        self.ended: list[tuple] = []

    async def beside(self, prompt, answer, price, micro_usd=0):
        self.held.append((prompt, answer, price, micro_usd))
        if self.refuses:
            raise InsufficientQuota("Nothing is left.")
        return self

    def end(self, usage=None, micro_usd=None, *, asked=True) -> None:
        self.ended.append((usage, micro_usd, asked))


@pytest.fixture
def server() -> Iterator[FakeUpstream]:
    with FakeUpstream() as running:
        yield running


SENT: list[Upstream] = []


@pytest.fixture(autouse=True)
async def connections() -> AsyncIterator[None]:
    """Those of one test end with it."""
    yield
    for one in SENT:
        await one.close()
    SENT.clear()


def made(server: FakeUpstream | None = None, reranker: Mine | None = None, model=PRICED, timeout=5.0, **more) -> Asides:
    base = server.url if server is not None else "http://127.0.0.1:9/v1"
    endpoint = Endpoint("openai", base, None, 5, 5, 5, 8, 8)
    SENT.append(upstreams.load("openai")(endpoint, None))  # type: ignore[arg-type]
    mine, sent = {"mine": reranker or Mine()}, {"small": SENT[-1]}
    return Asides(mine, sent, {"small": model}, rerank_timeout=timeout, secret=b"s" * 16, **more)


async def asked(some: Asides, need=NEED, purse=None):
    told: list[Aside] = []
    answer = await some.answer(need, told, purse)
    (aside,) = told
    return answer, structs.replace(aside, ms=0.0)


async def test_a_model_is_asked_through_its_upstream(server):
    server.answers(answer_json(completion("They greeted.", prompt_tokens=50)))
    answer, aside = await asked(made(server))
    assert answer == ("They greeted.",)
    assert aside == Aside("summary", "small", micro_usd=58, prompt_tokens=50, completion_tokens=2)
    seen = server.request()
    assert seen.path == "/v1/chat/completions"
    body = seen.json
    assert (body["model"], body["max_tokens"]) == ("gpt-4o-mini", 60)
    assert body["messages"][1] == {"role": "user", "content": NEED.text}
    assert "fewer than 60 tokens" in body["messages"][0]["content"]


class Brings:
    """A retriever."""

    def __init__(self, said: str | None = "[]", gate: asyncio.Event | None = None) -> None:
        self.said, self.gate, self.closed = said, gate, False

    async def documents(self, query: str) -> str:
        if self.gate is not None:
            await self.gate.wait()
        if self.said is None:
            raise UpstreamUnavailable("It is not there.")
        return f"{self.said} {query}"

    async def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize(
    ("retriever", "answer", "failed"),
    [
        (Brings(), ("[] which?",), ""),
        (Brings(None), (), "It is not there."),
        (Brings(gate=asyncio.Event()), (), "it did not answer in time"),
        (None, (), "there is none"),
    ],
)
async def test_a_retriever_is_asked_in_its_time(retriever, answer, failed):
    some = made(retriever=retriever, retrieve_timeout=0.05)
    assert await asked(some, NeedRetrieve("which?")) == (answer, Aside("retrieve", "retriever", failed=failed))
    await some.close()
    assert retriever is None or retriever.closed


async def test_a_passage_is_no_talk(server):
    some = made(server)
    await asked(some)
    answer, aside = await asked(some, structs.replace(NEED, of="passage"))
    assert (answer, aside.purpose, aside.cached) == (("fine",), "compress", False)
    said = server.request(1).json["messages"][0]["content"]
    assert "two or three plain sentences" in said
    assert "fewer than 60 tokens" in said


async def test_a_model_that_reasons_is_limited_in_its_own_words(server):
    await asked(made(server, model=structs.replace(PRICED, upstream_model="gpt-5-mini", price=None)))
    assert server.request().json["max_completion_tokens"] == 60


async def test_what_was_summed_up_is_not_summed_up_again(server):
    some, kept = made(server), Kept()
    first = await asked(some)
    again = await asked(some)
    assert again == (first[0], Aside("summary", "small", cached=True))
    other = structs.replace(NEED, text="user: Bye.\n\n")
    await asked(some, other)
    assert len(server.requests) == 2
    await asked(made(server, cache=kept))
    shared = await asked(made(server, cache=kept))
    assert shared[1].cached
    assert len(server.requests) == 3
    assert "fine" not in json.dumps(kept.texts)
    kept.texts = dict.fromkeys(kept.texts, "somebody's own words")
    assert not (await asked(made(server, cache=kept)))[1].cached


async def test_only_so_many_are_remembered(server, monkeypatch):
    monkeypatch.setattr(asides, "REMEMBERED", 1)
    some = made(server)
    for text in ("a", "b", "a"):
        await asked(some, structs.replace(NEED, text=text))
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (answer_json({}, 500), "it answered with status 500"),
        (answer_json({"choices": []}), "its answer is no chat completion"),
        (Answer(parts=[b"?"]), "its answer is no chat completion"),
        (answer_json(completion(" ")), "it gave no whole summary (stop)"),
        (answer_json(completion(None, tool_calls=[])), "it gave no whole summary (tool_calls)"),  # type: ignore[arg-type]
        (Answer(parts=[Break()], sized=False), "The upstream"),
        (Answer(parts=[b"x" * (asides.LARGEST + 1)], sized=False), "its answer is too long"),
    ],
    ids=["status", "no choice", "no JSON", "blank", "tools", "broken off", "too long"],
)
async def test_what_is_no_summary_is_no_answer(server, answer, why):
    server.answers(answer)
    found, aside = await asked(made(server))
    assert found == ()
    assert aside.failed.startswith(why)


async def test_a_summary_that_takes_too_long_is_not_waited_for(server):
    gate = server.gate()
    server.answers(Answer(before=gate))
    found, aside = await asked(made(server), structs.replace(NEED, timeout=0.05))
    assert (found, aside.failed) == ((), "it did not answer in time")
    gate.open()


async def test_scores_and_what_they_cost():
    mine = Mine()
    some = made(reranker=mine)
    assert await asked(some, RERANK) == ((0.1, 0.2), Aside("rerank", "mine", micro_usd=7))
    await some.close()
    assert mine.closed


async def test_a_reranker_that_fails_or_hangs_gives_no_order():
    found, aside = await asked(made(reranker=Mine(None)), RERANK)
    assert (found, aside.failed) == ((), "The reranker answered with status 500.")
    found, aside = await asked(made(reranker=Mine(gate=asyncio.Event()), timeout=0.01), RERANK)
    assert (found, aside.failed) == ((), "it did not answer in time")


async def test_nobody_says_nothing():
    assert await nobody(RERANK, []) == ()


@pytest.mark.parametrize(
    ("answer", "ended"),
    [
        (answer_json(completion("Short.", prompt_tokens=50)), (Usage(50, 2), None, True)),
        (answer_json({"choices": []}), (None, None, True)),
        (answer_json({"error": {}}, 400), (None, None, False)),
        (answer_json({"error": {}}, 500), (None, None, True)),
        (answer_json({"error": {}}, 503, retry_after="1"), (None, None, False)),
        (answer_json({"error": {}}, 529), (None, None, False)),
        (Answer(before=Break()), (None, None, True)),
    ],
    ids=["answered", "no answer", "refused", "failed", "busy", "overloaded", "broken off"],
)
async def test_a_call_is_held_for_before_and_settled_after(server, answer, ended):
    server.answers(answer)
    purse = Pays()
    await asked(made(server), purse=purse)
    ((prompt, output, price, money),) = purse.held
    assert prompt > len(server.request().body)
    assert (output, price, money) == (NEED.max_tokens, PRICED.price, 0)
    assert purse.ended == [ended]


async def test_a_model_that_is_not_there_is_not_paid():
    purse = Pays()
    _, aside = await asked(made(), purse=purse)
    assert aside.failed
    assert purse.ended == [(None, None, False)]


async def test_a_call_that_is_cancelled_is_settled_all_the_same(server):
    gate = server.gate()
    server.answers(Answer(before=gate))
    purse = Pays()
    asking = asyncio.create_task(asked(made(server), purse=purse))
    await asyncio.to_thread(server.request)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert purse.ended == [(None, None, True)]


async def test_who_has_nothing_left_asks_nobody(server):
    answer, aside = await asked(made(server), purse=Pays(refuses=True))
    assert (answer, aside.failed) == ((), "Nothing is left.")
    assert server.requests == []


async def test_what_is_known_already_is_not_paid_again(server):
    some, purse = made(server), Pays()
    await asked(some, purse=purse)
    _, aside = await asked(some, purse=purse)
    assert aside.cached
    assert len(purse.held) == 1


async def test_a_reranker_that_costs_something_is_held_for():
    purse = Pays()
    await asked(made(), RERANK, purse)
    await asked(made(reranker=Mine(None)), RERANK, purse)
    assert purse.held == [(0, 0, None, 9)] * 2
    assert purse.ended == [(None, 7, True), (None, None, True)]


async def test_a_reranker_that_costs_nothing_is_not():
    free = Mine()
    free.most = lambda *_: 0  # type: ignore[method-assign]
    purse = Pays()
    await asked(made(reranker=free), RERANK, purse)
    assert purse.held == []
