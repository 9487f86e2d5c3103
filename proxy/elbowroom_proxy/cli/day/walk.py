"""The demo day, step by step: a proxy of its own whose clock is the day's, asked over real sockets.

Knows: how a step is carried out, that the clock stands still while it is, and how a client leaves half-way.
Does not know: what is asked (`plan`), what lies in the folder (`store`), or what is told of it afterwards.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

import httpx
from msgspec import Struct

from elbowroom_proxy import serving as service
from elbowroom_proxy import settings
from elbowroom_proxy.answering import Till
from elbowroom_proxy.cli.day import store, upstream
from elbowroom_proxy.cli.day.plan import Ask, Day, Turn
from elbowroom_proxy.cli.demo import PATIENCE, serving, trace
from elbowroom_proxy.settings import Settings
from elbowroom_proxy.tokens import Tokens
from elbowroom_proxy.vocabularies import Vocabularies


class Done(Struct, frozen=True):
    """A request that was answered, refused or left."""

    ask: Ask
    status: int
    trace_id: str


class Clock:
    """It shows what it was set to."""

    def __init__(self) -> None:
        self.at = 0.0  # seconds since 1970

    def __call__(self) -> float:
        return self.at


def walk(folder: Path, day: Day, keys: Mapping[str, str]) -> list[Done]:
    """Each request of the day, in order; all traces are written when it returns."""
    service.log_to_stderr(logging.CRITICAL)  # refusals and failures are meant
    with serving(upstream.server(day.scripts, meter(store.configure(folder, "http://127.0.0.1:9")))) as address:
        configured = settings.load(store.configure(folder, address), environ={})
        clock = Clock()
        clock.at = day.steps[0].at
        made = service.server(configured, "127.0.0.1", 0, clock)
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        done: list[Done] = []
        with serving(made) as proxy, httpx.Client(base_url=proxy, timeout=PATIENCE, trust_env=False) as client:
            for step in day.steps:
                clock.at = step.at
                if isinstance(step, Turn):
                    _turn(client, step, keys["operator"])
                else:
                    done.append(_asked(client, step, keys[step.key], Path(configured.general.traces)))
    return done


def meter(file: Path) -> Till:
    """Bills as the proxy counts."""
    configured: Settings = settings.load(file, environ={})
    tokens = Tokens(Vocabularies(), secret=settings.keys(configured.general).counts)
    counters = {model.upstream_model: configured.counters[model.name] for model in configured.catalog.models}
    return Till(counters, tokens.count)


def _turn(client: httpx.Client, turn: Turn, key: str) -> None:
    answer = client.post("/admin/kill", json={"on": turn.on, "reason": turn.reason}, headers=_as(key))
    answer.raise_for_status()


def _asked(client: httpx.Client, ask: Ask, key: str, traces: Path) -> Done:
    """Returns when its record is written, so that what it came to is known before the clock goes on."""
    headers = {**_as(key), "content-type": "application/json", **ask.headers}
    with client.stream("POST", "/v1/chat/completions", content=ask.body, headers=headers) as answer:
        if ask.leaves:
            next(answer.iter_raw())
        else:
            answer.read()
    trace_id = answer.headers["x-elbowroom-trace-id"]
    trace(traces, trace_id)
    return Done(ask, answer.status_code, trace_id)


def _as(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}
