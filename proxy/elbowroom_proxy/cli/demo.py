"""`elbowroom demo`: a proxy of its own on a free loopback port, the sample requests, and what became of each.

Knows: how a client asks over HTTP, streamed or not, where the trace of its request is kept, and what is shown of both.
Does not know: anything a client and a reader of traces could not know: what is printed came over the socket or from
the trace folder.
"""

from __future__ import annotations

import json
import logging
import statistics
import sys
import threading
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from msgspec import Struct, structs

from elbowroom_proxy import serving as service
from elbowroom_proxy import settings
from elbowroom_proxy.cli import before_after, render
from elbowroom_proxy.cli.samples import Sample, samples
from elbowroom_proxy.directory import Directory
from elbowroom_proxy.settings import Settings
from elbowroom_proxy.sinks import read

PATIENCE = 30.0  # seconds for the proxy to start, for an answer, for a trace to reach its file
RULE = 78  # cells


class Answer(Struct, frozen=True):
    """What a client sees of an answer."""

    status: int
    trace_id: str
    text: str
    annotations: tuple[Mapping[str, Any], ...] = ()


def arguments(parser: ArgumentParser) -> None:
    """Adds the one option."""
    parser.add_argument("--before-after", action="store_true", help="show what is sent of twelve chunks, and what was")


def run(args: Namespace) -> int:
    """0: every request was answered, and billed as counted. At a terminal it goes on serving until Ctrl-C."""
    if args.before_after:
        return before_after.run()
    configured = built_in()
    folder = Path(configured.general.traces)
    windows = {model.name: model.context_window for model in configured.catalog.models}
    todo = samples()
    service.log_to_stderr(logging.WARNING)
    server = service.server(configured, "127.0.0.1", 0)
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    with serving(server) as address:
        stories: list[dict[str, Any]] = []
        with httpx.Client(base_url=address, timeout=PATIENCE) as client:
            for number, sample in enumerate(todo, start=1):
                answer = ask(client, sample.body)
                story = trace(folder, answer.trace_id)
                print(title(f"{number} of {len(todo)}  {sample.name}"))
                print(*told(sample, answer, story, windows[sample.body["model"]]), "", sep="\n")
                stories.append(story)
        status = summary(stories, folder)
        if sys.stdout.isatty():
            print(f"\nStill serving. Point a client at it: base_url={address}/v1, any key. Ctrl-C ends it.", flush=True)
            wait()
    return status


def built_in() -> Settings:
    """The defaults, whatever this machine's environment says and whatever keys its operator has made."""
    return structs.replace(settings.load(environ={}), directory=Directory(), keys_file=None)


@contextmanager
def serving(server: uvicorn.Server) -> Iterator[str]:
    """Runs the server in a thread of this process; its address. Ended, and all traces written, afterwards."""
    thread = threading.Thread(target=server.run, name="elbowroom-demo")
    thread.start()
    try:
        deadline = time.monotonic() + PATIENCE
        while not server.started and thread.is_alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        if not server.started:
            raise SystemExit("the proxy did not start")
        host, port = server.servers[0].sockets[0].getsockname()
        yield f"http://{host}:{port}"
    finally:
        server.should_exit = True
        thread.join()


def ask(client: httpx.Client, body: Mapping[str, Any]) -> Answer:
    """One request, as any OpenAI client makes it."""
    with client.stream("POST", "/v1/chat/completions", json=body) as response:
        content = response.read().decode()
        trace_id = response.headers.get("x-elbowroom-trace-id", "")
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            events = [line.removeprefix("data: ") for line in content.splitlines() if line.startswith("data: {")]
            said = [choice["delta"] for event in events for choice in json.loads(event).get("choices", ())]
        elif response.is_success:
            said = [choice["message"] for choice in json.loads(content)["choices"]]
        else:
            return Answer(response.status_code, trace_id, content)
    text = "".join(one.get("content") or "" for one in said)
    annotations = tuple(note["url_citation"] for one in said for note in one.get("annotations") or ())
    return Answer(response.status_code, trace_id, text, annotations)


def trace(folder: Path, trace_id: str) -> dict[str, Any]:
    """The record of an answered request, as soon as it is in its file."""
    deadline = time.monotonic() + PATIENCE
    while (story := read.find(folder, trace_id)) is None:
        if time.monotonic() > deadline:
            raise SystemExit(f"no trace {trace_id} in {folder}")
        time.sleep(0.005)
    return story


def told(sample: Sample, answer: Answer, story: Mapping[str, Any], context_window: int) -> Iterator[str]:
    """What is shown of one request and its answer."""
    question = next(one["content"] for one in reversed(sample.body["messages"]) if one["role"] == "user")
    yield sample.look
    yield ""
    yield render.line("question", render.printable(question))
    yield from render.decision(story, context_window=context_window)
    yield render.line("tokens", render.tokens(story))
    if "overhead" in story["timings_ms"]:  # not where it was refused
        yield render.line("overhead", f"{story['timings_ms']['overhead']:.1f} ms")
    for name, text in zip(("answer", *[""] * answer.text.count("\n")), answer.text.split("\n"), strict=True):
        yield render.line(name, render.printable(text))
    for source in dict.fromkeys(f"{one['title']}  {one['url']}" for one in answer.annotations):
        yield render.line("cites", render.printable(source))
    yield render.line("trace", answer.trace_id)


def summary(stories: list[dict[str, Any]], folder: Path) -> int:
    """The last line, and the exit status."""
    answered = sum(story["status"] == 200 for story in stories)
    exact = sum(story["count_error"] == 0 for story in stories)
    overhead = [story["timings_ms"].get("overhead", 0.0) for story in stories]
    print(title("together"))
    print(
        f"{len(stories)} requests: {answered} answered, {exact} billed exactly as counted; "
        f"overhead {statistics.median(overhead):.1f} ms in the middle, {max(overhead):.1f} ms at most."
    )
    print(f"The traces are in {folder}: elbowroom traces list, elbowroom traces show ID")
    return 0 if answered == exact == len(stories) else 1


def title(text: str) -> str:
    """A rule with words in it."""
    return f"── {text} ".ljust(RULE - (render.width(text) - len(text)), "─")


def wait() -> None:
    """Until Ctrl-C. In steps: one that comes just before the system is asked to wait is heard after the step."""
    try:
        while True:
            time.sleep(1)
    except KeyboardInterrupt:
        print()
