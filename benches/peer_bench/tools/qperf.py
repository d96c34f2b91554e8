"""qperf (https://github.com/linux-rdma/qperf): its latency is half a round trip."""

from __future__ import annotations

from functools import partial

from ..comparisons import MESSAGE_BYTES
from ..contender import Command, Contender, Ends, Tool, ToolReport, Transport, Unreadable
from .reading import find_match

PORT, DATA_PORT = 19765, 19766
_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "sec": 1.0}


def read(client: str, _: str) -> ToolReport:
    """Round trips a second: one over twice its latency."""
    row = find_match(r"latency\s+=\s+([\d.,]+) (\w+)", client, "latency")
    latency_s = float(row[1].replace(",", "")) * _UNITS.get(row[2], 0.0)
    if latency_s == 0:
        raise Unreadable(f"the latency {row[0]!r} is no time")
    return {"transactions_per_s": 1 / (2 * latency_s)}


def _run(ends: Ends, seconds: int, *, transport: Transport) -> Command:
    what = ["-t", str(seconds), "-m", str(MESSAGE_BYTES), "-e", "5", f"{transport}_lat"]
    return Command(
        server=["qperf", "-lp", str(PORT)],
        client=["qperf", ends.server, "-lp", str(PORT), "-ip", str(DATA_PORT), *what],
        listens=("tcp", PORT),
        read=read,
    )


TOOL = Tool(
    name="qperf",
    programs=("qperf",),
    version=(("qperf", "--version"), r"qperf (\S+)"),
    contenders=(
        Contender(comparison="tcp-rr", name="qperf", traffic=partial(_run, transport="tcp")),
        Contender(comparison="udp-rr", name="qperf", traffic=partial(_run, transport="udp")),
    ),
)
