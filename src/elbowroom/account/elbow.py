"""The elbow of a curve: where more no longer pays.

Knows: one rule. Cost and gain are brought to the scale 0 to 1, a straight line is drawn from the cheapest point to the
dearest, and the elbow is the point that lies highest above it (the rule of Kneedle, Satopaa et al. 2011, without
smoothing).
Does not know: what is paid or gained.
"""

from __future__ import annotations

from collections.abc import Sequence


def elbow(points: Sequence[tuple[float, float]]) -> int | None:
    """The position of the elbow among (cost, gain) points; the first of two that lie equally high.

    None where there is none: two costs or fewer, nothing gained in the end, or no point above the line.
    """
    costs = [cost for cost, _ in points]
    if len(set(costs)) < 3:
        return None
    least, most = min(costs), max(costs)
    start, end = (max(gain for cost, gain in points if cost == edge) for edge in (least, most))
    if end <= start:
        return None
    heights = [(gain - start) / (end - start) - (cost - least) / (most - least) for cost, gain in points]
    highest = max(heights)
    return heights.index(highest) if highest > 1e-9 else None
