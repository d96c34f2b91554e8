"""Delays between two clocks: what datagrams both ways prove about the difference of the clocks, and the one-way delays
that follow. Pure; times are in nanoseconds of the realtime clock that was read.

No datagram arrives before it was sent. So what a receiver read on arrival is no less than what its clock showed when
the datagram left, and the difference of the clocks is bounded from one side by each datagram, whatever its way took
(RFC 5905 section 8 has the same four times). Datagrams both ways bound it from both sides: by the least delay there and
the least delay back, whose sum is the least round trip. That ways are equally long is not assumed. It is assumed that
neither clock changes its rate between the first datagram and the last one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor

import numpy as np
from numpy.typing import ArrayLike, NDArray

Times = NDArray[np.int64]
Delays = NDArray[np.float64]


def least(values: Times | Delays) -> float:
    """The least of these."""
    numbers: list[float] = values.tolist()
    return min(numbers)


def greatest(values: Times | Delays) -> float:
    """The greatest of these."""
    numbers: list[float] = values.tolist()
    return max(numbers)


PASSES = 3
"""Number of rounds in which the drift narrows the intervals, and these narrow the drift. After the second time next to
nothing changes."""


@dataclass(frozen=True, kw_only=True)
class Flow:
    """Datagrams that arrived, one way.

    Attributes:
        sent_ns: by the sender's clock.
        received_ns: by the receiver's, of the same datagrams.
    """

    sent_ns: Times
    received_ns: Times

    @property
    def apparent_ns(self) -> Times:
        """Delays by the two clocks."""
        return self.received_ns - self.sent_ns


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """Datagrams from client to server, and back. Both have some."""

    there: Flow
    back: Flow

    @property
    def middle_ns(self) -> int:
        """The middle of it, by the client's clock."""
        times_ns = (self.there.sent_ns, self.back.received_ns)
        return int(min(map(least, times_ns)) + max(map(greatest, times_ns))) // 2


@dataclass(frozen=True, kw_only=True)
class Offset:
    """Lead of the server's clock over the client's: at this time of the client's, no less and no more than this."""

    at_ns: int
    low_ns: int
    high_ns: int


@dataclass(frozen=True, kw_only=True)
class Line:
    """The difference of the clocks as it changes: the two ends, and the bounds of its rate in millionths."""

    first: Offset
    last: Offset
    low_ppm: float
    high_ppm: float

    def by_the_client(self, server_ns: Times) -> Delays:
        """Time of the client's clock when the server's showed this, counted from `first.at_ns`."""
        first, last = self.first, self.last
        offset_ns, change_ns = (first.low_ns + first.high_ns) / 2, (last.low_ns + last.high_ns) / 2
        rate = (change_ns - offset_ns) / (last.at_ns - first.at_ns)
        shown_ns: Delays = np.asarray(((server_ns - first.at_ns) - offset_ns) / (1 + rate), dtype=np.float64)
        return shown_ns

    def delays_ns(self, flow: Flow, *, is_there: bool) -> Delays:
        """The one-way delays of a flow, by the client's clock.

        Args:
            is_there: whether it goes from client to server.
        """
        if is_there:
            return self.by_the_client(flow.received_ns) - (flow.sent_ns - self.first.at_ns)
        return (flow.received_ns - self.first.at_ns) - self.by_the_client(flow.sent_ns)


def line_of(before: Exchange, after: Exchange, most_ppm: float) -> Line:
    """The difference of the clocks between two exchanges.

    Args:
        most_ppm: by how many millionths one clock may be faster than the other.

    Raises:
        ValueError: no one difference and rate agrees with all datagrams, so a clock was stepped or slewed meanwhile.
    """
    line = _line(before, after, -most_ppm, most_ppm)
    for _ in range(PASSES - 1):
        line = _line(before, after, line.low_ppm, line.high_ppm)
    return line


def _line(before: Exchange, after: Exchange, low_ppm: float, high_ppm: float) -> Line:
    """The line, where its rate is known to be within these bounds."""
    first, last = (_offset(exchange, low_ppm, high_ppm) for exchange in (before, after))
    elapsed_ns = last.at_ns - first.at_ns
    low_ppm = max(low_ppm, 1e6 * (last.low_ns - first.high_ns) / elapsed_ns)
    high_ppm = min(high_ppm, 1e6 * (last.high_ns - first.low_ns) / elapsed_ns)
    if low_ppm > high_ppm:
        raise ValueError(f"the clocks would drift by at least {low_ppm:.4g} and at most {high_ppm:.4g} ppm")
    return Line(first=first, last=last, low_ppm=low_ppm, high_ppm=high_ppm)


def _offset(exchange: Exchange, low_ppm: float, high_ppm: float) -> Offset:
    """Bounds from an exchange on the difference at its middle. A bound of another time is wider by what the clocks may
    drift until then."""
    at_ns = exchange.middle_ns
    there, back = exchange.there, exchange.back
    high_ns = there.apparent_ns + _drifted(at_ns - there.sent_ns, low_ppm, high_ppm, np.maximum)
    low_ns = -back.apparent_ns + _drifted(at_ns - back.received_ns, low_ppm, high_ppm, np.minimum)
    low, high = floor(greatest(low_ns)), ceil(least(high_ns))
    if low > high:
        raise ValueError(f"the server's clock would be ahead by at least {low} ns and at most {high} ns")
    return Offset(at_ns=at_ns, low_ns=low, high_ns=high)


def _drifted(elapsed_ns: Times, low_ppm: float, high_ppm: float, extreme: np.ufunc) -> Delays:
    drifted: Delays = extreme(elapsed_ns * (low_ppm / 1e6), elapsed_ns * (high_ppm / 1e6))
    return drifted


QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
_EXACT = 2048
"""Values below it have a bucket of their own, as in the agent's histograms of 3 significant digits."""


def histogram_of(delays_ns: Delays) -> dict[str, object]:
    """Delays in the form of docs/protocol.md, in whole nanoseconds. Its quantiles are exact."""
    values = np.sort(np.rint(delays_ns).astype(np.int64))
    shifts = np.maximum(0, np.floor(np.log2(np.maximum(np.abs(values), 1))).astype(np.int64) - 10)
    middles = ((values >> shifts) << shifts) + ((1 << shifts) >> 1)
    distinct, counts = np.unique(np.where(values < _EXACT, values, middles), return_counts=True)
    return {
        "unit": "ns",
        "count": len(values),
        "min": int(values[0]),
        "max": int(values[-1]),
        "mean": float(delays_ns.mean()),
        "stdev": float(delays_ns.std()),
        **{name: int(values[_rank(share, len(values))]) for name, share in QUANTILES.items()},
        "buckets": [list(pair) for pair in zip(distinct.tolist(), counts.tolist(), strict=True)],
    }


def _rank(share: float, count: int) -> int:
    return max(0, int(np.ceil(share * count)) - 1)


def matched(sent_ns: ArrayLike, sequence: ArrayLike, received_ns: ArrayLike) -> Flow:
    """The datagrams that arrived, each by its first arrival. `sequence` is the place of each arrival in `sent_ns`."""
    sent, numbers, received = (np.asarray(item, dtype=np.int64) for item in (sent_ns, sequence, received_ns))
    known = numbers < len(sent)
    unique, first = np.unique(numbers[known], return_index=True)
    return Flow(sent_ns=sent[unique], received_ns=received[known][first])
