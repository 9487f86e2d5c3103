"""Errors of the paths themselves: not there, wrong method, unforeseen. JSON in OpenAI's shape, never HTML.

Knows: how Starlette says that something is wrong with a path or a method.
Does not know: what may be wrong with a chat request (`flow` has that).
"""

from __future__ import annotations

import structlog
from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from elbowroom_proxy import wire

CODES = {404: "not_found", 405: "method_not_allowed"}

log = structlog.get_logger("elbowroom")


def install(app: FastAPI) -> None:
    """From here on every error of `app` has the one shape."""
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(Exception, _unforeseen)


async def _refused(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    code = CODES.get(status, "invalid_request")
    message = {
        404: f"There is nothing at {request.url.path}.",
        405: f"{request.method} is not allowed at {request.url.path}.",
    }.get(status, "The request cannot be answered.")
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    return _response(wire.problem(status, code, message), headers)


async def _unforeseen(request: Request, error: Exception) -> Response:
    log.error("unforeseen", path=request.url.path, exc_info=error)
    return _response(wire.error_response(error), {})


def _response(problem: wire.ErrorResponse, headers: dict[str, str]) -> Response:
    return Response(problem.body, problem.status, {**headers, **problem.headers})
