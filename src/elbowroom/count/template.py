"""What a self-hosted model counts: its own chat template's text, by its own tokenizer.

Knows: that the whole prompt is one text, rendered as the model's server renders it.
Does not know: the tokenizer (the service owns it), or anything of models whose template nobody gave.

The rendered text is encoded without special tokens added (the template writes them) and with those in it read as
such, as the servers do. `Model.family` names the server: vllm, sglang or transformers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from elbowroom.count.counter import within_depth
from elbowroom.count.selfhosted.jinja import Refused, Template
from elbowroom.count.selfhosted.servers import SERVERS, Server, read_messages, read_tools
from elbowroom.errors import CountUnavailable
from elbowroom.records import Basis, ChatTemplate, Model, Plan

DATE_MARGIN = 2  # the server's date may have a digit more than ours
_REFUSED_MESSAGE = 16  # tokens around a message that no template rendered


def build(model: Model) -> SelfHosted:
    """Raises `CountUnavailable` where the template is missing, broken, or for a server that is not known."""
    if model.template is None:
        raise CountUnavailable(f"model {model.name!r}: its chat template is not given", param="model")
    server = SERVERS.get(model.family)
    if server is None:
        raise CountUnavailable(f"model {model.name!r}: there is no server {model.family!r}", param="model")
    return SelfHosted(model.vocabulary, model.template, server)


class SelfHosted:
    """Implements `Counter`."""

    additive = False  # a vocabulary that is somebody's own, and a template that may trim

    def __init__(self, vocabulary: str, template: ChatTemplate, server: Server) -> None:
        self.vocabulary = vocabulary
        self._server = server
        self._template = Template(template.source, today=template.today)
        self._variables = {**template.tokens, **template.variables}
        self._modelled = self._template.dated

    def plan(self, body: Mapping[str, Any]) -> Plan:
        """One text, `exact`. What the template refuses, its server refuses too: then an upper bound, `bounded`.

        Raises `CountUnavailable` for contents that are no text.
        """
        try:
            text = self._text(body)
        except (Refused, RecursionError):
            return self._refused(body)
        if self._modelled:
            return Plan(0, (text,), Basis.MODELLED, DATE_MARGIN)
        return Plan(0, (text,), Basis.EXACT)

    def _text(self, body: Mapping[str, Any]) -> str:
        messages = read_messages(body, self._server, parts=self._template.walks_parts)
        asked = body.get("chat_template_kwargs")
        return self._template.render(
            {
                "tools": read_tools(body, self._server),
                "documents": None,
                "add_generation_prompt": True,
                **self._variables,
                **(asked if isinstance(asked, dict) else {}),
                "messages": messages,
            }
        )

    @within_depth
    def _refused(self, body: Mapping[str, Any]) -> Plan:
        """Every text of the request. An empty conversation, which most templates refuse, is what an empty turn adds."""
        messages = body.get("messages")
        if messages == []:
            try:
                return Plan(0, (self._text({**body, "messages": [{"role": "user", "content": ""}]}),), Basis.BOUNDED)
            except Refused:
                return Plan(0, (), Basis.BOUNDED)
        count = len(messages) if isinstance(messages, list) else 0
        texts = tuple(_strings(messages))
        if body.get("tools"):
            texts += (json.dumps(body["tools"], ensure_ascii=False),)
        return Plan(_REFUSED_MESSAGE * (count + 1), texts, Basis.BOUNDED)

    def encloses(self, body: Mapping[str, Any], size: int) -> int | None:
        """None: a template may say anything beside the request."""


def _strings(value: Any) -> Iterator[str]:
    """Every string in a JSON value, member names too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, member in value.items():
            yield key
            yield from _strings(member)
    elif isinstance(value, list):
        for member in value:
            yield from _strings(member)
