"""The impairments of a link: delay, jitter, loss, duplicates, corruption, reordering."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Literal

Distribution = Literal["uniform", "normal", "pareto"]
DISTRIBUTIONS: tuple[Distribution, ...] = ("uniform", "normal", "pareto")

EmulatorName = Literal["netem", "user"]
EMULATORS: tuple[EmulatorName, ...] = ("netem", "user")
"""The emulators, in the order in which they are tried: the kernel's netem, and our own."""

WAYS = ("forward", "reverse")
"""The directions of a link: from the first of its ends, and from the second."""

QUANTILES = 4097
"""Number of points that describe a distribution to an emulator."""

PARETO_SHAPE = 3.0
"""The shape of netem's table of that name (iproute2, netem/pareto.c): long delays are rare and very long."""


@dataclass(frozen=True, kw_only=True)
class ChosenPackets:
    """The packets to which something happens: each with a probability, or exactly those with given numbers, from 0 in a
    trial."""

    ratio: float = 0.0
    packets: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class GilbertElliott:
    """Losses in bursts, by a good and a bad state (Gilbert 1960, Elliott 1963).

    Attributes:
        to_bad, to_good: probability, after each packet, of leaving the good and the bad state.
        loss_in_good, loss_in_bad: probability of a loss in each.
    """

    to_bad: float
    to_good: float
    loss_in_good: float = 0.0
    loss_in_bad: float = 1.0

    @property
    def ratio(self) -> float:
        """The share of packets that are lost in the long run."""
        bad = self.to_bad / (self.to_bad + self.to_good) if self.to_bad else 0.0
        return bad * self.loss_in_bad + (1 - bad) * self.loss_in_good


@dataclass(frozen=True, kw_only=True)
class Impairments:
    """Impairments of the packets of one direction of a link.

    Attributes:
        delay_ns: before jitter.
        jitter_ns: for `uniform`, the most that is added or taken away; for the others, the standard deviation.
        jitter_correlation: between one packet's jitter and the next one's, from 0 to under 1.
        delays_ns: delays to draw from, in order, instead of `delay_ns` and `jitter_ns`; empty: none.
        overtaking: packets that are not delayed.
        in_order: whether packets leave in the order in which they came, each no sooner than the one before it.
        late, late_by: packets that are held back until so many later ones have passed.
    """

    delay_ns: int = 0
    jitter_ns: int = 0
    distribution: Distribution = "uniform"
    jitter_correlation: float = 0.0
    delays_ns: tuple[int, ...] = ()
    loss: ChosenPackets | GilbertElliott | None = None
    duplicate: ChosenPackets | None = None
    corrupt: ChosenPackets | None = None
    overtaking: ChosenPackets | None = None
    in_order: bool = False
    late: tuple[int, ...] = ()
    late_by: int = 1

    @property
    def any(self) -> bool:
        """True if anything happens to packets."""
        return bool(
            self.delay_ns
            or self.jitter_ns
            or self.delays_ns
            or self.loss
            or self.duplicate
            or self.corrupt
            or self.overtaking
            or self.late
        )

    @property
    def mean_delay_ns(self) -> int:
        """The mean delay of a packet that is not lost. Jitter adds nothing to it."""
        return round(sum(self.delays_ns) / len(self.delays_ns)) if self.delays_ns else self.delay_ns

    @property
    def longest_delay_ns(self) -> int:
        """The longest delay of a packet that overtakes no other and is not held back."""
        return self.delay_ns + self._quantile_ns(QUANTILES - 1)

    @property
    def loss_ratio(self) -> float:
        """The share of packets that are lost in the long run; 0 where they are chosen by number."""
        return self.loss.ratio if self.loss else 0.0

    @property
    def loses_at_random(self) -> bool:
        """True if packets are lost by chance, or damaged so that their receiver discards them."""
        return self.loss_ratio > 0 or (self.corrupt is not None and self.corrupt.ratio > 0)

    @property
    def lists_packets(self) -> bool:
        """True if any packet is chosen by its number."""
        chosen = (self.loss, self.duplicate, self.corrupt, self.overtaking)
        return bool(self.late) or any(isinstance(item, ChosenPackets) and item.packets for item in chosen)

    def quantiles_ns(self) -> list[int]:
        """The times that are added to `delay_ns`, as equally spaced quantiles in order; empty without jitter."""
        if not (self.delays_ns or self.jitter_ns):
            return []
        return [self._quantile_ns(index) for index in range(QUANTILES)]

    def _quantile_ns(self, index: int) -> int:
        if self.delays_ns:
            return _between(self.delays_ns, (len(self.delays_ns) - 1) * index / (QUANTILES - 1))
        share, outermost = index / (QUANTILES - 1), 0.25 / (QUANTILES - 1)
        if self.distribution != "uniform":
            # The distributions have no end: the outermost quantiles stand in the middle of their share.
            share = min(max(share, outermost), 1 - outermost)
        return round(self.jitter_ns * standard_quantile(self.distribution, share))


NO_IMPAIRMENTS = Impairments()


def _between(values: tuple[int, ...], place: float) -> int:
    below = min(int(place), len(values) - 2) if len(values) > 1 else 0
    above = min(below + 1, len(values) - 1)
    return round(values[below] + (values[above] - values[below]) * (place - below))


def standard_quantile(distribution: Distribution, share: float) -> float:
    """A quantile of a distribution with mean 0: `uniform` from -1 to 1, the others with a standard deviation of 1.

    Args:
        share: the share of values that are smaller; above 0 and under 1 where the distribution has no end.
    """
    if distribution == "uniform":
        return 2 * share - 1
    if distribution == "normal":
        return NormalDist().inv_cdf(share)
    mean = PARETO_SHAPE / (PARETO_SHAPE - 1)
    deviation = sqrt(PARETO_SHAPE / (PARETO_SHAPE - 2)) / (PARETO_SHAPE - 1)
    return float(((1 - share) ** (-1 / PARETO_SHAPE) - mean) / deviation)
