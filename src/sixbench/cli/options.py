"""Options that several commands have, each stated once."""

from __future__ import annotations

from pathlib import Path

import typer

SET: list[str] = typer.Option([], "--set", metavar="A.B=C", help="Change a value of the experiment; may be repeated.")
SEED: int | None = typer.Option(None, "--seed", metavar="N", help="Seed of the random order.")

JSON: bool = typer.Option(False, "--json", help="Print as JSON.")
FINDINGS_AS_JSON: bool = typer.Option(False, "--json", help="Print the findings as JSON.")
RESULTS_AS_JSON: bool = typer.Option(False, "--json", help="Print the results as JSON.")

QUIET: bool = typer.Option(False, "--quiet", "-q", help="Show no progress.")
WAIT: bool = typer.Option(False, "--wait", help="Begin only when no other run of sixbench measures on this machine.")
EVENTS: Path | None = typer.Option(
    None, "--events", metavar="FILE", help="Append what the run does to this file, a line of JSON for each event."
)


HOSTS: Path | None = typer.Option(
    None, "--hosts", metavar="FILE", help="Put the nodes on the machines that this file names, over SSH."
)

ALLOW_FLAG = "--allow-programs"
ALLOW_PROGRAMS: bool = typer.Option(
    False,
    ALLOW_FLAG,
    help="Run the programs that the experiment names, with all rights that sixbench has, and boot its kernels.",
)

ALLOW_HOSTS_FLAG = "--allow-hosts"
ALLOW_HOSTS: bool = typer.Option(
    False, ALLOW_HOSTS_FLAG, help="Connect to the hosts that the run directory names, over SSH, with your keys."
)

MINE_FLAG = "--mine"
MINE: bool = typer.Option(
    False, MINE_FLAG, help="The servers with mine: true are yours: they may get more than one connection a second."
)

MEAN_IT_FLAG = "--i-mean-it"
MEAN_IT: bool = typer.Option(
    False,
    MEAN_IT_FLAG,
    help=(
        "Lend interfaces to the test even if they are in use, such as the one with the default route. They "
        "are given back unchanged."
    ),
)


def _out(default: str, more: str = "") -> Path | None:
    option: Path | None = typer.Option(
        None, "--out", metavar="DIR", help=f"The run directory; default: runs/{default}-DATE-TIME.{more}"
    )
    return option


OUT = _out("NAME")
RFC_OUT = _out("NAME-rfc")
CALIBRATION_OUT = _out("calibrate", " An interrupted calibration there is finished.")
