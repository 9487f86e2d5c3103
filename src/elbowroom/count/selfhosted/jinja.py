"""A chat template, compiled and rendered as transformers, vLLM and SGLang do it.

Knows: the sandbox, its two white-space switches, loop controls, the filters and functions that templates expect.
Does not know: the date (it is passed in), files, any server's habits.

jinja2 comes with the extra `local` and is imported when the first template is compiled.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from typing import Any

from elbowroom.errors import CountUnavailable

MISSING = "chat templates need jinja2: pip install 'elbowroom[local]'"
CLOCK = "strftime_now"


class Refused(Exception):
    """The template does not take this conversation; the server would answer 400."""


class Template:
    """One compiled template. Rendering depends on its arguments alone."""

    def __init__(self, source: str, *, today: str | None = None) -> None:
        """`today`: YYYY-MM-DD, for templates that print the date. Raises `CountUnavailable` where it cannot be used."""
        try:
            import jinja2  # noqa: PLC0415 - an extra
            import jinja2.ext  # noqa: PLC0415
            import jinja2.nodes  # noqa: PLC0415
            import jinja2.sandbox  # noqa: PLC0415
        except ImportError:
            raise CountUnavailable(MISSING) from None
        self.dated = CLOCK in source
        if self.dated and today is None:
            raise CountUnavailable(f"the chat template asks {CLOCK} for a date, and none is given")

        class Generation(jinja2.ext.Extension):
            """`{% generation %}` marks what the model said, for training; it prints what is in it."""

            tags = {"generation"}  # noqa: RUF012 - as jinja2 declares it

            def parse(self, parser: Any) -> Any:
                line = next(parser.stream).lineno
                inside = parser.parse_statements(("name:endgeneration",), drop_needle=True)
                return jinja2.nodes.Scope(inside, lineno=line)

        def raise_exception(message: str) -> None:
            raise jinja2.TemplateError(message)

        environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
        )
        environment.filters["tojson"] = _tojson
        environment.globals["raise_exception"] = raise_exception
        if today is not None:
            environment.globals[CLOCK] = dt.datetime.fromisoformat(today).strftime
        # What goes wrong inside an expression: a template meets values that its author did not think of.
        self._refusals = (
            jinja2.TemplateError,
            ArithmeticError,
            AttributeError,
            LookupError,
            RecursionError,
            TypeError,
            ValueError,
        )
        try:
            self._compiled = environment.from_string(source)
            self.walks_parts = _walks_parts(environment.parse(source), jinja2.nodes)
        except jinja2.TemplateSyntaxError as error:
            raise CountUnavailable(f"the chat template is no template: line {error.lineno}: {error.message}") from None

    def render(self, variables: Mapping[str, Any]) -> str:
        """The prompt. Raises `Refused` with the template's own words."""
        try:
            return self._compiled.render(**variables)
        except self._refusals as error:
            raise Refused(str(error)) from None


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """jinja2's own escapes HTML; models were trained on plain JSON."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _walks_parts(tree: Any, nodes: Any) -> bool:
    """Whether the template has a loop over a message's content, which is how servers decide to leave lists as lists."""
    for loop in tree.find_all(nodes.For):
        over = loop.iter
        while isinstance(over, nodes.Filter):
            over = over.node
        if isinstance(over, nodes.Getitem) and isinstance(over.arg, nodes.Const):
            member = over.arg.value
        else:
            member = over.attr if isinstance(over, nodes.Getattr) else None
        if member == "content" and isinstance(over.node, nodes.Name) and over.node.name in ("message", "msg", "m"):
            return True
        if isinstance(over, nodes.Name) and over.name == "content":
            return True
    return False
