"""The desk's door: who comes in, who is sent to the login, and what no other site's page can do."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
from starlette.requests import Request

from elbowroom.records import Principal
from elbowroom_proxy.routes import door
from tests.desk import KEY, Open, RunningDesk, SomeKeys, unread
from tests.upstream import WAIT

AUDITOR = Principal("ann", role="auditor", keyed=True)
PAGES = ("/ui", "/ui/overview", "/ui/sweep", "/ui/traces/" + "a" * 32, "/ui/anything")


def client(desk: RunningDesk, **headers: str) -> httpx.Client:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Client(base_url=desk.url, headers={"origin": desk.url, **named}, timeout=WAIT)


def keys(**more: Principal) -> SomeKeys:
    return SomeKeys(**{KEY: AUDITOR, **more})


def log_in(browser: httpx.Client, key: str = KEY, **more: str) -> httpx.Response:
    return browser.post("/ui/login", data={"key": key, **more})


def form_token(browser: httpx.Client) -> str:
    found = re.search(r'name="token" value="([0-9a-f]+)"', browser.get("/ui").text)
    assert found
    return found[1]


def test_every_page_wants_a_login_and_says_where_it_was_to_lead(running_desk: Open):
    with client(running_desk(keys())) as browser:
        for path in (*PAGES, "/ui/sweep.svg"):
            answer = browser.get(path)
            assert answer.status_code == 303, path
            assert answer.headers["location"] == f"/ui/login?next={path}"
            assert answer.content == b""
        assert (
            browser.get("/ui?tenant=a%26b&x=1").headers["location"] == "/ui/login?next=/ui%3Ftenant%3Da%2526b%26x%3D1"
        )
        assert browser.get("/ui/login?next=/ui/overview").status_code == 200


def test_a_key_opens_and_the_cookie_is_for_this_browser_alone(running_desk: Open):
    with client(running_desk(keys())) as browser:
        answer = log_in(browser, next="/ui?tenant=a%26b")
        assert (answer.status_code, answer.headers["location"]) == (303, "/ui?tenant=a%26b")
        said = answer.headers["set-cookie"]
        for word in ("HttpOnly", "SameSite=strict", "Path=/ui", "Max-Age=28800"):
            assert word in said
        assert "Secure" not in said
        assert KEY not in said
        assert browser.get("/ui").status_code == 200


def test_over_https_the_cookie_goes_no_other_way(running_desk: Open):
    # A proxy in front that ends TLS says so in a header; uvicorn believes it from this machine.
    with client(running_desk(keys()), x_forwarded_proto="https") as browser:
        said = log_in(browser).headers["set-cookie"]
        assert said.startswith("__Host-elbowroom_desk=")
        assert "Path=/;" in said
        assert "Secure" in said


@pytest.mark.parametrize(
    ("key", "status", "says"),
    [
        ("nobodys", 401, "That key is not valid."),
        ("", 401, "That key is not valid."),
        ("user-key", 403, "it needs the role auditor or admin"),
    ],
)
def test_who_is_refused_is_told_and_nothing_is_repeated(running_desk: Open, key, status, says):
    with client(running_desk(keys(user_key=Principal("bot", keyed=True)))) as browser:
        answer = log_in(browser, key)
        assert answer.status_code == status
        assert says in answer.text
        assert "set-cookie" not in answer.headers
        assert not key or key not in answer.text


@pytest.mark.parametrize(
    "place",
    ["https://evil.example/", "//evil.example", "/\\evil.example", "/uix", "/ui/\r\nset-cookie: x=1", "", "/ui/\u202e"],
)
def test_the_login_leads_to_no_other_site(running_desk: Open, place):
    with client(running_desk(keys())) as browser:
        assert log_in(browser, next=place).headers["location"] == "/ui"
        assert 'name="next" value="/ui"' in browser.get("/ui/login", params={"next": place}).text


def test_it_expires(running_desk: Open):
    desk = running_desk(keys())
    with client(desk) as browser:
        log_in(browser)
        desk.now += 8 * 3600 - 1
        assert browser.get("/ui").status_code == 200
        desk.now += 2
        assert browser.get("/ui").status_code == 303


def test_a_key_that_is_blocked_is_logged_out_at_once(running_desk: Open):
    held = keys()
    with client(running_desk(held)) as browser:
        log_in(browser)
        assert browser.get("/ui").status_code == 200
        held.principals.clear()
        assert browser.get("/ui").status_code == 303


def test_logging_out_ends_the_session_for_who_copied_it_too(running_desk: Open):
    with client(running_desk(keys())) as browser:
        log_in(browser)
        copied = dict(browser.cookies)
        answer = browser.post("/ui/logout", data={"token": form_token(browser)})
        assert (answer.status_code, answer.headers["location"]) == (303, "/ui/login")
        assert not dict(browser.cookies)
        browser.cookies.update(copied)
        assert browser.get("/ui").status_code == 303


def test_another_sites_page_can_neither_log_in_nor_out(running_desk: Open):
    desk = running_desk(keys())
    with client(desk) as browser:
        log_in(browser)
        token = form_token(browser)
        for headers in ({"origin": "https://evil.example"}, {"origin": "null"}, {"origin": f"{desk.url}.evil.example"}):
            for path, said in (("/ui/login", {"key": KEY}), ("/ui/logout", {"token": token})):
                answer = browser.post(path, data=said, headers=headers)
                assert answer.status_code == 403
                assert "set-cookie" not in answer.headers
        for said in ({"other": "x"}, {"token": ""}, {"token": "0" * 64}):
            assert browser.post("/ui/logout", data=said).status_code == 403
        assert browser.get("/ui").status_code == 200


def test_a_browser_that_sends_no_origin_says_where_from_otherwise(running_desk: Open):
    desk = running_desk(keys())
    with httpx.Client(base_url=desk.url, timeout=WAIT) as browser:
        assert log_in(browser).status_code == 403
        browser.headers["sec-fetch-site"] = "cross-site"
        assert log_in(browser).status_code == 403
        browser.headers["sec-fetch-site"] = "same-origin"
        assert log_in(browser).status_code == 303


def test_a_session_that_ended_before_a_form_was_sent(running_desk: Open):
    with client(running_desk(keys())) as browser:
        answer = browser.post("/ui/logout", data={"token": ""})
        assert answer.status_code == 401
        assert "log in and try again" in answer.text


def test_forms_that_are_none_are_refused(running_desk: Open):
    with client(running_desk(keys())) as browser:
        urlencoded = {"content-type": "application/x-www-form-urlencoded"}
        for status, content, headers in (
            (400, b"{}", {"content-type": "application/json"}),
            (400, b"key=\xff", urlencoded),
            (400, b"key=%ff", urlencoded),
            (400, b"&".join(b"a%d=1" % n for n in range(50)), urlencoded),
            (413, b"key=" + b"x" * 5000, urlencoded),
        ):
            assert browser.post("/ui/login", content=content, headers=headers).status_code == status


def test_open_it_is_this_machines_alone(running_desk: Open):
    desk = running_desk()
    desk.write([unread("a" * 32)])
    with client(desk) as browser:
        for path in PAGES[:4]:
            assert browser.get(path).status_code == 200, path
        assert browser.get("/ui/login?next=/ui/overview").headers["location"] == "/ui/overview"
        assert "log out" not in browser.get("/ui").text.lower()
        for headers in (
            {"host": "rebound.example"},
            {"origin": "https://evil.example"},
            {"host": "10.0.0.5:8080"},
            {"x-forwarded-for": "203.0.113.9"},  # somebody elsewhere, behind a proxy on this machine
        ):
            answer = browser.get("/ui", headers=headers)
            assert answer.status_code == 403, headers
            assert "a" * 32 not in answer.text
        localhost = {"host": "localhost:1", "origin": "http://localhost:1"}
        assert browser.get("/ui", headers=localhost).status_code == 200


def test_every_answer_forbids_what_a_page_does_not_need(running_desk: Open):
    desk = running_desk(keys())
    with client(desk) as browser:
        stylesheet = re.search(r'href="(/ui/static/[^"]+)"', browser.get("/ui/login").text)
        assert stylesheet
        login = log_in(browser)
        answers: list[Any] = [browser.get(path) for path in (*PAGES, "/ui/login", "/ui/sweep.svg")]
        for answer in [login, *answers]:
            assert answer.headers["content-security-policy"].startswith("default-src 'none'; style-src 'self'; ")
            assert "script" not in answer.headers["content-security-policy"]
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["cache-control"] == "no-store"
            assert answer.headers["referrer-policy"] == "same-origin"
        style = browser.get(stylesheet[1])
        assert style.headers["content-type"] == "text/css; charset=utf-8"
        assert "immutable" in style.headers["cache-control"]


def request(**headers: str) -> Request:
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": "GET", "scheme": "http", "path": "/ui", "headers": encoded})


async def test_an_error_that_has_no_title_of_its_own_has_one():
    from elbowroom.errors import UpstreamTimeout

    async def work() -> Any:
        raise UpstreamTimeout("late")

    answer = await door.guarded(request(), work)
    assert answer.status_code == 504
    assert b"That went wrong" in answer.body
