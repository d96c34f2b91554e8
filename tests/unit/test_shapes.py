"""Short forms of networks: what they are written out to, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from synthetic import rate_of

from sixbench.model.experiment import Experiment
from sixbench.model.topology import Topology
from sixbench.plan.experiment_file import read_topology_only
from sixbench.plan.yaml_source import parse_yaml

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]
Problems = Callable[[str], list[str]]

REST = "\npaths: {ipv4: native4, ipv6: native6}\nworkloads: [ping]\n"
ONLY_IPV4 = "\npaths: {ipv4: native4}\nworkloads: [ping]\n"


def network(read: Read, topology: str) -> Topology:
    return read(f"topology: {{{topology}}}{REST}").topologies[0]


def hosts(topology: Topology) -> list[str]:
    return [name for name, node in topology.nodes.items() if node.kind == "host"]


def test_a_chain_is_hosts_at_the_ends_and_routers_between(read: Read) -> None:
    experiment = read(f"topology: {{chain: 5}}{REST}")
    [topology] = experiment.topologies
    assert [(node.name, node.kind) for node in topology.nodes.values()] == [
        ("h1", "host"),
        *((f"r{number}", "router") for number in (1, 2, 3)),
        ("h2", "host"),
    ]
    assert [link.name for link in topology.links] == ["h1-r1", "r1-r2", "r2-r3", "r3-h2"]
    assert experiment.between == ("h1", "h2")
    assert topology == network(read, "line: 5")


def test_two_machines_are_a_chain(read: Read) -> None:
    assert [link.name for link in network(read, "chain: 2").links] == ["h1-h2"]


def test_the_chain_of_the_paper(read: Read) -> None:
    """Lucas et al. 2020, figures 1 and 2: PC0 to PC14, MTU 1500 down to 1305 on the fourteenth link."""
    topology = network(
        read,
        "chain: {nodes: 15, names: pc, mtu: 1500 - 15 per link, masquerade: true, "
        'ipv4: 10.0.1.0/24, ipv6: "2001:1:1::/48"}',
    )
    assert list(topology.nodes) == [f"pc{number}" for number in range(15)]
    assert [link.mtu_bytes for link in topology.links] == list(range(1500, 1304, -15))
    assert [node.name for node in topology.nodes.values() if node.masquerade] == [f"pc{n}" for n in range(1, 14)]
    first, last = topology.links[0], topology.links[13]
    assert [str(end.ipv4) for end in first.ends] == ["10.0.1.1/24", "10.0.1.2/24"]
    assert [str(end.ipv6) for end in first.ends] == ["2001:1:1::1/48", "2001:1:1::2/48"]
    assert str(last.end_of("pc14").ipv4) == "10.0.14.2/24"


@pytest.mark.parametrize(
    ("topology", "nodes", "links", "between"),
    [
        ("star: 5", 6, 5, ("h1", "h5")),
        ("tree: {depth: 1, fanout: 4}", 5, 4, ("h1", "h4")),
        ("tree: {depth: 2, fanout: 3}", 13, 12, ("h1", "h9")),
        ("ring: 6", 12, 12, ("h1", "h4")),
        ("mesh: 4", 8, 10, ("h1", "h3")),
        ("mesh: 2", 4, 3, ("h1", "h2")),
        ("mesh: {routers: 6, degree: 2}", 12, 12, ("h1", "h4")),
        ("mesh: {routers: 6, degree: 3}", 12, 15, ("h1", "h4")),
        ("mesh: {routers: 7, degree: 4}", 14, 21, ("h1", "h4")),
    ],
)
def test_other_shapes(read: Read, topology: str, nodes: int, links: int, between: tuple[str, str]) -> None:
    experiment = read(f"topology: {{{topology}}}{REST}")
    actual_topology = experiment.topologies[0]
    assert (len(actual_topology.nodes), len(actual_topology.links), experiment.between) == (nodes, links, between)


def test_a_ring_is_a_mesh_of_degree_two(read: Read) -> None:
    assert network(read, "ring: 6") == network(read, "mesh: {routers: 6, degree: 2}")


def test_settings_are_of_every_link_and_every_router(read: Read) -> None:
    topology = network(read, "star: 3, rate: 10Mbit, delay: 1ms, icmp: no-too-big, sysctl: {net.ipv4.tcp_sack: 0}")
    assert {rate_of(link) for link in topology.links} == {10_000_000}
    assert {impairments.delay_ns for link in topology.links for impairments in link.impairments} == {1_000_000}
    assert {node.name: node.icmp for node in topology.nodes.values()} == {
        "r1": "no-too-big",
        **dict.fromkeys(("h1", "h2", "h3"), "all"),
    }
    assert all(node.sysctl == {"net.ipv4.tcp_sack": "0"} for node in topology.nodes.values())


def test_what_differs_is_said_by_name(read: Read) -> None:
    topology = network(
        read,
        "chain: {nodes: 5, masquerade: true, mtu: 1400, sysctl: {net.ipv4.tcp_sack: 0}}, "
        "nodes: {r2: {masquerade: false, icmp: none, sysctl: {net.ipv4.ipfrag_time: 1}}, h3: host}, "
        "links: {r1-r2: {mtu: 1300}, spare: {endpoints: [r2, h3]}}",
    )
    assert [node.name for node in topology.nodes.values() if node.masquerade] == ["r1", "r3"]
    assert topology.nodes["r2"].icmp == "none"
    assert topology.nodes["r2"].sysctl == {"net.ipv4.tcp_sack": "0", "net.ipv4.ipfrag_time": "1"}
    assert {link.name: link.mtu_bytes for link in topology.links} == {
        "h1-r1": 1400,
        "r1-r2": 1300,
        "r2-r3": 1400,
        "r3-h2": 1400,
        "spare": 1500,
    }


def test_further_links_as_a_list(read: Read) -> None:
    topology = network(read, "chain: 4, nodes: {h3: host}, links: [{endpoints: [r1, h3]}]")
    assert [link.name for link in topology.links] == ["h1-r1", "r1-r2", "r2-h2", "r1-h3"]


def test_mtu_profiles_are_levels(read: Read) -> None:
    experiment = read("topology: {chain: 4, mtu: [1500, 1500 - 15 per link]}" + REST)
    assert [combination.levels for combination in experiment.combinations] == [
        {"mtu_profile": "1500"},
        {"mtu_profile": "1500 - 15 per link"},
    ]
    mtus = [[link.mtu_bytes for link in topology.links] for topology in experiment.topologies]
    assert mtus == [[1500, 1500, 1500], [1500, 1485, 1470]]


def test_mtu_profiles_may_be_a_shared_factor(read: Read) -> None:
    experiment = read(
        "factors: {profile: [1500, 1280 + 10 per link]}\ntopology: {chain: 4, mtu: $profile}" + REST,
    )
    assert [c.levels for c in experiment.combinations] == [{"profile": "1500"}, {"profile": "1280 + 10 per link"}]
    assert [link.mtu_bytes for link in experiment.topologies[1].links] == [1280, 1290, 1300]


def test_levels_that_are_one_for_all_links_are_bytes_as_always(read: Read) -> None:
    experiment = read("topology: {chain: 4, mtu: [1500, 1400]}" + REST)
    assert [c.levels for c in experiment.combinations] == [{"link_mtu_bytes": 1500}, {"link_mtu_bytes": 1400}]


def test_a_short_form_can_stand_alone() -> None:
    topology = read_topology_only(parse_yaml("chain: 3\nmtu: 1400\n", "chain.yaml"))
    assert [link.mtu_bytes for link in topology.links] == [1400, 1400]


def test_a_chain_names_the_link_whose_mtu_is_too_small(problems: Problems) -> None:
    assert problems("topology:\n  chain: 30\n  mtu: 1500 - 15 per link" + REST) == [
        "test.yaml:3: topology.mtu: link 16 of 29 (r15-r16): an MTU of 1275 is too small for IPv6, "
        "which a path of this experiment uses: give at least 1280 (RFC 8200 section 5)"
    ]
    assert problems("topology:\n  chain: {nodes: 120,\n    mtu: [1500, 1500 - 15 per link]}" + ONLY_IPV4) == [
        "test.yaml:3: topology.chain.mtu: link 97 of 119 (r96-r97): "
        "an MTU of 60 is out of range: give 68 (RFC 791) to 65535"
    ]


@pytest.mark.parametrize(
    ("topology", "message"),
    [
        ("chain: 1", "topology.chain: nodes must be from 2 to 2000, not 1"),
        ("chain: many", 'topology.chain: nodes must be a whole number, not "many"'),
        ("chain: {names: pc}", "topology.chain: nodes is missing; write it such as {nodes: 3}"),
        ("chain: 5, ring: 5", "topology.ring: a network has one shape, and this one already is a chain"),
        ("chain: 5, masquarade: true", 'topology.masquarade: unknown key; did you mean "masquerade"?'),
        ("chain: {nodes: 5, size: 5}", "topology.chain.size: unknown key"),
        ("chain: {nodes: 5, mtu: 1400}, mtu: 1300", "topology.mtu: mtu is given in the chain too; keep one"),
        ("chain: 5, mtu: 15 off per link", "topology.mtu: "),
        ("chain: 5, names: [a]", "topology.names: names of nodes cannot begin with a list"),
        ("chain: 5, rate: fast", 'topology.rate: "fast" is not a rate'),
        ("tree: 3", "topology.tree: a tree needs depth and fanout, such as {depth: 3, fanout: 3}"),
        ("tree: {depth: 10, fanout: 10}", "topology.tree: 11111111110 links are more than 2000"),
        ("mesh: {routers: 5, degree: 3}", "topology.mesh.degree: 5 routers cannot be linked to 3 others each"),
        ("mesh: {routers: 5, degree: 5}", "give at most 4"),
        ("mesh: {routers: 4, degree: 1}", "make pairs, not a mesh"),
        ("star: 5, mtu: 1500 - 15 per link", "topology.mtu: an MTU per link is for a chain"),
        ("chain: 5, ipv4: 255.255.255.0/24", "topology.ipv4: there are fewer than 4 prefixes from 255.255.255.0/24 on"),
        ("chain: 5, ipv4: 10.0.0.1", "topology.ipv4: "),
        ("chain: 5, nodes: {r9: {icmp: none}}", 'topology.nodes.r9: the shape has no node "r9"'),
        ("chain: 5, nodes: {r1: {kind: host}}", 'topology.nodes.r1.kind: "r1" is a router in the shape'),
        ("chain: 5, nodes: {r1: {icmp: some}}", 'topology.nodes.r1.icmp: "some" is not one of all'),
        ("chain: 5, links: {r1-r9: {mtu: 1400}}", 'topology.links.r1-r9: there is no link "r1-r9"'),
        ("chain: 5, links: {r1-r2: {mtu: 14}}", "topology.links.r1-r2.mtu: 14 is too small: at least 68"),
        ("chain: 5, links: {r1-r2: {endpoints: [r1, r2]}}", "already is a link of the shape; leave endpoints out"),
    ],
)
def test_what_is_wrong_is_told_where_it_stands(problems: Problems, topology: str, message: str) -> None:
    actual_problems = problems(f"factors: {{}}\ntopology: {{{topology}}}{REST}")
    assert len(actual_problems) == 1, actual_problems
    assert actual_problems[0].startswith("test.yaml:2: ")
    assert message in actual_problems[0]
