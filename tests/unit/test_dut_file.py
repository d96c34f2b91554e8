"""`dut`: the network and the paths that a device under test gives."""

from __future__ import annotations

import json
from concurrent.futures import Future
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from json_schema import complaints

from sixbench.bench import carriers
from sixbench.bench.proof.viewpoints import viewpoints
from sixbench.lab.build import Completed
from sixbench.lab.ports import wanted_addresses
from sixbench.lab.render import render, script_text
from sixbench.mechanisms import MECHANISMS, commands_of, install
from sixbench.model.errors import ExperimentError, LabError
from sixbench.model.experiment import Experiment
from sixbench.plan.experiment_file import read_experiment, read_topology_only
from sixbench.plan.schema import experiment_schema
from sixbench.plan.yaml_source import parse_yaml
from sixbench.rfc.state import keeps_state

pytestmark = pytest.mark.computes

SCHEMA = experiment_schema(MECHANISMS)


def experiment(dut: Any, **others: Any) -> Experiment:
    data = {"dut": dut, "workloads": ["ping"]} | others
    assert complaints(SCHEMA, data) == []
    return read_experiment(parse_yaml(json.dumps(data), "x.yaml"), MECHANISMS)


@pytest.mark.parametrize(
    ("dut", "nodes", "paths"),
    [
        ("wire", ["left", "right"], {"ipv4": "native4", "ipv6": "native6"}),
        ("forwarding", ["left", "dut", "right"], {"ipv4": "native4", "ipv6": "native6"}),
        ("native6", ["left", "dut", "right"], {"native6": "native6"}),
        ({"mechanism": {"nat64": ["r1"]}}, ["left", "r1", "right"], {"nat64": "nat64"}),
        ({"mechanism": {"nat64": {"nodes": "r1", "ports": 10}}}, ["left", "r1", "right"], {"nat64": "nat64"}),
        ({"mechanism": {"siit": {"client": "ipv4"}}}, ["left", "dut", "right"], {"siit": "siit"}),
        ({"mechanism": {"mechanism": "siit", "nodes": ["r1"]}}, ["left", "r1", "right"], {"siit": "siit"}),
        ({"mechanism": {"464xlat": ["left", "plat"]}}, ["left", "plat", "right"], {"464xlat": "464xlat"}),
        ({"mechanism": "6in4"}, ["left", "dut1", "dut2", "right"], {"6in4": "6in4"}),
    ],
)
def test_the_device_stands_between_two_hosts(dut: Any, nodes: list[str], paths: dict[str, str]) -> None:
    read = experiment(dut)
    [topology] = read.topologies
    assert read.between == ("left", "right")
    assert list(topology.nodes) == nodes
    assert [(link.ends[0].node, link.ends[1].node) for link in topology.links] == list(pairwise(nodes))
    assert [node.name for node in topology.nodes.values() if node.kind == "host"] == ["left", "right"]
    assert {path.name: path.mechanism for path in read.paths} == paths


def test_every_link_has_the_settings_and_a_list_is_a_factor() -> None:
    read = experiment({"mechanism": "wire", "rate": ["10Mbit", "1Gbit"], "mtu": 9000})
    rates = [topology.links[0].directions[0].rate_bps for topology in read.topologies]
    assert rates == [10_000_000, 1_000_000_000]
    assert {topology.links[0].mtu_bytes for topology in read.topologies} == {9000}
    two = experiment({"mechanism": "forwarding", "rate": ["10Mbit", "1Gbit"]})
    assert [[link.directions[0].rate_bps for link in topology.links] for topology in two.topologies] == [
        [10_000_000, 10_000_000],
        [1_000_000_000, 1_000_000_000],
    ]


def test_its_addresses_are_those_of_benchmarks() -> None:
    [topology] = experiment("forwarding").topologies
    assert [str(link.ends[0].ipv4) for link in topology.links] == ["198.18.0.1/24", "198.18.1.1/24"]
    assert [str(link.ends[0].ipv6) for link in topology.links] == ["2001:2::1/64", "2001:2:0:1::1/64"]


def test_a_path_is_where_the_device_is() -> None:
    source = parse_yaml("workloads: [ping]\ndut:\n  mechanism:\n    nat64: [r1]\n", "x.yaml")
    assert read_experiment(source, MECHANISMS).paths[0].line == 3


def test_the_network_alone_can_be_had() -> None:
    assert list(read_topology_only(parse_yaml("dut: forwarding\n", "x.yaml")).nodes) == ["left", "dut", "right"]


def test_equipment_stands_between_two_hosts_that_have_its_ports() -> None:
    read = experiment({"ports": ["eth1", "enp3s0"], "description": "a router", "mtu": 9000})
    [topology] = read.topologies
    assert {path.name: path.mechanism for path in read.paths} == {"ipv4": "native4", "ipv6": "native6"}
    assert topology.nodes["dut"].equipment == "a router"
    assert topology.held == ["left", "right"]
    assert [(node, port.name) for node, port in topology.ports] == [("left", "eth1"), ("right", "enp3s0")]
    assert [[end.name for end in link.ends] for link in topology.links] == [["eth1", "eth0"], ["eth1", "enp3s0"]]
    assert {link.mtu_bytes for link in topology.links} == {9000}
    actual_experiment = experiment({"ports": ["eth1", "eth2"], "description": "a router", "family": 4})
    assert [(path.name, path.family) for path in actual_experiment.paths] == [("equipment", 4)]


def test_equipment_may_change_addresses_and_starts_nothing() -> None:
    dut = {"ports": ["eth1", "eth2"], "description": "a NAT64", "family": [6, 4], "prefix": "2001:db8:64::/96"}
    read = experiment(dut | {"client-as": "own", "hops": 2, "state": "own"})
    network = install(read.paths[0], read.topologies[0], read.between)
    assert [(str(leg.source), str(leg.destination)) for leg in network.legs] == [
        ("2001:2::1", "2001:db8:64::c612:102"),
        ("198.18.1.1", "198.18.1.2"),
    ]
    assert [crossing.ip[0].hop_limit for crossing in network.crossings] == [64, 62]
    assert (network.stages, network.hosting) == ((), ())
    assert commands_of(read.paths[0]) == ()
    assert keeps_state(network)
    with pytest.raises(ExperimentError, match="the table of equipment is not visible: give state: own"):
        experiment(dut | {"client-as": "own", "state": "linux"})


def test_equipment_is_observed_at_the_hosts_and_makes_no_commands() -> None:
    read = experiment({"ports": ["eth1", "eth2"], "description": "a router"})
    network = install(read.paths[0], read.topologies[0], read.between)
    assert [(view.end.node, view.towards_server) for view in viewpoints(network)] == [("left", True), ("right", False)]
    scripts = render(read.topologies[0])
    assert list(scripts) == ["left", "right"]
    assert "ip link set dev eth1 netns {pid:left}" in script_text(scripts["left"])
    assert not any(line.startswith("link add") for script in scripts.values() for line in script.links)
    assert wanted_addresses(read.topologies[0]) == [
        "the equipment has to have 198.18.0.2/24 and 2001:2::2/64 at eth1",
        "the equipment has to have 198.18.1.1/24 and 2001:2:0:1::1/64 at eth2",
    ]


def test_a_line_that_never_comes_up_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def execute(argv: list[str]) -> Future[Completed]:
        answer: Future[Completed] = Future()
        flags = ["UP", "LOWER_UP"] if argv[-1] == "eth1" else ["NO-CARRIER", "UP"]
        answer.set_result(Completed(argv=argv, exit=0, stdout=json.dumps([{"flags": flags}]), stderr=""))
        return answer

    monkeypatch.setattr(carriers, "CARRIER_S", 0.0)
    read = experiment({"ports": ["eth1", "eth2"], "description": "a router"})
    node: Any = SimpleNamespace(execute=execute)
    with pytest.raises(LabError, match=r"eth2, which the experiment names at .*, has had no carrier for 0 s"):
        carriers.wait_for_carriers(read.topologies[0], {"left": node, "right": node})
