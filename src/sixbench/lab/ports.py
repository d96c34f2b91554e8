"""Interfaces of this machine at which equipment stands: whether nodes may borrow them. How they do, and that they come
home whatever happens, is the agent's (crates/agent/src/lending).
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterable, Mapping, Sequence
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
    above = next((other for other, one in known.items() if _stands_on(one, name)), None)
    if above is not None:
        return f"has {above} on it, which would not outlive a move; take that away first"
    routes = [route for family in ("-4", "-6") for route in _routes(family)]
    for route in routes:
        if any(hop.get("dev") == name for hop in route.get("nexthops", ())):
            words = f"the route to {route.get('dst')}, which has several next hops and could not be given back"
            return f"is one of the ways of {words}: name another one, or take that route away"
    if not means_it:
        used = _use(name, shown, [route for route in routes if route.get("dev") == name])
        if used is not None:
            return f"{used}, or say {MEAN_IT}"
    if "UP" in flags and "LOWER_UP" not in flags:
        return "has no carrier: connect it to the equipment, and switch that on"
    return None


def _use(name: str, shown: Mapping[str, Any], routes: Sequence[Mapping[str, Any]]) -> str | None:
    """What uses an interface, as what follows its name, and what would help. None: nothing does."""
    if any(route.get("dst") == "default" for route in routes):
        return "is this machine's way out (a default route): name another one"
    addresses = [one["local"] for one in shown.get("addr_info", []) if one.get("scope") != "link"]
    if addresses:
        return f"is in use: it has the address {addresses[0]}; take that away"
    if routes:
        return f"is in use: the route to {routes[0].get('dst')} leads over it; take that away"
    bound = next((line for line in _sockets() if _is_bound(line, name)), None)
    if bound is not None:
        program = _PROGRAM.search(bound)
        whose = f"of {printable(program[1])} " if program else ""
        return f"is in use: a socket {whose}is bound to it; end that"
    return None


def _stands_on(one: Mapping[str, Any], name: str) -> bool:
    """Whether an interface is made of another one, such as a VLAN or a VXLAN. A veth names its peer so, too, which
    is no part of it."""
    info = one.get("linkinfo", {})
    if one.get("link") == name and "link_netnsid" not in one and info.get("info_kind") != "veth":
        return True
    return bool(info.get("info_data", {}).get("link") == name)


def _interfaces() -> dict[str, dict[str, Any]]:
    """What `ip` says of the interfaces and their addresses, by name."""
    return {str(one["ifname"]): one for one in _asked("ip", "-j", "-d", "address", "show")}


def _routes(family: str) -> list[dict[str, Any]]:
    """The default routes of all tables, and the routes of the main one that the kernel did not make by itself."""
    main = (one for one in _asked("ip", family, "-j", "route", "show") if one.get("protocol") not in ("kernel", "ra"))
    return [*_asked("ip", family, "-j", "route", "show", "table", "all", "default"), *main]


_PROGRAM = re.compile(r'users:\(\("(.*?)"')


def _sockets() -> list[str]:
    """What `ss` says of each socket of packets, UDP and TCP."""
    return [line for options in ("-0", "-tua") for line in _said("ss", "-H", "-n", "-p", options).splitlines()]


def _is_bound(line: str, name: str) -> bool:
    """Whether a socket is bound to an interface: `*:eth1` of packets, `0.0.0.0%eth1:68` of others."""
    local = line.split()[3:5]  # sockets of packets have no state
    return any(one.endswith(f":{name}") or f"%{name}:" in one for one in local)


def _asked(*command: str) -> list[dict[str, Any]]:
    found = json.loads(_said(*command) or "[]")
    return [one for one in found if one]


def _said(*command: str) -> str:
    """What a command says. Raises `LabError` where it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise LabError(f"{shlex.join(command)} could not be run: {error.strerror}") from None
    if done.returncode != 0:
        raise LabError(f"{shlex.join(command)} ended with {done.returncode}: {_words(done.stderr)}")
    return done.stdout


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
