"""Options of `sixbench translate lw4o6` and `map-e` for the router that an lwAFTR or a border relay is."""

from __future__ import annotations

from typing import Any

from ...model.errors import UsageError
from ..option import Given, Option, number

ROUTER_OPTIONS = (
    Option(
        name="hop",
        turns_off=True,
        help="Leave the TTL of IPv4 packets as it is: the router takes one from it (RFC 1812 section 5.3.1).",
    ),
    Option(
        name="mtu4",
        metavar="BYTES",
        read=number(68, 65_535),
        help="MTU of the router's IPv4 link, for packets that come out of the tunnel; default: they all fit.",
    ),
    Option(
        name="reassemble",
        help="Put fragments together that come from the IPv4 side, and send one packet into the tunnel (RFC 7597 "
        "section 8.3.2); default: they go in as they came, by the ports of the first one.",
    ),
)


def with_router(line: dict[str, Any], given: Given) -> dict[str, Any]:
    """The first line for a tunnel's end that is such a router."""
    answers = {"mtu4_bytes": given.get("mtu4"), "reassembles": given.get("reassemble", False)}
    return line | {"node": line["node"] | answers | {"takes_hop": given.get("hop", True)}}


def refuse_router(given: Given, what: str, options: tuple[Option, ...] = ROUTER_OPTIONS) -> None:
    """Raises `UsageError` where options of such a router are given for something else."""
    for option in options:
        if option.name in given:
            raise UsageError(f"--{'no-' if option.turns_off else ''}{option.name} is not for {what}")
