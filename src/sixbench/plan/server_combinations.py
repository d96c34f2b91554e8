"""The combinations of an experiment with servers: every workload from every vantage to every server, and every
combination of levels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..model.experiment import Combination, Statistics
from ..model.host import Host
from ..model.parameter import Scalar
from ..model.path import Path
from ..model.quoting import listed
from ..model.server import SERVER_COLUMN, VANTAGE_COLUMN, Server
from ..model.topology import Family
from ..model.workload import Workload
from ..model.workloads import ping
from ..model.workloads.common import COUNT, SECOND_NS, TIMEOUT
from .combinations import MAX_COMBINATIONS, over_paths
from .factors import Factors
from .reader import Reader
from .servers_file import SERVER_WORKLOADS, SERVERS
from .workload_file import WorkloadTemplate, check_workload, constant_levels

MOST: dict[str, int] = {COUNT.column: 20, ping.PAYLOAD.column: 1400, TIMEOUT.column: 30 * SECOND_NS}
"""The largest values towards servers: a trial is short, and its packets are not fragmented."""
TAKEN = frozenset({SERVER_COLUMN, VANTAGE_COLUMN})
"""The columns of the levels that name the ends."""


@dataclass(frozen=True, kw_only=True)
class ServerEnds:
    """The ends of an experiment with servers.

    Attributes:
        vantages: the machines that it is measured from; empty: this one, which no level names.
    """

    servers: tuple[Server, ...]
    vantages: tuple[Host, ...] = ()

    @property
    def pairs(self) -> Iterator[tuple[Server, dict[str, Scalar]]]:
        """Each server from each vantage, with the levels that name both."""
        for server in self.servers:
            levels: dict[str, Scalar] = {SERVER_COLUMN: server.label}
            if not self.vantages:
                yield server, levels
            for host in self.vantages:
                yield server, levels | {VANTAGE_COLUMN: host.name}


def expand_to_servers(
    reader: Reader, factors: Factors, ends: ServerEnds, workloads: list[WorkloadTemplate], paths: list[Path]
) -> tuple[Combination, ...]:
    """Every workload from every vantage to every server that takes it, and every combination of the levels that it
    depends on."""
    combinations: list[Combination] = []
    for template, constants in zip(workloads, constant_levels(workloads), strict=True):
        if not _is_fit(reader, template):
            continue
        over = over_paths(template, paths)
        families: frozenset[Family] = frozenset(path.family for path in paths if not over or path.name in over)
        keys = template.factors()
        taken = next((factors.by_key[key].column for key in keys if factors.by_key[key].column in TAKEN), None)
        if taken is not None:
            reader.problem(template.path, f"a factor cannot be called {taken}, which is the {taken}s' own; rename it")
            continue
        is_paced = False
        for server, named in ends.pairs:
            if not _goes_to(reader, template, server, ends.servers):
                continue
            for assignment in factors.assignments(keys):
                params = _with_defaults(template, template.given(assignment))
                check_workload(reader, template, params, families)
                is_paced = is_paced or _check_pace(reader, template, params, server)
                _check_limits(reader, template, params)
                levels = {factors.by_key[key].column: assignment[key] for key in keys}
                combinations.append(
                    Combination(
                        name=f"c{len(combinations) + 1:04d}",
                        workload=Workload(kind=template.kind.name, params=params),
                        levels=named | levels | constants,
                        topology=0,
                        paths=over,
                    )
                )
                if len(combinations) > MAX_COMBINATIONS:
                    reader.problem(
                        template.path, f"more than {MAX_COMBINATIONS} combinations of levels; sweep less at once"
                    )
                    reader.finish()
    if not combinations and not reader.problems:
        reader.problem((SERVERS,), "no workload goes to any server; name workloads that these take")
    _check_distinct(reader, workloads, combinations)
    return tuple(combinations)


def with_servers_pooled(statistics: Statistics, combinations: tuple[Combination, ...]) -> Statistics:
    """The statistics, which pool the servers where there are several and no other factor is named."""
    servers = {combination.levels[SERVER_COLUMN] for combination in combinations}
    if statistics.pool is not None or len(servers) < 2:
        return statistics
    return replace(statistics, pool=SERVER_COLUMN)


def _is_fit(reader: Reader, template: WorkloadTemplate) -> bool:
    """True if the workload, with its parameters, needs nothing of sixbench at the other end; noted if not."""
    use = template.kind.to_servers
    if use is None:
        words = f"{template.kind.name} needs sixbench at the other end; towards servers there are"
        reader.problem(template.path, f"{words} {listed(SERVER_WORKLOADS)}")
        return False
    for name, place in template.places.items():
        if name not in use.parameters:
            words = f"{name} of {template.kind.name} needs sixbench at the other end; towards servers it has"
            reader.problem(place, f"{words} {listed(use.parameters)}")
    return True


def _goes_to(reader: Reader, template: WorkloadTemplate, server: Server, servers: tuple[Server, ...]) -> bool:
    use, name = template.kind.to_servers, template.kind.name
    if not server.takes(name):
        return False
    if use is not None and use.needs_name and server.is_address:
        if server.workloads:
            place = (SERVERS, servers.index(server), "workloads")
            reader.problem(place, f"{name} looks up a name, and {server.name} is an address; leave {name} out")
        return False
    return True


def _with_defaults(template: WorkloadTemplate, given: dict[str, Scalar]) -> dict[str, Scalar]:
    assert template.kind.to_servers is not None
    return dict(template.kind.to_servers.defaults) | given


def _check_pace(reader: Reader, template: WorkloadTemplate, params: dict[str, Scalar], server: Server) -> bool:
    """Notes echo requests that would come too fast to a server of others. True: it did."""
    use = template.kind.to_servers
    least_ns = None if use is None else use.least_interval_ns
    if least_ns is None or server.mine or int(params[ping.PROBE_INTERVAL.column]) >= least_ns:
        return False
    reader.problem(
        template.place_of(ping.PROBE_INTERVAL.name),
        f"{server.name} gets an echo request each 200ms at most; give interval: 200ms, or mine: true if it is yours",
    )
    return True


def _check_limits(reader: Reader, template: WorkloadTemplate, params: dict[str, Scalar]) -> None:
    """Notes parameters that are more than a server of others is asked for in one trial."""
    for parameter in (COUNT, ping.PAYLOAD, TIMEOUT):
        value = params.get(parameter.column)
        most = MOST[parameter.column]
        if isinstance(value, int) and value > most and template.kind.parameter(parameter.name) is not None:
            words = f"{parameter.name} towards a server is at most {parameter.format(most)}"
            reader.problem(template.place_of(parameter.name), words)


def _check_distinct(reader: Reader, workloads: list[WorkloadTemplate], combinations: list[Combination]) -> None:
    seen: set[tuple[object, ...]] = set()
    for combination in combinations:
        key = (combination.workload.kind, tuple(sorted(combination.levels.items(), key=str)))
        if key in seen:
            kind = combination.workload.kind
            last = [template for template in workloads if template.kind.name == kind][-1]
            reader.problem(last.path, f"two entries of {kind} measure the same; leave one out")
            return
        seen.add(key)
