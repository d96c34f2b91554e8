"""Over which paths, at which frame sizes and by which tests frames that differ from plain ones go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..model.errors import UsageError
from ..model.experiment import Experiment
from ..model.network import Network
from ..model.parameter import Scalar
from ..model.path import Path
from ..model.procedure import TEST_LEVEL, TRAFFIC_LEVEL
from ..model.quoting import listed, shown
from ..model.workloads import frames_parameters
from ..plan.workloads.frames import links_in_the_way, other_bits, too_large
from .places import SIZE_LEVEL
from .rfc_test import RfcTest
from .traffic import PLAIN, TRAFFICS, RfcTraffic, traffics_of, unfit

Pairs = Sequence[tuple[Path, Network]]
"""Paths with their networks."""


@dataclass(frozen=True, kw_only=True)
class At:
    """A test with frames of a size and a kind.

    Attributes:
        size: None: the test sends no frames.
        traffic: None: plain ones.
        paths: those that it goes over; empty: all.
    """

    test: RfcTest
    size: int | None
    traffic: RfcTraffic | None = None
    paths: tuple[str, ...] = ()

    @property
    def levels(self) -> dict[str, Scalar]:
        """The parameters that tell its combination from others."""
        levels: dict[str, Scalar] = {TEST_LEVEL: self.test.name}
        if self.size is not None:
            levels[SIZE_LEVEL] = self.size
        return levels if self.traffic is None else levels | {TRAFFIC_LEVEL: self.traffic.name}

    @property
    def params(self) -> Mapping[str, Scalar]:
        """Traits that its frames have besides those of plain ones."""
        return {} if self.traffic is None else self.traffic.params


def traffics_for(
    experiment: Experiment, networks: Pairs, profile: str, named: Sequence[str]
) -> tuple[list[RfcTraffic], dict[str, str]]:
    """The kinds of frames besides plain ones that can go over a path, and those of the profile that were not asked for,
    with the reason.

    Args:
        named: by name; empty: those of the profile.

    Raises:
        UsageError: there is none of that name, or no path can have it.
    """
    for name in named:
        if name not in (PLAIN, *TRAFFICS):
            raise UsageError(f"there is no traffic {shown(name)}; there are {listed((PLAIN, *TRAFFICS))}")
    wanted = [TRAFFICS[name] for name in dict.fromkeys(named) if name != PLAIN] if named else traffics_of(profile)
    topology, result, left_out = experiment.topologies[0], list[RfcTraffic](), dict[str, str]()
    for item in wanted:
        reasons = [why for pair in networks if (why := unfit(item, *pair)) is not None]
        why = reasons[0] if len(reasons) == len(networks) else None
        if why is None and frames_parameters.NETWORKS.column in item.params:
            why = next(links_in_the_way(topology, other_bits(item.params)), None)
        if why is not None and named:
            raise UsageError(f"no path can have the frames {item.name}: {why}")
        if why is None and item.changes_device and not named and topology.ports:
            why = (
                "the equipment needs routes to the networks behind the hosts, which only its owner can give it: with "
                f"them ask for --traffic {item.name}"
            )
        if why is None:
            result.append(item)
        else:
            left_out[item.name] = why
    return result, left_out


def repeated(
    traffic: RfcTraffic,
    tests: Sequence[RfcTest],
    sizes: Sequence[int],
    networks: Pairs,
    testers: Pairs,
    *,
    is_partial: bool,
) -> list[At]:
    """The tests with such frames: each at every size that fits, or the throughput alone at the least."""
    fitting = [
        pair for pair in networks if unfit(traffic, *pair) is None and not _is_of_another(traffic, pair[0], networks)
    ]
    at_sizes: list[tuple[int, tuple[str, ...]]] = []
    for size in sizes:
        pairs = [pair for pair in fitting if next(unfit_sizes([pair], size, traffic), None) is None]
        families = {path.family for path, _ in pairs}
        usable_pairs = [pair for pair in testers if pair[0].family in families and unfit(traffic, *pair) is None]
        if pairs:
            at_sizes.append((size, tuple(path.name for path, _ in (*pairs, *usable_pairs))))
    return [
        At(test=test, size=size, traffic=traffic, paths=paths)
        for test in tests
        if test.run is not None and test.over_traffics and (test.over_testers or not is_partial)
        for size, paths in at_sizes[: 1 if is_partial else None]
    ]


def _is_of_another(traffic: RfcTraffic, path: Path, networks: Pairs) -> bool:
    """True if plain forwarding of IPv6 has the same frames: 10 % of IPv6 beside IPv4 are 90 % of IPv4 beside IPv6."""
    others = {item.mechanism for item, _ in networks}
    return traffic.native_ratio > 0 and path.mechanism == "native4" and "native6" in others


def unfit_sizes(
    networks: Iterable[tuple[Path, Network]], size: int, traffic: RfcTraffic | None = None
) -> Iterator[str]:
    """The reason why frames of a size cannot go over a path. `traffic`: what they are like; None: plain ones."""
    for path, network in networks:
        least = (
            frames_parameters.LEAST_BYTES[network.family] if traffic is None else traffic.least_bytes(network.family)
        )
        if size < least:
            yield f"frames of {size} bytes are too small for {path.name}: at least {least} over IPv{network.family}"
        params = {SIZE_LEVEL: size, **({} if traffic is None else traffic.params)}
        yield from (words for _, words in too_large(network, path, params))
