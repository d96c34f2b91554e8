"""`sixbench reach`: IPv4 and IPv6 to servers that nobody here controls."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..model.errors import UsageError
from .completions import server_workloads
from .options import EVENTS, FINDINGS_AS_JSON, MINE_FLAG, OUT, QUIET, SEED, WAIT
from .run_requests import RunOutput, RunRequest
from .running import first_manifest

if TYPE_CHECKING:
    from ..model.experiment import Experiment
    from ..plan.yaml_source import Source
    from ..store import Environment, Manifest

DECIDED = "decided"


@dataclass(frozen=True, kw_only=True)
class ReachRequest(RunRequest):
    """A run of the experiment that the command line describes.

    Attributes:
        text: the experiment, without its vantages.
        vantages: the file that names them; None: this machine.
    """

    text: str
    vantages: Path | None = None

    def first_manifest(
        self, directory: Path, experiment: Experiment, environment: Environment, **more: Any
    ) -> Manifest:
        """The manifest of this run, which begins now in that directory."""
        return first_manifest(directory, experiment, environment, **more)

    def load(self) -> Experiment:
        """The experiment. Raises `ExperimentError`."""
        from ..mechanisms import MECHANISMS
        from ..plan.experiment_file import read_experiment

        return read_experiment(self.source(), MECHANISMS)

    def source(self) -> Source:
        """Its text as a file, with its vantages. Raises `UsageError` or `ExperimentError` where their file is wrong."""
        from ..plan.hosts_override import with_vantages
        from ..plan.yaml_source import parse_yaml

        source = parse_yaml(self.text, "the command line")
        return source if self.vantages is None else with_vantages(source, self.vantages)


def reach(
    names: list[str] = typer.Argument(
        None, metavar="NAME", help="Servers: names or addresses, each with :PORT if it is not 443."
    ),
    list_: Path | None = typer.Option(
        None, "--list", metavar="FILE", help="Take servers from this file, too, one a line; # begins a remark."
    ),
    from_: Path | None = typer.Option(
        None, "--from", metavar="FILE", help="Measure from the machines that this file names, over SSH."
    ),
    workload: list[str] = typer.Option(
        [],
        "--workload",
        metavar="NAME",
        help="Measure this workload alone, such as ping or http; may be repeated. Default: dns, ping, tcp-connect, tls "
        "and http of each version, as far as a server offers them.",
        autocompletion=server_workloads,
    ),
    until: str | None = typer.Option(
        None, "--until", metavar=DECIDED, help="Go on until each comparison is decided, or --at-most is over."
    ),
    at_most: str | None = typer.Option(
        None, "--at-most", metavar="TIME", help="Longest time, such as 30min; default 2min, with --until 30min."
    ),
    blocks: int | None = typer.Option(None, "--blocks", metavar="N", min=1, help="Run exactly this many blocks."),
    mine: bool = typer.Option(
        False, MINE_FLAG, help="The servers are yours: they may get more than one connection a second."
    ),
    resolver: str | None = typer.Option(
        None, "--resolver", metavar="ADDR", help="Ask this resolver for the names; default: that of the system."
    ),
    hide_addresses: bool = typer.Option(
        False,
        "--hide-addresses",
        help="Keep the addresses of the machines that measure, and of their networks, out of every file.",
    ),
    seed: int | None = SEED,
    out: Path | None = OUT,
    json: bool = FINDINGS_AS_JSON,
    quiet: bool = QUIET,
    wait: bool = WAIT,
    events: Path | None = EVENTS,
) -> int:
    """Compare IPv4 and IPv6 to servers that you do not control.

    It measures for two minutes, or for five blocks where these take longer, as with many servers. It needs neither root
    nor anything at the other end. A server gets one connection a second at most, or more with --mine, and 1 MiB is read
    of an object.
    """
    from ..plan.hosts_override import number_of_vantages
    from ..plan.reach_experiment import ReachOptions, read_list, server_of, text_of, without_repeats
    from .run_command import run_to_servers

    servers = [server_of(name, mine=mine) for name in names or []]
    if list_ is not None:
        servers += read_list(list_, mine=mine)
    if not servers:
        raise UsageError("name a server: sixbench reach www.example.org")
    if until not in (None, DECIDED):
        raise UsageError(f"--until takes {DECIDED}; leave it out to measure for --at-most")
    if blocks is not None and (until is not None or at_most is not None):
        raise UsageError("--blocks says how long it takes; leave --until and --at-most out")
    options = ReachOptions(
        servers=without_repeats(servers),
        workloads=tuple(dict.fromkeys(workload)) or None,
        resolver=resolver,
        hides_addresses=hide_addresses,
        blocks=blocks,
        until=until,
        time=at_most,
        seed=seed,
        vantages=1 if from_ is None else number_of_vantages(from_),
    )
    output = RunOutput(as_json=json, quiet=quiet, events=events)
    return run_to_servers(
        ReachRequest(experiment="reach", text=text_of(options), vantages=from_, out=out, wait=wait, output=output)
    )
