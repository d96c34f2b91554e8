"""`sixbench measure`: traffic to a machine that runs `sixbench serve`, with iperf3's options."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..model.addresses import why_no_host
from ..model.errors import UsageError
from . import completions
from .common import note
from .event_logs import event_log
from .options import EVENTS

if TYPE_CHECKING:
    from ..model.experiment import Experiment
    from ..model.topology import Family
    from ..plan.measure_options import MeasureOptions

DEFAULT_PORT = 5210
"""The default port of `sixbench serve`."""


def measure(
    host_: str | None = typer.Argument(
        None,
        metavar="HOST",
        help="A name or an address; or two addresses, one of each family, with a comma between them.",
        show_default=False,
    ),
    client: str | None = typer.Option(None, "-c", "--client", metavar="HOST", help="The host, as iperf3 has it."),
    port: int = typer.Option(DEFAULT_PORT, "-p", "--port", min=1, max=65535, help="Control port of the server."),
    time_: str | None = typer.Option(
        None, "-t", "--time", metavar="S", help="Duration of a trial; default 10 s, with -46 2 s."
    ),
    interval: str | None = typer.Option(
        None, "-i", "--interval", metavar="S", help="Length of the intervals that are shown; default 1 s, 0 for none."
    ),
    omit: str | None = typer.Option(
        None, "-O", "--omit", metavar="S", help="Time before the measuring, which is not counted; default 0.5 s."
    ),
    parallel: int | None = typer.Option(
        None, "-P", "--parallel", metavar="N", help="Number of parallel streams of TCP."
    ),
    reverse: bool = typer.Option(False, "-R", "--reverse", help="The server sends."),
    bidir: bool = typer.Option(False, "--bidir", help="Both machines send at once."),
    udp: bool = typer.Option(False, "-u", "--udp", help="Send UDP instead of TCP."),
    bitrate: str | None = typer.Option(
        None,
        "-b",
        "--bitrate",
        metavar="RATE",
        help="Rate of UDP payload, such as 100M, 1Gbit or 1000pps; default 1M, 0 for unlimited.",
    ),
    length: str | None = typer.Option(
        None,
        "-l",
        "--length",
        metavar="SIZE",
        help="Size of a write, a datagram or a message; default 128K, for UDP 1400.",
    ),
    bytes_: str | None = typer.Option(
        None, "-n", "--bytes", metavar="SIZE", help="Send this much, instead of for a time."
    ),
    blockcount: int | None = typer.Option(
        None,
        "-k",
        "--blockcount",
        metavar="N",
        help="Send this many datagrams, requests or connections, instead of for a time.",
    ),
    window: str | None = typer.Option(
        None, "-w", "--window", metavar="SIZE", help="Size of the socket buffers at both ends."
    ),
    mss: str | None = typer.Option(None, "-M", "--set-mss", metavar="SIZE", help="Largest segment of TCP."),
    congestion: str | None = typer.Option(
        None, "-C", "--congestion", metavar="NAME", help="TCP congestion control; default cubic."
    ),
    no_delay: bool = typer.Option(False, "-N", "--no-delay", help="Send small segments at once (TCP_NODELAY)."),
    zerocopy: bool = typer.Option(False, "-Z", "--zerocopy", help="TCP sends without copying (MSG_ZEROCOPY)."),
    skip_rx_copy: bool = typer.Option(False, "--skip-rx-copy", help="TCP receives without copying (MSG_TRUNC)."),
    bind: str | None = typer.Option(None, "-B", "--bind", metavar="ADDR", help="Send from this local address."),
    four: bool = typer.Option(False, "-4", help="Measure over IPv4."),
    six: bool = typer.Option(False, "-6", help="Measure over IPv6; -46 measures over both in turn and compares them."),
    blocks: int | None = typer.Option(
        None,
        "--blocks",
        metavar="N",
        min=1,
        max=10_000,
        help="Number of trials for each family; default 1, with -46 6.",
    ),
    pmtu: bool = typer.Option(False, "--pmtu", help="Find the path MTU of each direction, in three ways."),
    workload: str | None = typer.Option(
        None,
        "--workload",
        metavar="NAME",
        help="Measure this workload, such as tcp-rr, tcp-crr or ping.",
        autocompletion=completions.workloads,
    ),
    set_: list[str] = typer.Option(
        [], "--set", metavar="NAME=VALUE", help="Set a parameter of the workload, as in an experiment; may be repeated."
    ),
    key: Path | None = typer.Option(None, "--key", metavar="FILE", help="The key that both machines have."),
    out: Path | None = typer.Option(None, "--out", metavar="DIR", help="Also keep the trials in a run directory."),
    events: Path | None = EVENTS,
    json: bool = typer.Option(False, "-J", "--json", help="Print one JSON document."),
) -> int:
    """Measure to a machine that runs `sixbench serve`.

    It needs no experiment file. The options are those of iperf3.
    """
    from ..agent import AgentHub, find_agent
    from ..plan.measure_experiment import MEASUREMENT, as_experiment
    from ..plan.measure_options import MeasureOptions, workload_of_options
    from ..run.machines import Machines, Target, find_addresses
    from ..run.other_runs import measuring
    from .measuring import Measuring
    from .running import tell

    host = _host(host_, client)
    options = MeasureOptions(
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
    workload_of_options(options, asked or (6,))  # wrong options are reported before a name is resolved
    target = Target(host=host, port=port, bind=bind, key=key)
    ways = find_addresses(target, asked)
    with (
        event_log(events) as log,
        AgentHub(find_agent()) as hub,
        Machines(hub, target, ways) as machines,
        measuring(MEASUREMENT, wait=False, told=tell) as presence,
    ):
        for why in machines.passed_over:
            note(f"not over that way: {why}")
        families = tuple(machines.addresses)
        experiment = as_experiment(workload_of_options(options, families), host, families, blocks, _as_comment())
        shows = _shows(options, experiment)
        return Measuring(experiment, machines, presence, as_json=json, out=out, shows_intervals=shows, log=log).run()


def _host(argument: str | None, option: str | None) -> str:
    """The host, given once. Raises `UsageError`."""
    given = [host for host in (argument, option) if host is not None]
    if len(given) != 1:
        what = (
            "name the host once, not both as an argument and by -c" if given else "name a host: sixbench measure HOST"
        )
        raise UsageError(what)
    for name in given[0].split(","):
        wrong = why_no_host(name)
        if wrong is not None:
            raise UsageError(f"measure {wrong}; give the port with --port")
    return given[0]


def _shows(options: MeasureOptions, experiment: Experiment) -> bool:
    """True if lines for intervals are wanted: for a single trial unless `-i 0` is given, for several only if `-i` is
    given."""
    if options.interval is not None:
        return options.interval.strip("0.") != ""
    return len(experiment.paths) * experiment.blocks.maximum == 1


def _as_comment() -> str:
    return f"# {shlex.join(['sixbench', *sys.argv[1:]])}\n"
