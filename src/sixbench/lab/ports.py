"""Interfaces of this machine that are lent to nodes, and given back whatever happens.

A keeper waits in the node's namespace until its input ends, which happens when whoever started it lets it go or dies,
by `kill -9` too. Then it moves the interface back and restores its state. It keeps the namespace alive until then. So
an interface comes back that would go with its namespace, such as the end of a veth pair; a physical one the kernel
would bring back anyway.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..model.errors import ExperimentError, LabError, Problem
from ..model.quoting import listed, printable
from ..model.topology import Port, Topology
from .privileges import in_user_namespace
from .render import lending

MEAN_IT = "--i-mean-it"
"""The option by which an interface is lent that somebody uses."""

CARRIER_S = 10.0
"""How long a line may take to come up: a second or two for gigabit Ethernet over copper, which negotiates; more for
equipment that has just been switched on."""
LOOK_EVERY_S = 0.05
GIVEN_BACK_S = 15.0

_KEEPER = """
trap '' INT TERM HUP PIPE
exec 9</proc/self/ns/net
exec nsenter --net=/proc/"$1"/ns/net sh -c '
echo here
cat >/dev/null
ip link set dev "$1" down
ip link set dev "$1" mtu "$2"
ip link set dev "$1" netns /proc/self/fd/9 || exit 1
nsenter --net=/proc/self/fd/9 ip -force -batch - <<END || failed=1
$3
END
nsenter --net=/proc/self/fd/9 ip -6 -force -batch - <<END || failed=1
$4
END
exit "${failed:-0}"
' keeper "$2" "$3" "$4" "$5"
"""
"""Signals that are ignored stay so. The namespace that it comes from is where the interface goes back to."""


def check_ports(topologies: Iterable[Topology], file: str, *, means_it: bool) -> None:
    """Raises `ExperimentError` where an interface cannot be lent, or is in use and nobody has said that it is meant."""
    ports = {port.name: port for topology in topologies for _, port in topology.lent}
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


@dataclass(frozen=True, kw_only=True)
class Loan:
    """An interface that a node has."""

    name: str
    keeper: subprocess.Popen[str]

    def give_back(self) -> str | None:
        """Moves it back, and waits until it is. Why that failed; None: it did not."""
        try:
            _, said = self.keeper.communicate(timeout=GIVEN_BACK_S)
        except subprocess.TimeoutExpired:
            return f"giving {self.name} back: it is not there after {GIVEN_BACK_S:g} s"
        if self.keeper.returncode == 0:
            return None
        return f"giving {self.name} back: {_words(said)}"


def lend(name: str, pid: int) -> Loan:
    """Moves an interface into the namespace of a process, down and without addresses. Raises `LabError`."""
    state = _state(name)
    keeper = subprocess.Popen(
        ["sh", "-c", _KEEPER, "keeper", str(pid), name, *state],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    loan = Loan(name=name, keeper=keeper)
    assert keeper.stdout is not None, "it was asked for"
    if keeper.stdout.readline() != "here\n":
        _, said = keeper.communicate()
        raise LabError(f"lending {name}: {_words(said)}")
    done = subprocess.run(lending(name, str(pid)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        loan.give_back()
        raise LabError(f"lending {name}: {_words(done.stderr)}")
    return loan


def _state(name: str) -> tuple[str, str, str]:
    """The MTU of an interface, and the lines that restore what a move takes from it: for `ip`, and for `ip -6`."""
    shown = _interfaces().get(name)
    if shown is None:
        raise LabError(f"lending {name}: it is no interface of this machine, or another run has it")
    lines = [f"link set dev {name} up"] if "UP" in shown.get("flags", []) else []
    lines += [
        f"address replace {one['local']}/{one['prefixlen']} dev {name}"
        for one in shown.get("addr_info", [])
        if one.get("scope") != "link"
    ]
    return str(shown["mtu"]), "\n".join([*lines, *_routes(name, "-4")]), "\n".join(_routes(name, "-6"))


def _routes(name: str, family: str) -> list[str]:
    """Those that the kernel does not make of the interface's addresses."""
    done = subprocess.run(["ip", family, "route", "show", "dev", name], capture_output=True, text=True, check=False)
    return [
        f"route replace {' '.join(route.split())} dev {name}"
        for route in done.stdout.splitlines()
        if "proto kernel" not in route
    ]


def await_carrier(ports: Iterable[tuple[str, Port]], pids: Mapping[str, int]) -> None:
    """Waits until the interfaces of nodes, which are up, have a carrier. Raises `LabError` naming one that has none.

    Args:
        pids: the processes that hold the nodes' namespaces.
    """
    deadline_s = time.monotonic() + CARRIER_S
    waiting = list(ports)
    while True:
        waiting = [(node, port) for node, port in waiting if not _has_carrier(port.name, pids[node])]
        if not waiting:
            return
        if time.monotonic() > deadline_s:
            _, port = waiting[0]
            raise LabError(
                f"{port.name}, which the experiment names {port.place}, has had no carrier for {CARRIER_S:g} s: "
                "connect it to the equipment, and switch that on"
            )
        time.sleep(LOOK_EVERY_S)


def _has_carrier(name: str, pid: int) -> bool:
    [shown] = _asked("nsenter", f"--net=/proc/{pid}/ns/net", "ip", "-j", "link", "show", "dev", name)
    return "LOWER_UP" in shown.get("flags", [])


def _words(said: str) -> str:
    return printable(" ".join(said.split())) or "nothing was said why"
