"""The review desk's door: who is let in, how one logs in and out, and what every page's answer forbids a browser.

Knows: the session's cookie, that a form must come from a page of ours, and that without keys this machine alone is let
in.
Does not know: what a session is (`session`), who may read what (`readers`, `desk`), or what is on a page.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from fastapi import APIRouter, Request, Response
from msgspec import Struct

from elbowroom.errors import ElbowroomError, InvalidApiKey, InvalidRequest, OriginNotAllowed, RequestTooLarge
from elbowroom.records import Principal
from elbowroom_proxy.pages import templating
from elbowroom_proxy.principal import Identify
from elbowroom_proxy.readers import NOBODY_ELSE, check_own_machine
from elbowroom_proxy.session import Sessions

DESK = "/ui"
COOKIE, SECURE_COOKIE = "elbowroom_desk", "__Host-elbowroom_desk"
SAFE = {
    "content-security-policy": "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # With no-referrer a browser would send `Origin: null` with our own forms.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
KEPT_NOWHERE = {"cache-control": "no-store"}
TITLES = {
    400: "That cannot be asked",
    401: "Log in first",
    403: "Not allowed",
    404: "Not found",
    413: "Too large",
    503: "Not at the moment",
}


class Visitor(Struct, frozen=True):
    """Who reads a page."""

    reader: Principal
    form_token: str = ""  # what its forms must carry; empty where nobody logs in


class Door:
    """Lets readers in."""

    def __init__(self, identify: Identify, sessions: Sessions) -> None:
        self._identify = identify
        self._sessions = sessions

    async def open_to_all(self) -> bool:
        """Whether there are no keys."""
        try:
            return not (await self._identify({})).keyed
        except ElbowroomError:
            return False

    async def visitor(self, request: Request) -> Visitor:
        """Raises `InvalidApiKey` for whoever has to log in, `OriginNotAllowed` for who may not come here at all."""
        if await self.open_to_all():
            check_own_machine(request.headers, request.client)
            return Visitor(NOBODY_ELSE)
        cookie = request.cookies.get(_cookie(request))
        reader = self._sessions.reader(cookie)
        if reader is None or cookie is None:
            raise InvalidApiKey("Nobody is logged in here.")
        return Visitor(reader, self._sessions.form_token(cookie))

    async def form(self, request: Request, visitor: Visitor | None, most: int) -> dict[str, str]:
        """What a form of ours says, in `most` bytes. Raises `OriginNotAllowed` for any other's."""
        _check_own_form(request)
        said = await _form(request, most)
        cookie = request.cookies.get(_cookie(request))
        if visitor is not None and visitor.form_token and not self._sessions.is_own(cookie, said.get("token", "")):
            raise OriginNotAllowed("That form is of another session; load the page anew.")
        return said

    def routes(self) -> APIRouter:
        """Logging in and out."""
        router = APIRouter()
        sessions = self._sessions

        @router.get(f"{DESK}/login")
        async def ask(request: Request) -> Response:
            return await guarded(request, lambda: self._ask(_place(request.query_params.get("next"))))

        @router.post(f"{DESK}/login")
        async def begin(request: Request) -> Response:
            async def work() -> Response:
                said = await self.form(request, None, 4096)
                place = _place(said.get("next"))
                try:
                    cookie = sessions.begin(said.get("key", ""))
                except ElbowroomError as error:
                    return await self._ask(place, error)
                response = Response(status_code=303, headers={**SAFE, **KEPT_NOWHERE, "location": place})
                _set(request, response, cookie, round(sessions.lasts))
                return response

            return await guarded(request, work)

        @router.post(f"{DESK}/logout")
        async def end(request: Request) -> Response:
            async def work() -> Response:
                await self.form(request, await self.visitor(request), 4096)
                if cookie := request.cookies.get(_cookie(request)):
                    sessions.end(cookie)
                response = Response(status_code=303, headers={**SAFE, **KEPT_NOWHERE, "location": f"{DESK}/login"})
                _set(request, response, "", 0)
                return response

            return await guarded(request, work)

        return router

    async def _ask(self, place: str, refused: ElbowroomError | None = None) -> Response:
        if await self.open_to_all():
            return Response(status_code=303, headers={**SAFE, **KEPT_NOWHERE, "location": place})
        values = {
            "next": place,
            "refused": refused.message if refused is not None else "",
            "hours": f"{self._sessions.lasts / 3600:g}",
        }
        return html("login.html", values, refused.status_hint if refused is not None else 200)


async def guarded(request: Request, work: Callable[[], Awaitable[Response]]) -> Response:
    """What `work` answers; a page that says what was wrong, where something was; the login, where that is missing."""
    try:
        return await work()
    except InvalidApiKey:
        if request.method != "GET":
            return _problem(InvalidApiKey("The session has ended; log in and try again."))
        place = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return Response(
            status_code=303, headers={**SAFE, **KEPT_NOWHERE, "location": f"{DESK}/login?next={quote(place)}"}
        )
    except ElbowroomError as error:
        return _problem(error)


def html(template: str, values: Mapping[str, Any], status: int = 200) -> Response:
    """A page."""
    content = templating.render(template, values)
    return Response(content, status, {**SAFE, **KEPT_NOWHERE}, media_type="text/html; charset=utf-8")


def _problem(error: ElbowroomError) -> Response:
    values = {
        "title": TITLES.get(error.status_hint, "That went wrong"),
        "message": error.message,
        "status": error.status_hint,
        "code": error.code,
        "back": None if isinstance(error, OriginNotAllowed) else DESK,
    }
    return html("problem.html", values, error.status_hint)


def _check_own_form(request: Request) -> None:
    """A page of another site may send a browser here, but cannot make it say that it is one of ours."""
    origin, host = request.headers.get("origin"), request.headers.get("host", "")
    if origin is None:
        own = request.headers.get("sec-fetch-site") == "same-origin"
    else:
        own = urlsplit(origin).netloc.lower() == host.lower()
    if not own:
        raise OriginNotAllowed("That form is not one of these pages.")


async def _form(request: Request, most: int) -> dict[str, str]:
    if request.headers.get("content-type", "").split(";")[0].strip() != "application/x-www-form-urlencoded":
        raise InvalidRequest("A form is sent as application/x-www-form-urlencoded.")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise RequestTooLarge(f"A form may have {most:,} bytes here.")
    try:
        return dict(parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=32, errors="strict"))
    except ValueError as error:
        raise InvalidRequest("The form cannot be read.") from error


def _place(said: str | None) -> str:
    """Where to go after the login: a page of the desk, and never another site."""
    if said and (said == DESK or said.startswith((f"{DESK}/", f"{DESK}?"))) and said.isprintable() and "\\" not in said:
        return quote(said, safe="/?&=%+~:,;@!$'()*")
    return DESK


def _cookie(request: Request) -> str:
    return SECURE_COOKIE if request.url.scheme == "https" else COOKIE


def _set(request: Request, response: Response, value: str, seconds: int) -> None:
    """`__Host-` needs `Secure` and `Path=/`, and then no other host can set it."""
    secure = request.url.scheme == "https"
    response.set_cookie(
        _cookie(request), value, max_age=seconds, path="/" if secure else DESK, secure=secure, httponly=True,
        samesite="strict",
    )  # fmt: skip
