"""Estimated length of an experiment, computed before it is run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..mechanisms import install
from ..model.expectation import Expectation
from ..model.experiment import Combination, Experiment
from ..model.parameter import Params
from ..model.topology import Link, Topology
from ..model.workloads import WORKLOADS
from ..model.workloads.applications import IN_FLIGHT
from ..plan.schedule import trial_counts
from .bypass import bypass_runs
from .parts import trial_expected_ns

TRIAL_OVERHEAD_NS = 40_000_000
"""Time of a trial beyond its warm-up and measuring. Measured on two cores, quiet: 24 to 35 ms; more where they are
busy. A run that goes on corrects this value as trials end."""

BUILD_NS = 40_000_000
"""Time for building a network. Measured with three nodes: 31 ms."""

INSTALL_NS = 100_000_000
"""Time for installing a path with tunnels. Measured: 70 to 120 ms, most of it the kernel's verifier."""

BITS_PER_BYTE = 8
SECOND_NS = 10**9


SERVER_TRIAL_NS = SECOND_NS
"""The time of an attempt towards a server, which gets one connection a second."""
SURVEY_NS = 5 * SECOND_NS
"""The time in which what each server offers is found out, where all answer."""


@dataclass(frozen=True, kw_only=True)
class RunEstimate:
    """Length of a run, by what is known before it.

    Attributes:
        least_ns, most_ns: with the least and the most blocks, the latter within the time of the run.
        traffic_ns, between_ns: of `least_ns`, what the trials' warm-up and measuring take, and what is between trials.
        before_ns: of `least_ns`, the bypass runs and the building of networks.
        open_ended: how many combinations end after a number of bytes or transactions, without a rate that says when.
            They are counted at what the links allow, so that the run takes at least as long as estimated.
    """

    least_ns: int
    most_ns: int
    traffic_ns: int
    between_ns: int
    before_ns: int
    open_ended: int


def estimate(experiment: Experiment) -> RunEstimate:
    """Length of a run of that experiment on this machine, in its own network namespaces."""
    blocks = experiment.blocks
    times = {
        (combination.name, path.name): trial_time_ns(experiment, combination, path.name)
        for combination, path in experiment.path_combinations
    }
    block_ns = sum(time_ns for time_ns, _ in times.values())
    before_ns = bypass_runs_ns(experiment) + building_ns(experiment)
    least, most = trial_counts(experiment)
    least_ns = before_ns + block_ns * blocks.minimum + least * TRIAL_OVERHEAD_NS
    most_ns = before_ns + block_ns * blocks.maximum + most * TRIAL_OVERHEAD_NS
    return RunEstimate(
        least_ns=least_ns,
        most_ns=most_ns if blocks.time_ns is None else max(least_ns, min(most_ns, blocks.time_ns)),
        traffic_ns=block_ns * blocks.minimum,
        between_ns=least * TRIAL_OVERHEAD_NS,
        before_ns=before_ns,
        open_ended=len({combination for (combination, _), (_, is_known) in times.items() if not is_known}),
    )


def trial_time_ns(experiment: Experiment, combination: Combination, path: str) -> tuple[int, bool]:
    """Time of the warm-up and measuring of a trial, and whether that is known: else it is the least that the rates and
    delays of the links allow."""
    kind, params = WORKLOADS[combination.workload.kind], combination.workload.params
    timed_ns = trial_expected_ns(kind, params)
    if timed_ns is not None:
        return timed_ns, True
    amount_bytes, count = params.get("bytes"), params.get("count")
    datagram_bytes = params.get("datagram_bytes")
    if count is None and amount_bytes is not None and datagram_bytes is not None:
        count = int(amount_bytes) / int(datagram_bytes)
    gap_ns = kind.gap_ns(params)
    if count is not None and gap_ns is not None:
        return round(float(count) * gap_ns), True
    if count is not None and datagram_bytes is not None:
        amount_bytes = float(count) * int(datagram_bytes)
    if not experiment.topologies:
        return SERVER_TRIAL_NS * int(count or 1), False
    route = _route(experiment, experiment.topologies[combination.topology_of(path)])
    if amount_bytes is not None:
        return round(_sending_ns(route, params.get("direction") == "reverse", float(amount_bytes))), False
    return round(float(count or 1) * _transaction_ns(kind.expectation(params, experiment.pages), route, params)), False


def _transaction_ns(expectation: Expectation, route: Sequence[tuple[Link, int]], params: Params) -> float:
    """The least share of the trial's time that a transaction takes: its round trips, of which as many pass at the same
    time as there are transactions in flight, or its bytes at the slowest link's rate."""
    round_trip_ns = sum(direction.impairments.mean_delay_ns for link, _ in route for direction in link.directions)
    round_trips = max(expectation.round_trips.values(), default=1)
    waiting_ns = round_trips * round_trip_ns / int(params.get(IN_FLIGHT.column, 1))
    exchange = expectation.exchange
    if exchange is None:
        return waiting_ns
    directions = (
        (0, sum(exchange.sent) + exchange.sent_data_bytes),
        (1, sum(exchange.received) + exchange.received_data_bytes),
    )
    return max(waiting_ns, *(_sending_ns(route, reverse, size_bytes) for reverse, size_bytes in directions))


def _sending_ns(route: Sequence[tuple[Link, int]], reverse: int, size_bytes: float) -> float:
    """The time that so many bytes take at the slowest link's rate, from the first end or to it. 0: no link has one."""
    rates_bps = [link.directions[end ^ reverse].rate_bps for link, end in route]
    known_bps = [rate_bps for rate_bps in rates_bps if rate_bps is not None]
    return size_bytes * BITS_PER_BYTE / min(known_bps) * SECOND_NS if known_bps else 0


def bypass_runs_ns(experiment: Experiment) -> int:
    """Time of the bypass runs before the first trial."""
    runs, time_ns = bypass_runs(experiment)
    return runs * (time_ns + TRIAL_OVERHEAD_NS)


def building_ns(experiment: Experiment) -> int:
    """Time for building each network once, and for installing each path that needs more than wires; or for asking each
    server."""
    if not experiment.topologies:
        return SURVEY_NS
    used = {(path.name, combination.topology_of(path.name)) for combination, path in experiment.path_combinations}
    installed = sum(
        not install(experiment.path(name), experiment.topologies[index], experiment.between).is_plain
        for name, index in used
    )
    plain = len({index for _, index in used})
    return (plain + installed) * BUILD_NS + installed * INSTALL_NS


def _route(experiment: Experiment, topology: Topology) -> list[tuple[Link, int]]:
    """The links from the first end to the second, each with the number of its end that the first is at."""
    at, _ = experiment.between
    pairs = []
    for link in topology.route(*experiment.between) or []:
        near = 0 if link.ends[0].node == at else 1
        pairs.append((link, near))
        at = link.ends[1 - near].node
    return pairs
