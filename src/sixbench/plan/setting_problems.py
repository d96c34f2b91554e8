"""Settings of nodes that a kernel refuses, told at their places in the experiment."""

from __future__ import annotations

from collections.abc import Mapping

from ..model.errors import ExperimentError
from ..model.quoting import listed
from .factors import Factors
from .hosts_file import read_hosts
from .profile_file import Profiles
from .reader import Reader
from .topology_file import read_topology, with_topology
from .yaml_source import KeyPath, Source

Refusals = dict[tuple[str, str], str]
"""Refusals of the kernel, by node and setting, such as `refuses "2" for net.ipv4.tcp_sack: Invalid argument`."""


def problems_of_settings(source: Source, refusals: Mapping[tuple[str, str], str]) -> ExperimentError:
    """The error that tells each refusal at its place, once for all nodes to which that place gives the setting.

    Args:
        source: the experiment, or a file that has only a topology.
    """
    source = with_topology(source)
    data = source.data
    written_out = Reader(source)
    hosts = read_hosts(written_out, data.get("hosts", {}))
    profiles = Profiles(written_out, data)
    read_topology(written_out, Factors(written_out, data), profiles, data["topology"], wants_ipv6=False, hosts=hosts)
    reader = Reader(source)
    reader.moved = written_out.moved
    nodes: dict[tuple[KeyPath, str], list[str]] = {}
    for (node, name), refusal in refusals.items():
        in_file = reader.in_file(("topology", "nodes", node, "sysctl", name))
        nodes.setdefault((in_file, refusal), []).append(node)
    for (in_file, refusal), where in nodes.items():
        reader.problem(in_file, f"in {listed(where)} the kernel {refusal}")
    return reader.error()
