"""The upstream that needs no key: a model's manners without a model, in this process.

Knows: OpenAI's chat protocol as a provider speaks it (streamed and not, usage, n, maximum, window), responses and
embeddings as far as a client must see them, and how to answer by quoting the sentences of the evidence that share most
with the question.
Does not know: what the proxy decided. It reads the body it is sent, as a provider would, and bills what it finds there.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from elbowroom.count.openai_responses import as_chat
from elbowroom.errors import CountUnavailable
from elbowroom_proxy.addresses import Endpoint, Meter
from elbowroom_proxy.ports import Call, Reply, Upstream

WINDOWS = {"demo-small": 8_192, "demo-large": 128_000}  # tokens
MAX_SENTENCES = 6
NEAR_BEST = 0.85  # a sentence is quoted that scores nearly what the best one does,
ADDS = 0.4  # or that shares terms with the question which no better one had, worth this much of the best score

# A passage as it is sent: a tag with a label and a number, the text, the same tag closed.
PASSAGE = re.compile(r"^<(S\d+)-(\d+)([^\n]*)>\n(.*?)\n?^</\1-\2>$", re.MULTILINE | re.DOTALL)
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*|\n+")
WORD = re.compile(r"[a-z0-9]+(?:[.'-][a-z0-9]+)*")
HAN = re.compile(r"[\u3400-\u9fff]+")
WORDS = r"\s*\S{1,12}|\s+$"  # a streamed answer's pieces
STOP = re.compile(
    r"(a|an|and|are|as|at|be|been|but|by|can|could|did|do|does|for|from|had|has|have|how|i|if|in|is|it|its|me|my|of|on|or|"
    r"our|please|shall|should|so|tell|than|that|the|their|them|then|there|these|they|this|to|was|we|were|what|when|where|"
    r"which|who|whom|whose|why|will|with|would|you|your)"
)
NOTHING = {
    "en": "The evidence I was given does not answer this question.",
    "zh": "所给的资料没有回答这个问题。",
}
NO_EVIDENCE = {
    "en": "I am a demonstration model: I answer only from evidence, and this request carried none.",
    "zh": "我是演示模型，只根据所给的资料回答，而这个请求没有附带资料。",
}


class DemoReply:
    """An answer that is complete before its first byte."""

    def __init__(self, status: int, content_type: str, parts: Sequence[bytes]) -> None:
        self.status = status
        self.headers: Mapping[str, str] = {"content-type": content_type}
        self._parts = tuple(parts)

    async def chunks(self) -> AsyncIterator[bytes]:
        for part in self._parts:
            yield part

    async def close(self) -> None:
        self._parts = ()


class Said(NamedTuple):
    """What the model says, before it is put into a protocol's words."""

    text: str
    finish: str
    choices: int
    usage: Mapping[str, int]


class Demo:
    """`demo-small` and `demo-large`. The same body gets the same bytes, but for the second in which it was answered."""

    def __init__(self, meter: Meter, clock: Callable[[], float] = time.time) -> None:
        """`clock` tells seconds since 1970."""
        self._meter = meter
        self._clock = clock

    async def start(self) -> None:
        """Needs nothing."""

    async def send(self, call: Call) -> Reply:
        call.begins()
        try:
            body = json.loads(call.body)
            if call.path == "/embeddings":
                return await self._embedded(body)
            said = await self._said(as_chat(body) if call.path == "/responses" else body)
        except (ValueError, KeyError, TypeError, AttributeError, CountUnavailable) as error:
            return refusal(400, f"The demo model cannot read this request: {error!r}", None)
        if isinstance(said, DemoReply):
            return said
        text, finish, choices, usage = said
        if call.path == "/responses":
            return DemoReply(*responded(call.body, body, text, finish, usage))
        ident = "chatcmpl-demo-" + hashlib.blake2b(call.body, digest_size=8).hexdigest()
        if body.get("stream"):
            asked = bool((body.get("stream_options") or {}).get("include_usage"))
            created = int(self._clock())
            parts = stream(ident, created, body["model"], text, finish, choices, usage if asked else None)
            return DemoReply(200, "text/event-stream; charset=utf-8", list(parts))
        whole = {
            "id": ident,
            "object": "chat.completion",
            "created": int(self._clock()),
            "model": body["model"],
            "choices": [
                {
                    "index": index,
                    "message": {"role": "assistant", "content": text, "refusal": None},
                    "logprobs": None,
                    "finish_reason": finish,
                }
                for index in range(choices)
            ],
            "usage": usage,
        }
        return DemoReply(200, "application/json", [encode(whole)])

    async def _said(self, body: Mapping[str, Any]) -> Said | DemoReply:
        """The answer to a chat, or why there is none."""
        messages, window = body["messages"], WINDOWS[body["model"]]
        cannot = beyond_it(body)
        if cannot:
            return refusal(400, cannot, "unsupported_value")
        prompt = await self._meter.prompt(body)
        limit = body.get("max_completion_tokens") or body.get("max_tokens") or body.get("max_output_tokens")
        if prompt + (limit or 1) > window:
            return refusal(
                400,
                f"This model's maximum context length is {window} tokens. However, your messages resulted in {prompt} "
                f"tokens and {limit or 1} for the answer.",
                "context_length_exceeded",
            )
        most = min(limit or window, window - prompt)
        text, finish = await self._within(as_asked(answer(question_of(messages)), body), body["model"], most)
        choices = max(1, int(body.get("n") or 1))
        completion = (await self._meter.text(text, body["model"])) * choices
        usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
        return Said(text, finish, choices, usage)

    async def _embedded(self, body: Mapping[str, Any]) -> DemoReply:
        """Numbers that depend on the text alone, and mean nothing."""
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        tokens = sum([await self._meter.text(str(text), body["model"]) for text in texts])
        data = [{"object": "embedding", "index": i, "embedding": vector(text)} for i, text in enumerate(texts)]
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        told = {"object": "list", "data": data, "model": body["model"], "usage": usage}
        return DemoReply(200, "application/json", [encode(told)])

    async def _within(self, text: str, model: str, limit: int) -> tuple[str, str]:
        """The longest beginning of whole words within `limit` tokens, and the finish reason that goes with it."""
        if await self._meter.text(text, model) <= limit:
            return text, "stop"
        cuts = [0, *(match.end() for match in re.finditer(r"\S+?(?=\s|$)|[\u3400-\u9fff]", text))]
        low, high = 0, len(cuts) - 1  # cuts[low] fits, cuts[high] does not
        while high - low > 1:
            middle = (low + high) // 2
            if await self._meter.text(text[: cuts[middle]], model) <= limit:
                low = middle
            else:
                high = middle
        return text[: cuts[low]], "length"

    async def close(self) -> None:
        """Holds nothing."""


def question_of(messages: Sequence[Mapping[str, Any]]) -> str:
    """The text of the last user message."""
    content: Any = next((m.get("content") for m in reversed(messages) if m.get("role") == "user"), "")
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if isinstance(part.get("text"), str))
    return content if isinstance(content, str) else ""


def beyond_it(body: Mapping[str, Any]) -> str:
    """What is demanded of it that it cannot do, in words; "" where it can do all."""
    demanded = body.get("tool_choice")
    if body.get("tools") and demanded not in (None, "auto", "none"):
        return "The demo model calls no tools, so tool_choice cannot demand one."
    if (body.get("response_format") or {}).get("type") == "json_schema":
        return "The demo model follows no schema; response_format may be text or json_object."
    return ""


def as_asked(text: str, body: Mapping[str, Any]) -> str:
    """The answer in the form that was asked for, up to the first of the `stop` texts."""
    if (body.get("response_format") or {}).get("type") == "json_object":
        text = json.dumps({"answer": text}, ensure_ascii=False)
    stops = [body["stop"]] if isinstance(body.get("stop"), str) else body.get("stop") or []
    return text[: min((at for stop in stops if stop and (at := text.find(stop)) >= 0), default=None)]


def answer(message: str) -> str:
    """Quotes the best sentences of the evidence in `message`, each with its label; says so where there are none."""
    passages = [(m[1], m[4]) for m in PASSAGE.finditer(message)]
    end = max((m.end() for m in PASSAGE.finditer(message)), default=0)
    question = message[end:]
    language = "zh" if HAN.search(question) else "en"
    if not passages:
        return NO_EVIDENCE[language]
    chosen = best_sentences(question, passages)
    if not chosen:
        return NOTHING[language]
    return "\n".join(f"{sentence} [{label}]" for label, sentence in chosen)


def best_sentences(question: str, passages: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """(label, sentence) of the sentences that share the rarest terms with the question, in the evidence's order."""
    sentences = [
        (label, sentence.strip())
        for label, body in passages
        for sentence in SENTENCE_END.split(body)
        if sentence.strip() and sentence.strip() != "[...]"
    ]
    terms = [terms_of(sentence) for _, sentence in sentences]
    wanted = terms_of(question)
    rarity = {
        term: math.log(1 + len(sentences) / found) for term in wanted if (found := sum(term in one for one in terms))
    }
    shared = [one & rarity.keys() for one in terms]
    scores = [sum(rarity[term] for term in one) for one in shared]
    best = max(scores, default=0.0)
    if best <= 0:
        return []
    chosen: list[int] = []
    covered: set[str] = set()
    for i in sorted(range(len(sentences)), key=lambda i: (-scores[i], i)):
        adds = sum(rarity[term] for term in shared[i] - covered)
        if (scores[i] >= NEAR_BEST * best or adds >= ADDS * best) and len(chosen) < MAX_SENTENCES:
            chosen.append(i)
            covered |= shared[i]
    return [sentences[i] for i in sorted(chosen)]


def terms_of(text: str) -> frozenset[str]:
    """Words without their plural, and pairs of Han characters."""
    text = text.lower()
    words = {word.removesuffix("s") for word in WORD.findall(text) if not STOP.fullmatch(word)}
    pairs = {a + b for run in HAN.findall(text) for a, b in pairwise(run)}
    return frozenset(words | pairs)


def stream(
    ident: str, created: int, model: str, text: str, finish: str, choices: int, usage: Mapping[str, int] | None
) -> Iterator[bytes]:
    """The events of a streamed answer, as bytes, `[DONE]` included."""
    envelope = {"id": ident, "object": "chat.completion.chunk", "created": created, "model": model}
    null = {} if usage is None else {"usage": None}

    def event(value: Mapping[str, Any]) -> bytes:
        return b"data: " + encode({**envelope, **value}) + b"\n\n"

    def choice(index: int, delta: Mapping[str, str], finish: str | None = None) -> bytes:
        return event({"choices": [{"index": index, "delta": delta, "finish_reason": finish}], **null})

    for index in range(choices):
        yield choice(index, {"role": "assistant", "content": ""})
        for word in re.findall(WORDS, text):
            yield choice(index, {"content": word})
        yield choice(index, {}, finish)
    if usage is not None:
        yield event({"choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def responded(
    asked: bytes, body: Mapping[str, Any], text: str, finish: str, usage: Mapping[str, int]
) -> tuple[int, str, list[bytes]]:
    """Status, content type and parts of a response, whole or as its events."""
    ident = hashlib.blake2b(asked, digest_size=8).hexdigest()
    part = {"type": "output_text", "text": text, "annotations": []}
    message = {"type": "message", "id": f"msg_{ident}", "role": "assistant", "status": "completed", "content": [part]}
    cut = finish == "length"
    whole = {
        "id": f"resp_{ident}",
        "object": "response",
        "created_at": 0,
        "model": body["model"],
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "output": [message],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": usage["prompt_tokens"],
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": usage["completion_tokens"],
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage["total_tokens"],
        },
    }
    if not body.get("stream"):
        return 200, "application/json", [encode(whole)]
    place = {"item_id": message["id"], "output_index": 0, "content_index": 0}
    begun = {**whole, "status": "in_progress", "incomplete_details": None, "output": [], "usage": None}
    item, empty = {"output_index": 0}, {**part, "text": ""}
    words = [{"type": "response.output_text.delta", "delta": word, "logprobs": []} for word in re.findall(WORDS, text)]
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "item": {**message, "status": "in_progress", "content": []}, **item},
        {"type": "response.content_part.added", "part": empty, **place},
        *({**word, **place} for word in words),
        {"type": "response.output_text.done", "text": text, "logprobs": [], **place},
        {"type": "response.content_part.done", "part": part, **place},
        {"type": "response.output_item.done", "item": message, **item},
        {"type": f"response.{whole['status']}", "response": whole},
    ]
    parts = [
        f"event: {event['type']}\n".encode() + b"data: " + encode({**event, "sequence_number": i}) + b"\n\n"
        for i, event in enumerate(events)
    ]
    return 200, "text/event-stream; charset=utf-8", parts


def vector(text: Any) -> list[float]:
    """Eight numbers, the same for the same text."""
    return [byte / 255 for byte in hashlib.blake2b(str(text).encode(errors="replace"), digest_size=8).digest()]


def refusal(status: int, message: str, code: str | None) -> DemoReply:
    """An error as a provider words it."""
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return DemoReply(status, "application/json", [encode({"error": error})])


def encode(value: Any) -> bytes:
    """Compact JSON, escaped to ASCII: a lone surrogate that came in can go out."""
    return json.dumps(value, separators=(",", ":")).encode()


def build(_: Endpoint, meter: Meter) -> Upstream:
    """The demo upstream, billing by `meter`."""
    return Demo(meter)
