"""Lead of a clock over another one, by looks at the other one before and after it tells its time."""

from __future__ import annotations

from collections.abc import Sequence


def ahead_ns(looks: Sequence[Sequence[int]]) -> tuple[int, int]:
    """Its lead: no less and no more than this. The more looks there are, the narrower that is.

    Args:
        looks: of each, the other clock, the clock itself, and the other clock once more, in nanoseconds.
    """
    low_ns = max(clock_ns - after for _, clock_ns, after in looks)
    high_ns = min(clock_ns - before for before, clock_ns, _ in looks)
    # If the clock was stepped meanwhile, the bounds are in reverse order.
    return min(low_ns, high_ns), max(low_ns, high_ns)
