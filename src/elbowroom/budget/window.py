"""A sliding window of 60 seconds: how many requests and tokens there were in it.

Knows: whole seconds, each with its two sums, and when one has gone out.
Does not know: what time it is, any limit.

A second is forgotten when all of it is more than a minute ago. So never less than the last 60 seconds is counted, and
an entry counts for 61 seconds at most: what is admitted keeps to the limit in any 60 seconds, at the price of a
sixtieth less than the limit where requests never stop.
"""

from __future__ import annotations

SECONDS = 60
KEPT = SECONDS + 1  # how many seconds after its own an entry is gone


class Window:
    """Requests and tokens, second by second."""

    def __init__(self) -> None:
        self.requests = 0  # in the window when it was last looked at
        self.tokens = 0
        self._seconds: dict[int, list[int]] = {}
        self._first = 0  # the oldest second that may be in there

    def slide(self, now: float) -> None:
        """Forgets what has gone out."""
        first = int(now) - SECONDS
        if first == self._first:
            return
        self._first = first
        for second in [second for second in self._seconds if second < first]:
            requests, tokens = self._seconds.pop(second)
            self.requests -= requests
            self.tokens -= tokens

    def add(self, second: int, requests: int, tokens: int) -> None:
        """To that second, which is the present one."""
        sums = self._seconds.setdefault(second, [0, 0])
        sums[0] += requests
        sums[1] += tokens
        self.requests += requests
        self.tokens += tokens

    def correct(self, second: int, tokens: int) -> None:
        """What came in that second was that many more tokens, or fewer; nothing where it has gone out."""
        if second in self._seconds:
            self.add(second, 0, tokens)

    def requests_free(self, now: float, most: int) -> int:
        """The second from which `most` requests or fewer are left; the one from which none is, where 0 is too many."""
        return self._free(now, 0, self.requests, most)

    def tokens_free(self, now: float, most: int) -> int:
        """Likewise for tokens."""
        return self._free(now, 1, self.tokens, most)

    def _free(self, now: float, which: int, left: int, most: int) -> int:
        free = int(now)
        if 0 <= left <= most:
            return free
        for second in sorted(self._seconds):
            left -= self._seconds[second][which]
            free = second + KEPT
            if 0 <= left <= most:
                break
        return free
