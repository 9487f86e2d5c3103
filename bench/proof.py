"""Never over, measured: `python -m bench.proof`, or `make proof`.

10,000 requests that end in every way there is (answers whole and streamed, errors of the upstream, timeouts, broken
streams, clients that leave before the first byte and after it, malformed bodies) go through 4 worker processes, some of
which are killed meanwhile, to an upstream that emits all it may. A sampler reads the ledger all the time. The command
fails where a sample is above a limit, where anything stays held, or where less than what was served is settled, or more
than that and the holds that were swept.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.emitting import Emitting
from tests.servers import RedisServer
from tests.storm import PAYERS, Figures, Storm


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.proof")
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--kills", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, RedisServer() as server, Emitting() as upstream:
        storm = Storm(
            upstream, Path(folder), server.url, requests=args.requests, workers=args.workers, kills=args.kills
        )
        figures = asyncio.run(storm.blow(args.seed))
        wrong = [*figures.over, *figures.strange, *storm.wrong_sums()]
        print(*told(storm, figures, upstream.served), *wrong, sep="\n")
    return 1 if wrong else 0


def told(storm: Storm, figures: Figures, served: Counter[str]) -> Iterator[str]:
    settled, swept = storm.sums["o/o:o"], figures.swept
    charged = sum(swept[one] for one in PAYERS)
    yield f"{sum(figures.statuses.values()):,} requests in {figures.seconds:.0f} s, {figures.kills} workers killed"
    yield "  answers    " + _counted(figures.statuses)
    yield "  refusals   " + _counted(figures.codes)
    yield f"  served     {sum(served[one] for one in PAYERS):,} tokens, by the upstream's account"
    yield f"  settled    {settled['t']:,} tokens, of which {swept['holds']:,} holds that were swept: {charged:,}"
    yield f"  held       {settled['ht']:,} tokens, {settled['hm']:,} micro-USD, {settled['o']:,} requests in the end"
    yield f"  samples    {figures.samples:,}, of which {len(figures.over):,} above a limit; the highest of each limit:"
    for at, share in sorted(figures.highest.items()):
        yield f"    {at:40} {share:7.1%}"


def _counted(found: Counter[str]) -> str:
    return ", ".join(f"{name}: {number:,}" for name, number in sorted(found.items())) or "none"


if __name__ == "__main__":
    sys.exit(main())
