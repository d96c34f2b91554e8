"""Networks around the ends of tunnels, with inner packets on one side and outer ones on the other. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

from ...mechanisms.binding import Binding, PortSet, binding_table
from ...mechanisms.common import Carrier
from ...mechanisms.dslite import AFTR, Subscriber, policy
from ...mechanisms.mapdomain import napt_within
from ...model.device import Tunnel
from ...model.headers import GRE, GRE_KEY, HEADERS, IPV6
from ...model.topology import Family
from .network import (
    BEYOND,
    FROM_NODE,
    MTU_BYTES,
    NODE,
    PassingNetwork,
    blueprint_of,
    entry_routes,
    exit_routes,
    gateway_by,
    interface_towards,
    neighbours,
)


@dataclass(frozen=True, kw_only=True)
class SoftwireRow:
    """An lwB4 or customer edge: its IPv4 address and ports, the address at which its softwire ends, and the one by
    which it knows the other end."""

    address: str
    ports: PortSet
    softwire: str
    relay: str


def napt_network(
    tunnel: Mapping[str, Any], node: Mapping[str, Any], relay: str, ipv4: IPv4Address, ranges: Sequence[str]
) -> PassingNetwork:
    """The network of an lwB4 or a customer edge of MAP-E: a tunnel to the relay, and a NAPT44 within ranges of ports,
    as in experiments."""
    fixed = {**tunnel, "mapping": {"kind": "fixed", "remote": relay}}
    return tunnel_network(fixed, node, napt_within(ipv4, ranges, f"{tunnel['device']}-1"))


def tunnel_network(tunnel: Mapping[str, Any], node: Mapping[str, Any], ruleset: str = "") -> PassingNetwork:
    """The network of one end of a tunnel.

    Args:
        tunnel: the tunnel, as the first line for `sixbench-agent translate` has it.
        node: the addresses of its node.
        ruleset: of its node.
    """
    outer: Family = 4 if tunnel["outer"] == "ipv4" else 6
    inner: Family = 4 if outer == 6 else 6
    own4, own6 = (ip_address(node[name]) if name in node else None for name in ("own4", "own6"))
    local = ip_address(tunnel["local"])
    # A GRE header may have a key.
    overhead_bytes = HEADERS[tunnel["outer"]].size_bytes + GRE_KEY.size_bytes
    overhead_bytes += GRE.size_bytes if tunnel["payload"] == "gre" else 0
    device = Tunnel(
        node=NODE,
        device=f"{tunnel['device']}-1",
        mtu_bytes=min(tunnel["mtu_bytes"], MTU_BYTES - overhead_bytes),
        addresses=tuple(dict.fromkeys(address for address in (local, own4, own6) if address is not None)),
        outer=outer,
        payload=tunnel["payload"],
        local=local,
        underlay=(interface_towards("far"),),
        mapping=dict(tunnel["mapping"]),
        key=tunnel.get("gre_key"),
        **_tunnel_settings(tunnel),
    )
    carries: Sequence[Family] = (4, 6) if device.payload == "gre" else (inner,)
    everything = {4: "0.0.0.0/0", 6: "::/0"}
    sources = {4: own4, 6: own6}
    lines = [line for family in (4, 6) for line in neighbours("far", family)]
    for family in carries:
        lines += exit_routes("near", family, sources[family])
        lines += entry_routes(device, "near", family)
    # Outer packets, from the program or from the slow path. If inner packets may have the same family, only those to
    # the other end.
    far = str(device.mapping["remote"]) if outer in carries else everything[outer]
    lines.append(f"route add {far} {gateway_by('far', outer)} src {local} table {FROM_NODE}")
    lines += [
        f"rule add from {everything[outer]} iif {name} lookup {FROM_NODE}" for name in ("lo", f"{device.device}.far")
    ]
    for family in (4, 6):
        lines.append(f"rule add from {everything[family]} iif {interface_towards('far')} lookup {BEYOND}")
        lines.append(f"route add blackhole {everything[family]} table {BEYOND}")
    if inner not in carries or outer not in carries:
        lines.append(f"rule add from {everything[outer]} iif {interface_towards('near')} lookup {BEYOND}")
    return PassingNetwork(
        blueprint=blueprint_of([device], lines, ("inside", "outside"), ruleset),
        sides={"near": "inside", "far": "outside"},
        outer=outer,
        local=frozenset({local}),
        carries_outer=outer in carries,
        protocol={"ipv4": 4, "ipv6": 41, "gre": 47}[device.payload],
    )


def softwires_network(
    rows: Sequence[SoftwireRow], node: Mapping[str, Any], tunnel: Mapping[str, Any]
) -> PassingNetwork:
    """The network of an lwAFTR or a border relay of MAP-E: a tunnel to each lwB4 or customer edge, and a ruleset that
    knows by addresses and ports which one a packet is for, as in experiments.

    Args:
        node: the addresses of its node.
        tunnel: settings that all of its tunnels share, as the first line for `sixbench-agent translate` has them.
    """
    own4, own6 = (ip_address(node[name]) if name in node else None for name in ("own4", "own6"))
    tunnels, bindings, lines = [], [], [line for family in (4, 6) for line in neighbours("far", family)]
    subscribers: dict[tuple[str, str], Subscriber] = {}
    for row in rows:
        # A subscriber may have several rows, but has only one tunnel.
        if (subscriber := subscribers.get((row.softwire, row.relay))) is None:
            number = len(subscribers) + 1
            local = IPv6Address(row.relay)
            name = f"{tunnel['device']}-{number}"
            addresses = (address for address in (local, own4, own6) if address is not None)
            tunnels.append(
                Tunnel(
                    node=NODE,
                    device=name,
                    mtu_bytes=min(tunnel["mtu_bytes"], MTU_BYTES - IPV6.size_bytes),
                    addresses=tuple(dict.fromkeys(addresses)) if number == 1 else (local,),
                    outer=6,
                    payload="ipv4",
                    local=local,
                    underlay=(interface_towards("far"),),
                    mapping={"kind": "fixed", "remote": row.softwire},
                    **_tunnel_settings(tunnel),
                )
            )
            underlay = Carrier(first=NODE, second="outside", family=6, links=())
            subscriber = Subscriber(number=number, node=NODE, device=name, underlay=underlay)
            subscribers[row.softwire, row.relay] = subscriber
            lines += [f"address add {AFTR} dev {name}", *policy(subscriber)]
            lines.append(f"rule add from ::/0 iif {name}.far lookup {FROM_NODE}")
        bindings.append(Binding(subscriber=subscriber, address=IPv4Address(row.address), ports=row.ports))
    shared = "{ " + ", ".join(dict.fromkeys(row.address for row in rows)) + " }"
    lines += [
        *exit_routes("near", 4, own4, node.get("mtu4_bytes")),
        f"rule add from 0.0.0.0/0 iif {interface_towards('near')} lookup {BEYOND} priority 30000",
        f"route add ::/0 {gateway_by('far', 6)} table {FROM_NODE}" + (f" src {own6}" if own6 is not None else ""),
        f"rule add from ::/0 iif lo lookup {FROM_NODE}",
        f"rule add from ::/0 iif {interface_towards('far')} lookup {BEYOND}",
        f"rule add from ::/0 iif {interface_towards('near')} lookup {BEYOND}",
        f"route add blackhole 0.0.0.0/0 table {BEYOND}",
        f"route add blackhole ::/0 table {BEYOND}",
    ]
    return PassingNetwork(
        blueprint=blueprint_of(
            tunnels, lines, ("inside", "outside"), binding_table("sixbench_softwires", shared, bindings)
        ),
        sides={"near": "inside", "far": "outside"},
        outer=6,
        local=frozenset(device.local for device in tunnels),
        protocol=4,
    )


def _tunnel_settings(tunnel: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "ttl": None if tunnel["ttl"] == "inherit" else tunnel["ttl"],
        "tos": None if tunnel["tos"] == "inherit" else tunnel["tos"],
        "ecn": tunnel["ecn"],
        "pmtu": tunnel["pmtu"],
    }
