"""The settings of a link beside its ends and addresses: profile, MTU, rate, queue, impairments, offload."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..model.direction import LinkDirection
from ..model.emulation import EMULATORS
from ..model.parameter import Parameter, Scalar
from ..model.quoting import shown
from ..model.topology import ETHERNET_MIN_MTU_V6, MAX_MTU, MIN_MTU_V4
from .direction_rules import check_together
from .emulation_settings import EMULATION_PARAMETERS, check_impairments, impairments
from .rate_settings import RATE_PARAMETERS, check_rate, overhead, queue

DEFAULT_MTU_BYTES = 1500
"""RFC 894: Ethernet."""

_PER_LINK = re.compile(r"([0-9]{1,6})\s*([-+])\s*([0-9]{1,6})\s+per\s+link")


def direction(value: Mapping[str, Scalar], delays_ns: tuple[int, ...] = ()) -> LinkDirection:
    """One direction of a link, from its settings."""
    return LinkDirection(
        rate_bps=int(value["rate"]) if "rate" in value else None,
        overhead=overhead(value),
        queue=queue(value),
        burst_bytes=int(value["burst"]) if "burst" in value else None,
        impairments=impairments(value, delays_ns),
    )


def check_direction(value: Mapping[str, Scalar], mtu_bytes: int) -> tuple[str, str] | None:
    """The problem with settings of one direction that are each right on their own: the key, and the sentence."""
    return check_together(value) or check_rate(value, mtu_bytes) or check_impairments(value)


def check_mtu(mtu_bytes: int, wants_ipv6: bool) -> str | None:
    """The problem with the MTU of a link."""
    if not MIN_MTU_V4 <= mtu_bytes <= MAX_MTU:
        return f"an MTU of {mtu_bytes} is out of range: give {MIN_MTU_V4} (RFC 791) to {MAX_MTU}"
    if wants_ipv6 and mtu_bytes < ETHERNET_MIN_MTU_V6:
        return (
            f"an MTU of {mtu_bytes} is too small for IPv6, which a path of this experiment uses: "
            f"give at least {ETHERNET_MIN_MTU_V6} (RFC 8200 section 5)"
        )
    return None


def is_per_link(value: object) -> bool:
    """True if an MTU changes from link to link."""
    return isinstance(value, str) and "link" in value


def parse_mtu_profile(value: object) -> str:
    """MTUs along a row of links: `1500 - 15 per link`, or one for all. Raises `ValueError`."""
    if not is_per_link(value):
        return str(MTU.parse(value))
    match = _PER_LINK.fullmatch(str(value).strip())
    if match is None:
        raise ValueError(
            f"{shown(value)} is not an MTU per link: give the MTU of the first link and the difference from link to "
            "link, such as 1500 - 15 per link"
        )
    first, sign, step = match.groups()
    return f"{MTU.parse(int(first))} {sign} {int(step)} per link"


def mtu_at(profile: Scalar, number: int) -> int:
    """The MTU of a link in a row, counted from 0, from what `parse_mtu_profile` gives."""
    words = str(profile).split()
    return int(words[0]) + (number * int(words[1] + words[2]) if len(words) > 1 else 0)


def _profile(value: object) -> Scalar:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{shown(value)} is not a profile: give a name such as dsl, or a file such as home.yaml")
    return value


_IN_DIRECTIONS = {parameter.name: parameter for parameter in (*RATE_PARAMETERS, *EMULATION_PARAMETERS)}
DIRECTION_SETTINGS: Mapping[str, Parameter] = _IN_DIRECTIONS
"""Settings that each direction of a link can have for itself, by name."""

MTU = Parameter(
    name="mtu",
    kind="mtu",
    doc="largest IP packet, in whole bytes; it is the only size without a unit",
    minimum=MIN_MTU_V4,
    maximum=MAX_MTU,
    default=DEFAULT_MTU_BYTES,
)
_OF_LINKS = (
    Parameter(
        name="profile",
        kind="profile",
        parser=_profile,
        doc=(
            "values of the keys from mtu to late-by that are not given beside it: the name of an access "
            "network, or a file; the first endpoint is the customer's"
        ),
        unless_given="none",
    ),
    MTU,
    *_IN_DIRECTIONS.values(),
    Parameter(
        name="emulator",
        kind="choice",
        choices=EMULATORS,
        doc="emulator of delays and losses: netem, which is the kernel's, or user, which is our own",
        unless_given="netem where the kernel has it and it can do all of this, else user",
    ),
    Parameter(
        name="offload",
        kind="flag",
        doc="segmentation offload at both ends (TSO, GSO, GRO)",
        unless_given="off on links with a rate or impairments, on without",
    ),
)
LINK_SETTINGS: Mapping[str, Parameter] = {parameter.name: parameter for parameter in _OF_LINKS}
"""The parameters of a link, by name."""
