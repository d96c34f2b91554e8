"""`sixbench measure`: traffic to a machine that runs `sixbench serve`, with iperf3's letters."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from ..model.experiment import Experiment
    from ..model.topology import Family
    from ..plan.letters import Letters

DEFAULT_PORT = 5210
"""The agent's."""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("measure")(measure)


def measure(
    host: str = typer.Argument(help="A name or an address; or two addresses, one a family, with a comma between them."),
    port: int = typer.Option(DEFAULT_PORT, "-p", "--port", min=1, max=65535, help="Control port of the server."),
    time_: str | None = typer.Option(
        None, "-t", "--time", metavar="S", help="How long to measure; default 10 s, with -46 2 s a trial."
    ),
    interval: str | None = typer.Option(
        None, "-i", "--interval", metavar="S", help="Length of the intervals that are shown; default 1 s, 0 for none."
    ),
    omit: str | None = typer.Option(
        None, "-O", "--omit", metavar="S", help="Time before the measuring, not counted; default 0.5 s."
    ),
    parallel: int | None = typer.Option(None, "-P", "--parallel", metavar="N", help="Parallel streams."),
    reverse: bool = typer.Option(False, "-R", "--reverse", help="The server sends."),
    bidir: bool = typer.Option(False, "--bidir", help="Both send at once."),
    udp: bool = typer.Option(False, "-u", "--udp", help="UDP rather than TCP."),
    bitrate: str | None = typer.Option(
        None, "-b", "--bitrate", metavar="RATE", help="Of UDP payload: 100M, 1Gbit, 1000pps; default 1M, 0 unlimited."
    ),
    length: str | None = typer.Option(
        None, "-l", "--length", metavar="SIZE", help="Of a write, a datagram or a message; default 128K, of UDP 1400."
    ),
    bytes_: str | None = typer.Option(None, "-n", "--bytes", metavar="SIZE", help="So much instead of a time."),
    blockcount: int | None = typer.Option(
        None, "-k", "--blockcount", metavar="N", help="So many datagrams, requests or connections instead of a time."
    ),
    window: str | None = typer.Option(None, "-w", "--window", metavar="SIZE", help="Socket buffers of both ends."),
    mss: str | None = typer.Option(None, "-M", "--set-mss", metavar="SIZE", help="TCP's largest segment."),
    congestion: str | None = typer.Option(
        None, "-C", "--congestion", metavar="NAME", help="TCP congestion control; default cubic."
    ),
    no_delay: bool = typer.Option(False, "-N", "--no-delay", help="TCP_NODELAY."),
    zerocopy: bool = typer.Option(False, "-Z", "--zerocopy", help="TCP sends without copying."),
    skip_rx_copy: bool = typer.Option(False, "--skip-rx-copy", help="TCP receives without copying."),
    bind: str | None = typer.Option(None, "-B", "--bind", metavar="ADDR", help="The local address."),
    four: bool = typer.Option(False, "-4", help="Over IPv4."),
    six: bool = typer.Option(False, "-6", help="Over IPv6; -46: over both in turn, and compared."),
    blocks: int | None = typer.Option(
        None, "--blocks", metavar="N", min=1, max=10_000, help="Trials of each family; default 1, with -46 6."
    ),
    pmtu: bool = typer.Option(False, "--pmtu", help="The path MTU of each direction, three ways."),
    workload: str | None = typer.Option(
        None, "--workload", metavar="NAME", help="Any workload, such as tcp-rr, tcp-crr, ping."
    ),
    set_: list[str] = typer.Option(
        [], "--set", metavar="NAME=VALUE", help="A parameter of the workload, as in an experiment; may be repeated."
    ),
    key: Path | None = typer.Option(None, "--key", metavar="FILE", help="The key that both machines have."),
    out: Path | None = typer.Option(None, "--out", metavar="DIR", help="Keep the trials in a run directory too."),
    json: bool = typer.Option(False, "-J", "--json", help="Print one JSON document."),
) -> int:
    """Measure to a machine that runs sixbench serve, without any file; the letters are iperf3's."""
    from ..agent import AgentHub, find_agent
    from ..plan.letters import Letters, read_letters
    from ..plan.measurement import as_experiment
    from ..run.machines import Machines, Target, find_addresses
    from .measuring import Measuring

    letters = Letters(
        time=time_,
        interval=interval,
        omit=omit,
        parallel=parallel,
        reverse=reverse,
        bidir=bidir,
        udp=udp,
        pmtu=pmtu,
        bitrate=bitrate,
        length=length,
        bytes=bytes_,
        blockcount=blockcount,
        window=window,
        mss=mss,
        congestion=congestion,
        nodelay=no_delay,
        zerocopy=zerocopy,
        skip_rx_copy=skip_rx_copy,
        workload=workload,
        settings=tuple(set_),
    )
    asked: tuple[Family, ...] = (*((4,) if four else ()), *((6,) if six else ()))
    read_letters(letters, asked or (6,))  # what is wrong with them is said before anybody is looked up
    target = Target(host=host, port=port, bind=bind, key=key)
    addresses = find_addresses(target, asked)
    families = tuple(item.family for item in addresses)
    experiment = as_experiment(read_letters(letters, families), host, families, blocks, _as_comment())
    with AgentHub(find_agent()) as hub, Machines(hub, target, addresses) as machines:
        return Measuring(experiment, machines, as_json=json, out=out, shows_intervals=_shows(letters, experiment)).run()


def _shows(letters: Letters, experiment: Experiment) -> bool:
    """Whether interval lines are wanted: of a single trial unless `-i 0` says otherwise, of several where `-i` does."""
    if letters.interval is not None:
        return letters.interval.strip("0.") != ""
    return len(experiment.paths) * experiment.blocks.maximum == 1


def _as_comment() -> str:
    return f"# {shlex.join(['sixbench', *sys.argv[1:]])}\n"
