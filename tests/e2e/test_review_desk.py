"""The review desk in a real browser: hostile words do nothing, everybody can use it, who is out is out."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from elbowroom.records import Principal
from tests import holders
from tests.browser import DESKTOP, PHONE, Browser
from tests.desk import KEY, Open, RunningDesk, SomeKeys, unread
from tests.proxy import Run, config, wait_until
from tests.upstream import WAIT

AUDITOR = Principal("ann", role="auditor", keyed=True)
PLAIN, LOUD, UNREAD = "1" * 32, "2" * 32, "3" * 32
# Each would put `owned` into the title, if it was ever more than text.
OWN = "document.title='owned'"
HOSTILE = (
    f"<script>{OWN}</script>",
    f'<img src=x onerror="{OWN}">',
    f"\"'><svg/onload={OWN}>",
    f"' autofocus onfocus='{OWN}' x='",
    f"javascript:{OWN}//",
    f"</textarea></pre></title><script>{OWN}</script>",
    "{{ 7 * 7 }}{% for x in y %}",
    "</style><style>body{display:none}</style>",
    "\u202egpj.exe\u2066\u200f",
    "\x00\x1b[2J\x07",
    "שלום עולם مرحبا",
    "保修条款（二〇二六年）第三节",
    "W" * 256,
    "&lt;b&gt; &amp;#60;",
)
BODY: dict[str, Any] = {
    "model": "demo-small",
    "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How loud is the FH-300?"}],
    "documents": [
        {"id": f"{text[:250]}{n}", "text": f"{text} number {n}: the FH-300 is heard with {30 + n} dB. {text}",
         "title": text, "version": text[:60], "source_id": text, "score": 0.9 - n / 50}
        for n, text in enumerate(HOSTILE)
    ],
}  # fmt: skip
AMOUNTS = {"tokens": 900, "micro_usd": 1200, "rate_tokens": 900}


def loud(desk: RunningDesk) -> dict[str, Any]:
    """A record with a hostile word wherever a client, a document or a model has one to say."""
    script = HOSTILE[0]
    told = desk.decided(json.dumps(BODY).encode(), LOUD)
    told |= {
        name: HOSTILE[at % len(HOSTILE)]
        for at, name in enumerate(
            (
                "subject",
                "tenant",
                "conversation_id",
                "client_request_id",
                "request_id",
                "finish_reason",
                "lacks",
                "fallback",
            )
        )
    }
    return told | {
        "error": {"code": script, "message": HOSTILE[2], "param": script},
        "cited": {"verified": ["S1"], "invented": list(HOSTILE), "uncited": []},
        "notes": list(HOSTILE),
        "tools_removed": [script],
        "tools": {"requested": [script], "admitted": [], "removed": [{"name": HOSTILE[1], "by": ["policy"]}]},
        "tool_results": [
            {"message": 3, "tool": HOSTILE[1], "bytes_before": 90, "bytes_after": 40, "rows_before": 9, "rows_after": 4,
             "capped": True, "withheld": HOSTILE[2]}
        ],
        "results_since": [
            {"message": 3, "tool": HOSTILE[1], "digest": "d", "bytes": 90, "followed_by": list(HOSTILE[:2]),
             "answer": True}
        ],
        "instructions": [{"message": 0, "role": "system", "digest": script, "bytes": 9}],
        "asides": [
            {"purpose": "rerank", "by": script, "ms": 3.0, "failed": HOSTILE[1], "micro_usd": 3, "cached": True}
        ],
        "hold": {"state": "denied", "amounts": AMOUNTS, "refused": list(HOSTILE[:3])},
        "settlement": {"by": "usage", "state": "settled", "amounts": AMOUNTS, "overrun": AMOUNTS},
        "degradations": [script],
        "calls_refused": 2,
        "hash_key_id": "1",
    }  # fmt: skip


def filled(run: Open, held: SomeKeys | None = None) -> RunningDesk:
    kept = {"body": BODY, "headers": {}, "answer": " ".join(HOSTILE), "redacted": False}
    desk = run(held, {LOUD: kept})
    desk.write([
        unread(UNREAD, error={"code": HOSTILE[1], "message": HOSTILE[0]}, model=HOSTILE[2], query_class=HOSTILE[3]),
        desk.decided(json.dumps({**BODY, "documents": BODY["documents"][-3:]}).encode(), PLAIN),
        loud(desk),
    ])  # fmt: skip
    desk.sweep.mkdir()
    (desk.sweep / "sweep.md").write_text(f"| top-k | recall |\n|--|--|\n| 8 | {HOSTILE[0]} |\n{HOSTILE[1]}")
    (desk.sweep / "sweep.svg").write_text(
        f"<svg xmlns='http://www.w3.org/2000/svg' width='760' height='440'><script>{OWN}</script></svg>"
    )
    return desk


@pytest.fixture
def desk(running_desk: Open) -> RunningDesk:
    return filled(running_desk)


def pages() -> tuple[str, ...]:
    return (
        "/ui",
        "/ui?conversation=%3Cscript%3E&tenant=%22%3E%3Cimg&reason=duplicate",
        f"/ui/traces/{PLAIN}",
        f"/ui/traces/{LOUD}",
        f"/ui/traces/{UNREAD}",
        "/ui/overview",
        "/ui/sweep",
        "/ui/traces/%3Cscript%3E",
    )


def find(browser: Browser, css: str) -> WebElement:
    return browser.driver.find_element(By.CSS_SELECTOR, css)


def type_key(browser: Browser, key: str) -> None:
    find(browser, "#key").send_keys(key)
    browser.follow(find(browser, "form button"))


def log_in(browser: Browser, desk: RunningDesk, key: str = KEY, at: str = "/ui") -> None:
    browser.driver.get(desk.url + at)
    type_key(browser, key)


def test_hostile_words_are_words_and_nothing_else(browser, desk):
    for path in pages():
        browser.driver.get(desk.url + path)
        for summary in browser.driver.find_elements(By.TAG_NAME, "summary"):
            summary.click()
        assert browser.driver.title.endswith("elbowroom"), path
        assert find(browser, "footer").is_displayed(), path
        assert browser.driver.find_elements(By.TAG_NAME, "script") == []
        assert (
            browser.driver.find_elements(By.CSS_SELECTOR, "main img:not(.curve), iframe, object, [onerror], [style]")
            == []
        )
        # A refused script or style would be in the log; a page that is not there is there as well.
        refused = [one for one in browser.complaints() if "404" not in one]
        assert refused == [], path
    assert "owned" not in browser.driver.title


def test_they_stand_on_the_page_as_they_are_with_what_is_invisible_shown(browser, desk):
    browser.driver.get(f"{desk.url}/ui/traces/{LOUD}")
    shown = find(browser, "main").text
    for text in (
        HOSTILE[0],
        HOSTILE[1],
        HOSTILE[6],
        "\\u202egpj.exe\\u2066\\u200f",
        "\\x00\\x1b[2J\\x07",
        HOSTILE[10],
        HOSTILE[11],
    ):
        assert text in shown


def test_a_replay_of_hostile_words_is_no_less_harmless(browser, desk):
    browser.driver.get(f"{desk.url}/ui/traces/{LOUD}")
    browser.follow(find(browser, "form[action$='#replay'] button.main"))
    assert "fare as before" in find(browser, "section[aria-labelledby='replay']").text
    browser.driver.get(f"{desk.url}/ui/traces/{PLAIN}")
    find(browser, "section[aria-labelledby='replay'] summary").click()
    find(browser, "#body").send_keys(HOSTILE[5])
    browser.follow(find(browser, "details[open] > form button"))
    assert find(browser, "#body").get_attribute("value") == HOSTILE[5]
    assert browser.driver.title == "Trace 11111111 · elbowroom"
    assert browser.complaints() == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_serious(browser, desk, dark):
    browser.as_wide_as(DESKTOP, dark=dark)
    for path in pages():
        browser.driver.get(desk.url + path)
        for summary in browser.driver.find_elements(By.TAG_NAME, "summary"):
            summary.click()
        assert browser.findings() == [], path


def test_axe_finds_what_is_wrong(browser, desk):
    browser.driver.get(f"{desk.url}/ui")
    browser.driver.execute_script("document.querySelector('label[for=f-tenant]').remove()")
    assert any(one.startswith("label") for one in browser.findings())


@pytest.mark.parametrize("width", [PHONE[0], 390])
def test_no_page_is_wider_than_its_window(browser, desk, width):
    browser.as_wide_as((width, 700))
    for path in pages():
        browser.driver.get(desk.url + path)
        for summary in browser.driver.find_elements(By.TAG_NAME, "summary"):
            summary.click()
        assert browser.wider_than_its_window() <= 0, path


def test_the_four_questions_are_above_the_fold(browser, desk):
    browser.driver.get(f"{desk.url}/ui/traces/{PLAIN}")
    for question in ("q1", "q2", "q3", "q4"):
        place = find(browser, f"#{question}").rect
        assert place["y"] + place["height"] < DESKTOP[1] / 2
    bottom = max(
        one.rect["y"] + one.rect["height"] for one in browser.driver.find_elements(By.CSS_SELECTOR, ".questions > *")
    )
    assert bottom < DESKTOP[1]


def test_without_a_mouse(browser, desk):
    browser.driver.get(f"{desk.url}/ui")
    keyboard = browser.driver.switch_to

    def press(key: str) -> WebElement:
        keyboard.active_element.send_keys(key)
        return keyboard.active_element

    first = press(Keys.TAB)
    assert first.text == "Skip to the content"
    assert first.rect["y"] >= 0  # it is seen once it has the focus
    assert press(Keys.ENTER).get_attribute("id") == "main"
    for _ in range(60):
        at = press(Keys.TAB)
        # Whatever has the focus shows it.
        assert at.value_of_css_property("outline-style") == "solid", at.get_attribute("outerHTML")
        if at.get_attribute("aria-label") == f"Trace {LOUD[:8]}":
            break
    browser.follow(keyboard.active_element, Keys.ENTER)
    assert browser.driver.current_url == f"{desk.url}/ui/traces/{LOUD}"
    browser.driver.get(f"{desk.url}/ui")
    browser.follow(find(browser, "#f-status"), "400", Keys.ENTER)
    assert "status=400" in browser.driver.current_url
    assert len(browser.driver.find_elements(By.CSS_SELECTOR, "tbody tr")) == 1


def test_logging_in_and_out(browser, running_desk):
    desk = filled(running_desk, SomeKeys(**{KEY: AUDITOR}))
    log_in(browser, desk, "nobodys", at=f"/ui/traces/{PLAIN}")
    assert "That key is not valid." in find(browser, "[role=alert]").text
    assert browser.findings() == []
    type_key(browser, KEY)
    assert browser.driver.current_url == f"{desk.url}/ui/traces/{PLAIN}"
    assert "ann · auditor" in find(browser, ".who").text
    (cookie,) = browser.driver.get_cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/ui")
    assert browser.findings() == []
    assert KEY not in browser.driver.page_source + browser.driver.current_url
    browser.follow(find(browser, ".who button"))
    assert browser.driver.current_url == f"{desk.url}/ui/login"
    assert browser.driver.get_cookies() == []
    browser.driver.add_cookie({"name": cookie["name"], "value": cookie["value"], "path": "/ui"})
    browser.driver.get(f"{desk.url}/ui")
    assert "/ui/login" in browser.driver.current_url


def test_a_session_ends_with_its_time_and_with_its_key(browser, running_desk):
    held = SomeKeys(**{KEY: AUDITOR})
    desk = filled(running_desk, held)
    log_in(browser, desk)
    desk.now += 8 * 3600 + 1
    browser.driver.get(f"{desk.url}/ui/overview")
    assert browser.driver.current_url == f"{desk.url}/ui/login?next=/ui/overview"
    type_key(browser, KEY)
    assert browser.driver.title.startswith("Overview")
    held.principals.clear()
    browser.driver.refresh()
    assert "/ui/login" in browser.driver.current_url


def test_a_replay_after_a_login(browser, running_desk):
    desk = filled(running_desk, SomeKeys(**{KEY: AUDITOR}))
    log_in(browser, desk, at=f"/ui/traces/{LOUD}")
    browser.follow(find(browser, "form[action$='#replay'] button.main"))
    assert "fare as before" in find(browser, "section[aria-labelledby='replay']").text


def test_a_whole_proxy_shows_what_it_has_just_answered(browser, running_proxy: Run, fake_upstream, tmp_path, capfd):
    asker, reader = "sk-eb-asker-0123456789", "sk-eb-reader-0123456789"
    rows = [holders.row("bot", asker), {**holders.row("ann", reader), "role": "auditor", "org": None, "team": None}]
    general: dict[str, Any] = holders.written(tmp_path, *rows)
    written = {**json.loads(config(fake_upstream, **general)), "traces": {"capture": "redacted"}}
    proxy = running_proxy(json.dumps(written))
    messages = [{"role": "system", "content": "Answer from the evidence."}, {"role": "user", "content": "How loud?"}]
    answer = httpx.post(
        f"{proxy.base_url}/chat/completions",
        json={"model": "fake", "messages": messages, "documents": ["It is heard with 41 dB."]},
        headers={"authorization": f"Bearer {asker}"},
        timeout=WAIT,
    )
    request_id = answer.headers["x-request-id"]
    proxy.trace()
    browser.driver.get(f"{proxy.url}/ui?id={request_id}")
    type_key(browser, asker)
    assert "it needs the role auditor or admin" in find(browser, "[role=alert]").text
    assert "403" in "".join(browser.complaints())
    type_key(browser, reader)

    def listed() -> bool:
        browser.driver.refresh()
        return bool(browser.driver.find_elements(By.CSS_SELECTOR, "tbody tr"))

    wait_until(listed)
    browser.follow(find(browser, "tbody th a"))
    assert request_id in find(browser, "main").text
    for summary in browser.driver.find_elements(By.TAG_NAME, "summary"):
        summary.click()
    assert "Answer from the evidence." in find(browser, "section[aria-labelledby=q1]").text
    assert "41 dB." in find(browser, "section[aria-labelledby=passages]").text
    assert "fine" in find(browser, "section[aria-labelledby=answer]").text
    assert browser.findings() == []
    browser.follow(find(browser, "form[action$='#replay'] button.main"))
    assert "the recorded decision came out again, exactly" in find(browser, "section[aria-labelledby=replay]").text
    assert browser.complaints() == []
    holders.written(tmp_path, rows[0], {**rows[1], "blocked": True})

    def out() -> bool:
        browser.driver.get(f"{proxy.url}/ui/overview")
        return "/ui/login" in browser.driver.current_url

    wait_until(out)
    printed = capfd.readouterr()
    kept = "".join(file.read_text("utf-8", "replace") for file in proxy.traces_folder.rglob("*.jsonl"))
    assert reader not in printed.out + printed.err + kept + httpx.get(f"{proxy.url}/metrics", timeout=WAIT).text


def test_a_tenants_auditor_sees_no_other_tenant(browser, running_desk):
    desk = filled(running_desk, SomeKeys(**{KEY: Principal("eve", "acme", role="auditor", keyed=True)}))
    desk.write([unread("4" * 32, tenant="acme")])
    log_in(browser, desk)
    assert [one.text for one in browser.driver.find_elements(By.CSS_SELECTOR, "tbody th a")] == ["44444444"]
    assert find(browser, "#f-tenant").get_attribute("value") == "acme"
    browser.driver.get(f"{desk.url}/ui/traces/{PLAIN}")
    assert "There is no trace with that id." in find(browser, "main").text
    browser.driver.get(f"{desk.url}/ui/overview")
    assert "demo-small" not in find(browser, "main").text
