"""One-way delays between two clocks: the truth is within what is said, whatever the ways take."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sixbench.stats.two_clocks import Exchange, Flow, histogram_of, line_of, matched

pytestmark = pytest.mark.computes

EPOCH_NS = 1_764_000_000 * 10**9
SECOND_NS, MS, US = 10**9, 10**6, 1000
MOST_PPM = 1000


class Clocks:
    """A client's clock that is right, and a server's that is not."""

    def __init__(self, ahead_ns: int, fast_ppm: float) -> None:
        self.ahead_ns, self.fast_ppm = ahead_ns, fast_ppm

    def server(self, true_ns: np.ndarray) -> np.ndarray:
        return true_ns + self.ahead_ns + ((true_ns - EPOCH_NS) * self.fast_ppm / 1e6).astype(np.int64)

    def there(self, sent_ns: np.ndarray, delays_ns: np.ndarray) -> Flow:
        return Flow(sent_ns=sent_ns, received_ns=self.server(sent_ns + delays_ns))

    def back(self, sent_ns: np.ndarray, delays_ns: np.ndarray) -> Flow:
        return Flow(sent_ns=self.server(sent_ns), received_ns=sent_ns + delays_ns)

    def exchange(self, after_ns: int, there_ns: int, back_ns: int, seed: int) -> Exchange:
        """60 datagrams each way, of which the fastest take this long."""
        noise = np.random.default_rng(seed)
        sent_ns = EPOCH_NS + after_ns + np.arange(60) * MS
        slower = [noise.exponential(20 * US, 60).astype(np.int64) for _ in range(2)]
        return Exchange(
            there=self.there(sent_ns, there_ns + slower[0]), back=self.back(sent_ns + 300 * US, back_ns + slower[1])
        )


@given(
    ahead_ns=st.integers(-5 * SECOND_NS, 5 * SECOND_NS),
    fast_ppm=st.floats(-300, 300),
    there_ns=st.integers(0, 20 * MS),
    back_ns=st.integers(0, 20 * MS),
    delay_ns=st.integers(0, 50 * MS),
    seed=st.integers(0, 1000),
)
def test_the_truth_is_within_the_uncertainty(
    ahead_ns: int, fast_ppm: float, there_ns: int, back_ns: int, delay_ns: int, seed: int
) -> None:
    """Also where one way takes a thousand times as long as the other."""
    clocks = Clocks(ahead_ns, fast_ppm)
    before, after = (clocks.exchange(at_ns, there_ns, back_ns, seed + at_ns) for at_ns in (0, 2 * SECOND_NS))
    line = line_of(before, after, MOST_PPM)
    assert line.low_ppm - 1e-3 <= fast_ppm <= line.high_ppm + 1e-3
    widths_ns = [item.high_ns - item.low_ns for item in (line.first, line.last)]
    assert max(widths_ns) <= there_ns + back_ns + 100 * US
    sent_ns = EPOCH_NS + 100 * MS + np.arange(1000) * MS
    uncertain_ns = max(widths_ns) / 2 + 4  # each of the four times is a whole number of nanoseconds
    for is_there, flow in (
        (True, clocks.there(sent_ns, np.full(1000, delay_ns))),
        (False, clocks.back(sent_ns, np.full(1000, delay_ns))),
    ):
        wrong_ns = line.delays_ns(flow, is_there=is_there) - delay_ns
        assert np.abs(wrong_ns).max() <= uncertain_ns


def test_ways_that_are_not_alike_are_wrong_by_half_their_difference_and_it_says_so() -> None:
    clocks = Clocks(5 * SECOND_NS, 200)
    before, after = (clocks.exchange(at_ns, 10 * US, 4 * MS, 1) for at_ns in (0, SECOND_NS))
    line = line_of(before, after, MOST_PPM)
    flow = clocks.there(EPOCH_NS + 500 * MS + np.arange(10) * MS, np.full(10, 30 * MS))
    wrong_ns = line.delays_ns(flow, is_there=True).mean() - 30 * MS
    assert wrong_ns == pytest.approx(2 * MS, rel=0.05)
    assert (line.first.high_ns - line.first.low_ns) / 2 > 2 * MS


def test_a_clock_that_is_stepped_meanwhile_is_noticed() -> None:
    before = Clocks(0, 0).exchange(0, 10 * US, 10 * US, 1)
    after = Clocks(5 * MS, 0).exchange(SECOND_NS, 10 * US, 10 * US, 1)
    with pytest.raises(ValueError, match=r"would be ahead|would drift"):
        line_of(before, after, MOST_PPM)


def test_the_first_arrival_of_what_was_sent_counts() -> None:
    flow = matched([100, 200, 300], [2, 0, 2, 9], [330, 150, 340, 999])
    assert (flow.sent_ns.tolist(), flow.received_ns.tolist()) == ([100, 300], [150, 330])


def test_a_histogram_has_exact_quantiles_and_buckets_of_three_digits() -> None:
    histogram = histogram_of(np.array([-40.0, 7.0, 2047.0, 2048.0, 200_061_234.0]))
    assert (histogram["count"], histogram["min"], histogram["p50"], histogram["max"]) == (5, -40, 2047, 200_061_234)
    *exact, (two, _), (wide, item) = histogram["buckets"]
    assert exact == [[-40, 1], [7, 1], [2047, 1]]
    assert (two, item) == (2049, 1)
    assert wide == pytest.approx(200_061_234, rel=0.001)
