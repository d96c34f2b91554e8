"""The agent's engines: eBPF programs, or the slow path alone (docs/protocol.md, "Tunnel requests")."""

from __future__ import annotations

from typing import Any

from ..model.device import Device, Relay, Translator, Tunnel
from ..model.stage import AnswerField, NodeRequest, Stage
from .engine import Engine

TRANSLATIONS = frozenset({"siit"})
"""The kinds of translators that the agent has."""

DISCOVER = "prefix-discover"
"""The request by which a node learns the prefix of its translator."""

DHCP_ASK = "dhcp-ask"
"""The request by which it learns that it can do without IPv4 on its link."""

RELAY_PORT = 3142
"""Port of a relay for redirected packets: any port that nothing else in the node has."""


def ebpf(device: Device) -> Stage:
    """The requests for a tunnel or a translator that eBPF programs in the kernel carry."""
    return Stage(requests=(_request(device, "ebpf"),))


def user(device: Device) -> Stage:
    """The requests for a tunnel or a translator in user space, and what a relay needs."""
    return _relay(device) if isinstance(device, Relay) else Stage(requests=(_request(device, "user"),))


def _relay(relay: Relay) -> Stage:
    """The relay, and the redirection of all ports of its addresses to it.

    Its route makes the node the end of all packets to these addresses. Echo requests are dropped: the node would answer
    them, and not the host that is meant. Errors about its own packets arrive.
    """
    rule = f"ip6 daddr {relay.prefix}"
    ruleset = f"""table ip6 sixbench_relay {{
  chain redirection {{
    type filter hook prerouting priority mangle; policy accept;
    {rule} meta l4proto tcp tproxy to :{RELAY_PORT} accept
    {rule} meta l4proto udp tproxy to :{RELAY_PORT} accept
    {rule} icmpv6 type echo-request drop
  }}
}}
"""
    fields = {"prefix": str(relay.prefix), "port": RELAY_PORT, "sessions": relay.sessions}
    return Stage(requests=(NodeRequest(op="relay-start", fields=fields),), nft=ruleset)


def _request(device: Device, engine: str) -> NodeRequest:
    if isinstance(device, Translator):
        mapping = device.mapping
        if device.discovery is not None:
            mapping = mapping | {"prefixes": [AnswerField(node=device.node, op=DISCOVER, field="prefix")]}
        fields = {"device": device.device, "mtu_bytes": device.mtu_bytes, "mapping": mapping}
        passing = {"through_node": True} if device.through_node else {}
        return NodeRequest(op="translator-add", fields=fields | passing | {"engine": engine})
    return NodeRequest(op="tunnel-add", fields=_fields(device) | ({} if engine == "ebpf" else {"engine": engine}))


def unfit(device: Device) -> str | None:
    """The reason why neither programs nor the slow path can be such a device, as a sentence; None if they can."""
    if isinstance(device, Tunnel) or (isinstance(device, Translator) and device.mapping["kind"] in TRANSLATIONS):
        return None
    return f"the agent cannot create a {type(device).__name__.lower()} of the kind {' '.join(device.kind[1:])}"


def _user_unfit(device: Device) -> str | None:
    return None if isinstance(device, Relay) else unfit(device)


def _fields(tunnel: Device) -> dict[str, Any]:
    assert isinstance(tunnel, Tunnel), "other devices are unfit"
    fields: dict[str, Any] = {
        "device": tunnel.device,
        "mtu_bytes": tunnel.mtu_bytes,
        "outer": f"ipv{tunnel.outer}",
        "payload": tunnel.payload,
        "local": str(tunnel.local),
        "underlay": list(tunnel.underlay),
        "mapping": {name: value for name, value in tunnel.mapping.items() if value is not None},
        "ttl": tunnel.ttl or "inherit",
        "tos": "inherit" if tunnel.tos is None else tunnel.tos,
        "ecn": tunnel.ecn,
        "pmtu": tunnel.pmtu,
    }
    return fields if tunnel.key is None else fields | {"gre_key": tunnel.key}


EBPF = Engine(
    name="ebpf",
    doc="Programs of ours in the kernel, with a slow path beside them.",
    make=ebpf,
    unfit=unfit,
    is_tried_on_each=False,
)
USER = Engine(
    name="user",
    doc="The slow path alone: every packet through user space.",
    make=user,
    unfit=_user_unfit,
    is_tried_on_each=False,
)
