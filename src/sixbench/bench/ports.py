"""Interfaces of this machine at which equipment stands: whether nodes may borrow them. Who decides is the agent, as for
cables between hosts (crates/agent/src/lending/objections.rs), and so is who brings them home whatever happens.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from ..agent import Lendable, find_agent, lendable_here
from ..lab.privileges import in_user_namespace
from ..model.errors import ExperimentError, Problem
from ..model.quoting import listed, printable
from ..model.topology import Topology

MEAN_IT = "--i-mean-it"
"""The option by which an interface is lent that somebody uses."""


def check_ports(topologies: Iterable[Topology], file: str, *, means_it: bool) -> None:
    """Raises `ExperimentError` where an interface cannot be lent, or is in use and nobody has said that it is meant;
    `CapabilityError` or `AgentError` where the agent does not tell."""
    ports = {port.name: port for topology in topologies for _, port in topology.ports}
    if not ports:
        return
    interfaces = {lendable.interface: lendable for lendable in lendable_here(find_agent())}
    for port in ports.values():
        wrong = why_not_lent(port.name, interfaces, may_lend=_may_lend(), means_it=means_it)
        if wrong is not None:
            words = f"borrowing {port.name}: {printable(wrong)}"
            raise ExperimentError([Problem(file=file, line=port.line, key="dut.ports", message=words)])


def why_not_lent(name: str, interfaces: dict[str, Lendable], *, may_lend: bool, means_it: bool) -> str | None:
    """The reason why an interface is not lent, and what would help; None where it is.

    Args:
        may_lend: whether this user may move interfaces.
        means_it: whether also those that are in use are lent.
    """
    if name not in interfaces:
        there = listed(sorted(interface for interface in interfaces if interface != "lo"))
        return f"this machine has no such interface, or another run has it; it has {there}"
    if not may_lend:
        return "root alone can lend it to a namespace; run as root"
    lendable = interfaces[name]
    if lendable.refused is not None:
        return lendable.refused
    used = lendable.in_use or lendable.has
    if used is not None and not means_it:
        return f"{used}, or say {MEAN_IT}"
    if lendable.is_up and not lendable.has_carrier:
        return "it has no carrier; connect it to the equipment, and switch that on"
    return None


def _may_lend() -> bool:
    return os.geteuid() == 0 and not in_user_namespace()
