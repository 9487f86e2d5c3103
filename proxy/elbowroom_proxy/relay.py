"""One request that is no chat on its way through the service: embeddings, or a response. Held for, relayed, settled.

Knows: the order of the steps, and what a policy or a key wants of a request that nothing here can do for it.
Does not know: ASGI, any upstream, what is recorded, or what a request says.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import aclosing
from functools import partial

from elbowroom.account.trace import Relay
from elbowroom.budget.relayed import worst_relayed
from elbowroom.errors import InvalidRequest
from elbowroom.read.policy import Policy
from elbowroom.read.rawjson import unambiguous
from elbowroom.read.relayed import Relayed, Route, read_relayed
from elbowroom.read.shape import check_tool_names
from elbowroom.records import Principal
from elbowroom.write.relayed import relay
from elbowroom_proxy import relayed, wire
from elbowroom_proxy.deciding import LARGE_BODY
from elbowroom_proxy.flow import Exchange, Part
from elbowroom_proxy.ports import Call
from elbowroom_proxy.principal import check_model
from elbowroom_proxy.shared import Shared


class Relaying(Exchange):
    """One request and its answer."""

    def __init__(self, flow: Shared, headers: Mapping[str, str], route: Route) -> None:
        super().__init__(flow, headers)
        self._route = route

    async def _respond(self, principal: Principal, body: bytes) -> AsyncGenerator[Part, None]:
        story, flow = self._story, self._flow
        budget = story.budget
        policy = flow.policy_of(principal)
        read = partial(read_relayed, body, self._route)
        asked = await asyncio.to_thread(read) if len(body) > LARGE_BODY else read()
        story.stream = asked.stream
        story.model = model = flow.catalog.find(asked.model)
        check_model(principal, model, asked.value)
        check(asked, principal, policy)
        sent = relay(asked, model, principal.output_cap or policy.answer.output_cap)
        story.relayed = Relay(self._route, model.name, tuple(edit.value for edit in sent.edits))
        if budget.limited:
            await budget.hold(worst_relayed(asked, sent.output_limit, model), model)
        story.mark("overhead")
        await story.promise()
        headers = wire.upstream_headers(self._headers)
        call = Call(f"/{self._route}", sent.body, headers, model.name, asked.stream, budget.begins)
        reply = await budget.reached(flow.upstreams[model.name].send(call))
        story.mark("first_byte")
        begin = partial(relayed.Streamed, budget.events())
        async with aclosing(self._answer(reply, asked.stream, begin, self._read)) as parts:
            async for part in parts:
                yield part

    def _read(self, body: bytes) -> bytes:
        """The answer as it came."""
        self._story.said = relayed.whole(body)
        return body


def check(asked: Relayed, principal: Principal, policy: Policy) -> None:
    """Raises `InvalidRequest` for what would pass by a rule here: nothing is searched, and no call in the answer is
    looked at.
    """
    if policy.redact.packs and policy.redact.messages:
        raise InvalidRequest("The policy has all messages searched before they leave, which is done for chats alone.")
    for names in (policy.tools_allow, principal.tools):
        _check_tools(asked, names)
    for param, name in asked.results:
        tool = policy.tools.get(name)
        if tool is not None and (tool.looks_inside or tool.redact_packs or tool.returns == "documents"):
            raise InvalidRequest(
                "The policy looks into that tool's results, which is done for chats alone.", param=param
            )


def _check_tools(asked: Relayed, names: Collection[str] | None) -> None:
    if names is None or not asked.tools:
        return
    check_tool_names(asked.value["tools"], "tools")
    if not unambiguous(asked.fields["tools"].decode()):
        raise InvalidRequest("A member of a tool is given twice.", param="tools")
    for param, name in asked.tools:
        if name not in names:
            raise InvalidRequest("That tool may not be offered.", param=param)
