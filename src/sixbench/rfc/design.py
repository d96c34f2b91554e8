"""The experiment that is made of a user's: its paths and networks, and a combination for each test and frame size.

Beside the user's paths stand those of the tester: for each family the two hosts on one link, without a device.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..mechanisms import MECHANISMS, install
from ..model.errors import UsageError
from ..model.experiment import Blocks, Combination, Experiment
from ..model.network import Network
from ..model.path import Path
from ..model.procedure import TEST_LEVEL, Procedure
from ..model.quoting import listed, shown
from ..model.topology import MAX_MTU, Topology
from ..model.workload import Workload
from ..model.workloads import frames
from ..plan.experiment_file import read_topology_only
from ..plan.frames_check import too_large
from ..plan.yaml_source import parse_yaml
from .lengths import lengths
from .sizes import SIZES, sizes_of

TESTS = ("throughput",)
"""The tests there are."""

_LEVEL_SIZE = frames.FRAME.column


def design(
    experiment: Experiment, profile: str, tests: Sequence[str], wanted: Sequence[int], *, quick: bool
) -> tuple[Experiment, Procedure]:
    """The experiment and its procedure.

    Args:
        wanted: frame sizes; empty: those of the profile that all paths carry.

    Raises:
        UsageError: there is no such profile or test, a path cannot carry frames, or one of the wanted sizes.
    """
    if profile not in SIZES:
        raise UsageError(f"there is no profile {shown(profile)}; there are {listed(sorted(SIZES))}")
    for test in tests:
        if test not in TESTS:
            raise UsageError(f"there is no test {shown(test)}; there are {listed(TESTS)}")
    paths = [path for path in experiment.paths if path.aa_of is None]
    networks = [(path, _network(experiment, path)) for path in paths]
    families = {leg.family for _, network in networks for leg in network.legs}
    fitting, left_out = list[int](), dict[int, str]()
    for size in wanted or sizes_of(profile, with_ipv6=6 in families):
        why = next(_unfit(networks, size), None)
        if why is None:
            fitting.append(size)
        elif wanted:
            raise UsageError(why)
        else:
            left_out[size] = why
    if not fitting:
        raise UsageError(f"no frame size of profile {profile} can be tested: {next(iter(left_out.values()))}")
    testers = [_tester(family, paths) for family in sorted({path.family for path in paths})]
    hosts = _hosts_only(experiment.between, max(fitting))
    combinations = [
        Combination(
            name=f"c{number:04d}",
            workload=Workload(kind=frames.KIND.name, params=_params(size, quick)),
            levels={TEST_LEVEL: test, _LEVEL_SIZE: size},
            topology=0,
            topology_by_path={path.name: 1 for path in testers},
        )
        for number, (test, size) in enumerate(((test, size) for test in tests or TESTS for size in fitting), 1)
    ]
    made = replace(
        experiment,
        paths=(*paths, *testers),
        baseline=paths[0].name,
        topologies=(experiment.topologies[0], hosts),
        combinations=tuple(combinations),
        blocks=Blocks(minimum=1, maximum=1),
        bottleneck="any",
    )
    names = tuple(path.name for path in testers)
    procedure = Procedure(
        profile=profile, tests=tuple(tests) or TESTS, quick=quick, testers=names, left_out=left_out or None
    )
    return made, procedure


def _network(experiment: Experiment, path: Path) -> Network:
    """Raises `UsageError` where frames cannot go over the path."""
    mechanism = MECHANISMS[path.mechanism]
    unfit = mechanism.unfit(frames.KIND)
    network = install(path, experiment.topologies[0], experiment.between)
    in_host = [device.node for device in network.devices if device.node in experiment.between]
    if unfit is None and in_host:
        unfit = f"it has a device in the host {in_host[0]}, and frames begin at the host's interface, behind it"
    if unfit is not None:
        raise UsageError(f"{path.name} cannot be tested: frames cannot go over {path.mechanism}: {unfit}")
    return network


def _unfit(networks: Iterable[tuple[Path, Network]], size: int) -> Iterator[str]:
    for path, network in networks:
        least = frames.LEAST_BYTES[network.family]
        if size < least:
            yield f"frames of {size} bytes are too small for {path.name}: at least {least} over IPv{network.family}"
        yield from (words for _, words in too_large(network, path, {_LEVEL_SIZE: size}))


def _params(size: int, quick: bool) -> dict[str, int | float | str | bool]:
    """Those of a trial but for its rate and length, which the test chooses; the least of both stands for them."""
    own = lengths(quick)
    return {
        _LEVEL_SIZE: size,
        frames.PACKET_RATE.column: 1,
        "direction": "both",
        "duration_ns": round(own.ramp_s * 1e9),
        frames.RESIDUAL.column: round(own.residual_s * 1e9),
    }


def _tester(family: int, paths: Sequence[Path]) -> Path:
    """The path without a device, by a name that no path of the user has."""
    name = f"tester-ipv{family}"
    while name in {path.name for path in paths}:
        name += "-"
    return Path(name=name, mechanism=f"native{family}", family=4 if family == 4 else 6)


def _hosts_only(between: tuple[str, str], frame_bytes: int) -> Topology:
    """The two hosts on one link, which carries the largest frames."""
    client, server = between
    mtu_bytes = min(MAX_MTU, max(1500, frame_bytes))
    text = f"""
nodes: {{{client}: host, {server}: host}}
links: [{{endpoints: [{client}, {server}], mtu: {mtu_bytes}}}]
"""
    return read_topology_only(parse_yaml(text, "tester"))
