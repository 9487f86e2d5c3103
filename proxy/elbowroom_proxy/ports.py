"""What the service needs from the outside, as protocols; adapters live in `stores/`, `upstreams/`, `sinks/`.

Knows: the calls, their units and what they may raise.
Does not know: any adapter. Only `app` and the command line put the two together.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from elbowroom.account.row import Row
from elbowroom.account.search import Filters, Indexed, Overview, Page, Scope
from elbowroom.budget.hold import Amounts, Held, Hold, Settled, Standing, Swept
from elbowroom.budget.limits import Account
from elbowroom.budget.rights import Rights
from elbowroom.budget.sums import Sums
from elbowroom.records import Principal
from elbowroom_proxy.killword import Word

if TYPE_CHECKING:
    from jwt import PyJWK


class Keys(Protocol):
    """Whose a key is. Asked for every request, so what changes holds from the next one on."""

    def find(self, digest: str) -> Principal | None:
        """By the key's SHA-256 in lower-case hex; None: nobody's, or blocked, or replaced."""


class Members(Keys, Protocol):
    """Who belongs to which team, by a key or by a token."""

    @property
    def closed(self) -> bool:
        """Whether nobody is let in without a key."""

    def admitted(self, principal: Principal, own: Rights) -> Principal | None:
        """A token's principal, who says these rights of its own, as far as its team lets it; None: not at all."""


class PublicKeys(Protocol):
    """The keys of an issuer of tokens."""

    async def find(self, kid: str) -> PyJWK | None:
        """By their id; None: it has no such key. Raises `KeysUnavailable` where nobody could say."""


class CountCache(Protocol):
    """Token counts shared between processes. Losing it costs time, never an answer: it raises nothing."""

    async def get(self, keys: Sequence[str]) -> list[int | None] | None:
        """One integer or None a key, in order; None instead of a list while the store cannot be reached."""

    async def put(self, counts: Mapping[str, int]) -> None:
        """Writes all in one round trip, each with the store's time to live; silent while it cannot be reached."""

    async def healthy(self) -> bool: ...

    async def close(self) -> None: ...


def _nothing() -> None:
    """Nobody wants to know."""


class Call(Struct, frozen=True):
    """One request to an upstream."""

    path: str  # below the upstream's base, e.g. "/chat/completions"
    body: bytes
    headers: Mapping[str, str]  # already reduced to what may leave
    model: str  # the catalog's name
    stream: bool
    begins: Callable[[], None] = _nothing  # said when it is about to be sent: from then on it may be worked on


class Reply(Protocol):
    """An upstream's answer, its head read, its body not yet."""

    status: int
    headers: Mapping[str, str]  # lower-case names

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives. Raises `UpstreamUnavailable` if it breaks off, `UpstreamTimeout` if it stalls."""

    async def close(self) -> None:
        """Lets go of the connection; the upstream sees the close if the body was not read to its end. Idempotent."""


class Upstream(Protocol):
    """Where packed requests go."""

    async def start(self) -> None:
        """Does what the first request would have to wait for."""

    async def send(self, call: Call) -> Reply:
        """Sends and waits for the head. Raises `Overloaded` and `UpstreamUnreached` where no model was asked,
        `UpstreamUnavailable` and `UpstreamTimeout` where one may have been.
        """

    async def close(self) -> None: ...


class Texts(Struct, frozen=True, kw_only=True):
    """What is kept beside a record, since no record holds a text."""

    policy: tuple[str, bytes] | None = None  # its digest, and its files
    instructions: tuple[tuple[str, str], ...] = ()  # digests, and the texts as they came
    capture: Capture | None = None

    @property
    def size(self) -> int:
        """Bytes that wait for the disk, roughly."""
        said = self.capture
        return sum(len(text) for _, text in self.instructions) + (len(said.body) + len(said.answer) if said else 0)


class Capture(Struct, frozen=True, kw_only=True):
    """A request's texts, and what is to become of them."""

    trace_id: str
    redacted: bool  # what redaction leaves of them, not everything
    until: str  # the last day, as in 2026-12-31
    body: bytes  # as the client sent it
    headers: Mapping[str, str]  # that speak to the proxy
    answer: str
    hidden: frozenset[int] = frozenset()  # positions of documents that may not be seen
    hidden_in: frozenset[int] = frozenset()  # messages that hold such documents


class TraceSink(Protocol):
    """Where records of requests are kept. Writing never blocks a response."""

    @property
    def lost(self) -> int:
        """Records that were queued and could not be written."""

    @property
    def waiting(self) -> int:
        """Records in the queue."""

    def write(self, record: Mapping[str, Any], texts: Texts | None = None) -> bool:
        """Queues one record; False where the queue is full (the caller counts it)."""

    async def intend(self, intent: Mapping[str, Any]) -> None:
        """Says what is about to be sent: on the disk, and synced, when this returns. Raises `TraceUnavailable`."""

    async def healthy(self) -> bool:
        """Whether a record would be kept now: there is room in the queue, and the disk takes something."""

    async def close(self) -> None:
        """Everything queued is on disk when this returns."""


class Place(Struct, frozen=True):
    """Where a record's line lies."""

    folder: str
    file: str  # its name in the folder
    offset: int  # bytes
    length: int  # bytes, without the line feed


class Mark(Struct, frozen=True):
    """How far a file is indexed."""

    file: int  # the inode: a file that takes another's name begins anew
    offset: int  # bytes; a line begins there, or the file ends


class Writing(Protocol):
    """An index that nobody else writes to. What was written is there for readers once the context ends well."""

    def marks(self) -> Mapping[str, Mapping[str, Mark]]:
        """By folder and file name, as the index has them."""

    def add(self, rows: Sequence[tuple[Row, Place]]) -> None: ...

    def mark(self, folder: str, file: str, mark: Mark, unread: int = 0) -> None:
        """The file is indexed up to there; to be said before its rows are added. `unread`: how many lines more were no
        record.
        """

    def forget(self, folder: str, file: str | None = None) -> None:
        """Nothing of that file is indexed any more; of no file of the folder, where none is named."""


class TraceIndex(Protocol):
    """Finds records. It can be made anew from the files at any time, so losing it loses nothing.

    Every call may be made from any thread; it waits for a disk. Raises `OSError` where that cannot be.
    """

    def folders(self) -> tuple[str, ...]:
        """Which folders it is an index of, absolute; its own first."""

    def cover(self, folders: Sequence[str]) -> None:
        """From now on it is an index of these, and of its own folder. What it had of others is forgotten."""

    def marks(self) -> Mapping[str, Mapping[str, Mark]]:
        """How far each file is indexed, by folder (its own first) and file name."""

    def writing(self) -> AbstractContextManager[Writing | None]:
        """None: another process, or another thread, is writing."""

    def page(self, filters: Filters, scope: Scope, *, after: str | None = None, most: int = 50) -> Page:
        """The newest first, from where `after` (a page's) ended. Raises `InvalidRequest` for an `after` of nobody."""

    def find(self, ident: str, scope: Scope) -> tuple[Row, Place] | None:
        """The latest with that trace id, x-request-id or x-client-request-id; requests only."""

    def each(self, filters: Filters, scope: Scope) -> Iterator[tuple[Row, Place]]:
        """All of them, the newest first."""

    def count(self, filters: Filters, scope: Scope) -> int:
        """How many `each` would give."""

    def indexed(self, scope: Scope) -> Indexed:
        """How far it reaches, by the records alone: what is on disk and not in here is nobody's knowledge here."""

    def overview(self, filters: Filters, scope: Scope) -> Overview:
        """Without limits: they are no record's."""

    def close(self) -> None: ...


class KillSwitch(Protocol):
    """One place where it may be said that every request is to be served with the baseline. It raises nothing."""

    async def read(self) -> Word | None:
        """What it says, within a second; None where it says nothing or cannot be reached."""

    async def write(self, word: Word) -> str:
        """Says so to all who look there. Returns what went wrong, "" if nothing did."""

    async def close(self) -> None: ...


class Question(Struct, frozen=True):
    """What a counting endpoint is sent: a POST of JSON."""

    url: str
    headers: Mapping[str, str]
    value: Mapping[str, Any]


class Scored(Struct, frozen=True):
    """What a reranker says."""

    scores: tuple[float, ...]  # one a text, in its own scale
    micro_usd: int = 0  # what the question cost


class Reranker(Protocol):
    """Says how relevant texts are to a question."""

    async def scores(self, question: str, texts: Sequence[str]) -> Scored:
        """One score a text, in their order. Raises `RerankUnavailable`."""

    def most(self, question: str, texts: Sequence[str]) -> int:
        """Micro-USD that the question costs at most; 0: nothing."""

    async def close(self) -> None: ...


class Retriever(Protocol):
    """Brings documents for a question. What it brings is an untrusted text like any other."""

    async def documents(self, query: str) -> str:
        """A JSON list, bounded in number and size. Raises `UpstreamUnavailable`."""

    async def close(self) -> None: ...


class TextCache(Protocol):
    """Texts that were made once, by key. Losing one costs making it again: it raises nothing."""

    async def get_text(self, key: str) -> str | None: ...

    async def put_text(self, key: str, text: str) -> None: ...


class EndpointCounter(Protocol):
    """A provider's protocol for counting a prompt. It does no I/O: `endpoint_counts` sends the question."""

    def question(self, body: Mapping[str, Any]) -> Question:
        """What to ask about a chat body. Raises `CountUnavailable` for what that protocol has no words for."""

    def answer(self, value: Mapping[str, Any]) -> Any:
        """What stands where the number of tokens should; the caller looks whether it is one."""


class Differences(Protocol):
    """Differences of bills from counts, shared between processes. It raises nothing, as `CountCache` does."""

    async def push(self, key: str, value: int, most: int) -> None:
        """Adds one to the front of that list, and forgets all but the first `most`."""

    async def lists(self) -> Mapping[str, Sequence[int]] | None:
        """Every list, the latest first; None while the store cannot be reached."""


class Ledger(Protocol):
    """Keeps what every level has spent and what is held. Each call is one step: all of it happens, or nothing.

    Each raises `LedgerUnavailable` where nobody could say, within its own time limit. A call that is cancelled or late
    leaves nothing behind that a later caller could take for its own answer; a hold whose answer nobody got is released.
    """

    async def start(self) -> None: ...

    async def hold(self, hold: Hold, *, seconds: float) -> Held:
        """Takes from every level or from none. The hold ends `seconds` from now, unless it is renewed. Idempotent
        while the hold is open; raises `ValueError` for the id of one that is over.
        """

    async def renew(self, ident: str, account: Account, *, seconds: float) -> bool:
        """Moves the hold's end, a day after its beginning at most; False where there is no such open hold."""

    async def settle(self, ident: str, account: Account, came_to: Amounts, *, begun: float | None = None) -> Settled:
        """Puts what it came to in place of what was held. Idempotent: the first settlement is the one that counts.

        `begun`: when the hold was made, in seconds since 1970. Who says so is refused what is too old to be told from
        what was settled long ago.
        """

    async def release(self, ident: str, account: Account) -> None:
        """Nothing was spent. Idempotent; a hold by that id that arrives later holds nothing. It stays a request of its
        last minute: a rate counts what was let through.
        """

    async def sweep(self, org: str) -> Sequence[Swept]:
        """Charges in full, as unconfirmed, every hold of the organisation that is past its end."""

    async def overdue(self, org: str) -> int:
        """How many open holds of the organisation are past their end: after a sweep, those that it could not end."""

    async def standing(self, account: Account) -> tuple[Standing, ...]:
        """Every limit of the account and where it stands now."""

    async def sums(self, account: Account) -> tuple[Sums, ...]:
        """What is kept of each level of the account, limited or not, in its present period."""

    async def rebuild(self, account: Account, spent: Sequence[Amounts], was: Sequence[Sums] | None = None) -> None:
        """Puts `spent`, one a level, in place of what its present period has spent. What is held stays.

        `was`: what `sums` said of the account. Then it is put in place of that, in the period of that: what was settled
        since stays, and a level that is to have spent what it had is left alone.
        """

    def glance(self, account: Account) -> tuple[Standing, ...]:
        """The limits that would refuse any request at all, by the last answer, if that is a second old at most; asks
        nobody.
        """

    def faults(self) -> tuple[str, ...]:
        """What is wrong with it, in words: that it cannot be reached, keeps less than it should, or lost its sums."""

    async def healthy(self) -> bool: ...

    async def close(self) -> None: ...
