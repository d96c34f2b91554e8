"""Packets followed hop by hop through a network with a path installed, by nothing but what each node has: its
addresses, its routes, its tunnels' mappings. An oracle for `Network.crossings`, which knows the whole network."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Any

from sixbench.mechanisms.dslite import B4
from sixbench.mechanisms.sixover4 import multicast_group
from sixbench.model.device import Translator, Tunnel
from sixbench.model.leg import Address, Crossing, Leg
from sixbench.model.network import Network
from sixbench.model.routing import routes
from sixbench.model.topology import DEFAULT_HOP_LIMIT, Family, Link

Ip = tuple[tuple[Address, Address, int | None], ...]
"""Source, destination and hop limit of each IP header, outermost first."""

Step = tuple[str, str, str, tuple[str, ...], Ip]
"""A wire that was crossed: its name, from where to where, with which headers, and what is in the IP headers."""

MAX_STEPS = 60
_FAMILIES: tuple[Family, ...] = (4, 6)


def steps_of(crossings: Sequence[Crossing]) -> list[Step]:
    """Steps that a network claims, in the form of those that are followed."""
    return [
        (
            crossing.link.name,
            crossing.near,
            crossing.far,
            crossing.headers,
            tuple((ip.source, ip.destination, ip.hop_limit) for ip in crossing.ip),
        )
        for crossing in crossings
    ]


def steps_back(crossings: Sequence[Crossing]) -> list[Step]:
    """Steps that it claims of the same way back."""
    return [
        (
            crossing.link.name,
            crossing.far,
            crossing.near,
            crossing.headers,
            tuple((ip.destination, ip.source, ip.reverse_hop_limit) for ip in crossing.ip),
        )
        for crossing in reversed(crossings)
    ]


EMBEDDED = {
    32: (4, 5, 6, 7),
    40: (5, 6, 7, 9),
    48: (6, 7, 9, 10),
    56: (7, 9, 10, 11),
    64: (9, 10, 11, 12),
    96: (12, 13, 14, 15),
}
"""Where RFC 6052 has the octets of an IPv4 address, by the length of the prefix (section 2.2, figure 1)."""


def translated(translator: Translator, address: Address) -> Address:
    """Translation of an address by a translator: by its table, by its rule of MAP, or by RFC 6052 section 2.2."""
    if "domain" in translator.mapping:
        of_rule = of_domain(translator.mapping["domain"], address)
        if of_rule is not None:
            return of_rule
    for ipv4, ipv6 in translator.mapping["explicit"]:
        row, other = ip_network(ipv4), ip_network(ipv6)
        assert other.prefixlen - row.prefixlen == 96, "the suffixes are equally long"
        if address in row:
            return IPv6Address(int(other[0]) + int(address) - int(row[0]))
        if address in other:
            return IPv4Address(int(row[0]) + int(address) - int(other[0]))
    prefix = ip_network(translator.mapping["prefixes"][0])
    places = EMBEDDED[prefix.prefixlen]
    if address.version == 4:
        octets = bytearray(prefix[0].packed)
        for place, octet in zip(places, address.packed, strict=True):
            octets[place] = octet
        return IPv6Address(bytes(octets))
    assert address in prefix, f"nothing maps {address}"
    return IPv4Address(bytes(address.packed[place] for place in places))


def of_domain(domain: dict[str, Any], address: Address) -> Address | None:
    """Address that RFC 7597 section 6 gives for the address of a customer edge, which its NAT gives to whoever is
    behind it. None: the address is another's."""
    these, rules = domain["own"], domain["rules"]
    if address.version == 6:
        is_edges = any(address in ip_network(rule["ipv6"]) for rule in ([these] if these else rules))
        return IPv4Address(int(address) >> 16 & 0xFFFFFFFF) if is_edges else None
    if these is None or not (address.is_private and address in ip_network("192.168.0.0/16")):
        return None
    shared, psid = ip_network(these["ipv4"])[0], these.get("psid", {"value": 0})["value"]
    return IPv6Address(int(ip_network(these["ipv6"])[0]) + (int(shared) << 16) + psid)


class Forwarding:
    """The nodes of a network."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.topology = network.topology
        self.addresses_of: dict[str, set[Address]] = {name: set() for name in self.topology.nodes}
        self.table: dict[str, list[tuple[IPv4Network | IPv6Network, Address | None, str]]] = {
            name: [] for name in self.topology.nodes
        }
        for link in self.topology.links:
            for end in link.ends:
                for family in _FAMILIES:
                    address = end.address(family)
                    if address is None or (family == 6 and link.mtu_bytes < 1280):
                        continue
                    self.addresses_of[end.node].add(address.ip)
                    entry = (address.network, None, end.name)
                    if entry not in self.table[end.node]:
                        self.table[end.node].append(entry)
        for device in network.devices:
            self.addresses_of[device.node] |= set(device.addresses)
        for name in self.topology.nodes:
            for family in _FAMILIES:
                for route in routes(self.topology, name, family, network.devices):
                    anywhere = ip_network("0.0.0.0/0" if family == 4 else "::/0")
                    self.table[name].append((route.prefix or anywhere, route.gateway, route.device))

    def there(self) -> list[Step]:
        """The wires from client to server. Where a leg ends, the addresses of the next one follow."""
        steps: list[Step] = []
        for number, leg in enumerate(self.network.legs):
            if leg.near == leg.far:
                self._check_inside(leg, self.network.legs[number + 1])
                continue
            hop_limit = DEFAULT_HOP_LIMIT if not steps else (steps[-1][-1][-1][-1] or 0) - 1
            if any(relay.node == leg.near for relay in self.network.relays):
                hop_limit = DEFAULT_HOP_LIMIT  # Its packets are its own.
            if any(device.node == leg.near for device in self.network.translators):
                hop_limit -= 1  # The node forwards into the translator and out of it.
            for step in self.follow(leg.near, leg.source, leg.destination, hop_limit):
                steps.append(step)
                if step[2] == leg.far:
                    break
        return steps

    def _check_inside(self, leg: Leg, following: Leg) -> None:
        """A host's own packets are led into its translator, which gives them the addresses of the next leg."""
        via, device = self._lookup(leg.near, leg.destination)
        [translator] = [
            translator
            for translator in self.network.translators
            if (translator.node, translator.device) == (leg.near, device)
        ]
        assert via is None
        assert leg.source in translator.addresses
        ends = [translated(translator, address) for address in (leg.source, leg.destination)]
        assert ends == [following.source, following.destination]

    def follow(
        self,
        source: str,
        src: Address,
        dst: Address,
        hop_limit: int = DEFAULT_HOP_LIMIT,
        headers: tuple[str, ...] | None = None,
        inside: Ip = (),
    ) -> list[Step]:
        """The wires from a node to an address, and to the node that has it. Fails where a packet would be lost."""
        at, steps = source, list[Step]()
        stack = headers or (f"ipv{src.version}",)
        while dst not in self.addresses_of[at] and not self._relayed(at, dst):
            assert len(steps) < MAX_STEPS, "in a circle"
            via, device = self._lookup(at, dst)
            hop_limit -= at != source
            translator = next(
                (
                    translator
                    for translator in self.network.translators
                    if (translator.node, translator.device) == (at, device)
                ),
                None,
            )
            forwards = self.topology.nodes[at].kind == "router" or translator is not None
            assert at == source or forwards, f"{at} does not forward {dst}"
            if translator is not None:
                src, dst = translated(translator, src), translated(translator, dst)
                if dst in self.addresses_of[at]:
                    return steps
                stack, hop_limit = (f"ipv{src.version}",), hop_limit - 1
                via, device = self._lookup(at, dst)
                assert device != translator.device, "back into the translator"
            at = self._cross(at, device, via or dst, stack, ((src, dst, hop_limit), *inside), steps)
        return steps

    def follow_through(self, device: str, aftr: str, src: Address, dst: Address, hop_limit: int) -> list[Step]:
        """From an AFTR into a subscriber's tunnel, by the routing table of that subscriber alone."""
        steps: list[Step] = []
        reached = self._cross(aftr, device, B4.ip, ("ipv4",), ((src, dst, hop_limit),), steps)
        return steps + self.follow(reached, src, dst, hop_limit - 1)

    def back(self) -> list[Step]:
        """The wires from server to client, where the nodes between two legs are relays or there are none."""
        return [
            step for leg in reversed(self.network.legs) for step in self.follow(leg.far, leg.destination, leg.source)
        ]

    def _relayed(self, at: str, dst: Address) -> bool:
        """True if packets to an address end at a node because it is a relay."""
        taken = any(relay.node == at and dst in relay.prefix for relay in self.network.relays)
        assert not taken or self._lookup(at, dst) == (None, "lo"), f"{at} does not take packets to {dst} for its own"
        return taken

    def holder(self, address: Address) -> str:
        """The one node that has an address."""
        [node] = [name for name, value in self.addresses_of.items() if address in value]
        return node

    def _lookup(self, at: str, dst: Address) -> tuple[Address | None, str]:
        fitting = [entry for entry in self.table[at] if entry[0].version == dst.version and dst in entry[0]]
        assert fitting, f"{at} has no route to {dst}"
        longest = max(entry[0].prefixlen for entry in fitting)
        best = [entry for entry in fitting if entry[0].prefixlen == longest]
        assert len(best) == 1, f"{at} has several routes to {dst}: {best}"
        return best[0][1], best[0][2]

    def _cross(
        self,
        at: str,
        device: str,
        next_hop: Address,
        stack: tuple[str, ...],
        ip: Ip,
        steps: list[Step],
    ) -> str:
        links = [link for link in self.topology.links_of(at) if link.end_of(at).name == device]
        if not links[0].is_tunnel:
            [link] = links
            other = link.other_end(at)
            have = {address.ip for address in (other.ipv4, other.ipv6) if address is not None}
            assert next_hop in have, f"{at} asks for {next_hop} on {link.name}, where {other.node} has {have}"
            steps.append((link.name, at, other.node, stack, ip))
            return other.node
        src, dst, hop_limit = ip[0]
        tunnel = self._tunnel(at, device)
        outer = self._outer_destination(tunnel, links, src, dst, next_hop)
        [link] = [
            link for link in links if self._tunnel(link.other_end(at).node, link.other_end(at).name).local == outer
        ]
        far = link.other_end(at)
        self._check_accepted(self._tunnel(far.node, far.name), tunnel.local, src, dst)
        below = self.follow(at, tunnel.local, outer, tunnel.ttl or hop_limit or 0, (*link.headers, *stack), ip)
        assert below[-1][2] == far.node, f"outer packets of {device} end at {below[-1][2]} instead of {far.node}"
        arriving = next(link for link in self.topology.links if link.name == below[-1][0]).end_of(far.node).name
        assert arriving in self._tunnel(far.node, far.name).underlay, f"{far.node} does not look at {arriving}"
        steps += below
        return far.node

    def _tunnel(self, node: str, device: str) -> Tunnel:
        [tunnel] = [
            each_tunnel
            for each_tunnel in self.network.tunnels
            if (each_tunnel.node, each_tunnel.device) == (node, device)
        ]
        return tunnel

    def _outer_destination(
        self, tunnel: Tunnel, links: Sequence[Link], src: Address, dst: Address, next_hop: Address
    ) -> Address:
        """As docs/protocol.md tells it; where Linux's own `sit` goes by the next hop, by that too."""
        mapping = tunnel.mapping
        match mapping["kind"]:
            case "fixed":
                return type(tunnel.local)(mapping["remote"])
            case "6to4":
                embedded = IPv6Address(dst).sixtofour
                return self._agreed(embedded, mapping["relay"], next_hop)
            case "6rd":
                return self._agreed(six_rd_embedded(mapping, tunnel, dst), mapping["border_relay"], next_hop)
            case "isatap":
                embedded = isatap_embedded(dst)
                by_next_hop = isatap_embedded(next_hop)
                chosen = embedded if embedded is not None else IPv4Address(mapping["routers"][0])
                assert chosen == by_next_hop, f"ours would go to {chosen}, Linux to {by_next_hop}"
                return chosen
            case "teredo-client" | "teredo-relay":
                embedded = teredo_embedded(dst)
                return embedded if embedded is not None else IPv4Address(mapping["relay"])
            case "6over4":
                [neighbour] = [
                    far
                    for far in (link.other_end(tunnel.node) for link in links)
                    if far.ipv6 is not None and far.ipv6.ip == next_hop
                ]
                peer = self._tunnel(neighbour.node, neighbour.name)
                solicited = IPv6Address(int(IPv6Address("ff02::1:ff00:0")) | (int(next_hop) & 0xFFFFFF))
                assert str(multicast_group(solicited)) in peer.mapping["groups"], "nobody would answer a solicitation"
                return peer.local
            case other:
                raise AssertionError(f"no mapping {other}")

    def _agreed(self, embedded: IPv4Address | None, relay: str | None, next_hop: Address) -> IPv4Address:
        if embedded is not None:
            return embedded
        assert relay is not None, "neither an embedded address nor a relay"
        assert int(next_hop) == int(IPv4Address(relay)), f"Linux would go to {next_hop}, ours to {relay}"
        return IPv4Address(relay)

    def _check_accepted(self, tunnel: Tunnel, outer: Address, src: Address, dst: Address) -> None:
        """The spoof checks of RFC 4213, RFC 3964, RFC 5969 and RFC 5214."""
        mapping: dict[str, Any] = tunnel.mapping
        right = True
        match mapping["kind"]:
            case "fixed":
                right = str(outer) == mapping["remote"]
            case "6to4":
                embedded = IPv6Address(src).sixtofour
                right = embedded == outer if embedded is not None else str(outer) == mapping["relay"]
                sixtofour = IPv6Address(dst).sixtofour
                right = right and (sixtofour is None or sixtofour == tunnel.local)
            case "6rd":
                embedded = six_rd_embedded(mapping, tunnel, src)
                right = embedded == outer if embedded is not None else str(outer) == mapping["border_relay"]
            case "teredo-client" | "teredo-relay":
                embedded = teredo_embedded(src)
                right = embedded == outer if embedded is not None else str(outer) == mapping["relay"]
            case "isatap":
                right = str(outer) in mapping["routers"] or isatap_embedded(src) == outer
        assert right, f"{tunnel.node} would drop {src} from {outer}"


def six_rd_embedded(mapping: dict[str, Any], tunnel: Tunnel, address: Address) -> IPv4Address | None:
    """The IPv4 address of the CE whose delegated prefix an address is in."""
    domain, mask_bits = IPv6Network(mapping["prefix"]), int(mapping["ipv4_mask_bits"])
    if address not in domain:
        return None
    bits = 32 - mask_bits
    low = (int(address) >> (128 - domain.prefixlen - bits)) & (2**bits - 1)
    return IPv4Address((int(tunnel.local) >> bits << bits) | low)


def teredo_embedded(address: Address) -> IPv4Address | None:
    """RFC 4380 section 4."""
    teredo = IPv6Address(address).teredo
    return None if teredo is None else teredo[1]


def isatap_embedded(address: Address) -> IPv4Address | None:
    """RFC 5214 section 6.1."""
    high = int(address) >> 32 & 0xFFFFFFFF
    return IPv4Address(int(address) & 0xFFFFFFFF) if high in (0x5EFE, 0x02005EFE) else None
