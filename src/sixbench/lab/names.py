"""The names of a lab's nodes, as files for commands that run in them: hosts(5), resolv.conf(5), nsswitch.conf(5)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ..model.leg import Address
from ..model.network import Blueprint
from ..model.node_names import addresses_by_name

_LOOPBACK = ("127.0.0.1 localhost", "::1 localhost ip6-localhost ip6-loopback")
_HOSTS_LINE = "hosts: files dns\n"
"""Other sources of names, such as systemd-resolved, would ask the machine's resolvers."""


def hosts_file(blueprint: Blueprint, machine: str, node: str | None = None) -> str:
    """The text: the names of nodes and interfaces with their addresses; where a resolver has them, this machine alone.

    Args:
        machine: the name of this machine, which commands such as `sudo` look up.
        node: the one whose commands see it; None: any that has no resolver and is on no side of a translator.
    """
    known = {} if node in blueprint.resolvers else addresses_by_name(blueprint, node)
    names: dict[Address, list[str]] = {}
    for name, addresses in known.items():
        for address in addresses:
            names.setdefault(address, []).append(name)
    lines = [*_LOOPBACK, *(f"{address} {' '.join(named)}" for address, named in names.items())]
    if machine and machine not in known:
        lines.insert(1, f"127.0.1.1 {machine}")
    return "\n".join(lines) + "\n"


def resolv_confs(blueprint: Blueprint) -> dict[str, str]:
    """Content of each node's resolv.conf, which names its resolver; for a node that does not reach the resolver, it
    names none."""
    return {
        node: "".join(f"nameserver {address}\n" for address in addresses)
        for node, addresses in blueprint.resolvers.items()
    }


def nsswitch_conf(machines: str) -> str:
    """This machine's text, with names looked up in the hosts file and then by DNS."""
    others = re.sub(r"(?m)^\s*hosts\s*:.*\n?", "", machines)
    return others + ("" if others.endswith("\n") or not others else "\n") + _HOSTS_LINE


def entering(files: Mapping[str, str], words: Iterable[str]) -> list[str]:
    """A command that sees files of its own in place of the machine's: in a mount namespace of its own, which ends with
    the command, so that nothing is left over and no other process notices.

    Args:
        files: what is seen, by where it is seen.
    """
    script = 'while [ "$1" != -- ]; do mount --bind "$2" "$1" || exit; shift 2; done; shift; exec "$@"'
    pairs = [word for pair in files.items() for word in pair]
    return ["unshare", "--mount", "--", "sh", "-c", script, "sh", *pairs, "--", *words]
