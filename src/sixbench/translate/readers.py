"""Readers of the values of options: from the text on the command line to what the agent's first line has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any

from ..model.quoting import shown


@dataclass(frozen=True)
class TextReader:
    """Reads a value from the text on the command line. Raises `ValueError`, whose message says what would be right.

    Attributes:
        metavar: how help shows a value.
    """

    parse: Callable[[str], Any]
    metavar: str

    def __call__(self, text: str) -> Any:
        return self.parse(text)


def _parsed(kind: Callable[[str], Any], metavar: str, what: str, *, has_length: bool = False) -> TextReader:
    """A reader of addresses or prefixes, without a zone.

    Args:
        what: what it reads, with an example.
        has_length: whether a prefix must have its length.
    """

    def read(text: str) -> str:
        try:
            if "%" in text or (has_length and "/" not in text):
                raise ValueError
            return str(kind(text))
        except ValueError as error:
            raise ValueError(f"{shown(text)} is not {what}") from error

    return TextReader(read, metavar)


ipv4 = _parsed(IPv4Address, "ADDRESS", "an IPv4 address, such as 192.0.2.1")
ipv6 = _parsed(IPv6Address, "ADDRESS", "an IPv6 address, such as 2001:db8::1")
address = _parsed(ip_address, "ADDRESS", "an address, such as 192.0.2.1 or 2001:db8::1")
ipv6_prefix = _parsed(IPv6Network, "PREFIX", "an IPv6 prefix, such as 64:ff9b::/96", has_length=True)
ipv4_net = _parsed(IPv4Network, "IPV4/N", "an IPv4 prefix or address, such as 198.51.100.0/24")
ipv6_net = _parsed(IPv6Network, "IPV6/N", "an IPv6 prefix or address, such as 2001:db8:ff::/64")
_MAPPED4 = _parsed(IPv4Network, "", "an IPv4 prefix, such as 192.0.2.1/32", has_length=True)
_MAPPED6 = _parsed(IPv6Network, "", "an IPv6 prefix, such as 2001:db8::1/128", has_length=True)


def eam(text: str) -> list[str]:
    """A mapping of RFC 7757: the IPv4 prefix and the IPv6 prefix."""
    parts = text.split("=")
    if len(parts) != 2:
        raise ValueError(f"{shown(text)} is not IPV4/N=IPV6/M, such as 192.0.2.1/32=2001:db8::1/128")
    return [_MAPPED4(parts[0]), _MAPPED6(parts[1])]


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


def number(least: int, most: int, metavar: str = "N") -> TextReader:
    """A reader of whole numbers within bounds, which are inclusive."""

    def read(text: str) -> int:
        value = int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else -1
        if not least <= value <= most:
            raise ValueError(f"{shown(text)} is not a number from {least} to {most}")
        return value

    return TextReader(read, metavar)


def numbers(least: int, most: int) -> Callable[[str], list[int]]:
    """A reader of such numbers with commas between them."""
    read = number(least, most)
    return lambda text: [read(part) for part in text.split(",")]


def choice(*choices: str) -> TextReader:
    """A reader of one of some words."""

    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"{shown(text)} is not one of {', '.join(choices)}")
        return text

    return TextReader(read, "|".join(choices))
