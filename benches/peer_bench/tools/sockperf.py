"""sockperf (https://github.com/Mellanox/sockperf): ping-pong. IPv6 from 3.8 on."""

from __future__ import annotations

from functools import partial

from ..comparisons import MESSAGE_BYTES
from ..contender import Command, Contender, Ends, Tool, ToolReport, Transport
from .reading import find_match

PORT = 11111


def read(client: str, _: str) -> ToolReport:
    """Round trips of what it calls the valid duration, without its warm-up."""
    row = find_match(
        r"Valid Duration\] RunTime=([\d.]+) sec; SentMessages=\d+; ReceivedMessages=(\d+)", client, "valid duration"
    )
    return {"transactions_per_s": int(row[2]) / float(row[1])}


def _run(ends: Ends, seconds: int, *, transport: Transport, options: tuple[str, ...]) -> Command:
    common = [*(["--tcp"] if transport == "tcp" else []), "-i", ends.server, "-p", str(PORT), *options]
    return Command(
        server=["sockperf", "server", *common],
        client=["sockperf", "ping-pong", *common, "-m", str(MESSAGE_BYTES), "-t", str(seconds)],
        listens=(transport, PORT),
        read=read,
    )


def _contender(name: str, transport: Transport, *options: str) -> Contender:
    traffic = partial(_run, transport=transport, options=options)
    return Contender(comparison=f"{transport}-rr", name=name, traffic=traffic)


TOOL = Tool(
    name="sockperf",
    programs=("sockperf",),
    version=(("sockperf", "--version"), r"version (\S+)"),
    contenders=(
        _contender("sockperf", "tcp"),
        _contender("sockperf", "udp"),
        _contender("sockperf --nonblocked", "tcp", "--nonblocked"),
        _contender("sockperf --nonblocked", "udp", "--nonblocked"),
    ),
)
