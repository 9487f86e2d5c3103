"""One request's decision: who asks, under which policy, of which model, and what becomes of it.

Knows: what the engine is given for a request, in which mode it is served, that a large body is decided on a thread, and
that a count which need not be waited for is not; that whoever has nothing left is refused before anything is read.
Does not know: what the engine does, what is sent, or what is answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from elbowroom.account.trace import Aside
from elbowroom.decide.rollout import stage
from elbowroom.decision import Setting, decide, recount
from elbowroom.needs import Answer, AsideNeed, Need
from elbowroom.read.request import read_request
from elbowroom.records import Mode, Packed, Principal, Refused, Request
from elbowroom.write.answer import Watch, watch_of
from elbowroom_proxy.answering import drive
from elbowroom_proxy.asked import accepted_by
from elbowroom_proxy.budget import Budget
from elbowroom_proxy.principal import check_model
from elbowroom_proxy.shadow import Proposal
from elbowroom_proxy.shared import Shared
from elbowroom_proxy.story import Story

LARGE_BODY = 256 << 10  # bytes; reading and deciding such a body takes long enough to keep others waiting


class Decided(NamedTuple):
    request: Request
    outcome: Packed | Refused
    watch: Watch  # what the answer is held to


async def asking(flow: Shared, story: Story, headers: Mapping[str, str]) -> Principal:
    """Who asks and who pays, before anything of the body is read. Raises an `ElbowroomError` for who may not, and where
    it is known already that nothing is left.
    """
    story.principal = principal = await flow.identify(headers)
    notes = story.notes  # the story in there would be held by what it holds, and stay until the collector comes
    story.budget = Budget(flow.books, story.trace_id, lambda need: flow.count(need, notes))
    story.budget.of(flow.accounts(principal))
    return principal


async def decided(flow: Shared, story: Story, principal: Principal, headers: Mapping[str, str], body: bytes) -> Decided:
    """Reads and decides, and tells the story as it goes. Raises an `ElbowroomError` for what may not be asked, and for
    what cannot be read.
    """

    async def aside(need: AsideNeed, told: list[Aside]) -> Answer:
        return await flow.aside(need, told, story.budget)

    async def answer(need: Need) -> Answer:
        if isinstance(need, AsideNeed):
            return await aside(need, story.asides)
        return await flow.count(need, story.notes)

    policy = flow.policy_of(principal)
    large = len(body) > LARGE_BODY
    read = partial(read_request, max_documents=policy.max_documents, documents=policy.documents)
    request = await asyncio.to_thread(read, body, headers) if large else read(body, headers)
    story.request = request
    story.stage = served = stage(
        policy, principal, request.context.conversation_id, key=flow.cohort_key, killed=flow.killed()
    )
    policy = served.of(policy)
    story.policy = policy
    story.model = model = flow.catalog.find(request.model)
    check_model(principal, model, request.params)
    counter = flow.counters[model.name]
    asks, learned = model.name in flow.count_endpoints, flow.calibration.learned(model)
    setting = Setting(
        principal, policy, model, counter, flow.nonce_key, flow.hash_key,
        flow.known.apart() if large else flow.known, asks, learned,
        now=flow.clock(), label_keys=flow.label_keys, rerankers=flow.rerankers,
        compressor=accepted_by(flow.catalog.by_name, policy.evidence.compress.model),
        summariser=accepted_by(flow.catalog.by_name, policy.history.summary.model), limited=story.budget.counts,
    )  # fmt: skip
    outcome = await drive(decide(request, setting), answer, aside=large)
    story.decision = decision = outcome.decision
    story.permitted = isinstance(outcome, Packed) or (decision is not None and decision.window is not None)
    watch = Watch()
    if isinstance(outcome, Packed):
        if served.mode is Mode.SHADOW:
            story.propose = partial(flow.propose, Proposal(request, setting, aside, flow.work))
        watch = watch_of(request, outcome, policy)
        if outcome.reply is None and outcome.decision.counted is None:
            # It fits whatever the count says, so the count need not be waited for.
            story.counting = asyncio.create_task(drive(recount(request, setting), answer, aside=large))
            flow.work(story.counting)
    return Decided(request, outcome, watch)
