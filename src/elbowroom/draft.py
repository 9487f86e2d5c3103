"""The prompt as it stands: which messages have gone, what its parts cost, and evidence written into it and counted.

Knows: that what is sent is counted, in every way that a prompt may be counted; that a final count has the last word.
Does not know: which passages deserve to go in, when anything is evicted, or what a refusal says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from elbowroom.clean.known import Known
from elbowroom.count.counter import Counter, Tally
from elbowroom.decide import recap
from elbowroom.decide.calibration import corrected
from elbowroom.decide.conversation import Costs, body, measure, undivided
from elbowroom.decide.endpoint import Endpoint
from elbowroom.decide.fates import keyed
from elbowroom.decide.fit import Fit, with_summary
from elbowroom.decide.order import Order, arrange
from elbowroom.decide.passage import Admitted, Dropped, Packing
from elbowroom.errors import CountUnavailable
from elbowroom.needs import Steps
from elbowroom.read.policy import Summaries
from elbowroom.records import Basis, Count, Drop, Learned, Message, Request, Split, Summary
from elbowroom.write.envelope import NOTHING, envelopes, starts_apart
from elbowroom.write.place import with_evidence
from elbowroom.write.remarks import earlier


class Written(Struct, frozen=True):
    """Evidence as it will be sent."""

    text: str
    tokens: int  # that it adds to the prompt
    counted: Count  # the prompt with it
    labelled: tuple[tuple[str, Admitted], ...] = ()
    dropped: tuple[Dropped, ...] = ()


class Draft:
    """One request's. Tokens throughout."""

    def __init__(
        self, request: Request, counter: Counter, tally: Tally, endpoint: Endpoint, learned: Learned | None
    ) -> None:
        self.request = request
        self.counter = counter
        self.tally = tally
        self.endpoint = endpoint
        self.learned = learned  # what the bills of its shape have taught
        self.messages = request.messages
        self.homes: Mapping[int, int] = {}  # message that documents came in -> its parts behind their place
        self.placed: Mapping[int, str] = {}  # evidence in such messages
        self.gone: frozenset[int] = frozenset()  # indexes of evicted messages
        self.ruled: Count | None = None  # the prompt without evidence as the rules count it; None: no rule does
        self.off = 0  # tokens by which the endpoint's count of it is above that
        self.added = 0  # the same, of the packed prompt

    def costs(self, parts: Split, also: Sequence[str] = ()) -> Steps[Costs]:
        """What each part costs by the rules; where none covers a tagged request, the whole by the model's endpoint."""
        request, tally = self.request, self.tally
        try:
            costs = yield from measure(request, self.messages, parts, self.counter, tally, also)
        except CountUnavailable:
            if not request.tagged:
                raise
            exact = yield from self.endpoint.ask(body(request, self.messages))
            if exact is None:
                raise
            yield from tally.measure(also)
            return undivided(exact, parts)
        self.ruled = corrected(costs.total, self.learned)
        return structs.replace(costs, total=self.ruled)

    def summed_up(
        self, parts: Split, fitted: Fit, asked: Summaries, language: str, known: Known, hash_key: bytes
    ) -> Steps[tuple[Fit, Summary | None]]:
        """Asks for a summary of the turns that went, and puts it before the first message of the talk that stayed."""
        request, tally, counter = self.request, self.tally, self.counter
        gone = [[self.messages[index] for index in turn] for turn in parts.turns[: fitted.turns_dropped]]
        summary = yield from recap.summarise(gone, asked, fitted.summary_room, known, tally)
        stayed = parts.turns[fitted.turns_dropped :]
        at = stayed[0][0] if stayed else parts.question
        if not summary or at is None:
            return fitted, None
        told = with_evidence(self.messages[at], earlier(summary, language))
        messages = (*self.messages[:at], told, *self.messages[at + 1 :])
        before = counter.plan(body(request, self.sent("", parts)))
        after = counter.plan(body(request, [one for i, one in enumerate(messages) if i not in self.gone]))
        yield from tally.measure((*before.texts, *after.texts))
        tokens = tally.count(after).tokens - tally.count(before).tokens
        if tokens > fitted.summary_room:
            return fitted, None
        self.messages = messages
        evicted = sum(tally.tokens[recap.transcript(turn)] for turn in gone)
        record = Summary(sum(map(len, gone)), evicted, tokens, keyed(summary, hash_key))
        return with_summary(fitted, tokens), record

    def sent(self, evidence: str, parts: Split) -> tuple[Message, ...]:
        """The messages that leave: without the evicted ones, the evidence before the user's last text, and what came in
        a message in that message.
        """
        sent = []
        for index, came in enumerate(self.messages):
            if index in self.gone:
                continue
            message = came
            if self.placed.get(index):
                message = with_evidence(message, self.placed[index], self.homes[index])
            if evidence and index == parts.question:
                message = with_evidence(message, evidence)
            sent.append(message)
        return tuple(sent)

    def sum(self, fitted: Fit, tokens: int) -> Count:
        """The prompt with so much evidence; what rules add to an endpoint's count is as sure as they are."""
        if not tokens and not self.gone:
            return fitted.count
        known = self.ruled or Count(0, Basis.MODELLED, tokens)
        return structs.replace(known, tokens=fitted.count.tokens + tokens + self.added)

    def evidence(
        self,
        packing: Packing,
        remark: str,
        *,
        parts: Split,
        fitted: Fit,
        order: Order,
        nonce_key: bytes,
        form: str,
    ) -> Steps[Written]:
        """Renders what was admitted; what the final count shows to be too long goes, the last admitted first.

        The `remark` stands behind the passages. It is left out rather than a passage.
        """
        admitted, dropped, window = list(packing.admitted), list(packing.dropped), fitted.window
        budget, room = window.evidence_budget, window.input_limit - window.answer_reserve
        remark = remark if parts.question is not None else ""
        empty = NOTHING if self.homes else ""
        while True:
            groups = self._groups(admitted, order, parts)
            labelled = tuple(one for group in groups.values() for one in group)
            written = envelopes(tuple(groups.values()), nonce_key, form, self.tally.line_prefix)
            made = dict(zip(groups, written, strict=True))
            front = made.pop(None)
            self.placed = {home: envelope.text or empty for home, envelope in made.items() if home is not None}
            text = front.text + remark
            pieces = (*front.pieces, remark) if remark else front.pieces
            others = [piece for envelope in made.values() for piece in envelope.pieces or (empty,)]
            told = tokens = yield from self._evidence_tokens(text, pieces, others, parts, fitted)
            counted = self.sum(fitted, tokens)
            over = tokens - budget
            if over <= 0 and self.endpoint.there:
                packed = body(self.request, self.sent(text, parts))
                sure = yield from self.endpoint.confirmed(counted, room - window.safety_margin, packed, final=True)
                if sure is not counted:
                    told = _share(tokens, counted, sure, fitted.count)
                    self.added += sure.tokens - counted.tokens
                    over = sure.tokens + window.safety_margin - fitted.count.margin - room
                    budget, counted = min(budget, tokens - over), sure
            if over <= 0 or not (admitted or remark or empty):
                return Written(text, told, counted, labelled, tuple(dropped))
            if remark:
                remark = ""
            elif empty:
                empty = ""
            else:
                last = admitted.pop()
                dropped.append(Dropped(last.passage, Drop.OVER_BUDGET, f"{over} tokens over in the final count"))

    def _groups(
        self, admitted: Sequence[Admitted], order: Order, parts: Split
    ) -> dict[int | None, list[tuple[str, Admitted]]]:
        """By message, in the order of the talk, what goes into it and under which label; None: before the question."""
        asked = len(self.messages) if parts.question is None else parts.question
        homes = [home for home in self.homes if home not in self.gone]
        groups: dict[int | None, list[tuple[str, Admitted]]] = {}
        number = 0
        for home in sorted([None, *homes], key=lambda home: (asked, 0) if home is None else (home, 1)):
            inside = arrange([one for one in admitted if one.passage.document.message == home], order)
            groups[home] = [(f"S{at}", one) for at, one in enumerate(inside, start=number + 1)]
            number += len(inside)
        return groups

    def _evidence_tokens(
        self, text: str, pieces: tuple[str, ...], others: Sequence[str], parts: Split, fitted: Fit
    ) -> Steps[int]:
        """What the evidence adds to the prompt: a sum where counts add up, else the difference of two whole counts.

        `text` is what stands before the question, cut into `pieces`; `others` are the pieces in other messages.
        """
        counter, tally = self.counter, self.tally
        if not text and not others:
            return 0
        if not counter.additive and self.ruled is not None:
            plan = counter.plan(body(self.request, self.sent(text, parts)))
            yield from tally.measure(plan.texts, recurring=False)
            return tally.count(plan).tokens - (fitted.count.tokens - self.off)
        yield from tally.measure(others, recurring=False)
        elsewhere = sum(tally.tokens[piece] for piece in others)
        asked = self.messages[parts.question].value["content"] if parts.question is not None else None
        if pieces and isinstance(asked, str) and not starts_apart(asked) and parts.question not in self.homes:
            joined = pieces[-1] + asked
            yield from tally.measure((*pieces[:-1], joined, asked), recurring=False)
            return sum(tally.tokens[piece] for piece in (*pieces[:-1], joined)) - tally.tokens[asked] + elsewhere
        yield from tally.measure(pieces, recurring=False)
        return sum(tally.tokens[piece] for piece in pieces) + elsewhere


def _share(tokens: int, ruled: Count, sure: Count, without: Count) -> int:
    """What evidence of so many tokens is of a prompt that its provider counted. Where rules only bound it, theirs may
    be several times as many: then it is the difference to the prompt `without` it, where that is sure as well, else its
    proportion.
    """
    if ruled.basis is not Basis.BOUNDED or sure.tokens >= ruled.tokens:
        return tokens
    if without.basis is Basis.EXACT:
        return min(tokens, max(0, sure.tokens - without.tokens))
    return tokens * sure.tokens // ruled.tokens
