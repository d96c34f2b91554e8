"""Jool as an engine: a translator of others, in the kernel (the modules jool_siit and jool), to compare with.

Jool hooks into netfilter before routing, and sends what it has translated by a route of its own. So nothing is routed
into its device, which only ends the routes to what it translates, and its node takes one from the hop limit.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from ..engines import Engine
from ..model.device import Device, Translator
from ..model.stage import NodeRequest, Stage

NAT64 = "nat64"
"""The kind of mapping of a stateful translator. No other engine has it."""

HOPS = 1
"""Translated packets are not forwarded besides."""

_PROGRAMS = {"siit": "jool_siit", NAT64: "jool"}
"""The program that configures each kind, which has the name of the module."""
_START = """PATH=$PATH:/usr/sbin:/sbin
modprobe -q {program} 2>/dev/null
if ! [ -d /sys/module/{program} ]; then
  echo "{missing}" >&2
  exit 1
fi
if ! command -v {program} >/dev/null; then
  echo "the program {program} is missing (Debian package jool-tools)" >&2
  exit 1
fi
set -e
"""
_MISSING = (
    "this kernel has no module {program}; use one that is built with it, by: sixbench kernels add debian-6.1 --with "
    "jool, and run with --kernel debian-6.1"
)


def make(device: Device) -> Stage:
    """Requests that load the module and configure an instance of it (jool(8), jool_siit(8)), and a device that ends
    routes. The instance ends with its namespace."""
    assert isinstance(device, Translator), "other devices are unfit"
    name = device.device
    program = _PROGRAMS[device.mapping["kind"]]
    start = _START.format(program=program, missing=_MISSING.format(program=program))
    script = start + "\n".join(shlex.join(argv) for argv in _commands(program, name, device.mapping)) + "\n"
    undo = f"PATH=$PATH:/usr/sbin:/sbin\n{shlex.join((program, 'instance', 'remove', name))}\n"
    request = NodeRequest(
        op="exec",
        fields={"argv": ["sh", "-c", script]},
        check=lambda answer: _wrong(program, answer),
        undo=NodeRequest(op="exec", fields={"argv": ["sh", "-c", undo]}),
    )
    return Stage(
        requests=(request,),
        ip=(f"link add {name} type dummy", f"link set {name} mtu {device.mtu_bytes} addrgenmode none up"),
    )


def unfit(device: Device) -> str | None:
    """The reason why Jool is no such device, as a sentence; None if it is."""
    if not isinstance(device, Translator) or device.mapping["kind"] not in _PROGRAMS:
        return "Jool is a translator (siit, nat64)"
    if device.through_node:
        return "Jool keeps the state of nat64 itself, and does so only where the path names engine: jool"
    if device.mapping["kind"] == NAT64 and device.mapping["zero_checksum"] != "compute":
        return "Jool's nat64 always computes the checksum of UDP without one (zero-checksum: compute)"
    if device.mapping["kind"] != NAT64 and device.mapping.get("errors_from_destination"):
        return "Jool has a setting for errors-from-destination in its nat64 alone"
    return None


def _commands(program: str, name: str, mapping: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    prefixes = [word for prefix in mapping["prefixes"] for word in ("--pool6", prefix)]
    yield (program, "instance", "add", name, "--netfilter", *prefixes)
    row = (program, "-i", name)
    yield (*row, "global", "update", "lowest-ipv6-mtu", str(mapping["lowest_ipv6_mtu"]))
    if mapping["kind"] == NAT64:
        for protocol in ("--tcp", "--udp", "--icmp"):
            yield (*row, "pool4", "add", protocol, f"{mapping['pool4']}/32", mapping["ports"])
        from_router = "false" if mapping.get("errors_from_destination") else "true"
        yield (*row, "global", "update", "source-icmpv6-errors-better", from_router)
        return
    amends = "true" if mapping["zero_checksum"] == "compute" else "false"
    yield (*row, "global", "update", "amend-udp-checksum-zero", amends)
    if "own4" in mapping:
        yield (*row, "global", "update", "rfc6791v4-prefix", f"{mapping['own4']}/32")
    for ipv4, ipv6 in mapping["explicit"]:
        yield (*row, "eamt", "add", ipv4, ipv6)


def _wrong(program: str, answer: Mapping[str, Any]) -> str | None:
    if answer.get("exit") == 0:
        return None
    text = " ".join(str(answer.get("stderr") or answer.get("stdout") or "").split())
    return text or f"{program} ended with {answer.get('exit')}, and printed no message"


JOOL = Engine(
    name="jool",
    doc="Jool, a translator in the kernel (Debian's packages jool-dkms and jool-tools).",
    make=make,
    unfit=unfit,
)
