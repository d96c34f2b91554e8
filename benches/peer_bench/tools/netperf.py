"""netperf (https://github.com/HewlettPackard/netperf)."""

from __future__ import annotations

from functools import partial

from ..comparisons import DATAGRAM_BYTES, MESSAGE_BYTES, STREAM_BYTES, UDP_BUFFER_BYTES
from ..contender import Command, Contender, Ends, Tool, ToolReport
from .reading import number

PORT = 12865


def read_stream(client: str, _: str) -> ToolReport:
    """Throughput that the receiver got, in the omni output."""
    return {"received_bps": 1e6 * number(r"REMOTE_RECV_THROUGHPUT=([\d.]+)", client, "throughput")}


def read_transactions(client: str, _: str) -> ToolReport:
    """Transactions a second, of the omni output."""
    return {"transactions_per_s": number(r"(?<!_)THROUGHPUT=([\d.]+)", client, "throughput")}


def _run(ends: Ends, seconds: int, *, test: str, options: tuple[str, ...]) -> Command:
    family = "inet" if ends.family == 4 else "inet6"
    transactions = test.endswith("RR")
    length = ["-l", str(seconds), "-t", test, "-P", "0"]
    keys = "THROUGHPUT" if transactions else "REMOTE_RECV_THROUGHPUT"
    return Command(
        server=["netserver", "-D", "-f", "-L", f"{ends.server},{family}", "-p", str(PORT)],
        client=["netperf", "-H", f"{ends.server},{family}", "-p", str(PORT), *length, "--", "-k", keys, *options],
        listens=("tcp", PORT),
        read=read_transactions if transactions else read_stream,
    )


def _contender(comparison: str, test: str, *options: str) -> Contender:
    return Contender(comparison=comparison, name="netperf", traffic=partial(_run, test=test, options=options))


_BUFFERS = ("-s", str(UDP_BUFFER_BYTES), "-S", str(UDP_BUFFER_BYTES))

TOOL = Tool(
    name="netperf",
    programs=("netperf", "netserver"),
    version=(("netperf", "-V"), r"version (\S+)"),
    contenders=(
        _contender("tcp-stream", "TCP_STREAM", "-m", str(STREAM_BYTES), "-M", str(STREAM_BYTES), "-K", "cubic"),
        _contender("udp-64", "UDP_STREAM", "-m", str(DATAGRAM_BYTES), "-R", "1", *_BUFFERS),
        _contender("tcp-rr", "TCP_RR", "-r", f"{MESSAGE_BYTES},{MESSAGE_BYTES}", "-D"),
        _contender("udp-rr", "UDP_RR", "-r", f"{MESSAGE_BYTES},{MESSAGE_BYTES}"),
        _contender("tcp-crr", "TCP_CRR", "-r", "1,1"),
    ),
)
