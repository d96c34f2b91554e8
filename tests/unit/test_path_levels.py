"""Levels of the options of paths: each makes a path of its own, and what is wrong is reported with its line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path as File
from typing import Any

import pytest

from sixbench.analysis.fixed_mtu import fixed_mtu_remarks
from sixbench.mechanisms import install
from sixbench.model.experiment import Experiment
from sixbench.plan.path_levels import MAX_PATHS_OF_LEVELS

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]
Problems = Callable[[str], list[str]]


def written(*paths: str, mtu: str = "1500", workloads: str = "[ping]", rest: str = "") -> str:
    """An experiment over three routers. Its paths, after `native`, begin in line 9."""
    lines = "".join(f"  {path}\n" for path in ("native: native6", *paths))
    return (
        f"topology:\n  nodes: {{h1: host, r1: router, r2: router, r3: router, h2: host}}\n"
        f"  links:\n    - {{endpoints: [h1, r1], mtu: 9000}}\n    - {{endpoints: [r1, r2], mtu: {mtu}}}\n"
        f"    - {{endpoints: [r2, r3], mtu: {mtu}}}\n    - {{endpoints: [r3, h2], mtu: 9000}}\n"
        f"paths:\n{lines}workloads: {workloads}\n{rest}"
    )


def options(experiment: Experiment) -> dict[str, dict[str, Any]]:
    return {path.name: dict(path.options) for path in experiment.paths if path.name != "native"}


GRE = "gre: {gre: {nodes: [r1, r3], mtu: [1280, 1476B]}}"


@pytest.mark.parametrize("path", [GRE, "gre: {mechanism: gre, nodes: [r1, r3], mtu: [1280, 1476B]}"])
def test_each_level_is_a_path_with_the_network_of_its_level(read: Read, path: str) -> None:
    experiment = read(written(path))
    assert options(experiment) == {"gre-mtu-1280": {"mtu": 1280}, "gre-mtu-1476": {"mtu": 1476}}
    assert [(path.mechanism, path.nodes, path.line) for path in experiment.paths[1:]] == [("gre", ("r1", "r3"), 10)] * 2
    networks = [install(path, experiment.topologies[0], experiment.between) for path in experiment.paths[1:]]
    assert [{tunnel.mtu_bytes for tunnel in network.tunnels} for network in networks] == [{1280}, {1476}]
    assert experiment.baseline == "native"
    assert len(experiment.path_combinations) == 3


def test_several_lists_make_every_combination(read: Read) -> None:
    actual_options = options(read(written("t: {6in4: {nodes: [r1, r3], ttl: [9, 64], ecn: [true, false], tos: [4]}}")))
    assert list(actual_options) == ["t-ttl-9-ecn-true", "t-ttl-9-ecn-false", "t-ttl-64-ecn-true", "t-ttl-64-ecn-false"]
    assert actual_options["t-ttl-64-ecn-false"] == {"ttl": 64, "ecn": False, "tos": 4}


def test_engines_and_prefixes_are_levels_too(read: Read) -> None:
    engines = read(written("t: {6in4: {nodes: [r1, r3], engine: [ebpf, user]}}"))
    assert [(path.name, path.engine) for path in engines.paths[1:]] == [
        ("t-engine-ebpf", "ebpf"),
        ("t-engine-user", "user"),
    ]
    prefixes = read(written("t: {6rd: {nodes: [r1, r3], prefix: ['2001:db8::/32', '2a00:1000::/28']}}"))
    assert [path.name for path in prefixes.paths[1:]] == ["t-prefix-2001-db8-32", "t-prefix-2a00-1000-28"]


def test_a_shared_factor_changes_the_options_of_a_path_together(read: Read) -> None:
    shared = "factors: {n: [16, 64]}\n"
    paths = ("a: {6in4: {nodes: [r1, r3], ttl: $n, tos: $n}}", "b: {gre: {nodes: [r1, r3], ttl: $n}}")
    assert options(read(written(*paths, rest=shared))) == {
        "a-ttl-16": {"ttl": 16, "tos": 16},
        "a-ttl-64": {"ttl": 64, "tos": 64},
        "b-ttl-16": {"ttl": 16},
        "b-ttl-64": {"ttl": 64},
    }


def test_one_level_leaves_the_name(read: Read) -> None:
    assert options(read(written("gre: {gre: {nodes: [r1, r3], mtu: [1280]}}"))) == {"gre": {"mtu": 1280}}


def test_an_option_that_is_a_list_itself_stays_one(read: Read) -> None:
    setup = "g: {guest: {nodes: [r1], kernel: debian-6.1, setup: ['true', 'true'], memory: [512MiB, 1GiB]}}"
    actual_options = options(read(written(setup)))
    assert list(actual_options) == ["g-memory-512MiB", "g-memory-1GiB"]
    assert {options["setup"] for options in actual_options.values()} == {'["true", "true"]'}


def test_a_workload_names_all_levels_or_one(read: Read) -> None:
    experiment = read(written(GRE, workloads="[ping: {paths: [gre]}, tcp-rr: {paths: [native, gre-mtu-1476]}]"))
    assert [combination.paths for combination in experiment.combinations] == [
        ("gre-mtu-1280", "gre-mtu-1476"),
        ("native", "gre-mtu-1476"),
    ]


def test_a_level_can_be_the_baseline_and_be_repeated(read: Read) -> None:
    experiment = read(written(GRE, rest="baseline: gre-mtu-1476\naa: true\n"))
    assert experiment.paths[-1].aa_of == experiment.baseline == "gre-mtu-1476"


@pytest.mark.parametrize(
    ("path", "rest", "wrong"),
    [
        (
            "gre: {gre: [r1, r3], mtu: [1280, 1480]}",
            "",
            "10: paths.gre: mtu stands beside gre and must be below it: {gre: {nodes: [r1, r3], mtu: ...}}",
        ),
        (
            "gre: {gre: {nodes: [r1, r3], mtu: [1280, x]}}",
            "",
            '10: paths.gre.gre.mtu.1: "x" is not a size',
        ),
        ("gre: {gre: {nodes: [r1, r3], ttl: [9, 9]}}", "", "10: paths.gre.gre.ttl.1: the level 9 is given twice"),
        ("gre: {gre: {nodes: [r1, r3], ttl: []}}", "", "10: paths.gre.gre.ttl: the list is empty"),
        ("gre: {gre: {nodes: [r1, r3], ttl: $n}}", "", '10: paths.gre.gre.ttl: there is no factor "$n"; declare it'),
        (
            "gre: {gre: {nodes: [r1, r3], ttl: $n}}",
            "factors: {n: [1, 256]}\n",
            "12: factors.n.1: 256 is too large: at most 255",
        ),
        (
            "gre: {gre: {nodes: [r1, r3], mtu: [1280, 1000]}}",
            "",
            "10: paths.gre.gre.mtu.1: an MTU of 1000 is too small for gre",
        ),
        (
            "gre: {gre: {nodes: [r1, r3], mtu: $n}}",
            "factors: {n: [1280, 1000]}\n",
            "12: factors.n.1: an MTU of 1000 is too small for gre",
        ),
        (GRE, "baseline: gre\n", "12: baseline: gre is 2 paths, one for each level of its options; give one of "),
        (
            f"{GRE}\n  gre-mtu-1280: native4",
            "",
            '10: paths.gre: the path of this level would be called "gre-mtu-1280", and another path has that name',
        ),
        (
            f"{'x' * 33}: {GRE.partition(': ')[2]}",
            "",
            f'10: paths.{"x" * 33}: the path of this level would be called "{"x" * 33}-mtu-1280", and it has more',
        ),
        (
            f"gre: {{gre: {{nodes: [r1, r3], ttl: {list(range(MAX_PATHS_OF_LEVELS + 1))}}}}}",
            "",
            "10: paths.gre: the levels of options would make 101 paths, more than 100; give fewer levels",
        ),
        (
            f"gre: {{gre: {{nodes: [r1, r3], ttl: {list(range(256))}, tos: {list(range(256))}, mtu: $n}}}}",
            f"factors: {{n: {list(range(1280, 2200))}}}\n",
            "10: paths.gre: the levels of options would make 60293120 paths, more than 100; give fewer levels",
        ),
    ],
)
def test_what_is_wrong_is_reported_with_its_line(problems: Problems, path: str, rest: str, wrong: str) -> None:
    [problem] = problems(written(path, rest=rest))
    assert problem.startswith(f"test.yaml:{wrong}")


@pytest.mark.parametrize("workload", ["[tcp-rr: {message: $n}]", "[ping: {payload: $n}]"])
def test_a_factor_of_paths_is_no_factor_of_combinations(problems: Problems, workload: str) -> None:
    path = "gre: {gre: {nodes: [r1, r3], ttl: $n}}"
    [problem] = problems(written(path, workloads=workload, rest="factors: {n: [9, 64]}\n"))
    assert "each level of $n makes a path of its own" in problem
    assert problem.endswith("declare another factor for this")


def test_the_command_line_gives_levels(sixbench: Callable[..., Any], tmp_path: File) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(written("gre: {gre: {nodes: [r1, r3]}}"))
    done = sixbench("plan", path, "--set", "paths.gre.gre.mtu=[1280, 1400]")
    assert (done.exit, done.stderr) == (0, "")
    assert "gre-mtu-1400  gre on r1, r3, mtu: 1400;" in done.stdout
    wrong = sixbench("plan", path, "--set", "paths.gre.gre.mtu=[1280, 1000]")
    assert wrong.stderr.startswith(
        "--set paths.gre.gre.mtu=[1280, 1000]: paths.gre.gre.mtu: an MTU of 1000 is too small"
    )


def test_a_tunnel_without_mtu_follows_its_links(read: Read) -> None:
    experiment = read(written("gre: {gre: [r1, r3]}", "sit: {6in4: [r1, r3]}", mtu="[1304, 1500, 9000]"))
    result = {
        path.name: [
            {tunnel.mtu_bytes for tunnel in install(path, topology, experiment.between).tunnels}
            for topology in experiment.topologies
        ]
        for path in experiment.paths[1:]
    }
    assert result == {"gre": [{1280}, {1476}, {8976}], "sit": [{1284}, {1480}, {8980}]}
    assert fixed_mtu_remarks(experiment) == []


def test_a_given_mtu_that_stays_the_same_is_remarked(read: Read, sixbench: Callable[..., Any], tmp_path: File) -> None:
    paths = ("gre: {gre: {nodes: [r1, r3], mtu: 1400}}", "sit: {6in4: {nodes: [r1, r3], mtu: 1280}}")
    text = written(*paths, mtu="[1304, 1500, 9000]", rest="baseline: gre\naa: true\n")
    assert fixed_mtu_remarks(read(text)) == [
        "The mtu of gre is 1400 at every MTU of the links (1304, 1500, 9000); without mtu, a tunnel follows its links. "
        "Full packets are fragmented at 1304.",
        "The mtu of sit is 1280 at every MTU of the links (1304, 1500, 9000); without mtu, a tunnel follows its links.",
    ]
    path = tmp_path / "x.yaml"
    path.write_text(text)
    assert "The mtu of gre is 1400 at every MTU" in sixbench("plan", path).stdout


def test_a_given_mtu_that_does_not_fit_is_remarked(read: Read) -> None:
    fits, too_large, beyond = (f"p{mtu}: {{gre: {{nodes: [r1, r3], mtu: {mtu}}}}}" for mtu in (1476, 1477, 9000))
    assert fixed_mtu_remarks(read(written(fits, too_large, beyond))) == [
        "The mtu of p1477 is 1477, which is more than links with an MTU of 1500 leave: full packets are fragmented.",
        "The mtu of p9000 is 9000, which is more than links with an MTU of 1500 leave: full packets are fragmented.",
    ]
