"""The options of `sixbench measure`, which are those of iperf3."""

from __future__ import annotations

from pathlib import Path

import typer

from . import completions

DEFAULT_PORT = 5210
"""The default port of `sixbench serve`."""

HOST: str | None = typer.Argument(
    None,
    metavar="HOST",
    help="A name or an address; or two addresses, one of each family, with a comma between them.",
    show_default=False,
)
CLIENT: str | None = typer.Option(None, "-c", "--client", metavar="HOST", help="The host, as iperf3 has it.")
PORT: int = typer.Option(DEFAULT_PORT, "-p", "--port", min=1, max=65535, help="Control port of the server.")
TIME: str | None = typer.Option(
    None, "-t", "--time", metavar="S", help="Duration of a trial; default 10 s, with -46 2 s."
)
INTERVAL: str | None = typer.Option(
    None, "-i", "--interval", metavar="S", help="Length of the intervals that are shown; default 1 s, 0 for none."
)
OMIT: str | None = typer.Option(
    None, "-O", "--omit", metavar="S", help="Time before the measuring, which is not counted; default 0.5 s."
)
PARALLEL: int | None = typer.Option(
    None,
    "-P",
    "--parallel",
    metavar="N",
    help="Number of parallel streams of TCP; of HTTP, connections to a host or streams of a connection.",
)
REVERSE: bool = typer.Option(False, "-R", "--reverse", help="The server sends.")
BIDIR: bool = typer.Option(False, "--bidir", help="Both machines send at once.")
UDP: bool = typer.Option(False, "-u", "--udp", help="Send UDP instead of TCP.")
BITRATE: str | None = typer.Option(
    None,
    "-b",
    "--bitrate",
    metavar="RATE",
    help="Rate of UDP payload, such as 100M, 1Gbit or 1000pps; default 1M, 0 for unlimited.",
)
LENGTH: str | None = typer.Option(
    None,
    "-l",
    "--length",
    metavar="SIZE",
    help="Size of a write, a datagram or a message; default 128K, for UDP 1400.",
)
BYTES: str | None = typer.Option(None, "-n", "--bytes", metavar="SIZE", help="Send this much, instead of for a time.")
BLOCKCOUNT: int | None = typer.Option(
    None,
    "-k",
    "--blockcount",
    metavar="N",
    help="Send this many datagrams, requests or connections, instead of for a time.",
)
WINDOW: str | None = typer.Option(
    None, "-w", "--window", metavar="SIZE", help="Size of the socket buffers at both ends."
)
MSS: str | None = typer.Option(None, "-M", "--set-mss", metavar="SIZE", help="Largest segment of TCP.")
CONGESTION: str | None = typer.Option(
    None, "-C", "--congestion", metavar="NAME", help="TCP congestion control; default cubic."
)
NO_DELAY: bool = typer.Option(False, "-N", "--no-delay", help="Send small segments at once (TCP_NODELAY).")
ZEROCOPY: bool = typer.Option(False, "-Z", "--zerocopy", help="TCP sends without copying (MSG_ZEROCOPY).")
SKIP_RX_COPY: bool = typer.Option(False, "--skip-rx-copy", help="TCP receives without copying (MSG_TRUNC).")
BIND: str | None = typer.Option(None, "-B", "--bind", metavar="ADDR", help="Send from this local address.")
FOUR: bool = typer.Option(False, "-4", help="Measure over IPv4.")
SIX: bool = typer.Option(False, "-6", help="Measure over IPv6; -46 measures over both in turn and compares them.")
BLOCKS: int | None = typer.Option(
    None,
    "--blocks",
    metavar="N",
    min=1,
    max=10_000,
    help="Number of trials for each family; default 1, with -46 6.",
)
PMTU: bool = typer.Option(False, "--pmtu", help="Find the path MTU of each direction, in three ways.")
WORKLOAD: str | None = typer.Option(
    None,
    "--workload",
    metavar="NAME",
    help="Measure this workload, such as tcp-rr, ping, http or dns.",
    autocompletion=completions.workloads,
)
SETTINGS: list[str] = typer.Option(
    [], "--set", metavar="NAME=VALUE", help="Set a parameter of the workload, as in an experiment; may be repeated."
)
KEY: Path | None = typer.Option(None, "--key", metavar="FILE", help="The key that both machines have.")
OUT: Path | None = typer.Option(None, "--out", metavar="DIR", help="Also keep the trials in a run directory.")
AS_JSON: bool = typer.Option(False, "-J", "--json", help="Print one JSON document.")
