"""The commands of one node, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..model.stage import NodeRequest, Stage


@dataclass(frozen=True, kw_only=True)
class NodeScript:
    """The commands of one node, step by step.

    Attributes:
        sysctl: settings.
        links: lines for `ip -batch`; `{pid:NAME}` stands for the process that holds the namespace of node NAME.
        borrowed: the interfaces of its machine that the node has.
        vlans: the requests that make interfaces of it carry one VLAN alone.
        devices, routes: lines for `ip -batch`.
        ethtool: arguments of `ethtool`, one list a call.
        queues: lines for `tc -batch`.
        emulation: the requests that make the links that our emulator carries.
        nft: a ruleset for `nft -f`; empty where the node changes and drops nothing.
        first_devices: what makes the devices of the path's mechanism.
        made_addresses, made_routes: lines for `ip -batch`: their addresses, and the routes into them.
        starts: the requests that start the machine that the node is, if it is emulated.
        stages: what the path's mechanism wants done, in order; the same number in every node.
    """

    node: str
    sysctl: dict[str, str] = field(default_factory=dict)
    links: list[str] = field(default_factory=list)
    devices: list[str] = field(default_factory=list)
    routes: list[str] = field(default_factory=list)
    ethtool: list[list[str]] = field(default_factory=list)
    queues: list[str] = field(default_factory=list)
    borrowed: Sequence[str] = ()
    vlans: list[NodeRequest] = field(default_factory=list)
    emulation: list[NodeRequest] = field(default_factory=list)
    nft: str = ""
    starts: list[NodeRequest] = field(default_factory=list)
    first_devices: list[Stage] = field(default_factory=list)
    made_addresses: list[str] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    made_routes: list[str] = field(default_factory=list)
