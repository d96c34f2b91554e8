"""Lightweight 4over6 (RFC 7596): DS-Lite whose subscribers translate addresses themselves, each within a set of ports
of a shared public address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network

from ..model.map_rule import PORT_BITS
from ..model.network import Network
from ..model.parameter import Parameter
from ..model.path import Path
from ..model.stage import SourceNat, Stage
from ..model.topology import Topology
from .binding import Binding, PortRange, binding_table
from .common import TUNNEL_OPTIONS, check_overlap, finish
from .dslite import DS_LITE, Subscriber, policy, softwires
from .kind import MechanismError

PUBLIC = IPv4Address("192.0.2.1")
"""The address that all subscribers share (RFC 5737)."""
DEFAULT_PSID_BITS = 6
"""64 sets of 1024 ports. The first one has the system ports, and is nobody's."""


def _install(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
    *homes, aftr = path.nodes
    hosts = [node for node in homes if topology.nodes[node].kind == "host"]
    if hosts:
        raise MechanismError(f'"{hosts[0]}" is a host; an lwB4 is a router, which translates for the hosts behind it')
    result = softwires(path, topology, between)
    check_overlap(path, result.topology, [IPv4Network(PUBLIC)])
    bindings = _bindings(path, result.subscribers)
    at_aftr = next(tunnel for tunnel in result.tunnels if tunnel.node == aftr)
    # All other nodes send answers to the lwAFTR, which finds the subscriber by the port.
    tunnels = [
        replace(tunnel, prefixes=(IPv4Network(PUBLIC),)) if tunnel is at_aftr else tunnel for tunnel in result.tunnels
    ]
    stages: dict[str, Stage] = {
        binding.subscriber.node: Stage(
            nft=_translation(binding),
            tracks=frozenset({4}),
            nat44=SourceNat(outside=PUBLIC, ports=(str(binding.ports),)),
        )
        for binding in bindings
    }
    stages[aftr] = Stage(
        ip=tuple(line for binding in bindings for line in policy(binding.subscriber)),
        nft=binding_table("sixbench_lwaftr", PUBLIC, bindings),
        tracks=frozenset({4}),
    )
    network = finish(path, result.topology, between, tunnels, 4, stages=(stages,), translating=set(homes))
    inside, *outside = network.legs
    return replace(network, legs=(inside, *(replace(leg, source=PUBLIC) for leg in outside)))


def _bindings(path: Path, subscribers: Sequence[Subscriber]) -> list[Binding]:
    bits = int(path.options.get("psid-bits", DEFAULT_PSID_BITS))
    size = 1 << (PORT_BITS - bits)
    if len(subscribers) >= 1 << bits:
        raise MechanismError(
            f"{len(subscribers)} subscribers need as many sets of ports besides the first one, and {bits} bits make "
            f"{1 << bits}",
            "psid-bits",
        )
    return [
        Binding(
            subscriber=subscriber,
            address=PUBLIC,
            ports=PortRange(first=subscriber.number * size, last=(subscriber.number + 1) * size - 1),
        )
        for subscriber in subscribers
    ]


def _translation(binding: Binding) -> str:
    """The lwB4's NAPT44 (RFC 7596 section 5.1). Echoes have identifiers in the place of ports (section 8.1). What
    cannot be translated goes no further, and what nobody asked for does not come in."""
    out = f'oifname "{binding.subscriber.device}"'
    return f"""table ip sixbench_lwb4 {{
  chain translation {{
    type nat hook postrouting priority srcnat; policy accept;
    {out} meta l4proto {{ tcp, udp }} snat to {PUBLIC}:{binding.ports}
    {out} meta l4proto icmp snat to {PUBLIC}:{binding.ports}
    {out} counter drop
  }}
  chain untranslated {{
    type filter hook forward priority filter; policy accept;
    iifname "{binding.subscriber.device}" ct state {{ new, invalid }} counter drop
    {out} ct state invalid counter drop
  }}
}}
"""


LW4O6 = replace(
    DS_LITE,
    name="lw4o6",
    doc="Lightweight 4over6 (RFC 7596): lwB4s translate addresses, each within its ports; the lwAFTR has their table.",
    install=_install,
    node_order="the lwB4s, then the lwAFTR",
    options=(
        *TUNNEL_OPTIONS,
        Parameter(
            name="psid-bits",
            kind="count",
            doc="the length of the number of a set of ports; there are as many sets as it can count",
            minimum=1,
            maximum=12,
            default=DEFAULT_PSID_BITS,
        ),
    ),
)
