"""Checks whether a manifest that was read describes a run: what it names exists, and its numbers are possible.

A manifest may come from anyone. What passes here can be computed with and shown without a further look.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from math import isfinite
from typing import Any

from ..mechanisms import MECHANISMS, MechanismError, install
from ..model.bypass import Bypass
from ..model.calibration import Calibration
from ..model.emulation import ChosenPackets, GilbertElliott, Impairments
from ..model.experiment import Combination, Experiment
from ..model.form import MAX_NAME, MOST
from ..model.framing import is_framing
from ..model.identifiers import NAME
from ..model.kernels import COLUMN
from ..model.metric import METRICS
from ..model.path import Path
from ..model.procedure import PROFILES, TEST_LEVEL, Procedure
from ..model.quoting import listed, shown, visible
from ..model.server import SERVER_COLUMN, VANTAGE_COLUMN, why_no_server
from ..model.survey import Survey, family_name
from ..model.topology import MAX_MTU, Topology
from ..model.workloads import WORKLOADS
from .manifest import Environment, Manifest, WorkerMachine

MAX_BLOCKS = 10**6
MAX_REPEATS = 10**3
MAX_OF_SURVEY = 10_000
"""The longest list of a survey: an agent tells no more."""
FAMILY_NAMES = frozenset({family_name(4), family_name(6)})
MAX_TEXT = 2**24
"""The longest text, in characters. An experiment file is the longest."""


def number_problem(data: Any) -> str | None:
    """The first number or text in JSON that no manifest has, in words."""
    level = [data]
    while level:
        parts = [part for whole in level for part in (whole.values() if type(whole) is dict else whole)]
        if any(_is_impossible(part) for part in parts if part is not None):
            return next(_impossible("", data))
        level = [part for part in parts if type(part) is dict or type(part) is list]
    return None


def _is_impossible(value: Any) -> bool:
    if type(value) is str:
        return len(value) > MAX_TEXT
    return type(value) in (int, float) and not -MOST <= value <= MOST  # NaN is refused too


def _impossible(place: str, value: Any) -> Iterator[str]:
    """Each of them with the keys that lead there."""
    if isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _impossible(f"{place}.{key}", item)
    elif _is_impossible(value):
        yield f"{visible(place[1:])} is {visible(shown(value))}, which is not what a run can have"


def problems_of(manifest: Manifest) -> Iterator[str]:
    """The problem with a manifest, in words."""
    if manifest.paper is not None and not NAME.fullmatch(manifest.paper):
        yield f"paper is {visible(shown(manifest.paper))}, which cannot name one"
    times_ns = [manifest.started_realtime_ns, manifest.ended_realtime_ns]
    if not all(_is_time(time_ns) for time_ns in times_ns if time_ns is not None):
        yield "its start or its end is not a valid time"
    if manifest.calibration is not None:
        yield from _of_calibration(manifest.calibration)
    yield from (problem for bypass in manifest.bypass for problem in _of_bypass(bypass))
    for environment in (manifest.environment, *manifest.guests.values()):
        yield from _of_environment(environment)
    yield from (problem for name, worker in manifest.workers.items() for problem in problems_of_worker(name, worker))
    if manifest.apart < 0:
        yield f"{manifest.apart} trials came late or twice"
    yield from _of_experiment(manifest.experiment)
    if manifest.experiment.servers or manifest.environment.all_surveys:
        yield from _of_surveys(manifest.environment, manifest.experiment)
    if manifest.procedure is not None:
        yield from _of_procedure(manifest.procedure, manifest.experiment)


def _of_surveys(environment: Environment, experiment: Experiment) -> Iterator[str]:
    """The problems with the survey of each vantage, and that one is missing."""
    surveys = environment.all_surveys
    vantages: set[str | None] = {host.name for host in experiment.vantages} or {None}
    if surveys.keys() != vantages:
        yield "it goes to servers, and has no survey of them, or one from elsewhere than its vantages"
        return
    by_vantage: dict[Any, list[Combination]] = {vantage: [] for vantage in vantages}
    for combination in experiment.combinations:
        vantage = combination.levels.get(VANTAGE_COLUMN)
        if vantage not in vantages:
            yield f"{combination.name} has the vantage {visible(shown(vantage))}, which the experiment lacks"
            return
        by_vantage[vantage].append(combination)
    for vantage, survey in surveys.items():
        yield from _of_survey(survey, experiment, by_vantage[vantage])


def _of_survey(survey: Survey, experiment: Experiment, combinations: Sequence[Combination]) -> Iterator[str]:
    """Texts that no report can show, and that trials go to servers of which nothing was found out.

    Args:
        combinations: those of the survey's vantage.
    """
    yield from _of_texts(asdict(survey))
    families = {server.label: set(server.families) for server in survey.servers}
    for name, names in families.items():
        if not names <= FAMILY_NAMES:
            yield f"the survey has other families of {visible(shown(name))} than {listed(sorted(FAMILY_NAMES))}"
    yield from (f"the survey has {shown(name)} twice" for name in _repeated(server.label for server in survey.servers))
    for combination in combinations:
        label = combination.levels.get(SERVER_COLUMN)
        wanted = {family_name(path.family) for path in experiment.paths_of(combination)}
        if not isinstance(label, str) or not wanted <= families.get(label, set()):
            yield f"the survey lacks {visible(shown(label))}, to which {combination.name} goes"
            return


def _of_texts(survey: Any) -> Iterator[str]:
    """The first text of a survey that cannot be shown, and the first list that is too long."""
    level = [survey]
    while level:
        whole = level.pop()
        parts = [*whole, *whole.values()] if isinstance(whole, dict) else list(whole)
        if len(parts) > MAX_OF_SURVEY:
            yield f"the survey has a list of {len(parts)} items"
            return
        for part in parts:
            if isinstance(part, str) and (len(part) > MAX_NAME * 10 or not part.isprintable()):
                yield f"the survey has the text {visible(shown(part))}"
                return
        level += [part for part in parts if isinstance(part, (dict, list, tuple))]


def problems_of_worker(name: str, worker: WorkerMachine) -> Iterator[str]:
    """The problems with the facts about a worker, in words."""
    if not NAME.fullmatch(name):
        yield f"{visible(shown(name))} cannot name a worker"
    if worker.calibration is not None:
        yield from _of_calibration(worker.calibration)
    yield from (problem for bypass in worker.bypass for problem in _of_bypass(bypass))
    yield from _of_environment(worker.environment)


def _of_environment(environment: Environment) -> Iterator[str]:
    uses = [environment.processors, *(host.processors for host in environment.hosts.values())]
    for use in [processor_use for processor_use in uses if processor_use is not None]:
        yield from (f"there is a processor {number}" for number in (*use.usable, *use.kept_awake) if number < 0)
        if use.latency_ns is not None and use.latency_ns < 0:
            yield f"processors wake within {use.latency_ns} ns"
    if environment.guest is not None and not 0 <= (environment.guest.instruction_ns or 0) <= 10**9:
        yield f"the environment's instructions take {environment.guest.instruction_ns} ns"


def _of_procedure(procedure: Procedure, experiment: Experiment) -> Iterator[str]:
    if procedure.profile not in PROFILES:
        yield f"{visible(shown(procedure.profile))} is no RFC whose rules are known; there are {', '.join(PROFILES)}"
    traffics = (*procedure.traffics, *(procedure.traffics_left_out or {}))
    for what, names in (("a test", procedure.tests), ("frames", traffics)):
        yield from (f"{visible(shown(name))} cannot name {what}" for name in names if not NAME.fullmatch(name))
    for name, why in (procedure.traffics_left_out or {}).items():
        if not why.isprintable():
            yield f"the frames {visible(shown(name))} were left out"
    paths = {path.name for path in experiment.paths}
    yield from (f"the procedure has the path {visible(shown(name))}" for name in procedure.testers if name not in paths)
    if not experiment.topologies:
        yield "the procedure has no network"
    for size, why in (procedure.left_out or {}).items():
        if not (0 < size <= MAX_MTU and why.isprintable()):
            yield f"the frame size {size} was left out"
    for combination in experiment.combinations:
        level = combination.levels.get("frame_bytes")
        if level is not None and not (type(level) is int and 0 < level <= MAX_MTU):
            yield f"{combination.name} has the frame size {visible(shown(level))}"
        if level is None and combination.levels.get(TEST_LEVEL) == "throughput":
            yield f"{combination.name} searches a throughput and has no frame size"
    yield from _of_ways(experiment, procedure.testers)


def _of_ways(experiment: Experiment, testers: Sequence[str]) -> Iterator[str]:
    """That a path cannot be in its network. What a test by an RFC asks for, and how far it got, follows from that."""
    for path in experiment.paths:
        if path.mechanism not in MECHANISMS:
            yield f"{path.name} has the mechanism {path.mechanism}, which this version does not know"
            continue
        networks = {
            combination.topology_of(path.name)
            for combination in experiment.combinations
            if combination.goes_over(path.name)
        }
        for index in sorted(networks | (set() if path.name in testers else {0})):
            yield from _of_way(path, experiment.topologies[index], experiment.between)


def _of_way(path: Path, topology: Topology, between: tuple[str, str]) -> Iterator[str]:
    try:
        install(path, topology, between)
    except (MechanismError, ValueError) as error:
        yield f"the path {path.name} cannot be in its network: {visible(str(error))}"
    except KeyError as error:
        yield f"the path {path.name} cannot be in its network, which has no {visible(str(error))}"


def _is_time(realtime_ns: int) -> bool:
    """True if it is in the years from 1970 on that a signed number of 64 bits has."""
    return 0 <= realtime_ns < 2**63


def _of_experiment(experiment: Experiment) -> Iterator[str]:
    if not experiment.paths or not experiment.combinations:
        yield "the experiment has no paths or no combinations"
    for what, names in (
        ("path", [path.name for path in experiment.paths]),
        ("combination", [item.name for item in experiment.combinations]),
    ):
        yield from (f"the experiment has the {what} {name} twice" for name in _repeated(names))
    paths = {path.name for path in experiment.paths}
    asked = [experiment.baseline, *(path.aa_of for path in experiment.paths if path.aa_of is not None)]
    yield from (f"the experiment has no path {shown(name)}" for name in asked if name not in paths)
    yield from (f"{path.name}: {problem}" for path in experiment.paths for problem in _of_path(path))
    blocks = experiment.blocks
    if not 0 <= blocks.minimum <= blocks.maximum <= MAX_BLOCKS:
        yield f"the experiment has {blocks.minimum} to {blocks.maximum} blocks"
    if blocks.until is not None and blocks.minimum < 1:
        yield "the experiment has no least number of blocks"
    if blocks.time_ns is not None and not 0 < blocks.time_ns < 2**63:
        yield f"blocks.time is {blocks.time_ns} ns"
    if not 0 <= experiment.repeats <= MAX_REPEATS:
        yield f"the experiment repeats trials {experiment.repeats} times"
    yield from _of_statistics(experiment)
    for index, topology in enumerate(experiment.topologies):
        yield from (f"topologies.{index}: {problem}" for problem in _of_topology(topology, experiment.between))
    for combination in experiment.combinations:
        yield from (f"{combination.name}: {problem}" for problem in _of_combination(combination, experiment))
    if experiment.servers:
        yield from _of_servers(experiment)


def _of_servers(experiment: Experiment) -> Iterator[str]:
    """That servers are none, or that combinations ask of them what they cannot be asked."""
    for server in experiment.servers:
        wrong = why_no_server(server.name)
        if wrong is not None or not 0 < server.port < 2**16:
            yield f"a server has the name {visible(shown(server.name))} and the port {server.port}"
            return
    labels = {server.label for server in experiment.servers}
    for combination in experiment.combinations:
        label, workload = combination.levels.get(SERVER_COLUMN), combination.workload
        if label not in labels:
            yield f"{combination.name}: its server is {visible(shown(label))}, which the experiment lacks"
            return
        use = None if workload.kind not in WORKLOADS else WORKLOADS[workload.kind].to_servers
        if use is None or not use.defaults.keys() <= workload.params.keys():
            yield f"{combination.name}: {shown(workload.kind)} with its parameters goes to no server"
            return


def _of_statistics(experiment: Experiment) -> Iterator[str]:
    blocks, statistics = experiment.blocks, experiment.statistics
    ratios = {
        "blocks.precision": blocks.precision,
        "blocks.deviation": blocks.deviation,
        "statistics.confidence": statistics.confidence,
        "statistics.margin": statistics.margin,
        **{f"statistics.margins.{name}": margin for name, margin in statistics.margins.items()},
    }
    for name, ratio in ratios.items():
        if ratio is not None and not 0 <= ratio < 1:
            yield f"{name} is {ratio}, which is not a share"
    if not 0 <= statistics.trim <= MAX_BLOCKS:
        yield f"statistics.trim is {statistics.trim}"
    if statistics.pool is not None and all(statistics.pool not in item.levels for item in experiment.combinations):
        yield f"statistics.pool is {shown(statistics.pool)}, which is no factor of the experiment"


def _of_path(path: Path) -> Iterator[str]:
    mechanism = MECHANISMS.get(path.mechanism)
    if mechanism is None:
        return  # a mechanism of a later version; reports leave out values that they do not know
    if path.engine is not None and path.engine not in mechanism.engines:
        yield f"{shown(path.engine)} is not an engine of {path.mechanism}"
    least, most = mechanism.node_count
    if not least <= len(path.nodes) <= most:
        yield f"{path.mechanism} is installed on {len(path.nodes)} nodes"
    wrong = False
    for option in mechanism.options:
        try:
            if option.name in path.options:
                option.require(path.options[option.name])
        except ValueError as error:
            wrong = True
            yield f"{option.name}: {visible(str(error))}"
    if not wrong and path.family != mechanism.family(path.options):
        yield f"{path.mechanism} with its options is not of IPv{path.family}"


def _of_combination(combination: Combination, experiment: Experiment) -> Iterator[str]:
    kind = combination.workload.kind
    if kind not in WORKLOADS:
        yield f"there is no workload {shown(kind)}"
    for column, value in {**combination.workload.params, **combination.levels}.items():
        if not column.isprintable() or (isinstance(value, float) and not isfinite(value)):
            yield f"{visible(column)} is {visible(str(value))}"
    wrong_times = [
        column
        for column, value in combination.workload.params.items()
        if column.endswith("_ns") and not (isinstance(value, (int, float)) and value >= 0)
    ]
    yield from (f"{column} is not a time" for column in wrong_times)
    names = [path.name for path in experiment.paths]
    yield from (f"it goes over no path {shown(name)}" for name in combination.paths if name not in names)
    known = range(max(1, len(experiment.topologies)))
    for index in (combination.topology, *combination.topology_by_path.values()):
        if index not in known:
            yield f"it has the network {index}, and there are {len(experiment.topologies)}"
            return
    if experiment.topologies:
        links = {link.name for link in experiment.topologies[combination.topology].links}
        for event in combination.events:
            if event.link not in links or not 0 < event.mtu_bytes <= MAX_MTU or event.at_ns < 0:
                yield f"an event changes {event.link} after {event.at_ns} ns to an MTU of {event.mtu_bytes} bytes"
            for direction in event.directions:
                yield from _of_impairments(direction.impairments, event.link)
    if len(experiment.kernels) > 1 and combination.levels.get(COLUMN) not in experiment.kernels:
        yield f"its kernel is {shown(combination.levels.get(COLUMN))}"


def _of_topology(topology: Topology, between: tuple[str, str]) -> Iterator[str]:
    yield from (f"the node {name} is called {node.name}" for name, node in topology.nodes.items() if node.name != name)
    ends = [end for link in topology.links for end in link.ends]
    for name in [*between, *(end.node for end in ends)]:
        if name not in topology.nodes:
            yield f"there is no node {shown(name)}"
    if between[0] == between[1]:
        yield "both ends are the same node"
    yield from (f"there are two links {name}" for name in _repeated(link.name for link in topology.links))
    yield from (f"{node} has two interfaces {name}" for node, name in _repeated((end.node, end.name) for end in ends))
    for link in topology.links:
        if not 0 < link.mtu_bytes <= MAX_MTU:
            yield f"{link.name} has an MTU of {link.mtu_bytes} bytes"
        if link.ends[0].node == link.ends[1].node:
            yield f"both ends of {link.name} are at {link.ends[0].node}"
        for state in link.states:
            for direction in state:
                if direction.rate_bps is not None and direction.rate_bps <= 0:
                    yield f"{link.name} has a rate of {direction.rate_bps} bit/s"
                if not is_framing(direction.overhead):
                    yield f"{link.name} has an invalid overhead: {shown(direction.overhead)}"
                yield from _of_impairments(direction.impairments, link.name)


def _of_impairments(impairments: Impairments, link: str) -> Iterator[str]:
    ratios = [impairments.jitter_correlation]
    for item in (impairments.loss, impairments.duplicate, impairments.corrupt, impairments.overtaking):
        if isinstance(item, ChosenPackets):
            ratios.append(item.ratio)
        elif isinstance(item, GilbertElliott):
            ratios += [item.to_bad, item.to_good, item.loss_in_good, item.loss_in_bad]
    yield from (f"{link} has a share of {ratio}" for ratio in ratios if not 0 <= ratio <= 1)
    if isinstance(impairments.loss, GilbertElliott) and not impairments.loss.to_bad + impairments.loss.to_good:
        yield f"{link} never leaves a state of its losses"
    if min(impairments.delay_ns, impairments.jitter_ns, *impairments.delays_ns) < 0:
        yield f"{link} has a delay under zero"


def _of_bypass(bypass: Bypass) -> Iterator[str]:
    for column, value in bypass.metrics.items():
        if not (isfinite(value) and abs(value) <= MOST):
            yield f"bypass.{visible(column)} is {value}"


def _of_calibration(calibration: Calibration) -> Iterator[str]:
    known = calibration.false_alarms
    if not all(_is_time(number) for number in (calibration.realtime_ns, *([known.realtime_ns] if known else []))):
        yield "the time of the calibration is not valid"
    if known is not None and not isfinite(known.change):
        yield f"calibration.false_alarms.change is {known.change}"
    for item in calibration.ranges:
        numbers = [item.low, item.high, item.least, item.greatest, item.uncertainty]
        if not all(isfinite(number) for number in numbers if number is not None):
            yield f"the calibration of {visible(item.metric)} has an invalid number"
        yield from (f"the calibration knows no metric {visible(name)}" for name in item.vouches if name not in METRICS)


def _repeated(names: Iterable[Any]) -> list[Any]:
    return [name for name, count in Counter(names).items() if count > 1]
