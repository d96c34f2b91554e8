"""Addresses and names of hosts as people write them, each refused in a sentence where it is none."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address

from .errors import UsageError
from .quoting import visible

_LABEL = "[0-9A-Za-z_]([0-9A-Za-z_-]{0,61}[0-9A-Za-z_])?"
_HOST_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(\.{_LABEL})*\.?")
"""RFC 1123 section 2.1: labels of at most 63 letters, digits and dashes. Names of private networks have underscores."""
_BROADCAST = IPv4Address("255.255.255.255")


def read_address(text: str, option: str) -> IPv4Address | IPv6Address:
    """The address that an option of the command line gives. Raises `UsageError`."""
    try:
        return ip_address(text)
    except ValueError:
        raise UsageError(f'{option} "{visible(text)}": this is no IP address{_hint(text, option)}') from None


def _hint(text: str, option: str) -> str:
    """Advice for an address that has a port or brackets, which have no place there."""
    host, colon, port = text.rpartition(":")
    inner = (host if colon and port.isdigit() else text).strip("[]")
    try:
        address = ip_address(inner)
    except ValueError:
        return ", such as 192.0.2.1 or 2001:db8::1"
    return f"; give the address alone, as {option} {address}" + (
        f", and the port with --port {port}" if inner != text.strip("[]") else ""
    )


def is_private(address: str) -> bool:
    """True of an address that the Internet has no route to, such as those of RFC 1918 and RFC 4193."""
    return ip_address(address.partition("%")[0]).is_private


def why_no_single_host(text: str) -> str | None:
    """The reason why no packet can go to one host by an address, in words; None: it can, or the text is no address."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return f"{address} stands for an IPv4 address"
    if address.is_unspecified or address == _BROADCAST:
        return f"{address} is the address of no host"
    if address.is_multicast:
        return f"{address} is the address of a group"
    return None


def why_no_host(text: str) -> str | None:
    """The reason why a text is neither an address nor the name of a host, in words; None: it is one."""
    name = text.partition("%")[0]
    try:
        ip_address(name)
    except ValueError:
        pass
    else:
        return None
    if _HOST_NAME.fullmatch(text):
        return None
    return f'"{visible(text)}" is neither an address nor the name of a host'
