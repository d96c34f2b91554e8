"""Steps in the nodes of a network once its wires exist: requests, commands, programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from typing import Any

from .leg import Address
from .topology import Family

DEVICE_START = "device-start"
"""The request that starts a program as the device of a node."""

DEVICE_DIRECTORY = "/run/device"
"""The program's private directory, as the agent makes it."""


@dataclass(frozen=True, kw_only=True)
class AnswerField:
    """A field of a node's answer to a request of an earlier stage."""

    node: str
    op: str
    field: str

    def __str__(self) -> str:
        return f"<{self.field} that {self.node} answered to {self.op}>"


@dataclass(frozen=True, kw_only=True)
class NodeRequest:
    """A request to a node's agent (docs/protocol.md).

    Attributes:
        fields: of the request; an `AnswerField` stands for a field of an earlier request's answer.
        check: what is wrong with the answer, as a sentence; None if nothing. Requests that ask the same are equal.
        undo: the request for when the network is taken down, made from the answer.
        learns: the addresses that only the answer tells, each by the one that stands for it in the description of the
            network.
    """

    op: str
    fields: dict[str, Any]
    check: Callable[[Mapping[str, Any]], str | None] = field(default=lambda answer: None, compare=False)
    undo: NodeRequest | None = None
    learns: Callable[[Mapping[str, Any]], Mapping[Address, Address]] = field(default=lambda answer: {}, compare=False)


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program that runs in a node as long as the network is up.

    Attributes:
        stdin: what it reads there.
        package: the Debian package that has it; None: it comes with sixbench or the caller.
        name: what runs, where `argv` begins with what starts it.
        version: the command whose first line tells the program's version; empty: there is none.
    """

    argv: tuple[str, ...]
    stdin: str = ""
    package: str | None = None
    name: str | None = None
    version: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SourceNat:
    """The NAT44 of a node, for people: the source that packets have behind it (RFC 3022 section 2.2).

    Attributes:
        outside: the address; None: the node's own, on the link by which they leave.
        ports: ranges such as `1024-1039`; empty: any port that is free.
    """

    outside: IPv4Address | None = None
    ports: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Stage:
    """The requests, then the commands, then the programs for one node.

    Attributes:
        sysctl: settings.
        ip: lines for `ip -batch`.
        nft: a ruleset for `nft -f`.
        tracks: the families in which the node then tracks connections, and puts fragments together before it forwards
            them.
        nat44: what the ruleset makes of sources, if it has NAT44.
    """

    requests: tuple[NodeRequest, ...] = ()
    sysctl: dict[str, str] = field(default_factory=dict)
    ip: tuple[str, ...] = ()
    nft: str = ""
    programs: tuple[Program, ...] = ()
    tracks: frozenset[Family] = frozenset()
    nat44: SourceNat | None = None
