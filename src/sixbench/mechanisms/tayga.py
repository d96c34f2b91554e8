"""tayga as an engine: a translator of others, in user space, to compare with and to agree with."""

from __future__ import annotations

from ipaddress import IPv6Network

from ..engines import Engine
from ..model.device import Device, Translator
from ..model.stage import Program, Stage

TAYGA_ADDRESS = "192.0.0.8"
"""A node without an address of its own (RFC 7600)."""
_REFUSED = IPv6Network("64:ff9b::/32")
"""Debian's tayga refuses RFC 8215's prefix, and private addresses in the well-known one."""


def make(device: Device) -> Stage:
    """A TUN device, and tayga with its configuration on standard input (tayga.conf(5))."""
    assert isinstance(device, Translator), "other devices are unfit"
    name, mapping = device.device, device.mapping
    rows = [f"map {ipv4.partition('/')[0]} {ipv6.partition('/')[0]}" for ipv4, ipv6 in mapping["explicit"]]
    lines = [f"tun-device {name}", f"ipv4-addr {TAYGA_ADDRESS}", f"prefix {mapping['prefixes'][0]}", *rows]
    argv = ("tayga", "-d", "--config", "/dev/stdin")
    return Stage(
        ip=(f"tuntap add dev {name} mode tun", f"link set {name} mtu {device.mtu_bytes} addrgenmode none up"),
        programs=(Program(argv=argv, stdin="\n".join(lines) + "\n", package="tayga"),),
    )


def unfit(device: Device) -> str | None:
    """The reason why tayga is no such device, as a sentence; None if it is."""
    if not isinstance(device, Translator) or device.mapping["kind"] != "siit":
        return "tayga is a translator (siit)"
    if device.discovery is not None:
        return "tayga has its prefix from its configuration; leave discovery out"
    if any(not (ipv4.endswith("/32") and ipv6.endswith("/128")) for ipv4, ipv6 in device.mapping["explicit"]):
        return "Debian's tayga maps single addresses, and no prefixes"
    if IPv6Network(device.mapping["prefixes"][0]).subnet_of(_REFUSED):
        return f"tayga takes no prefix in {_REFUSED}; leave prefix out, or give another one"
    if device.mapping["zero_checksum"] != "drop" or device.mapping["lowest_ipv6_mtu"] != 1280:
        return "tayga has no setting for zero-checksum and lowest-ipv6-mtu"
    if device.mapping.get("errors_from_destination"):
        return "tayga has no setting for errors-from-destination"
    return None


TAYGA = Engine(name="tayga", doc="tayga, a translator in user space (Debian's package tayga).", make=make, unfit=unfit)
HOPS = 3
"""The node forwards packets into its device and out of it, and tayga takes one from the hop limit itself."""
