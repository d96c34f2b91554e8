"""An emulated machine in the place of a node: the device under test that has a kernel of its own."""

from __future__ import annotations

from dataclasses import dataclass

GUEST_START = "guest-start"
"""The request that starts an emulated machine as the device of a node. No agent knows it: who holds the node makes a
`device-start` of it, with the files and the command line that this machine has for it."""


@dataclass(frozen=True, kw_only=True)
class GuestNode:
    """The machine that stands for a node. The node's namespace has only what joins its links with the machine's
    interfaces; addresses, routes and settings of the node are the machine's.

    Attributes:
        kernel: its name.
        setup: the commands that are run in it, in order, once it has addresses and routes. A shell reads each.
        memory_bytes: its memory.
        ready_timeout_ns: how long it may take until it forwards.
    """

    kernel: str
    setup: tuple[str, ...]
    memory_bytes: int
    ready_timeout_ns: int


@dataclass(frozen=True, kw_only=True)
class GuestPort:
    """An interface of such a machine.

    Attributes:
        tap: the device in the node's namespace at which it ends.
        address: its Ethernet address.
        name: as the machine calls it.
        mtu_bytes: of IP packets.
    """

    tap: str
    address: str
    name: str
    mtu_bytes: int


@dataclass(frozen=True, kw_only=True)
class GuestCommand:
    """A command that is run in the machine. `label`: what a message calls it."""

    label: str
    line: str
