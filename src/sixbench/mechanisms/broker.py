"""Tunnel broker (RFC 3053): a client asks for its 6in4 tunnel, and a broker makes the other end and removes it
later."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from ipaddress import IPv6Interface, IPv6Network
from typing import Any

from ..engines import EBPF, USER
from ..model.network import Network
from ..model.path import Path
from ..model.stage import AnswerField, NodeRequest, Stage
from ..model.topology import Interface, Topology
from .common import (
    ECN,
    MTU,
    PMTU,
    TOS,
    TTL,
    carrier,
    check_overlap,
    device_mtu,
    family_of,
    finish,
    make_tunnel,
    tunnel_link,
    with_links,
    without_family,
)
from .kind import Mechanism, MechanismError

POOL = IPv6Network("2001:db8:b00::/48")
"""The prefix of all clients: the first client has its first /64, the second the second."""

BROKER_DEVICE_PREFIX = "lease-"
"""The broker's end of lease n is `lease-n`; the first lease is number 0."""

LIFETIME_S = 3600
TIMEOUT_NS = 5_000_000_000
_HEADERS = ("ipv4",)


def _install(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
    client, server = path.nodes
    if topology.nodes[server].kind != "router":
        raise MechanismError(f'"{server}" is a host; the broker is a router and named last, after the client')
    underlay = carrier(path, topology, client, server, 4)
    mtu_bytes = device_mtu(path, [underlay], _HEADERS, 6)
    device, text = "broker-1", f"{BROKER_DEVICE_PREFIX}0"
    base = int(POOL.network_address)
    addresses = (IPv6Interface((base + 2, 64)), IPv6Interface((base + 1, 64)))
    link = tunnel_link(
        path,
        Interface(node=client, name=device, ipv4=None, ipv6=addresses[0]),
        Interface(node=server, name=text, ipv4=None, ipv6=addresses[1]),
        mtu_bytes,
        _HEADERS,
    )
    ends = [
        make_tunnel(
            path,
            node=node,
            device=name,
            mtu_bytes=mtu_bytes,
            payload="ipv6",
            ways=[underlay],
            mapping={"kind": "fixed", "remote": str(underlay.local(peer))},
            made_by=op,
            autoconfigured=True,
        )
        for node, peer, name, op in (
            (client, server, device, "broker-request"),
            (server, client, text, "broker-start"),
        )
    ]
    token = sha256(f"{underlay.local(client)} {underlay.local(server)}".encode()).hexdigest()[:32]
    common = {"ttl": ends[0].ttl or "inherit", "ecn": ends[0].ecn, "pmtu": ends[0].pmtu}
    if path.engine is not None:
        common["engine"] = path.engine
    if ends[0].tos is not None:
        common["tos"] = ends[0].tos
    start = NodeRequest(
        op="broker-start",
        fields={
            "address": str(underlay.local(server)),
            "clients": [str(underlay.local(client))],
            "token": token,
            "pool": str(POOL),
            "tunnel": {"mtu_bytes": mtu_bytes, "underlay": list(ends[1].underlay), **common},
            "device_prefix": BROKER_DEVICE_PREFIX,
            "lifetime_s": LIFETIME_S,
            "max_clients": 1,
        },
        undo=NodeRequest(op="broker-stop", fields={}),
    )
    fields = {
        "broker": str(underlay.local(server)),
        "port": AnswerField(node=server, op="broker-start", field="port"),
        "token": token,
        "local": str(underlay.local(client)),
        "device": device,
        "tunnel": {"underlay": list(ends[0].underlay), **common},
        "timeout_ns": TIMEOUT_NS,
    }
    ask = NodeRequest(
        op="broker-request",
        fields=fields,
        check=lambda answer: _check(answer, addresses[0], device),
        undo=NodeRequest(op="broker-release", fields={"device": device}),
    )
    carried = without_family(topology, {link.name for link in underlay.links}, 6)
    check_overlap(path, carried, [POOL])
    stages = ({server: Stage(requests=(start,))}, {client: Stage(requests=(ask,))})
    return finish(path, with_links(carried, [link]), between, ends, 6, stages=stages)


def _check(answer: Mapping[str, Any], address: IPv6Interface, device: str) -> str | None:
    if answer.get("address") != str(address):
        return f"the broker gave the address {answer.get('address')}, where {address} was expected"
    return None if answer.get("device") == device else f"the tunnel is {answer.get('device')}, not {device}"


TUNNEL_BROKER = Mechanism(
    name="tunnel-broker",
    doc="A broker that hands a client its 6in4 tunnel on request (RFC 3053).",
    family=family_of,
    install=_install,
    headers=_HEADERS,
    node_count=(2, 2),
    node_order="the client, then the broker",
    executed_by=(EBPF, USER),
    options=(MTU, TTL, TOS, ECN, PMTU),
    sample=("r1", "r2"),
)
