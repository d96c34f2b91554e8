"""Paths installed in small networks, and what tests ask of them."""

from __future__ import annotations

from collections.abc import Callable

from forwarding import Forwarding, steps_back, steps_of

from sixbench.lab.render import render_path
from sixbench.mechanisms import MECHANISMS, install
from sixbench.model.experiment import Experiment
from sixbench.model.network import Network
from sixbench.model.parameter import Scalar
from sixbench.model.path import Path

ROW = "h1-r1 r1-r2 r2-h2"

Installed = Callable[..., Network]
"""`install_in` without its first argument."""


def stacks(network: Network) -> list[str]:
    """The headers on each link between the hosts."""
    return [" ".join(crossing.headers) for crossing in network.crossings]


def of(network: Network, node: str) -> dict[str, tuple[str | None, str | None]]:
    """The addresses of a node by device."""
    collected: dict[str, tuple[str | None, str | None]] = {}
    for link in network.topology.links_of(node):
        end = link.end_of(node)
        collected[end.name] = (None if end.ipv4 is None else str(end.ipv4), None if end.ipv6 is None else str(end.ipv6))
    return collected


def routes_of(network: Network, node: str) -> list[str]:
    """The routes of a node, as ip-route(8) adds them."""
    script = render_path(network, "user")[node]
    return [line.removeprefix("route add ") for line in (*script.routes, *script.made_routes)]


def ends(network: Network) -> tuple[str, str]:
    """The addresses of client and server."""
    return str(network.legs[0].source), str(network.legs[0].destination)


def check_both_ways(network: Network) -> None:
    """Packets follow routes and mappings over the wires that the network claims, with the addresses and hop limits that
    it claims."""
    forwarding = Forwarding(network)
    assert forwarding.there() == steps_of(network.crossings)
    if len(network.legs) == 1:
        [leg] = network.legs
        assert forwarding.follow(leg.far, leg.destination, leg.source) == steps_back(network.crossings)
    if network.relays:
        assert forwarding.back() == steps_back(network.crossings)


def install_in(
    read: Callable[[str], Experiment],
    mechanism: str,
    *nodes: str,
    links: str = ROW,
    between: tuple[str, str] = ("h1", "h2"),
    ipv4: dict[str, str] | None = None,
    link_mtu: dict[str, int] | None = None,
    **options: Scalar,
) -> Network:
    """A path installed in a network written as its links; hosts are those with an h."""
    names = dict.fromkeys(name for link in links.split() for name in link.split("-"))
    kinds = ", ".join(f"{name}: {'host' if name[0] == 'h' else 'router'}" for name in names)
    lines = []
    for link in links.split():
        by_hand = f", ipv4: [{ipv4[link]}]" if ipv4 and link in ipv4 else ""
        lines.append(f"{{endpoints: [{link.replace('-', ', ')}], mtu: {(link_mtu or {}).get(link, 1500)}{by_hand}}}")
    text = f"topology: {{nodes: {{{kinds}}}, links: [{', '.join(lines)}]}}\nbetween: [{', '.join(between)}]\n"
    topology = read(text + "paths: {a: native4}\nworkloads: [ping]\n").topologies[0]
    given = {name.replace("_", "-"): value for name, value in options.items()}
    path = Path(name="p", mechanism=mechanism, family=MECHANISMS[mechanism].family(given), nodes=nodes, options=given)
    return install(path, topology, between)
