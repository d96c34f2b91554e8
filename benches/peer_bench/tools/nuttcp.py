"""nuttcp (https://www.nuttcp.net). It cannot be told the congestion control: the namespaces' own is cubic."""

from __future__ import annotations

from functools import partial

from ..comparisons import DATAGRAM_BYTES, LOSS_PPS, PACED_PPS, STREAM_BYTES, UDP_BUFFER_BYTES
from ..contender import Command, Contender, Ends, Tool, ToolReport
from .reading import number

PORT = 5000


def read(client: str, _: str) -> ToolReport:
    """Its `-fparse` line, which is of the receiver."""
    fields = {"received_bps": 1e6 * number(r"rate_Mbps=([\d.]+)", client, "rate")}
    if "pkt=" in client:
        seconds = number(r"real_seconds=([\d.]+)", client, "time")
        lost, sent = number(r"drop=(\d+)", client, "drops"), number(r"pkt=(\d+)", client, "packets")
        fields |= {"lost": lost} | ({"received_pps": (sent - lost) / seconds} if seconds > 0 else {})
    return fields


def _run(ends: Ends, seconds: int, *, options: tuple[str, ...]) -> Command:
    family = f"-{ends.family}"
    return Command(
        server=["nuttcp", family, "-1", "--nofork", "-P", str(PORT)],
        client=["nuttcp", family, "-t", "-fparse", f"-P{PORT}", f"-T{seconds}", *options, ends.server],
        listens=("tcp", PORT),
        server_ends=True,
        read=read,
    )


def _contender(comparison: str, *options: str) -> Contender:
    return Contender(comparison=comparison, name="nuttcp", traffic=partial(_run, options=options))


_UDP = ("-u", f"-l{DATAGRAM_BYTES}", f"-w{UDP_BUFFER_BYTES // 1024}")

TOOL = Tool(
    name="nuttcp",
    programs=("nuttcp",),
    version=(("nuttcp", "-V"), r"nuttcp-(\S+)"),
    contenders=(
        _contender("tcp-stream", f"-l{STREAM_BYTES}"),
        _contender("udp-64", *_UDP, "-Ru"),
        _contender("udp-paced", *_UDP, f"-R{PACED_PPS}p"),
        _contender("udp-loss", *_UDP, f"-R{LOSS_PPS}p"),
    ),
)
