"""The agent's engines: eBPF programs, or the slow path alone (docs/protocol.md, "Tunnel requests")."""

from __future__ import annotations

from typing import Any

from ...model.network import Request, Tunnel
from .engine import TunnelScript


def ebpf(tunnel: Tunnel) -> TunnelScript:
    """The requests for a tunnel that eBPF programs in the kernel carry."""
    return TunnelScript(requests=(Request(op="tunnel-add", fields=_fields(tunnel)),))


def user(tunnel: Tunnel) -> TunnelScript:
    """The requests for a tunnel in user space."""
    return TunnelScript(requests=(Request(op="tunnel-add", fields=_fields(tunnel) | {"engine": "user"}),))


def _fields(tunnel: Tunnel) -> dict[str, Any]:
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
