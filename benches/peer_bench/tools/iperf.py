"""iperf 2 (https://sourceforge.net/projects/iperf2)."""

from __future__ import annotations

from functools import partial

from ..comparisons import DATAGRAM_BYTES, LOSS_PPS, PACED_PPS, STREAM_BYTES, UDP_BUFFER_BYTES
from ..contender import Command, Contender, Ends, Tool, ToolReport, Transport
from .reading import find_match, number

PORT = 5001


def read_tcp(client: str, server: str) -> ToolReport:
    """The server's line; the client's where it came too late."""
    return {"received_bps": number(r"Bytes\s+([\d.e+]+) bits/sec", server or client, "bandwidth")}


def read_udp(_: str, server: str) -> ToolReport:
    """The server's line."""
    row = find_match(
        r"([\d.]+)-\s*([\d.]+) sec .*?([\d.e+]+) bits/sec .*?\s(\d+)/\s*(\d+) \(", server, "line of datagrams"
    )
    seconds = float(row[2]) - float(row[1])
    lost, sent = int(row[4]), int(row[5])
    fields = {"received_bps": float(row[3]), "lost": float(lost)}
    return fields | ({"received_pps": (sent - lost) / seconds} if seconds > 0 else {})


def _run(ends: Ends, seconds: int, *, transport: Transport, options: tuple[str, ...]) -> Command:
    common = [
        "-p",
        str(PORT),
        "-f",
        "b",
        *(["-V"] if ends.family == 6 else []),
        *(["-u"] if transport == "udp" else []),
    ]
    buffers = ["-w", str(UDP_BUFFER_BYTES)] if transport == "udp" else []
    length = options[options.index("-l") : options.index("-l") + 2]
    return Command(
        server=["iperf", "-s", "-P", "1", "-B", ends.server, *common, *length, *buffers],
        client=["iperf", "-c", ends.server, "-t", str(seconds), *common, *options, *buffers],
        listens=(transport, PORT),
        server_ends=True,
        read=read_tcp if transport == "tcp" else read_udp,
    )


def _contender(comparison: str, transport: Transport, *options: str) -> Contender:
    return Contender(comparison=comparison, name="iperf", traffic=partial(_run, transport=transport, options=options))


_DATAGRAM = ("-l", str(DATAGRAM_BYTES))

TOOL = Tool(
    name="iperf",
    programs=("iperf",),
    version=(("iperf", "--version"), r"iperf version (\S+)"),
    contenders=(
        _contender("tcp-stream", "tcp", "-l", str(STREAM_BYTES), "-Z", "cubic"),
        _contender("udp-64", "udp", *_DATAGRAM, "-b", "100g"),
        _contender("udp-paced", "udp", *_DATAGRAM, "-b", f"{PACED_PPS}pps"),
        _contender("udp-loss", "udp", *_DATAGRAM, "-b", f"{LOSS_PPS}pps"),
    ),
)
