"""Devices of a blueprint: what is routed into them, what they take from the hop limit, and which networks are one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv4Network, IPv6Address, IPv6Network

import pytest

from sixbench.engines import ENGINES
from sixbench.lab.render import render_path, script_text
from sixbench.mechanisms import install, legs_of
from sixbench.mechanisms.common import without_family
from sixbench.model.device import Translator
from sixbench.model.experiment import Experiment
from sixbench.model.network import Blueprint, Network
from sixbench.model.routing import all_routes, routes
from sixbench.model.stage import Stage
from sixbench.theory import NotPredicted, predict
from sixbench.theory.expected import path_mtu
from sixbench.theory.treatment import treatments

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]

PREFIX, POOL = IPv6Network("64:ff9b::/96"), IPv4Network("192.0.2.0/24")
TEXT = "topology: {chain: 6}\npaths: {a: native6, b: native4}\nworkloads: [ping]\n"


def translated(read: Read, hops: int | None = 1) -> Network:
    """h1 - r1 - r2 - r3 - r4 - h2, translated at r2."""
    topology = read(TEXT).topologies[0]
    names = [link.name for link in topology.links]
    topology = without_family(without_family(topology, set(names[:2]), 4), set(names[2:]), 6)
    [inside], [outside] = legs_of(topology, ("h1", "r2"), 6), legs_of(topology, ("r2", "h2"), 4)
    inside = replace(inside, destination=IPv6Address(int(PREFIX[0]) | int(outside.destination)))
    device = Translator(
        node="r2", device="t", mtu_bytes=1500, prefixes=(PREFIX, POOL), mapping={"kind": "test"}, hops=hops
    )
    legs = (inside, replace(outside, source=POOL[1]))
    return Network(topology=topology, devices=(device,), legs=legs)


def test_prefixes_are_routed_to_the_device_and_into_it(read: Read) -> None:
    network = translated(read)
    result = {
        node: {
            str(route.prefix): (str(route.gateway), route.device)
            for route in all_route
            if route.prefix in (PREFIX, POOL)
        }
        for node, all_route in all_routes(network.topology, network.devices).items()
    }
    via = {name: str(network.topology.links[index].ends[0].ipv4.ip) for name, index in (("r3", 2), ("r4", 3))}
    gateway = network.topology.links[1].ends[1].ipv6
    assert gateway is not None
    assert result == {
        "h1": {},
        "r1": {str(PREFIX): (str(gateway.ip), "eth1")},
        "r2": {str(PREFIX): ("None", "t"), str(POOL): ("None", "t")},
        "r3": {str(POOL): (via["r3"], "eth0")},
        "r4": {str(POOL): (via["r4"], "eth0")},
        "h2": {},
    }


def test_the_routes_of_one_node_are_those_of_all(read: Read) -> None:
    network = translated(read)
    topology, devices = network.topology, network.devices
    for node, all_route in all_routes(topology, devices).items():
        of_node = [*routes(topology, node, 4, devices), *routes(topology, node, 6, devices)]
        assert sorted(map(str, all_route)) == sorted(map(str, of_node))


@pytest.mark.parametrize(("hops", "behind"), [(1, [62, 61, 60]), (2, [61, 60, 59]), (None, [None] * 3)])
def test_hop_limits_go_on_behind_a_translator(read: Read, hops: int | None, behind: list[int | None]) -> None:
    crossings = translated(read, hops).crossings
    assert [crossing.headers for crossing in crossings] == [("ipv6",)] * 2 + [("ipv4",)] * 3
    assert [crossing.hop_limit for crossing in crossings] == [64, 63, *behind]
    back = [crossing.ip[0].reverse_hop_limit for crossing in crossings]
    there = [None, None] if hops is None else [61 - hops, 62 - hops]
    assert back == [*there, 62, 63, 64]


def test_addresses_are_those_of_the_leg(read: Read) -> None:
    network = translated(read)
    first, last = network.crossings[0], network.crossings[-1]
    assert (str(first.destination), first.leg.far) == ("64:ff9b::c612:402", "r2")
    assert (str(last.source), last.leg.near) == ("192.0.2.1", "r2")
    assert network.reversed.crossings[0].source == last.destination


def test_theory_does_not_guess_what_a_translator_does_but_knows_its_headers(read: Read) -> None:
    network = translated(read)
    assert path_mtu(network) == 1500
    with pytest.raises(NotPredicted, match="behind r2, which translates them"):
        predict(network, 100)


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_that_make_tunnels_say_that_they_make_no_translators(read: Read, engine: str) -> None:
    [device] = translated(read).devices
    assert "translator" in (ENGINES[engine].unfit(device) or "")


def test_native_paths_have_one_blueprint_and_a_repeated_path_that_of_the_first(read: Read) -> None:
    text = TEXT.replace("a: native6, b: native4", "a: native6, b: native4, c: {tunnel-broker: [r1, r4]}")
    experiment = read(text)
    topology = experiment.topologies[0]
    first, second, broker = (install(path, topology, experiment.between) for path in experiment.paths)
    assert first.blueprint == second.blueprint == Blueprint(topology=topology)
    assert first.is_plain
    again = install(replace(experiment.paths[2], name="again"), topology, experiment.between)
    assert again.blueprint == broker.blueprint
    assert not broker.is_plain
    assert replace(first, stages=({"r1": Stage(nft="table ip t {}\n")},)).blueprint != second.blueprint


def test_a_stage_says_what_it_tracks(read: Read) -> None:
    network = replace(translated(read), devices=())
    named = replace(network, stages=({"r3": Stage(nft="# masquerade\ntable ip t {}\n")},))
    assert treatments(named) == {}
    tracking = replace(network, stages=({"r3": Stage(tracks=frozenset({4}))},))
    assert treatments(tracking)["r3"].reassembles == {4}


def test_routes_into_a_device_come_when_it_exists(read: Read) -> None:
    network = replace(translated(read), devices=(replace(translated(read).devices[0], made_by="a test"),))
    scripts = render_path(network, "user")
    assert scripts["r2"].made_routes == [f"route add {PREFIX} dev t", f"route add {POOL} dev t"]
    assert f"route add {POOL} via " in script_text(scripts["r3"])
