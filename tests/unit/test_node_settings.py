"""Treatment of packets that routers forward: as factors, as rulesets, and in what a server sees."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sixbench.lab.filters import ruleset
from sixbench.lab.render import render, script_text
from sixbench.mechanisms import MECHANISMS, install
from sixbench.model.experiment import Experiment
from sixbench.model.topology import Node

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]
Problems = Callable[[str], list[str]]

REST = "\npaths: {ipv4: native4, ipv6: native6}\nworkloads: [ping]\n"


def test_settings_may_vary_like_those_of_links(read: Read) -> None:
    experiment = read("topology: {chain: 4, icmp: [all, no-too-big], nodes: {r2: {drop: [none, fragments]}}}" + REST)
    assert [combination.levels for combination in experiment.combinations] == [
        {"node_icmp": icmp, "node_drop": drop} for icmp in ("all", "no-too-big") for drop in ("none", "fragments")
    ]
    last = experiment.topologies[-1]
    assert [(last.nodes[name].icmp, last.nodes[name].drop) for name in ("r1", "r2")] == [
        ("no-too-big", "none"),
        ("no-too-big", "fragments"),
    ]


def test_a_shared_factor_is_called_by_its_name(read: Read) -> None:
    experiment = read(
        "factors: {filtered: [all, none], clamped: [false, true]}\n"
        "topology: {chain: 4, nodes: {r1: {icmp: $filtered}, r2: {mss-clamp: $clamped, icmp: $filtered}}}" + REST
    )
    assert experiment.combinations[-1].levels == {"filtered": "none", "clamped": True}
    assert experiment.topologies[-1].nodes["r2"] == Node(name="r2", kind="router", icmp="none", mss_clamp=True)


def test_settings_of_the_kernel_may_vary_too(read: Read) -> None:
    experiment = read("topology: {chain: 3, nodes: {h2: {sysctl: {net.ipv4.ipfrag_time: [1, 30]}}}}" + REST)
    assert [c.levels for c in experiment.combinations] == [{"net_ipv4_ipfrag_time": 1}, {"net_ipv4_ipfrag_time": 30}]
    assert [t.nodes["h2"].sysctl for t in experiment.topologies] == [
        {"net.ipv4.ipfrag_time": "1"},
        {"net.ipv4.ipfrag_time": "30"},
    ]


def test_two_lists_of_nodes_that_differ(problems: Problems) -> None:
    nodes = "{r1: {icmp: [all, none]}, r2: {icmp: [all, no-too-big]}}"
    assert problems(f"topology: {{chain: 4, nodes: {nodes}}}{REST}") == [
        "test.yaml:1: topology.nodes: nodes have different lists for node_icmp; "
        "declare them under factors and refer to them as $name"
    ]


@pytest.mark.parametrize(
    "setting",
    ["masquerade: true", "mss-clamp: [false, true]", "icmp: none", "drop: fragments", "filter-rules: 5"],
)
def test_only_routers_filter(problems: Problems, setting: str) -> None:
    key = setting.partition(":")[0]
    text = f"topology:\n  nodes:\n    h1: {{kind: host, {setting}}}\n    h2: host\n  links: [{{endpoints: [h1, h2]}}]"
    assert problems(text + REST) == [
        f'test.yaml:3: topology.nodes.h1.{key}: "h1" is a host, and only routers forward: '
        f"leave {key} out, or set it at a router"
    ]


def test_ports_are_chosen_by_who_masquerades(read: Read, problems: Problems) -> None:
    text = "topology: {chain: 3, nodes: {r1: {nat-ports: random}}}" + REST
    assert problems(text) == [
        'test.yaml:1: topology.nodes.r1.nat-ports: "r1" does not masquerade, and chooses no ports: set masquerade too, '
        "or leave nat-ports out"
    ]
    experiment = read("topology: {chain: 3, masquerade: true, nat-ports: [kept, random]}" + REST)
    rules = [ruleset(topology.nodes["r1"]) for topology in experiment.topologies]
    assert [text.count(" masquerade fully-random\n") for text in rules] == [0, 1]
    assert [text.count(" masquerade\n") for text in rules] == [1, 0]


def test_a_node_that_does_nothing_has_no_ruleset(read: Read) -> None:
    assert ruleset(Node(name="r1", kind="router")) == ""
    scripts = render(read("topology: {chain: 3}" + REST).topologies[0])
    assert not any("nft" in script_text(script) for script in scripts.values())


def test_the_ruleset_is_one_and_counts_what_it_does(read: Read) -> None:
    node = Node(name="r1", kind="router", masquerade=True, mss_clamp=True, icmp="no-too-big", drop="fragments")
    text = ruleset(node)
    assert text.count("table ") == 1
    assert text.startswith("table inet sixbench {")
    for counter in ("masqueraded", "untranslated", "clamped", "too-big", "fragments"):
        assert f"counter {counter} {{ }}" in text
        assert f"counter name {counter}" in text
    setting = "masquerade: true, mss-clamp: true, icmp: no-too-big, drop: fragments"
    script = render(read(f"topology: {{chain: 3, {setting}}}{REST}").topologies[0])["r1"]
    assert script.nft == text
    assert f"nft -f - <<'END'\n{text}END" in script_text(script)


def test_the_server_sees_the_last_node_that_masquerades(read: Read) -> None:
    experiment = read("topology: {chain: 5, masquerade: true, nodes: {r3: {masquerade: false}}}" + REST)
    legs = [install(path, experiment.topologies[0], experiment.between).legs for path in experiment.paths]
    assert [[(leg.near, leg.far, str(leg.source)) for leg in each_leg] for each_leg in legs] == [
        [("h1", "r1", "198.18.0.1"), ("r1", "r2", "198.18.1.1"), ("r2", "h2", "198.18.2.1")],
        [("h1", "r1", "2001:2::1"), ("r1", "r2", "2001:2:0:1::1"), ("r2", "h2", "2001:2:0:2::1")],
    ]
    assert {str(leg.destination) for leg in legs[0]} == {str(experiment.topologies[0].links[-1].ends[1].ipv4.ip)}


def test_without_masquerading_the_server_sees_the_client(read: Read) -> None:
    experiment = read("topology: {chain: 5}" + REST)
    for path in experiment.paths:
        [leg] = install(path, experiment.topologies[0], experiment.between).legs
        assert (leg.near, leg.far) == experiment.between


@pytest.mark.parametrize(
    "name", [name for name, mechanism in MECHANISMS.items() if mechanism.headers and name != "teredo"]
)
def test_a_tunnel_cannot_cross_a_carrier_that_masquerades(problems: Problems, name: str) -> None:
    if name == "ds-lite":
        path = "{ds-lite: [r1, r3]}"
    else:
        nodes = MECHANISMS[name].sample
        path = f"{{{name}: [{', '.join({'r2': 'r3'}.get(node, node) for node in nodes)}]}}"
    text = f"topology: {{chain: 5, nodes: {{r2: {{masquerade: true}}}}}}\npaths:\n  a: {path}\nworkloads: [ping]\n"
    actual_problems = problems(text)
    assert len(actual_problems) == 1, actual_problems
    assert actual_problems[0].startswith("test.yaml:3: paths.a")
    assert '"r2", between "' in actual_problems[0]
    assert "masquerades: outer packets of " in actual_problems[0]
    assert problems(text.replace("masquerade: true", "masquerade: false")) == []


def test_inside_a_tunnel_packets_are_masqueraded_to_its_device(read: Read) -> None:
    text = "topology: {chain: 4, nodes: {r1: {masquerade: true}}}\npaths: {a: {6in4: [r1, r2]}}\nworkloads: [ping]\n"
    experiment = read(text)
    first, last = install(experiment.paths[0], experiment.topologies[0], experiment.between).legs
    assert (str(first.source), str(last.source)) == ("2001:2::1", "2001:db8::1")


def test_rules_that_no_packet_matches(read: Read) -> None:
    experiment = read("topology: {chain: 3, filter-rules: [0, 200]}" + REST)
    assert [combination.levels for combination in experiment.combinations] == [
        {"node_filter_rules": 0},
        {"node_filter_rules": 200},
    ]
    without, many = (ruleset(topology.nodes["r1"]) for topology in experiment.topologies)
    assert without == ""
    assert many.count("meta l4proto 253 drop\n") == 200
    assert many.count("hook forward") == 1


@pytest.mark.parametrize(
    ("count", "wrong"),
    [
        ("-1", "is too small: at least 0"),
        ("10001", "is too large: at most 10000"),
        ("true", "is not a whole number, such as 1"),
        ("many", "is not a whole number, such as 1"),
        ("1.5", "is not a whole number, such as 1"),
    ],
)
def test_a_number_of_rules_that_cannot_be(problems: Problems, count: str, wrong: str) -> None:
    (problem,) = problems(f"topology: {{chain: 3, nodes: {{r1: {{filter-rules: {count}}}}}}}{REST}")
    assert problem.startswith("test.yaml:1: topology.nodes.r1.filter-rules: ")
    assert problem.endswith(wrong)
