"""The parameters of `frames`, and when frames are due by them."""

from __future__ import annotations

import math
from dataclasses import replace

from ..networks import LENGTHS
from ..parameter import Parameter, Params
from ..topology import Family

MAX_FRAMES = 2**32
"""The agent numbers the frames of a flow with 32 bits."""
ETHERNET_BYTES = 18
"""The Ethernet header and the frame check sequence, which RFC 2544 counts in a frame's size."""
LEAST_BYTES: dict[Family, int] = {4: 64, 6: 84}
"""The smallest frames (RFC 2544 section 9.1; RFC 8219 section 5.1.1)."""
EXTENSION_BYTES = {"hop-by-hop": 8, "destination-options": 8, "routing": 24, "fragment": 8, "chain": 40}
"""The lengths of extension headers (RFC 5180 section 5.3)."""
USUAL_BITS = LENGTHS[6]
CLIENT_NETWORKS, SERVER_NETWORKS = "client_networks", "server_networks"
"""Parameter of the agents where there are several networks: the first one behind each host, besides its own."""
MAX_BEHIND = 0.001
"""The share of its rate by which a sender may be behind its schedule."""

FRAME = Parameter(
    name="frame",
    kind="size",
    doc="size of the client's frames with the frame check sequence, as RFC 2544 counts it; must be given. The server's "
    "have the same payload",
    minimum=64,
    maximum=9216,
    identifying=True,
)
PACKET_RATE = Parameter(
    name="packet-rate",
    column="rate_pps",
    kind="packet-rate",
    doc="frames per second in each direction, such as 10kpps; must be given",
    minimum=1,
    maximum=10**9,
    identifying=True,
)
PACKET_RATE_REVERSE = replace(
    PACKET_RATE,
    name="packet-rate-reverse",
    column="rate_reverse_pps",
    doc="frames per second of the server, where it has another rate",
    unless_given="packet-rate",
)
STEP_AFTER = Parameter(
    name="step-after",
    kind="duration",
    doc="measured time after which both directions have the rate step-rate (RFC 2544 section 26.5)",
    minimum=10**6,
    maximum=24 * 3600 * 10**9,
    length=True,
    identifying=True,
)
STEP_RATE = replace(
    PACKET_RATE,
    name="step-rate",
    column="step_rate_pps",
    doc="frames per second in each direction from step-after on",
)
PORTS = Parameter(
    name="ports",
    kind="choice",
    choices=("fixed", "pseudo-random"),
    doc="one pair of UDP ports, or pseudo-random ones (RFC 4814)",
    default="fixed",
    identifying=True,
)
FLOWS = Parameter(
    name="flows",
    kind="count",
    doc="number of pairs of pseudo-random ports that take turns",
    minimum=1,
    maximum=65536,
    unless_given="65536 with pseudo-random ports, else 1",
    identifying=True,
)
NATIVE = Parameter(
    name="native",
    kind="ratio",
    doc="share of the frames that go natively, over the other family, beside those on the path: 10%, 50% and 90% "
    "are RFC 8219's (section 5.3) and RFC 5180's (section 7)",
    minimum=0,
    maximum=0.99,
    default=0.0,
    identifying=True,
)
NETWORKS = Parameter(
    name="networks",
    kind="count",
    doc="to how many networks behind the receiving host frames go, in pseudo-random order: 1, then 256 (RFC 2544 "
    "section 12)",
    minimum=1,
    maximum=256,
    default=1,
    identifying=True,
)
NETWORK_PREFIX = Parameter(
    name="network-prefix",
    column="network_bits",
    kind="count",
    doc="length of the prefixes of these networks over IPv6: 48, 64, 126 or 128 bits (RFC 5180 section 5.2.1)",
    minimum=48,
    maximum=128,
    default=USUAL_BITS,
    identifying=True,
)
EXTENSION_HEADERS = Parameter(
    name="extension-headers",
    kind="choice",
    choices=("none", *EXTENSION_BYTES),
    doc="extension headers of the IPv6 frames (RFC 5180 section 5.3), which are a part of their size; the chain is "
    "destination options, routing and fragment",
    default="none",
    identifying=True,
)
ENGINE = Parameter(
    name="engine",
    kind="choice",
    choices=("packet", "xdp"),
    doc="sender and receiver of frames: packet sockets, or XDP at the interfaces that have it, which the record names",
    default="packet",
    identifying=True,
)
RESIDUAL = Parameter(
    name="residual",
    kind="duration",
    doc="time after the end in which frames still count as received (RFC 2544 section 23); later ones are late",
    minimum=0,
    maximum=4 * 10**9,
    length=True,
    default=2 * 10**9,
)
TOLERANCE = Parameter(
    name="tolerance",
    kind="duration",
    doc="largest lateness of 99.9 % of the frames, or the gap between two frames if that is longer; a trial in which "
    "they leave later is invalid",
    minimum=0,
    maximum=10**10,
    length=True,
    default=10**7,
)


def rate_pps(params: Params, direction: str) -> float:
    """The rate of a direction, before any step."""
    reverse_pps = params.get(PACKET_RATE_REVERSE.column) if direction == "reverse" else None
    return float(PACKET_RATE.of(params) if reverse_pps is None else reverse_pps)


def due_before(params: Params, direction: str, time_ns: float) -> float:
    """About how many frames of a direction are due before that time."""
    first_ns = min(time_ns, float(params.get(STEP_AFTER.column, time_ns)))
    after_ns = time_ns - first_ns
    step_pps = float(params.get(STEP_RATE.column, 0))
    return (rate_pps(params, direction) * first_ns + step_pps * after_ns) / 1e9


def due_ns(params: Params, direction: str, index: int) -> float:
    """Due time of a frame, since the start of the measured time."""
    step_ns, first_pps = params.get(STEP_AFTER.column), rate_pps(params, direction)
    before = index + 1 if step_ns is None else math.ceil(float(step_ns) * first_pps / 1e9)
    if step_ns is None or index < before:
        return index * 1e9 / first_pps
    return float(step_ns) + (index - before) * 1e9 / float(params[STEP_RATE.column])


def extension_bytes(params: Params) -> int:
    """Length of the extension headers of each IPv6 frame."""
    return EXTENSION_BYTES.get(str(EXTENSION_HEADERS.of(params)), 0)


def has_native(params: Params) -> bool:
    """True if some frames go natively, over the other family."""
    return float(NATIVE.of(params)) > 0


def has_networks(params: Params) -> bool:
    """True if frames go to several networks behind a host."""
    return int(NETWORKS.of(params)) > 1
