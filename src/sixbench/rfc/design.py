"""The experiment that is made of a user's: its paths and networks, and a combination for each test and frame size,
first with plain frames and then with each other kind of frames. Tests that send no frames have one combination.

Beside the user's paths stand those of the tester: for each family the two hosts on one link, without a device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..mechanisms import MECHANISMS, install
from ..model.errors import UsageError
from ..model.experiment import Blocks, Combination, Experiment
from ..model.network import Network
from ..model.parameter import Scalar
from ..model.path import Path
from ..model.procedure import Procedure
from ..model.quoting import listed, shown
from ..model.topology import MAX_MTU, Topology
from ..model.workload import Workload
from ..model.workloads import WORKLOADS, frames, frames_parameters
from ..plan.experiment_file import read_topology_only
from ..plan.workloads.frames import host_in_the_way, other_bits, with_networks
from ..plan.yaml_source import parse_yaml
from .lengths import Lengths, lengths
from .places import SIZE_LEVEL
from .procedures import TESTS, with_needed
from .rfc_test import RfcTest
from .sizes import SIZES, sizes_of
from .traffic import NETWORKS, RfcTraffic
from .traffic_design import At, Pairs, repeated, traffics_for, unfit_sizes


def design(
    experiment: Experiment,
    profile: str,
    named: Sequence[str],
    wanted: Sequence[int],
    traffics: Sequence[str] = (),
    *,
    quick: bool,
) -> tuple[Experiment, Procedure]:
    """The experiment and its procedure.

    Args:
        named: the tests; empty: those of the profile that say something of a path. What they need comes with them.
        wanted: frame sizes; empty: those of the profile that all paths carry.
        traffics: the frames besides plain ones, by name; empty: those of the profile. With `quick` only the throughput
            is then repeated over them, at one frame size.

    Raises:
        UsageError: there is no such profile, test or traffic, a path cannot carry frames, or one of the wanted sizes.
    """
    if profile not in SIZES:
        raise UsageError(f"there is no profile {shown(profile)}; there are {listed(sorted(SIZES))}")
    paths = [path for path in experiment.paths if path.aa_of is None]
    networks = [(path, install(path, experiment.topologies[0], experiment.between)) for path in paths]
    chosen, tests = _tests(profile, named, networks)
    sized = [test for test in tests if test.by_frame_size]
    sizes, left_out = _sizes(networks, profile, wanted) if sized else ([], {})
    others, traffics_left_out = traffics_for(experiment, networks, profile, traffics) if sized else ([], {})
    is_partial = quick and not traffics and bool(others)
    families = sorted({path.family for path in paths}) if any(test.over_testers for test in tests) else []
    testers = [_tester(family, paths) for family in families]
    topology, hosts = _topologies(experiment, others, max(sizes, default=0))
    places = [
        At(test=test, size=size)
        for test in tests
        if test.run is not None
        for size in (sizes if test.by_frame_size else [None])
    ]
    tester_pairs = [(path, install(path, hosts, experiment.between)) for path in testers]
    for item in others:
        at = repeated(item, sized, sizes, networks, tester_pairs, is_partial=is_partial)
        if not at and traffics:
            raise UsageError(f"no frame size that is tested has room for {item.name}")
        places += at
    result = replace(
        experiment,
        paths=(*paths, *testers),
        baseline=paths[0].name,
        topologies=(topology, hosts),
        combinations=_combinations(places, testers, lengths(quick)),
        blocks=Blocks(minimum=1, maximum=1),
        repeats=0,  # the test itself chooses its trials
        bottleneck="any",
    )
    procedure = Procedure(
        profile=profile,
        tests=chosen,
        quick=quick,
        testers=tuple(path.name for path in testers),
        left_out=left_out or None,
        traffics=tuple(element.name for element in others),
        traffics_left_out=traffics_left_out or None,
        is_partial=is_partial,
    )
    return result, procedure


def _tests(profile: str, named: Sequence[str], networks: Pairs) -> tuple[tuple[str, ...], list[RfcTest]]:
    """The names of the tests with those that they need, and the tests that apply to a path. Raises `UsageError` for a
    name that no test has, and where a named test or all of them apply to no path."""
    for name in named:
        if name not in TESTS:
            raise UsageError(f"there is no test {shown(name)}; there are {listed(TESTS)}")
    names = [path.name for path, _ in networks]
    chosen = with_needed(named or [test.name for test in TESTS.values() if profile in test.profiles])
    tests = [TESTS[name] for name in chosen]
    for test in tests:
        reasons = [why for pair in networks if (why := test.unfit(*pair)) is not None]
        if test.name in named and len(reasons) == len(networks):
            raise UsageError(f"the test {test.name} does not apply to {listed(names)}: {reasons[0]}")
    fitting = [test for test in tests if any(test.unfit(*pair) is None for pair in networks)]
    if not fitting:
        why = tests[0].unfit(*networks[0])
        raise UsageError(f"no test of profile {profile} applies to {listed(names)}: {why}")
    return chosen, fitting


def _topologies(
    experiment: Experiment, traffics: Sequence[RfcTraffic], largest_bytes: int
) -> tuple[Topology, Topology]:
    """The network of the experiment, and the two hosts on one link, both with the networks that the traffics need."""
    topology, hosts = experiment.topologies[0], _hosts_only(experiment.between, largest_bytes)
    if any(frames_parameters.NETWORKS.column in traffic.params for traffic in traffics):
        # RFC 2544 section 7: the device's configuration is the same in all tests.
        bits = {length for traffic in traffics for length in other_bits(traffic.params)}
        topology, hosts = (with_networks(network, experiment.between, NETWORKS, bits) for network in (topology, hosts))
    return topology, hosts


def _combinations(places: Sequence[At], testers: Sequence[Path], test_lengths: Lengths) -> tuple[Combination, ...]:
    """A combination for each test, frame size and traffic."""
    return tuple(
        Combination(
            name=f"c{number:04d}",
            workload=Workload(kind=at.test.workload, params={**_params(at.test, at.size, test_lengths), **at.params}),
            levels=at.levels,
            topology=0,
            topology_by_path={path.name: 1 for path in testers},
            paths=at.paths,
        )
        for number, at in enumerate(places, 1)
    )


def _sizes(networks: Pairs, profile: str, wanted: Sequence[int]) -> tuple[list[int], dict[int, str]]:
    """The sizes that are tested, and those of the profile that are not, with the reason."""
    for path, network in networks:
        _check_carries_frames(path, network)
    families = {leg.family for _, network in networks for leg in network.legs}
    fitting, left_out = list[int](), dict[int, str]()
    for size in wanted or sizes_of(profile, with_ipv6=6 in families):
        why = next(unfit_sizes(networks, size), None)
        if why is None:
            fitting.append(size)
        elif wanted:
            raise UsageError(why)
        else:
            left_out[size] = why
    if not fitting:
        raise UsageError(f"no frame size of profile {profile} can be tested: {next(iter(left_out.values()))}")
    return fitting, left_out


def _check_carries_frames(path: Path, network: Network) -> None:
    """Raises `UsageError` where frames cannot go over the path."""
    unfit = MECHANISMS[path.mechanism].unfit(frames.KIND) or host_in_the_way(network)
    if unfit is not None:
        raise UsageError(f"{path.name} cannot be tested: frames cannot go over {path.mechanism}: {unfit}")


def _params(test: RfcTest, size: int | None, test_lengths: Lengths) -> dict[str, Scalar]:
    """Those of the test's trials but for what it chooses for each; the least of these stand for them."""
    if size is None:
        return WORKLOADS[test.workload].with_lengths(test.params(test_lengths))
    return {
        SIZE_LEVEL: size,
        frames_parameters.PACKET_RATE.column: 1,
        "direction": "both",
        "duration_ns": round(test_lengths.ramp_s * 1e9),
        frames_parameters.RESIDUAL.column: round(test_lengths.residual_s * 1e9),
        **test.params(test_lengths),
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
