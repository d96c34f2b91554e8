"""Interfaces of this machine at which equipment stands: whether nodes may borrow them. How they do, and that they come
home whatever happens, is the agent's (crates/agent/src/lending).
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Iterable
from typing import Any

from ..model.errors import ExperimentError, LabError, Problem
from ..model.quoting import listed, printable
from ..model.topology import Topology
from .privileges import in_user_namespace

MEAN_IT = "--i-mean-it"
"""The option by which an interface is lent that somebody uses."""


def check_ports(topologies: Iterable[Topology], file: str, *, means_it: bool) -> None:
    """Raises `ExperimentError` where an interface cannot be lent, or is in use and nobody has said that it is meant."""
    ports = {port.name: port for topology in topologies for _, port in topology.ports}
    for port in ports.values():
        wrong = _wrong(port.name, means_it=means_it)
        if wrong is not None:
            raise ExperimentError([Problem(file=file, line=port.line, key="dut.ports", message=f"{port.name} {wrong}")])


def _wrong(name: str, *, means_it: bool) -> str | None:
    """Why an interface is not lent, as what follows its name."""
    known = _interfaces()
    if name not in known:
        others = sorted(one for one in known if one != "lo")
        return f"is no interface of this machine, or another run has it; there are {listed(others)}"
    if os.geteuid() != 0 or in_user_namespace():
        return "can be lent to a namespace by root alone; run as root"
    shown = known[name]
    flags = shown.get("flags", [])
    if "LOOPBACK" in flags:
        return "is the machine's loopback interface, which no equipment can be at"
    if "master" in shown:
        return f"belongs to {shown['master']}; take it out of that first"
    if not means_it:
        if any(route.get("dev") == name for family in ("-4", "-6") for route in _defaults(family)):
            return f"is this machine's way out (a default route): name another one, or say {MEAN_IT}"
        used = [one["local"] for one in shown.get("addr_info", []) if one.get("scope") != "link"]
        if used:
            return f"is in use: it has the address {used[0]}; take that away, or say {MEAN_IT}"
    if "UP" in flags and "LOWER_UP" not in flags:
        return "has no carrier: connect it to the equipment, and switch that on"
    return None


def _interfaces() -> dict[str, dict[str, Any]]:
    """What `ip` says of the interfaces and their addresses, by name."""
    return {str(one["ifname"]): one for one in _asked("ip", "-j", "address", "show")}


def _defaults(family: str) -> list[dict[str, Any]]:
    return _asked("ip", family, "-j", "route", "show", "default")


def _asked(*command: str) -> list[dict[str, Any]]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f"{shlex.join(command)} ended with {done.returncode}: {_words(done.stderr)}")
    found = json.loads(done.stdout or "[]")
    return [one for one in found if one]


def wanted_addresses(topology: Topology) -> list[str]:
    """The addresses that equipment has to have, as a sentence for each interface."""
    found = []
    for link in topology.links:
        if link.port is not None:
            [end] = [end for end in link.ends if topology.nodes[end.node].equipment is not None]
            addresses = [str(address) for address in (end.ipv4, end.ipv6) if address is not None]
            found.append(f"the equipment has to have {' and '.join(addresses)} at {link.port.name}")
    return found


def _words(said: str) -> str:
    return printable(" ".join(said.split())) or "nothing was said why"
