"""Machines on which nodes may be, and how a link joins two of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address
from typing import Literal

from .identifiers import DEVICE, NAME, SSH_DESTINATION, require

Over = Literal["cable", "vxlan", "internet"]
"""The carrier of a link between two machines: a cable between two interfaces that their nodes borrow, or the network
that the machines have, in VXLAN: one that is known (`vxlan`), or one that is not ours, of which only what can be seen
from its ends is known (`internet`)."""

NO_HARDWARE_CLOCK = "none"
"""Placeholder for the device of an interface's hardware clock where it has none."""

MOST_DRIFT_PPM = 500
"""Limit to which a kernel lets a clock be slewed, in millionths (adjtimex(2)). Of a clock that nobody is known to steer
no more is known; crystals are within 100."""


@dataclass(frozen=True, kw_only=True)
class Host:
    """A machine with an agent for each of its nodes.

    Attributes:
        ssh: how it is reached, as ssh(1) takes it: `user@host`, `host:port`, or a name of `~/.ssh/config`. None: it is
            this machine.
        sudo: whether agents are started by sudo(8), without a password.
        interfaces: the interfaces that nodes may borrow: the machine's names by those that links use.
        address: at which the other machines reach it, for VXLAN.
    """

    name: str
    ssh: str | None = None
    sudo: bool = False
    interfaces: dict[str, str] = field(default_factory=dict)
    address: IPv4Address | IPv6Address | None = None

    def __post_init__(self) -> None:
        require(NAME, self.name, "a host")
        if self.ssh is not None:
            require(SSH_DESTINATION, self.ssh, "a destination of ssh")
        for name, device in self.interfaces.items():
            require(NAME, name, "an interface of a host")
            require(DEVICE, device, "an interface")


def split_destination(destination: str) -> tuple[str | None, str, int | None]:
    """User, host and port of what ssh(1) is given."""
    user, at, rest = destination.rpartition("@")
    host, colon, port = rest.rpartition(":")
    if not colon or rest.endswith("]"):
        host, port = rest, ""
    return user if at else None, host.strip("[]"), int(port) if port else None
