"""The bypass run before an experiment: each of its workloads between two hosts on one link, so that results which the
tester itself limits are known as such (RFC 2544 section 6 asks for a tester that is faster than what it tests)."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..agent import AgentHub
from ..mechanisms import install, legs_of
from ..model.bypass import Bypass, bypassed_column
from ..model.errors import AgentError, CapabilityError, LabError
from ..model.experiment import Combination, Experiment
from ..model.network import Network
from ..model.parameter import Scalar
from ..model.path import Path
from ..model.placement import Placement
from ..model.reason import sentences
from ..model.topology import Family, Topology
from ..model.workloads import WORKLOADS
from ..plan.experiment_file import read_topology_only
from ..plan.yaml_source import parse_yaml
from .laboratory import Laboratory
from .parts import Hosts, parts_of, run_parts, trial_expected_ns

BETWEEN = ("h1", "h2")

SHARE = 0.05
"""All bypass runs together take about this share of the time that the experiment measures."""

SHORTEST_NS, LONGEST_NS = 100 * 10**6, 500 * 10**6
WARMUP_SHARE = 0.3
MIN_MTU_BYTES = 1280
"""The least MTU of the link, which has both families (RFC 8200 section 5)."""


@dataclass(frozen=True, kw_only=True)
class _Wanted:
    workload: str
    params: tuple[tuple[str, Scalar], ...]
    family: Family
    mtu_bytes: int
    offload: bool


def measure_bypass(hub: AgentHub, experiment: Experiment, known: tuple[Bypass, ...]) -> tuple[Bypass, ...]:
    """A bypass run for each of the experiment's workloads and families that is not known already. A run that fails says
    so in its result: it is no reason not to measure the paths."""
    if any(topology.is_spread for topology in experiment.topologies):
        return known  # the rates of this machine say nothing about others
    of_known = {_of(bypass) for bypass in known}
    wanted = [item for item in _all_wanted(experiment) if item not in of_known]
    if not wanted:
        return known
    length_ns = _length_ns(experiment, len(wanted))
    bypasses = list(known)
    for mtu_bytes, offload in dict.fromkeys((item.mtu_bytes, item.offload) for item in wanted):
        alike = [item for item in wanted if (item.mtu_bytes, item.offload) == (mtu_bytes, offload)]
        topology = _link(mtu_bytes, offload)
        path = Path(name="bypass", mechanism="native4", family=4)
        network = install(path, topology, BETWEEN)
        try:
            laboratory = Laboratory(hub, network)
        except (AgentError, CapabilityError, LabError) as error:
            bypasses.extend(_result(item, failed=str(error)) for item in alike)
            continue
        try:
            bypasses.extend(_measured(item, laboratory, network, length_ns, experiment.placement) for item in alike)
        finally:
            laboratory.close()
    return tuple(bypasses)


ByWorkload = Mapping[_Wanted, Bypass]
"""The bypass runs that did not fail, by what was measured."""


def by_workload(measured: Iterable[Bypass]) -> ByWorkload:
    """The bypass runs in the form in which `bypass_of` finds one."""
    return {_of(bypass): bypass for bypass in measured if not bypass.failed}


def bypass_of(experiment: Experiment, combination: Combination, path: Path, measured: ByWorkload) -> Bypass | None:
    """The bypass run that shows how fast the tester is in a trial's workload; None where that is not known or no
    limit."""
    wanted = _wanted(experiment, combination, path)
    return None if wanted is None else measured.get(wanted)


def bypass_runs(experiment: Experiment) -> tuple[int, int]:
    """Number of runs that `measure_bypass` makes before the first trial, and the length of the traffic of each (ns)."""
    wanted = len(_all_wanted(experiment))
    return (wanted, round((1 + WARMUP_SHARE) * _length_ns(experiment, wanted))) if wanted else (0, 0)


def _all_wanted(experiment: Experiment) -> list[_Wanted]:
    results = [_wanted(experiment, combination, path) for combination, path in experiment.path_combinations]
    return list(dict.fromkeys(result for result in results if result is not None))


def _wanted(experiment: Experiment, combination: Combination, path: Path) -> _Wanted | None:
    kind, params = WORKLOADS[combination.workload.kind], combination.workload.params
    if bypassed_column(kind, params) is None:
        return None
    if not experiment.topologies:
        return None
    links = experiment.topologies[combination.topology_of(path.name)].route(*experiment.between) or []
    if not links:
        return None
    # A client on one link has no other address.
    staying = {
        column: value for column, value in params.items() if kind.moves_by is None or column != kind.moves_by.column
    }
    return _Wanted(
        workload=kind.name,
        params=tuple(sorted(staying.items())),
        family=path.family,
        mtu_bytes=max(MIN_MTU_BYTES, links[0].mtu_bytes),
        offload=all(link.offload_on for link in links),
    )


def _of(bypass: Bypass) -> _Wanted:
    return _Wanted(
        workload=bypass.workload,
        params=tuple(sorted(bypass.params.items())),
        family=bypass.family,
        mtu_bytes=bypass.mtu_bytes,
        offload=bypass.offload,
    )


def _result(wanted: _Wanted, metrics: Mapping[str, float] | None = None, failed: str | None = None) -> Bypass:
    return Bypass(
        workload=wanted.workload,
        params=dict(wanted.params),
        family=wanted.family,
        mtu_bytes=wanted.mtu_bytes,
        offload=wanted.offload,
        metrics=dict(metrics or {}),
        failed=failed,
    )


def _length_ns(experiment: Experiment, runs: int) -> int:
    times_ns = [
        trial_expected_ns(WORKLOADS[combination.workload.kind], combination.workload.params) or 0
        for combination, _ in experiment.path_combinations
    ]
    total_ns = sum(times_ns) * experiment.blocks.minimum
    return round(min(LONGEST_NS, max(SHORTEST_NS, SHARE * total_ns / runs)))


def _link(mtu_bytes: int, offload: bool) -> Topology:
    words = "true" if offload else "false"
    text = f"""
nodes: {{h1: host, h2: host}}
links: [{{endpoints: [h1, h2], mtu: {mtu_bytes}, offload: {words}}}]
"""
    return read_topology_only(parse_yaml(text, "bypass"))


def _measured(
    wanted: _Wanted, laboratory: Laboratory, network: Network, length_ns: int, placement: Placement | None
) -> Bypass:
    kind = WORKLOADS[wanted.workload]
    params = {name: value for name, value in wanted.params if name not in ("bytes", "count", "duration_ns")}
    params |= {"duration_ns": length_ns, "warmup_ns": round(WARMUP_SHARE * length_ns)}
    client, server = (laboratory.agents[name] for name in BETWEEN)
    legs = legs_of(network.topology, BETWEEN, wanted.family)
    hosts = Hosts(client=client, server=server, family=wanted.family, legs={wanted.family: legs})
    try:
        laboratory.pin_nodes(placement or kind.placement(params), BETWEEN)
        laboratory.check_reachable(legs)
        results = run_parts(parts_of(kind, params), hosts, "bypass", secrets.token_hex(16), lambda running: None)
        measured = kind.summarise(params, *results)
    except (AgentError, LabError) as error:
        return _result(wanted, failed=str(error))
    if measured.invalid:
        return _result(wanted, failed=sentences(measured.invalid))
    return _result(wanted, measured.metrics)
