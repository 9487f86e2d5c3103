"""T(text): what the engine asks when it counts, answered from memory, from a shared store, or by encoding.

Knows: the two levels of remembered counts, which texts are worth a round trip, what must run off the event loop's
thread, and how long a text may be.
Does not know: what the texts are, any provider's rules, which store it was given.

The keys in the shared store are keyed hashes, so the store learns nothing of a text and nobody can prepare a text that
collides with another's.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from elbowroom.errors import RequestTooLarge
from elbowroom.needs import Answer, NeedCounts
from elbowroom_proxy.ports import CountCache
from elbowroom_proxy.vocabularies import Vocabularies

INLINE_BYTES = 4096  # more than this, together, is encoded in a thread
SHARED_CHARS = 256  # below this, encoding is cheaper than a round trip
DEGRADED = "count_cache_degraded"
LAYOUT = "eb:tok:1"  # what the store's keys begin with; counts that mean something else take another number


class Recent:
    """Counts of one vocabulary's recent texts, bounded by the memory of the texts; the longest unused goes first."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.bytes = 0
        self._counts: OrderedDict[str, int] = OrderedDict()

    def get(self, text: str) -> int | None:
        """Tokens, or None where the text was never counted or is forgotten."""
        count = self._counts.get(text)
        if count is not None:
            self._counts.move_to_end(text)
        return count

    def put(self, text: str, count: int) -> None:
        """Remembers; a text that would push out more than an eighth of the others is not worth it."""
        size = sys.getsizeof(text)
        if size > self.max_bytes >> 3 or text in self._counts:
            return
        self._counts[text] = count
        self.bytes += size
        while self.bytes > self.max_bytes:
            oldest, _ = self._counts.popitem(last=False)
            self.bytes -= sys.getsizeof(oldest)

    def __len__(self) -> int:
        return len(self._counts)


class Tokens:
    """Answers `NeedCounts`. The answer depends on vocabulary and text alone, never on caches, threads or order.

    The public integers only ever grow; the service publishes them as metrics.
    """

    def __init__(
        self,
        vocabularies: Vocabularies,
        *,
        secret: bytes,
        cache: CountCache | None = None,
        memory_bytes: int = 32 << 20,
        max_text_chars: int = 4 << 20,
        max_chars: int = 8 << 20,
        workers: int = 2,
    ) -> None:
        """`secret` keys the hashes in `cache` (any length); `memory_bytes` bounds the texts kept, per vocabulary."""
        self._vocabularies = vocabularies
        self._cache = cache
        self._hash_key = hashlib.blake2b(secret, digest_size=32, person=b"elbowroom tokens").digest()
        self._memory_bytes = memory_bytes
        self._max_text_chars = max_text_chars
        self._max_chars = max_chars
        self._recent: dict[str, Recent] = {}
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="elbowroom-tokens")
        self._writing: set[asyncio.Task[None]] = set()
        self.texts_remembered = 0  # answered from memory
        self.texts_shared = 0  # answered by the shared store
        self.texts_encoded = 0
        self.threaded = 0  # batches encoded off the loop
        self.degraded = 0  # requests answered without the shared store (see `count`)

    async def count(self, need: NeedCounts, notes: set[str] | None = None) -> Answer:
        """Tokens of each text. `notes` is one request's own set: a request that the shared store failed gets
        `DEGRADED` in it and is counted once, however many questions it asks.

        Raises `RequestTooLarge` for a text, or texts together, beyond the cap (one letter repeated takes a second a
        million), `CountUnavailable` for an unknown vocabulary.
        """
        counts, missing = self._recall(need)
        if missing and self._cache is not None and need.recurring:
            missing = await self._ask_store(self._cache, need, counts, missing, notes)
        if missing:
            texts = [need.texts[i] for i in missing]
            if self._vocabularies.loaded(need.vocabulary) and _at_most(texts) <= INLINE_BYTES:
                fresh = self._encode(need.vocabulary, texts)
            else:
                self.threaded += 1
                loop = asyncio.get_running_loop()
                fresh = await loop.run_in_executor(self._threads, self._encode, need.vocabulary, texts)
            self._learn(need.vocabulary, counts, missing, fresh, texts)
            if self._cache is not None and need.recurring:
                self._write_back(self._cache, need.vocabulary, texts, fresh)
        return tuple(counts)

    def count_now(self, need: NeedCounts) -> Answer:
        """The same without a loop, a thread or a store, for the command line."""
        counts, missing = self._recall(need)
        texts = [need.texts[i] for i in missing]
        self._learn(need.vocabulary, counts, missing, self._encode(need.vocabulary, texts), texts)
        return tuple(counts)

    async def close(self) -> None:
        """Waits for write-backs and threads. The store is the caller's to close."""
        if self._writing:
            await asyncio.wait(self._writing)
        self._threads.shutdown()

    def _memory(self, vocabulary: str) -> Recent:
        recent = self._recent.get(vocabulary)
        if recent is None:
            recent = self._recent[vocabulary] = Recent(self._memory_bytes)
        return recent

    def _recall(self, need: NeedCounts) -> tuple[list[int], list[int]]:
        """Counts by position, -1 where unknown, and the unknown positions."""
        recent, limit = self._memory(need.vocabulary), self._max_text_chars
        counts, missing = [], []
        # Whether a text is known or not: what is refused must not depend on who asked before.
        if (chars := sum(map(len, need.texts))) > self._max_chars:
            most = self._max_chars
            raise RequestTooLarge(f"the texts have {chars} characters together; at most {most} can be counted")
        for i, text in enumerate(need.texts):
            count = recent.get(text)
            if count is None:
                if len(text) > limit:
                    raise RequestTooLarge(f"one text has {len(text)} characters; at most {limit} can be counted")
                missing.append(i)
                count = -1
            counts.append(count)
        self.texts_remembered += len(counts) - len(missing)
        return counts, missing

    async def _ask_store(
        self, cache: CountCache, need: NeedCounts, counts: list[int], missing: list[int], notes: set[str] | None
    ) -> list[int]:
        """Fills in what the store knows, in one question; returns the positions that are still unknown."""
        asked = [i for i in missing if len(need.texts[i]) >= SHARED_CHARS]
        if not asked:
            return missing
        found = await cache.get([self.key(need.vocabulary, need.texts[i]) for i in asked])
        if found is None:
            if notes is None or DEGRADED not in notes:
                self.degraded += 1
            if notes is not None:
                notes.add(DEGRADED)
            return missing
        recent = self._memory(need.vocabulary)
        for i, count in zip(asked, found, strict=True):
            # A byte-level vocabulary needs at least one token a text and at most one a byte: all else is damage.
            if count is not None and 0 < count <= 4 * len(need.texts[i]):
                counts[i] = count
                recent.put(need.texts[i], count)
                self.texts_shared += 1
        return [i for i in missing if counts[i] < 0]

    def _encode(self, vocabulary: str, texts: Sequence[str]) -> list[int]:
        return [self._vocabularies.tokens(vocabulary, text) for text in texts]

    def _learn(
        self, vocabulary: str, counts: list[int], missing: list[int], fresh: list[int], texts: list[str]
    ) -> None:
        recent = self._memory(vocabulary)
        self.texts_encoded += len(fresh)
        for i, text, count in zip(missing, texts, fresh, strict=True):
            counts[i] = count
            recent.put(text, count)

    def _write_back(self, cache: CountCache, vocabulary: str, texts: list[str], fresh: list[int]) -> None:
        """One round trip that nobody waits for."""
        new = {
            self.key(vocabulary, text): count
            for text, count in zip(texts, fresh, strict=True)
            if len(text) >= SHARED_CHARS
        }
        if new:
            task = asyncio.get_running_loop().create_task(cache.put(new))
            self._writing.add(task)
            task.add_done_callback(self._writing.discard)

    def key(self, vocabulary: str, text: str) -> str:
        """The store's key: layout version, the vocabulary's SHA-256, keyed BLAKE2b of the text (160 bits)."""
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20, key=self._hash_key)
        return f"{LAYOUT}:{self._vocabularies.identity(vocabulary)[:8]}:{digest.hexdigest()}"


def _at_most(texts: Sequence[str]) -> int:
    """UTF-8 bytes of the texts, or a little more."""
    return sum(len(text) if text.isascii() else 4 * len(text) for text in texts)
