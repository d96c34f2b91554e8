"""Capabilities of this machine. Each capability is tested in a throw-away node: yes, no (why) or unknown (why)."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from .build import Completed

Answer = Literal["yes", "no", "unknown"]


@dataclass(frozen=True, kw_only=True)
class Capability:
    """Something that a machine can or cannot do.

    Attributes:
        name: short, such as `link rate`.
        needed_for: what does not work without it.
        reason: why it is `no` or `unknown`; what was found where it is `yes`.
    """

    name: str
    answer: Answer
    reason: str
    needed_for: str
    required: bool = False


Run = Callable[[list[str]], Completed]
"""Runs a command in a throw-away node and waits for it."""

Which = Callable[[str], str | None]
"""Path of a program; None: it is missing."""

_PROGRAMS = (
    ("ip", "iproute2", "building networks", True),
    ("tc", "iproute2", "link rates", True),
    ("ethtool", "ethtool", "switching offloads", True),
    ("nft", "nftables", "address translation and filters", False),
    ("tcpdump", "tcpdump", "sixbench lab capture", False),
    ("tshark", "tshark", "the tests' independent reader of packets", False),
    ("nsenter", "util-linux", "sixbench lab exec", False),
    ("unbound", "unbound", "paths with resolver: unbound", False),
    ("named", "bind9", "paths with resolver: bind9", False),
)

_TRIALS = (
    ("veth", "ip link add name sb0 type veth peer name sb1", "every link", True),
    (
        "tbf",
        "tc qdisc replace dev lo root tbf rate 1mbit burst 2000 limit 4000 overhead 24 mpu 84",
        "link rate and queue",
        True,
    ),
    (
        "netem",
        "tc qdisc replace dev lo root netem delay 1ms",
        "link delay, jitter and loss by the kernel; sixbench emulates them without it",
        False,
    ),
    ("clsact", "tc qdisc replace dev lo clsact", "programs of our own on a link", False),
    ("IPv6", "ip -6 address add 2001:db8::1/128 dev lo", "every IPv6 path", True),
)


def examine(
    run: Run | None, why_not: str | None, *, was_tried: bool = True, which: Which = shutil.which
) -> list[Capability]:
    """All capabilities.

    Args:
        run: runs a command in a throw-away node; None where none could be made.
        why_not: why none could be made.
        was_tried: whether making one was tried.
        which: finds a program where nodes are.
    """
    refused: Answer = "no" if was_tried else "unknown"
    capabilities = [
        Capability(
            name="network namespaces",
            answer="yes" if run is not None else refused,
            reason="a node was created" if run is not None else why_not or "no node could be created",
            needed_for="everything but reports",
            required=True,
        )
    ]
    for program, package, needed_for, required in _PROGRAMS:
        path = which(program)
        reason = path or f"not on the PATH; Debian package {package}"
        capabilities.append(
            Capability(
                name=program, answer="yes" if path else "no", reason=reason, needed_for=needed_for, required=required
            )
        )
    for name, command, needed_for, required in _TRIALS:
        answer, reason = _try(run, which, name, command.split())
        capabilities.append(
            Capability(name=name, answer=answer, reason=reason, needed_for=needed_for, required=required)
        )
    return capabilities


def _try(run: Run | None, which: Which, name: str, command: list[str]) -> tuple[Answer, str]:
    if run is None:
        return "unknown", "there is no node to test it in"
    if which(command[0]) is None:
        return "unknown", f"{command[0]} is missing, so it could not be tested"
    done = run(command)
    if done.exit == 0:
        return "yes", "tested in a throw-away node"
    words = " ".join(done.stderr.split())
    if "qdisc kind is unknown" in words:
        words = f"this kernel has no {name}, or may not load its module"
    return "no", words or f"{command[0]} ended with {done.exit}"
