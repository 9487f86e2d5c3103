"""`make screenshots`: asks a proxy of its own what the demo asks, and more, and takes pictures of its review desk;
then of one over what the demo day leaves.

Knows: which pages the pictures in docs/images show, and how their requests come about.
Does not know: how a page is made. The browser and the upstream are those of the tests.
"""

from __future__ import annotations

import datetime as dt
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
from selenium.webdriver.common.by import By

from elbowroom_proxy import settings
from elbowroom_proxy.cli.day import plan, store
from elbowroom_proxy.cli.day.walk import walk
from elbowroom_proxy.cli.demo import serving
from elbowroom_proxy.cli.samples import samples
from elbowroom_proxy.serving import log_to_stderr, server
from tests import holders
from tests.browser import Browser
from tests.proxy import RunningProxy, wait_until
from tests.upstream import FakeUpstream, answer_json, completion

ROOT = Path(__file__).parents[1]
INCIDENT, REPLAYED, AFTERNOON = (
    ROOT / "docs" / "images" / f"incident-{name}.png" for name in ("trace", "replay", "list")
)
DAY = dt.date(2026, 11, 2)
MENDED = "  - {id: intranet, authority: 0.3, freshness_days: 365}\n"  # as docs/incident-review.md has it
ASKER, READER = "sk-eb-asks-for-the-pictures", "sk-eb-reads-for-the-pictures"
LIST, TRACE, OVERVIEW, PHONE = (
    ROOT / "docs" / "images" / f"desk-{name}.png" for name in ("list", "trace", "overview", "phone")
)
STOCK = {"type": "function", "function": {"name": "stock", "parameters": {"type": "object"}}}
ORDER = {"type": "function", "function": {"name": "order", "parameters": {"type": "object"}}}


def configured(upstream: FakeUpstream, folder: Path) -> str:
    """The demo's models, with a price, and one whose answers are scripted."""
    demo = [
        {
            "model_name": name,
            "litellm_params": {"model": f"demo/{name}"},
            "model_info": {
                "context_window": window,
                "max_output_tokens": 2048,
                "family": "gpt-4o",
                "input_cost_per_token": 0.0000025,
                "output_cost_per_token": 0.0000125,
            },
        }
        for name, window in (("demo-small", 8192), ("demo-large", 128_000))
    ]
    scripted = {
        "model_name": "gpt-4o",
        "litellm_params": {"model": "openai/gpt-4o", "api_base": upstream.url, "api_key": "none"},
        "model_info": {"context_window": 8192, "max_output_tokens": 2048},
    }
    rows = [
        holders.row("helpline", ASKER),
        {**holders.row("reviewer", READER), "role": "auditor", "org": None, "team": None},
    ]
    general = holders.written(folder, *rows, max_tokens=60_000, max_budget=0.5, budget_duration="1d")
    (folder / "orgs.yaml").write_text(
        json.dumps({
            "orgs": [
                {"name": holders.ORG, "max_tokens": 40_000, "max_budget": 0.25, "budget_duration": "1d",
                 "teams": [{"name": holders.TEAM}]}
            ]
        })
    )  # fmt: skip
    return json.dumps({
        "model_list": [*demo, scripted],
        "traces": {"capture": "redacted"},
        "general_settings": {
            "secret": "a secret of the pictures, no more",
            "ledger": {"store": "memory", "volatile": True},
            **general,
        },
    })  # fmt: skip


def incident() -> dict[str, Any]:
    """A turn whose answer follows a tool's result, cites what nobody gave out, and had an old version before it."""
    call = {"id": "c1", "type": "function", "function": {"name": "stock", "arguments": '{"part": "M-7"}'}}
    rows = json.dumps([{"part": "M-7", "place": f"shelf {n}", "left": n % 3} for n in range(400)])
    price = "The fan motor M-7 costs {} EUR, and fits the FH-300 and the FH-200."
    return {
        "model": "gpt-4o",
        "messages": [
            {"role": "system", "content": "You advise installers. Answer from the evidence, and name it."},
            {"role": "user", "content": "What does the fan motor of the FH-300 cost, and is one left?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": rows},
        ],
        "tools": [STOCK, ORDER],
        "documents": [
            {"id": "prices-2024", "text": price.format(129), "version": "2024", "score": 0.93, "title": "Prices 2024"},
            {"id": "prices-2026", "text": price.format(164), "version": "2026", "score": 0.91, "title": "Prices 2026",
             "supersedes": ["prices-2024"]},
            {"id": "prices-copy", "text": price.format(164), "score": 0.88, "title": "Prices, from the newsletter"},
            {"id": "motor-zh", "text": "FH-300 的循环风机电机为 M-7，更换须由专业人员进行。", "score": 0.5,
             "title": "备件：M-7 电机"},
            {"id": "delivery", "text": "Parts leave the store within two days.", "score": 0.4, "title": "Delivery"},
        ],
        "context": {"conversation_id": "case-2041"},
    }  # fmt: skip


def ask(client: httpx.Client, body: dict[str, Any]) -> str:
    """The trace's id."""
    answer = client.post("/v1/chat/completions", json=body)
    return answer.headers["x-elbowroom-trace-id"]


def main() -> int:
    """0: the pictures lie in docs/images."""
    with TemporaryDirectory() as name:
        shoot_incident(Path(name))
    log_to_stderr()
    with TemporaryDirectory() as name, FakeUpstream() as upstream:
        folder = Path(name)
        upstream.answers(
            answer_json(
                completion(
                    "It costs 164 EUR [S1], and one is left [S4].",
                    prompt_tokens=4219,
                    tool_calls=[{"id": "c2", "type": "function", "function": {"name": "order", "arguments": "{}"}}],
                )
            )
        )
        with (
            RunningProxy(configured(upstream, folder), folder) as proxy,
            httpx.Client(base_url=proxy.url, headers={"authorization": f"Bearer {ASKER}"}, timeout=60) as client,
        ):
            for _ in range(2):
                for sample in samples():
                    ask(client, sample.body)
            client.post("/v1/chat/completions", json={"model": "nobody", "messages": []})
            trace = ask(client, incident())
            shoot(proxy.url, trace, folder)
    return 0


def shoot(url: str, trace: str, folder: Path) -> None:
    """The four pictures of docs/review-desk.md."""
    browser = Browser(folder / "profile")
    driver = browser.driver
    try:
        enter(browser, url, READER)
        find(browser, url, trace)
        for file, path, size, dark in (
            (LIST, "/ui", (1280, 860), False),
            (TRACE, f"/ui/traces/{trace}", (1280, 1160), False),
            (OVERVIEW, "/ui/overview", (1280, 1090), True),
            (PHONE, f"/ui/traces/{trace}", (390, 1000), False),
        ):
            browser.as_wide_as(size, dark=dark)
            driver.get(url + path)
            driver.save_screenshot(str(file))
    finally:
        browser.close()


def shoot_incident(folder: Path) -> None:
    """The three pictures of docs/incident-review.md."""
    day = folder / "day"
    keys = store.make(day)
    walk(day, plan.day(DAY, 1, 240), keys)
    with (day / "support" / "sources.yaml").open("a") as sources:
        sources.write(MENDED)
    log_to_stderr()
    browser = Browser(folder / "profile")
    driver = browser.driver
    try:
        with serving(server(settings.load(day / store.FILE, environ={}), "127.0.0.1", 0)) as url:
            enter(browser, url, keys["reviewer"])
            find(browser, url, "portal-1542")
            browser.as_wide_as((1280, 560), dark=False)
            driver.get(f"{url}/ui?team=support&since={DAY}T15:30&until={DAY}T16:00")
            driver.save_screenshot(str(AFTERNOON))
            browser.as_wide_as((1280, 700), dark=False)
            driver.get(f"{url}/ui/traces/portal-1542")
            driver.save_screenshot(str(INCIDENT))
            browser.follow(driver.find_element(By.CSS_SELECTOR, "form[action$='/replay#replay'] button"))
            driver.save_screenshot(str(REPLAYED))
    finally:
        browser.close()


def enter(browser: Browser, url: str, key: str) -> None:
    """Logs in."""
    browser.driver.get(f"{url}/ui")
    browser.driver.find_element(By.ID, "key").send_keys(key)
    browser.follow(browser.driver.find_element(By.CSS_SELECTOR, "form button"))


def find(browser: Browser, url: str, ident: str) -> None:
    """Returns as soon as the index has it."""

    def listed() -> bool:
        browser.driver.get(f"{url}/ui?id={ident}")
        return bool(browser.driver.find_elements(By.CSS_SELECTOR, "tbody tr"))

    wait_until(listed)


if __name__ == "__main__":
    sys.exit(main())
