"""Options of the mechanisms of `sixbench translate`, and how their values are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any

from ..model.quoting import shown

Given = Mapping[str, Any]
"""The values of the options that were given, by option without its dashes."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """An option of a mechanism.

    Attributes:
        name: such as `local`, given as `--local`.
        read: from the text on the command line. Raises `ValueError`, whose message says what would be right. None: the
            option is a flag and has no value.
        turns_off: whether the flag is given as `--no-NAME`, because the opposite is the default.
    """

    name: str
    help: str
    metavar: str = ""
    read: Callable[[str], Any] | None = None
    is_required: bool = False
    is_repeated: bool = False
    turns_off: bool = False


def ipv4(text: str) -> str:
    """An IPv4 address. As all readers of values, raises `ValueError`, which says what would be right."""
    return _parsed(IPv4Address, text, "an IPv4 address, such as 192.0.2.1")


def ipv6(text: str) -> str:
    """An IPv6 address, without a zone."""
    return _parsed(IPv6Address, text, "an IPv6 address, such as 2001:db8::1")


def address(text: str) -> str:
    """An address of either family."""
    return _parsed(ip_address, text, "an address, such as 192.0.2.1 or 2001:db8::1")


def ipv6_prefix(text: str) -> str:
    """An IPv6 prefix with its length."""
    return _prefix(IPv6Network, text, "an IPv6 prefix, such as 64:ff9b::/96")


def ipv4_net(text: str) -> str:
    """An IPv4 prefix, or an address for itself."""
    return _parsed(IPv4Network, text, "an IPv4 prefix or address, such as 198.51.100.0/24")


def ipv6_net(text: str) -> str:
    """An IPv6 prefix, or an address for itself."""
    return _parsed(IPv6Network, text, "an IPv6 prefix or address, such as 2001:db8:ff::/64")


def eam(text: str) -> list[str]:
    """A mapping of RFC 7757: the IPv4 prefix and the IPv6 prefix."""
    parts = text.split("=")
    if len(parts) != 2:
        raise ValueError(f"{shown(text)} is not IPV4/N=IPV6/M, such as 192.0.2.1/32=2001:db8::1/128")
    ipv4 = _prefix(IPv4Network, parts[0], "an IPv4 prefix, such as 192.0.2.1/32")
    return [ipv4, _prefix(IPv6Network, parts[1], "an IPv6 prefix, such as 2001:db8::1/128")]


def fields(what: str, *readers: Callable[[str], Any], optional: int = 0) -> Callable[[str], list[Any]]:
    """A reader of values with commas between them, the last ones of which may be missing.

    Args:
        what: how it is written, with an example.
        optional: how many may be missing.
    """

    def read(text: str) -> list[Any]:
        parts = text.split(",")
        if not len(readers) - optional <= len(parts) <= len(readers):
            raise ValueError(f"{shown(text)} is not {what}")
        return [reader(part) for reader, part in zip(readers, parts, strict=False)]

    return read


def _parsed(kind: Callable[[str], Any], text: str, what: str) -> str:
    try:
        if "%" in text:  # a zone, which no packet has
            raise ValueError
        return str(kind(text))
    except ValueError as error:
        raise ValueError(f"{shown(text)} is not {what}") from error


def _prefix(kind: Callable[[str], Any], text: str, what: str) -> str:
    if "/" not in text:
        raise ValueError(f"{shown(text)} is not {what}")
    return _parsed(kind, text, what)


def number(least: int, most: int) -> Callable[[str], int]:
    """A reader of whole numbers within bounds, which are inclusive."""

    def read(text: str) -> int:
        value = int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else -1
        if not least <= value <= most:
            raise ValueError(f"{shown(text)} is not a number from {least} to {most}")
        return value

    return read


def numbers(least: int, most: int) -> Callable[[str], list[int]]:
    """A reader of such numbers with commas between them."""
    read = number(least, most)
    return lambda text: [read(part) for part in text.split(",")]


def choice(*choices: str) -> Callable[[str], str]:
    """A reader of one of some words."""

    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"{shown(text)} is not one of {', '.join(choices)}")
        return text

    return read
