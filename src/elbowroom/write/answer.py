"""What an answer is held against: labels that were given out, hosts that were named, tools that may be called.

Knows: which of a request's texts are trusted, and what a client is told beside the text: `annotations`, as clients read
them, and `elbowroom_flags` for what they should not trust.
Does not know: how the answer comes (streamed or whole), or what is recorded of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from elbowroom.read.policy import Policy
from elbowroom.records import Message, Packed, Request, Source
from elbowroom.write.citations import Citation, Invented, Verifier, url_citations
from elbowroom.write.links import Link, foreign, host_of, hosts_in, links
from elbowroom.write.taint import Taint

_RESULTS = ("tool", "function")
_TRUSTED = ("user", "system", "developer")


class Watch(Struct, frozen=True):
    """For one request; as it is by default, nobody looks at the answer."""

    sources: tuple[Source, ...] = ()  # what may be said of the admitted passages
    invented: Invented = "flag"
    hosts_allowed: tuple[str, ...] | None = None  # None: nobody looks at links
    said: tuple[str, ...] = ()  # what user and operator wrote: hosts in it are trusted
    tools: frozenset[str] | None = None  # the only names that may be called; None: any
    taint: Taint | None = None

    @property
    def reads_text(self) -> bool:
        """Whether an answer's text matters to anybody."""
        return bool(self.sources) or self.hosts_allowed is not None


class Reader:
    """Reads the text of one choice of an answer, in pieces, however they are cut."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._verifier = Verifier([source.label for source in watch.sources], watch.invented) if watch.sources else None
        self._shown: list[str] = []
        self._links: tuple[Link, ...] = ()
        self._looked = 0

    def feed(self, text: str) -> str:
        """What may be shown now."""
        return self._keep(self._verifier.feed(text) if self._verifier is not None else text)

    def finish(self) -> str:
        """What was held back, when the answer has ended."""
        return self._keep(self._verifier.finish() if self._verifier is not None else "")

    def _keep(self, text: str) -> str:
        if text and self._watch.hosts_allowed is not None:
            self._shown.append(text)
        return text

    @property
    def citations(self) -> tuple[Citation, ...]:
        """Every marker that was handed on, in order."""
        return self._verifier.citations if self._verifier is not None else ()

    @property
    def invented(self) -> tuple[str, ...]:
        """Labels that nobody admitted, each once."""
        return self._verifier.invented if self._verifier is not None else ()

    @property
    def refused(self) -> bool:
        """Whether an invented label ended the answer."""
        return self._verifier is not None and self._verifier.refused

    @property
    def foreign_links(self) -> tuple[Link, ...]:
        """Links so far to hosts that nobody trusted named, images first."""
        allowed = self._watch.hosts_allowed
        if allowed is not None and self._looked < len(self._shown):
            self._looked = len(self._shown)
            if found := links("".join(self._shown)):
                hosts = {host for source in self._watch.sources if (host := host_of(source.url or ""))}
                self._links = foreign(found, hosts.union(*map(hosts_in, self._watch.said)), allowed)
        return self._links

    def annotations(self) -> list[dict[str, Any]]:
        """The citations as clients read them."""
        return url_citations(self.citations, self._watch.sources)

    def flagged(self) -> dict[str, Any]:
        """What a client should not trust, by place in the text; empty where there is nothing."""
        invented = [
            {"label": one.label, "start_index": one.start, "end_index": one.end}
            for one in self.citations
            if one.status == "invented"
        ]
        told = [
            {"kind": one.kind, "host": one.host, "start_index": one.start, "end_index": one.end}
            for one in self.foreign_links
        ]
        return {name: value for name, value in (("invented_citations", invented), ("links", told)) if value}


def watch_of(request: Request, packed: Packed, policy: Policy) -> Watch:
    """What the answer to a packed request is held against. Links matter where the model saw text of others."""
    roles = {message.role for message in request.messages}
    others = request.tagged or bool(packed.sources) or not roles.isdisjoint(_RESULTS)
    said = tuple(text for message in request.messages if message.role in _TRUSTED for text in _texts(message))
    acting = [name for name, tool in policy.tools.items() if tool.side_effect]
    taint = Taint(acting, said, packed.body, blocks=policy.tainted_calls == "block") if acting and packed.body else None
    return Watch(
        packed.sources,
        policy.invented_citations,
        policy.links.allow if policy.links.flag and others else None,
        said,
        packed.tools,
        taint,
    )


def _texts(message: Message) -> Iterator[str]:
    """What its author wrote; a document among the parts is somebody else's."""
    content = message.value.get("content")
    if isinstance(content, str):
        yield content
        return
    for part in content or ():
        if part.get("type") == "text" and isinstance(text := part.get("text"), str):
            yield text
