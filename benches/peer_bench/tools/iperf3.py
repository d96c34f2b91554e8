"""iperf3 (https://software.es.net/iperf): defaults, cubic; UDP with the same buffers as all."""

from __future__ import annotations

import json
from functools import partial

from ..comparisons import (
    DATAGRAM_BYTES,
    LOSS_PPS,
    OFFLOAD_DATAGRAM_BYTES,
    PACED_PPS,
    STREAM_BYTES,
    UDP_BUFFER_BYTES,
)
from ..contender import Command, Contender, Ends, Tool, ToolReport, Unreadable

PORT = 5201


def read(client: str, _: str) -> ToolReport:
    """Figures of the receiver in iperf3's JSON."""
    try:
        end = json.loads(client)["end"]
        received = end.get("sum_received") or end["sum"]
        fields = {"received_bps": float(received["bits_per_second"])}
        if "packets" in received:
            took = received["packets"] - received["lost_packets"]
            fields |= {"received_pps": took / received["seconds"], "lost": float(received["lost_packets"])}
    except (ValueError, KeyError, TypeError, ZeroDivisionError) as error:
        raise Unreadable(f"no result in the JSON: {client[:200]!r}") from error
    return fields


def _run(ends: Ends, seconds: int, *, options: tuple[str, ...], server: tuple[str, ...] = ()) -> Command:
    return Command(
        server=["iperf3", "-s", "-1", "-p", str(PORT), "-B", ends.server, *server],
        client=["iperf3", "-J", "-c", ends.server, "-p", str(PORT), "-t", str(seconds), *options],
        listens=("tcp", PORT),
        server_ends=True,
        read=read,
    )


def _udp(size: int, rate: str, *more: str) -> tuple[str, ...]:
    return ("-u", "-l", str(size), "-b", rate, "-w", str(UDP_BUFFER_BYTES), *more)


def _contender(comparison: str, name: str, *options: str, needs: str = "") -> Contender:
    return Contender(comparison=comparison, name=name, traffic=partial(_run, options=options), needs=needs)


_STREAM = ("-C", "cubic", "-l", str(STREAM_BYTES))
_PACED_BPS = str(8 * DATAGRAM_BYTES * PACED_PPS)

TOOL = Tool(
    name="iperf3",
    programs=("iperf3",),
    version=(("iperf3", "--version"), r"iperf (\S+)"),
    help=("iperf3", "--help"),
    contenders=(
        _contender("tcp-stream", "iperf3", *_STREAM),
        _contender("tcp-stream", "iperf3 -Z --skip-rx-copy", *_STREAM, "-Z", "--skip-rx-copy", needs="--skip-rx-copy"),
        _contender("udp-64", "iperf3", *_udp(DATAGRAM_BYTES, "0")),
        _contender("frames-64", "iperf3", *_udp(DATAGRAM_BYTES, "0")),
        _contender("udp-64", "iperf3 --gsro", *_udp(DATAGRAM_BYTES, "0", "--gsro"), needs="--gsro"),
        _contender("udp-offload", "iperf3", *_udp(OFFLOAD_DATAGRAM_BYTES, "0")),
        _contender("udp-offload", "iperf3 --gsro", *_udp(OFFLOAD_DATAGRAM_BYTES, "0", "--gsro"), needs="--gsro"),
        _contender("udp-paced", "iperf3", *_udp(DATAGRAM_BYTES, _PACED_BPS)),
        _contender("udp-paced", "iperf3 --pacing-timer 50", *_udp(DATAGRAM_BYTES, _PACED_BPS, "--pacing-timer", "50")),
        _contender("frames-paced", "iperf3", *_udp(DATAGRAM_BYTES, _PACED_BPS)),
        _contender("udp-loss", "iperf3", *_udp(DATAGRAM_BYTES, str(8 * DATAGRAM_BYTES * LOSS_PPS))),
    ),
)
