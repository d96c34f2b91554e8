"""Properties of every mechanism, wherever it is installed: it is refused with a sentence, or it works."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv6Interface

import pytest
from forwarding import Forwarding, Step, steps_back, steps_of, translated
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st

from sixbench.lab.render import render_path
from sixbench.mechanisms import MECHANISMS, MechanismError, install
from sixbench.model.device import MAX_DEVICE_NAME
from sixbench.model.network import Network, passages_of
from sixbench.model.parameter import Scalar
from sixbench.model.path import Path
from sixbench.model.topology import Interface, Link, Node, Topology
from sixbench.plan.addressing import link_ipv4, link_ipv6

pytestmark = pytest.mark.computes

MTUS = (1280, 1300, 1320, 1400, 1500, 9000)
PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)
INSTALLED = [name for name, kind in MECHANISMS.items() if kind.node_count != (0, 0)]


@dataclass(frozen=True, kw_only=True)
class Wires:
    """A network as few words say it, so that a counterexample can be read."""

    links: tuple[str, ...]
    mtus: tuple[int, ...]
    by_hand: dict[str, tuple[str, str]]

    def topology(self) -> Topology:
        """Topology with automatic addresses where none are given by hand."""
        return topology([link.split("-") for link in self.links], list(self.mtus), self.by_hand)

    def names(self, kind: str) -> list[str]:
        """The nodes whose names begin so."""
        return sorted({name for link in self.links for name in link.split("-") if name.startswith(kind)})


@st.composite
def wires(draw: st.DrawFn) -> Wires:
    """Routers in a line, a star, a ring or any other connected way, some joined twice; hosts at one or two of them, or
    at another host."""
    routers = draw(st.integers(1, 5))
    shape = draw(st.sampled_from(["line", "star", "ring", "any"]))
    pairs = []
    for index in range(1, routers):
        nearest = {"line": index - 1, "star": 0, "ring": index - 1}.get(shape)
        pairs.append((draw(st.integers(0, index - 1)) if nearest is None else nearest, index))
    if shape == "ring" and routers > 2:
        pairs.append((routers - 1, 0))
    if shape == "any" and routers > 1:
        ends = st.integers(0, routers - 1)
        pairs += [pair for pair in draw(st.lists(st.tuples(ends, ends), max_size=4)) if pair[0] != pair[1]]
    named = [(f"r{item}", f"r{other}") for item, other in pairs]
    hosts = draw(st.integers(2, 4))
    for host in range(hosts):
        for router in draw(st.lists(st.integers(0, routers - 1), min_size=1, max_size=2)):
            named.append((f"h{host}", f"r{router}"))
    if draw(st.integers(0, 9)) == 0:
        named.append(("h0", "h1"))
    links = draw(st.permutations(["-".join(draw(st.permutations(pair))) for pair in named]))
    return Wires(
        links=tuple(links),
        mtus=tuple(draw(st.sampled_from(MTUS)) for _ in links),
        by_hand=draw(st.sampled_from(BY_HAND)),
    )


BY_HAND: tuple[dict[str, tuple[str, str]], ...] = (
    {},
    {},
    {},
    {"l0": ("2001:db8::1/64", "2001:db8::2/64")},
    {"l1": ("2001:db8:b00::1/64", "2001:db8:b00::2/64")},
    {"l0": ("203.0.113.1/30", "203.0.113.2/30"), "l1": ("10.1.0.25/30", "10.1.0.26/30")},
    {"l0": ("192.168.1.1/24", "192.168.1.2/24"), "l1": ("2002:c612:101:1::1/64", "2002:c612:101:1::2/64")},
)
"""Addresses of some links that mechanisms use themselves, or that are private."""


def topology(links: list[list[str]], mtus: list[int], by_hand: dict[str, tuple[str, str]]) -> Topology:
    names = sorted({name for link in links for name in link})
    nodes = {name: Node(name=name, kind="host" if name[0] == "h" else "router") for name in names}
    count = Counter[str]()
    collected = []
    for index, (link, mtu_bytes) in enumerate(zip(links, mtus, strict=True)):
        given = by_hand.get(f"l{index}", ())
        ipv4 = tuple(IPv4Interface(given_item) for given_item in given if ":" not in given_item) or link_ipv4(index)
        ipv6 = tuple(IPv6Interface(given_item) for given_item in given if ":" in given_item) or link_ipv6(index)
        ends = []
        for name, address4, address6 in zip(link, ipv4, ipv6, strict=True):
            ends.append(Interface(node=name, name=f"eth{count[name]}", ipv4=address4, ipv6=address6))
            count[name] += 1
        collected.append(Link(name=f"l{index}", ends=(ends[0], ends[1]), mtu_bytes=mtu_bytes))
    return Topology(nodes=nodes, links=tuple(collected))


@st.composite
def paths(draw: st.DrawFn, names: list[str], mechanism: str) -> Path:
    """A mechanism anywhere, with some of its options."""
    kind = MECHANISMS[mechanism]
    least, most = kind.node_count
    nodes = draw(st.lists(st.sampled_from(names), min_size=least, max_size=min(most, 4), unique=True))
    if draw(st.integers(0, 4)):
        # Where it has a chance: a router last, before it what the mechanism is for.
        before = [name for name in nodes[:-1] if mechanism not in ("isatap", "teredo", "dstm") or name[0] == "h"] or [
            "h0"
        ]
        nodes = [*before, draw(st.sampled_from([name for name in names if name[0] == "r"]))][-most:]
        if mechanism == "bih" or (mechanism == "464xlat" and draw(st.booleans())):
            nodes[0] = "h0"
    options: dict[str, Scalar] = {}
    if kind.option("mtu") is not None and draw(st.integers(0, 3)) == 0:
        options["mtu"] = draw(st.sampled_from([1279, 1280, 1400, 1480, 2000]))
    if kind.option("pmtu") is not None and draw(st.integers(0, 3)) == 0:
        options["pmtu"] = draw(st.sampled_from(["static", "dynamic"]))
    paths: dict[str, st.SearchStrategy[Scalar]] = {
        "private": st.just(True),
        "relay": st.sampled_from([*names, "nowhere"]),
        "br": st.sampled_from([*names, "nowhere"]),
        "prefix": st.sampled_from(
            ["2001:db8::/32", "2a00:1000::/28", "2a00::/24", "2a00:1::/48", "2001::/16", "2001:db8:64::/96"]
        ),
        "server": st.sampled_from([*names, "nowhere"]),
        "lease": st.just(10**9),
        "client": st.sampled_from(["ipv4", "ipv6"]),
        "ports": st.just(1000),
        "psid-bits": st.sampled_from([1, 2, 6]),
        "rule-prefix": st.sampled_from(["2001:db8:ce00::/40", "2001:db8::/32", "2001:2::/42", "2a00::/16"]),
        "rule-ipv4": st.sampled_from(["192.0.2.0/24", "203.0.113.1/32", "198.18.0.0/24"]),
        "ea-bits": st.sampled_from([0, 1, 6, 8, 12, 24]),
        "psid-offset": st.sampled_from([0, 4, 10]),
        "pool": st.sampled_from(
            ["192.0.2.0/28", "203.0.113.0/30", "172.21.112.0/20", "10.0.0.0/29", "10.0.0.0/31", "198.18.0.0/15"]
        ),
        "host-prefix": st.sampled_from(["2001:db8:b1b::/96", "2001:db8::/32", "2001:2::/64"]),
        "clat-prefix": st.sampled_from(["2001:db8:7::/96", "2001:2::/96"]),
        "dmr-prefix": st.sampled_from(["2001:db8:64::/64", "2a00::/32"]),
        "ipv4-mask": st.sampled_from([0, 8, 15, 16, 24]),
        "inner": st.sampled_from(["ipv4", "ipv6"]),
        "outer": st.sampled_from(["ipv4", "ipv6"]),
        "key": st.sampled_from([0, 7]),
    }
    for option in kind.options:
        if option.name in paths and draw(st.booleans()):
            options[option.name] = draw(paths[option.name])
    return Path(name="p", mechanism=mechanism, family=kind.family(options), nodes=tuple(nodes), options=options)


@st.composite
def cases(draw: st.DrawFn, mechanism: str) -> tuple[Path, Wires, tuple[str, str]]:
    network = draw(wires())
    client, server = draw(st.permutations(network.names("h")))[:2]
    return draw(paths(network.names(""), mechanism)), network, (client, server)


@pytest.mark.parametrize("mechanism", INSTALLED)
@settings(max_examples=60, phases=PHASES, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_a_mechanism_anywhere_works_or_is_refused(mechanism: str, data: st.DataObject) -> None:
    path, network, between = data.draw(cases(mechanism))
    try:
        installed = install(path, network.topology(), between)
    except MechanismError as error:
        refusal = error
    else:
        event("installed")
        check_addresses(installed, mechanism)
        check_commands(installed)
        assert installed.between == between
        check_ways(installed)
        return
    event("refused")
    words = str(refusal)
    assert words.isprintable()
    assert 20 < len(words) < 500
    assert refusal.option is None or MECHANISMS[mechanism].option(refusal.option) is not None


def check_addresses(network: Network, mechanism: str) -> None:
    """Locals are the node's own; no address belongs to two nodes, nor a prefix to two links by chance."""
    have: dict[str, set[object]] = defaultdict(set)
    holders: dict[object, set[str]] = defaultdict(set)
    for link in network.topology.links:
        for end in link.ends:
            for address in (end.ipv4, end.ipv6):
                if address is not None:
                    have[end.node].add(address.ip)
                    if link.ipv4_domain is None:
                        holders[address.ip].add(end.node)
    for tunnel in network.tunnels:
        assert tunnel.local in have[tunnel.node] or tunnel.local in tunnel.addresses
        assert tunnel.local.version == tunnel.outer
        assert len(tunnel.device) <= MAX_DEVICE_NAME
    assert {address: nodes for address, nodes in holders.items() if len(nodes) > 1} == {}
    domains = {link.ipv4_domain for link in network.topology.links}
    assert domains == {None} or mechanism in ("ds-lite", "lw4o6", "map-e", "map-t")
    assert all(len(device.device) <= MAX_DEVICE_NAME for device in network.devices)
    devices = [(device.node, device.device) for device in network.devices]
    assert len(set(devices)) == len(devices)


def check_commands(network: Network) -> None:
    """No command would be refused because what it adds is there."""
    for script in render_path(network, "user").values():
        lines = [*script.devices, *script.routes, *script.made_addresses, *script.made_routes]
        added = [tuple(line.split()[:3]) for line in lines if line.startswith("route add")]
        added += [tuple(line.split()) for line in lines if line.startswith("address add")]
        default = [line for line in lines if line.startswith("route add default")]
        assert len({":" in line for line in default}) == len(default)
        named = [words for words in added if words[2] != "default"]
        assert len(set(named)) == len(named), added


def check_ways(network: Network) -> None:
    """Packets cross the wires that are claimed, with the headers, addresses and hop limits that are claimed, there and
    back."""
    first, last = network.legs[0], network.legs[-1]
    claimed = network.crossings
    assert claimed
    assert network.translators or network.relays or any(len(crossing.headers) > 1 for crossing in claimed)
    forwarding = Forwarding(network)
    assert first.source in forwarding.addresses_of[first.near]
    assert last.destination in forwarding.addresses_of[last.far]
    assert forwarding.there() == steps_of(claimed)
    finds_by_port = [
        *network.tunnels,
        *(translator for translator in network.translators if "domain" in translator.mapping),
    ]
    is_shared = any(last.source in device.prefixes[0] for device in finds_by_port if device.prefixes)
    if not is_shared or len(network.legs) == 1:
        # Otherwise answers find their softwire by their ports, and packets here have none.
        assert way_back(network, forwarding) == steps_back(claimed)
    assert steps_of(network.reversed.crossings) == steps_back(claimed)


def way_back(network: Network, forwarding: Forwarding) -> list[Step]:
    first, last = network.legs[0], network.legs[-1]
    if network.relays:
        return forwarding.back()
    steps = forwarding.follow(last.far, last.destination, last.source)
    if len(network.legs) == 1 or (network.translators and network.translators[-1].node not in network.tracking):
        return steps
    if network.translators:
        # The node's NAT gives the answer the address that the translator knows the client by.
        [*_, before, behind] = network.legs
        assert behind.near == steps[-1][2] == forwarding.holder(last.source)
        inside = translated(network.translators[-1], before.source)
        left = steps[-1][-1][-1][-1]
        assert left is not None
        return steps + forwarding.follow(behind.near, last.destination, inside, left - 1)
    assert first.far == steps[-1][2] == forwarding.holder(last.source)
    [entered] = [
        passage.link.end_of(first.far).name
        for passage in passages_of(network.topology, first.near, first.far, 4)
        if passage.link.is_tunnel
    ]
    hop_limit = steps[-1][-1][-1][-1]
    assert hop_limit is not None
    return steps + forwarding.follow_through(entered, first.far, first.destination, first.source, hop_limit - 1)
