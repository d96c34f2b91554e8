"""The agent's engines: eBPF programs, or the slow path alone (docs/protocol.md, "Tunnel requests")."""

from __future__ import annotations

from typing import Any

from ..model.device import Device, Tunnel
from ..model.stage import Request, Stage
from .engine import Engine


def ebpf(device: Device) -> Stage:
    """The requests for a tunnel that eBPF programs in the kernel carry."""
    return Stage(requests=(Request(op="tunnel-add", fields=_fields(device)),))


def user(device: Device) -> Stage:
    """The requests for a tunnel in user space."""
    return Stage(requests=(Request(op="tunnel-add", fields=_fields(device) | {"engine": "user"}),))


def unfit(device: Device) -> str | None:
    """Why the agent cannot make such a device, as a sentence; None if it can."""
    return None if isinstance(device, Tunnel) else f"the agent makes no {type(device).__name__.lower()}"


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
    unfit=unfit,
    is_tried_on_each=False,
)
