"""Who executes a mechanism: how each engine makes a device. One module an engine, and this list."""

from __future__ import annotations

from collections.abc import Mapping

from . import agent, kernel
from .engine import Engine

__all__ = ["ENGINES", "Engine"]

ENGINES: Mapping[str, Engine] = {
    engine.name: engine
    for engine in (
        Engine(
            name="kernel", doc="Linux's own devices: sit, ip6tnl, gre, vxlan.", make=kernel.make, unfit=kernel.unfit
        ),
        Engine(
            name="ebpf",
            doc="Programs of ours in the kernel, with a slow path beside them.",
            make=agent.ebpf,
            unfit=agent.unfit,
        ),
        Engine(
            name="user",
            doc="The slow path alone: every packet through user space.",
            make=agent.user,
            unfit=agent.unfit,
        ),
    )
}
"""All engines, by name."""
