"""What a refusal costs beside an answer: `python -m bench.refusals`.

The same tagged request by three keys: one with room, one whose hold does not fit, one that has nothing left; 16 callers
at once. Processor time of the served process for each, in ms and as a share of an admitted request, in the middle of
several rounds; a share is of what was measured next to it, since the machine may be faster a minute later. What is
cheap is asked so much more often that each kind is looked at about as long. What is written and indexed later is waited
for, so that it is counted where it belongs; what the process takes when nobody asks it anything is taken off. A
framework that takes a 429 for something to try again sends it up to 12 times, so what is refused before anything is
parsed should cost less than a tenth; the command fails where it does not. Linux only: the time is read from /proc. On a
machine that is busy otherwise the shares come closer to each other.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from tests.servers import Elbowroom
from tests.upstream import Answer, FakeUpstream, Seen, answer_json, completion

ROUNDS, CALLERS, DOCUMENTS = 7, 16, 30
BAR = 0.1
QUIET = 1.5  # seconds after which all that was asked is written and indexed
KEYS = {"admitted": "sk-eb-bench-0", "refused by the hold": "sk-eb-bench-1", "refused before parsing": "sk-eb-bench-2"}
REQUESTS = {"admitted": 160, "refused by the hold": 160, "refused before parsing": 1600}
TEAMS = {"admitted": 10**12, "refused by the hold": 500, "refused before parsing": 0}
SENTENCE = "Section {0} says that order {1} of the {2}th customer is refunded within {3} days where the seal is whole."


class Billing(FakeUpstream):
    """Bills what the proxy counts: a bill that differs is warned of, which would make an admitted request dearer."""

    prompt_tokens = 7

    def next_answer(self, seen: Seen) -> Answer:  # noqa: ARG002 -- whatever was asked
        return answer_json(completion(prompt_tokens=self.prompt_tokens))


def body() -> bytes:
    """A question and passages that are all different."""
    texts = [" ".join(SENTENCE.format(i, i * 31 + j, j * 7 + i, i + j) for j in range(12)) for i in range(DOCUMENTS)]
    documents = [{"id": f"d{i}", "text": text, "score": 1 - i / DOCUMENTS} for i, text in enumerate(texts)]
    messages = [{"role": "user", "content": "Within how many days is order 217 of the 9th customer refunded?"}]
    return json.dumps({"model": "m", "messages": messages, "documents": documents, "max_tokens": 300}).encode()


def configured(folder: Path, upstream: str) -> Path:
    """A model at that upstream, and a team for each key."""
    teams = [{"name": f"t{i}", "max_tokens": most} for i, most in enumerate(TEAMS.values())]
    rows = [
        {
            "name": f"k{i}",
            "org": "o",
            "team": f"t{i}",
            "secrets": [{"sha256": hashlib.sha256(key.encode()).hexdigest()}],
        }
        for i, key in enumerate(KEYS.values())
    ]
    model: dict[str, Any] = {
        "model_name": "m",
        "litellm_params": {"model": "openai/gpt-4o", "api_base": upstream, "api_key": "none"},
    }
    general = {"secret": "a secret of the benchmark", "traces": str(folder / "traces"), "ledger": {"volatile": True}}
    (folder / "orgs.yaml").write_text(json.dumps({"orgs": [{"name": "o", "teams": teams}]}))
    (folder / "keys.yaml").write_text(json.dumps({"version": 1, "keys": rows}))
    file = folder / "elbowroom.yaml"
    file.write_text(json.dumps({"model_list": [model], "general_settings": general}))
    return file


def processor_time(pid: int) -> float:
    """Seconds that all threads of the process have run."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


async def cost(
    client: httpx.AsyncClient, pid: int, url: str, what: str, content: bytes, idle: float
) -> tuple[float, set[int]]:
    """Seconds a request, and the statuses."""
    requests = REQUESTS[what]
    headers = {"authorization": f"Bearer {KEYS[what]}", "content-type": "application/json"}
    statuses: set[int] = set()

    async def caller() -> None:
        for _ in range(requests // CALLERS):
            statuses.add((await client.post(url, content=content, headers=headers)).status_code)

    begin, at = processor_time(pid), time.monotonic()
    await asyncio.gather(*(caller() for _ in range(CALLERS)))
    await asyncio.sleep(QUIET)
    took = processor_time(pid) - begin - idle * (time.monotonic() - at)
    return took / requests, statuses


async def idling(pid: int) -> float:
    """Seconds of processor time a second, when nobody asks anything."""
    await asyncio.sleep(QUIET)
    begin, at = processor_time(pid), time.monotonic()
    await asyncio.sleep(2 * QUIET)
    return (processor_time(pid) - begin) / (time.monotonic() - at)


async def measured() -> int:
    content = body()
    with tempfile.TemporaryDirectory() as name, Billing() as upstream:
        folder = Path(name)
        file = configured(folder, upstream.url)
        with Elbowroom(folder, "--config", str(file)) as served:
            url = f"{served.base_url}/chat/completions"
            took: list[dict[str, float]] = []
            async with httpx.AsyncClient(timeout=60) as client:
                admitted_key = {"authorization": f"Bearer {KEYS['admitted']}"}
                first = await client.post(url, content=content, headers=admitted_key)
                upstream.prompt_tokens = int(first.headers["x-elbowroom-prompt-tokens"])
                idle = await idling(served.pid)
                for _ in range(ROUNDS):
                    took.append({})
                    for what in KEYS:
                        took[-1][what], statuses = await cost(client, served.pid, url, what, content, idle)
                        assert statuses == {200 if what == "admitted" else 429}, statuses
    print(f"{len(content):,} bytes, {DOCUMENTS} documents", f"{'':<24}{'ms':>8}{'share':>8}", sep="\n")
    for what in KEYS:
        ms = 1000 * median(one[what] for one in took)
        print(f"{what:<24}{ms:>8.2f}{share(took, what):>8.3f}")
    return 0 if share(took, "refused before parsing") < BAR else 1


def share(took: Sequence[Mapping[str, float]], what: str) -> float:
    """Of an admitted request, in the middle of all rounds."""
    return median(one[what] / one["admitted"] for one in took)


if __name__ == "__main__":
    sys.exit(asyncio.run(measured()))
