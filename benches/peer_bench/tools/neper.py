"""neper (https://github.com/google/neper): one thread, one flow unless named otherwise."""

from __future__ import annotations

from functools import partial

from ..comparisons import DATAGRAM_BYTES, IN_FLIGHT, MESSAGE_BYTES, STREAM_BYTES
from ..contender import Command, Contender, Ends, Tool, ToolReport
from .reading import number

CONTROL_PORT, PORT = 12866, 12867


def read_stream(_: str, server: str) -> ToolReport:
    """Throughput that the server received."""
    return {"received_bps": number(r"(?m)^local_throughput=([\d.]+)", server, "throughput")}


def read_transactions(client: str, _: str) -> ToolReport:
    """Transactions a second."""
    return {"transactions_per_s": number(r"(?m)^throughput=([\d.]+)", client, "throughput")}


def _run(ends: Ends, seconds: int, *, test: str, options: tuple[str, ...]) -> Command:
    common = [f"-{ends.family}", "-C", str(CONTROL_PORT), "-P", str(PORT), "-l", str(seconds), "--nolog", *options]
    return Command(
        server=[test, *common],
        client=[test, "-c", "-H", ends.server, *common],
        listens=("tcp", CONTROL_PORT),
        server_ends=True,
        read=read_stream if test.endswith("stream") else read_transactions,
    )


def _contender(comparison: str, test: str, *options: str, name: str = "neper") -> Contender:
    return Contender(comparison=comparison, name=name, traffic=partial(_run, test=test, options=options))


_MESSAGES = ("-Q", str(MESSAGE_BYTES), "-R", str(MESSAGE_BYTES))

TOOL = Tool(
    name="neper",
    programs=("tcp_stream", "udp_stream", "tcp_rr", "udp_rr", "tcp_crr"),
    version=(("tcp_rr", "--nolog", "--version"), r"(\S+)\s*$"),
    contenders=(
        _contender("tcp-stream", "tcp_stream", "-B", str(STREAM_BYTES)),
        _contender("udp-64", "udp_stream", "-B", str(DATAGRAM_BYTES)),
        _contender("tcp-rr", "tcp_rr", *_MESSAGES),
        _contender("udp-rr", "udp_rr", *_MESSAGES),
        _contender("tcp-crr", "tcp_crr", "-Q", "1", "-R", "1"),
        _contender("tcp-crr", "tcp_crr", "-Q", "1", "-R", "1", "-F", str(IN_FLIGHT), name=f"neper -F {IN_FLIGHT}"),
    ),
)
