"""D-ITG (https://traffic.comics.unina.it/software/ITG). It has no request/response and no connection rate."""

from __future__ import annotations

from functools import partial

from ..comparisons import DATAGRAM_BYTES, LOSS_PPS, PACED_PPS
from ..contender import Command, Contender, Ends, Tool, ToolReport
from .reading import find_match

PORT, DATA_PORT = 9000, 8999
_FLOOD_PPS = 2_000_000
"""More than it can."""


def read(client: str, _: str) -> ToolReport:
    """Nothing but that it came to its end: its numbers are in logs, which take time to write."""
    find_match(r"Finished sending packets", client, "end of the flow")
    return {}


def _run(ends: Ends, seconds: int, *, rate_pps: int) -> Command:
    flow = ["-T", "UDP", "-C", str(rate_pps), "-c", str(DATAGRAM_BYTES), "-t", str(1000 * seconds)]
    where = ["-a", ends.server, "-Sda", ends.server, "-Sdp", str(PORT), "-rp", str(DATA_PORT)]
    return Command(
        server=["ITGRecv", "-Sp", str(PORT)],
        client=["ITGSend", *where, *flow],
        listens=("tcp", PORT),
        read=read,
    )


TOOL = Tool(
    name="ITG",
    programs=("ITGSend", "ITGRecv"),
    version=(("ITGSend", "-h"), r"version (\S+)"),
    contenders=(
        Contender(comparison="udp-64", name="ITG", traffic=partial(_run, rate_pps=_FLOOD_PPS)),
        Contender(comparison="udp-paced", name="ITG", traffic=partial(_run, rate_pps=PACED_PPS)),
        Contender(comparison="udp-loss", name="ITG", traffic=partial(_run, rate_pps=LOSS_PPS)),
    ),
)
