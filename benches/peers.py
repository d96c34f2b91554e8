"""`make bench-peers`: our generator and clocks beside iperf3, iperf, sockperf, nuttcp, D-ITG, qperf, netperf and neper,
our applications beside h2load, openssl, ngtcp2 and dnsperf, as far as these are on the PATH. See `peer_bench`.

    python benches/peers.py [--rounds N] [--minutes N] [--seconds N] [--only COMPARISON,...] [--peers NAME,...]
        [--free] [--nice N] [--out DIR]

After the first rounds, further ones go to comparisons whose target is open, until ten minutes are over. Each look at
them has the level that keeps the error of all looks (`intervals.error_of`).

Prints ratios with confidence intervals; writes results.json, peers.md and ratios.svg and .png under DIR. Ends with 130
when interrupted, and leaves no process and no namespace.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from peer_bench.comparisons import COMPARISONS, OURS, Comparison
from peer_bench.contender import FAMILIES, Contender, Family, Tool
from peer_bench.figure import write_figure
from peer_bench.pair import Failed, Pair
from peer_bench.priority import before_others
from peer_bench.results import Results
from peer_bench.schedule import mirrored
from peer_bench.tables import HEADS, markdown, ratio_cells, text
from peer_bench.tools import PEERS
from peer_bench.tools.ours import CONTENDERS
from peer_bench.verdicts import Value, still_open

from sixbench.agent import AgentHub, find_agent
from sixbench.bench.environment import gather
from sixbench.bench.processors import Processors
from sixbench.model.errors import SixbenchError
from sixbench.model.program_path import with_usual_places
from sixbench.report import words
from sixbench.store.atomic import write_file

PER_MEASUREMENT_S = 0.45
"""Time that it takes to start and end a measurement beyond its length, for the estimate."""

MINUTES = 9.5
"""`make` looks at what is installed before, and the last measurements are ended after it."""


def main() -> int:
    """Measures, round by round; returns the exit code."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    began_s = time.monotonic()
    arguments = _arguments()
    results, contenders = _prepare(arguments)
    try:
        arguments.out.mkdir(parents=True, exist_ok=True)
        code = 0
        with (
            before_others(arguments.nice),
            AgentHub(find_agent()) as hub,
            closing(Processors(hub)) as processors,
            Pair(hub, pinned=not arguments.free) as pair,
        ):
            processors.start(keep_awake=None)
            try:
                _rounds(pair, contenders, results, arguments, began_s + 60 * arguments.minutes)
            except KeyboardInterrupt:
                code = 130
        _report(results, arguments.out)
    except SixbenchError as error:
        print(f"bench-peers: {error}", file=sys.stderr)
        return 1
    return code


def _arguments() -> argparse.Namespace:
    keys = [comparison.key for comparison in COMPARISONS]
    parser = argparse.ArgumentParser(description="sixbench beside its peers, over a veth pair")
    parser.add_argument(
        "--rounds", type=_at_least_one, default=3, help="rounds of all, each in the reverse order of the last (3)"
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=MINUTES,
        help=f"for which rounds go on of what is open after those ({MINUTES:g}); 0 for none",
    )
    parser.add_argument("--seconds", type=_at_least_one, default=1, help="length of a measurement (1)")
    parser.add_argument("--only", type=_names, default=keys, help=f"of {','.join(keys)}")
    parser.add_argument("--peers", type=_names, help="only these, by name; none for ours alone")
    parser.add_argument(
        "--free", action="store_true", help="leave placement to the scheduler instead of a processor each"
    )
    parser.add_argument("--nice", type=int, default=0, help="nice value of all that is measured, for busy machines (0)")
    parser.add_argument("--out", type=Path, default=Path("runs/bench-peers"), help="directory of the results")
    arguments = parser.parse_args()
    for key in arguments.only:
        if key not in keys:
            parser.error(f"--only: there is no comparison {key!r}; there are {', '.join(keys)}")
    known = [tool.name for tool in PEERS]
    for name in arguments.peers or ():
        if name not in known:
            parser.error(f"--peers: there is no peer {name!r}; there are {', '.join(known)}, or none")
    return arguments


def _names(text: str) -> list[str]:
    return [] if text == "none" else text.split(",")


def _at_least_one(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def _prepare(arguments: argparse.Namespace) -> tuple[Results, list[Contender]]:
    """Which tools there are, and what they are able to take part in."""
    tools: dict[str, str] = {}
    absent: dict[str, str] = {}
    contenders = list(CONTENDERS)
    path = with_usual_places(os.environ.get("PATH", ""))
    for tool in PEERS:
        if arguments.peers is not None and tool.name not in arguments.peers:
            continue
        missing = [program for program in tool.programs if not shutil.which(program, path=path)]
        if missing:
            absent[tool.name] = f"{', '.join(missing)} not on the PATH"
            continue
        tools[tool.name] = _version(tool)
        options = _output(tool.help) if tool.help else ""
        for contender in tool.contenders:
            if contender.needs not in options:
                absent[contender.name] = f"{tool.name} {tools[tool.name]} has no {contender.needs}"
            else:
                contenders.append(contender)
    results = Results(
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        environment=gather(find_agent(), {}, in_user_namespace=False),
        rounds=arguments.rounds,
        seconds=arguments.seconds,
        placement="free" if arguments.free else "pinned",
        nice=arguments.nice,
        tools=tools,
        absent=absent,
    )
    chosen = [contender for contender in contenders if contender.comparison in arguments.only]
    minutes = 2 * len(chosen) * arguments.rounds * (arguments.seconds + PER_MEASUREMENT_S) / 60
    print(f"{OURS}, {', '.join(f'{name} {version}' for name, version in tools.items())}", file=sys.stderr)
    for what, why in absent.items():
        print(f"not compared: {what} ({why})", file=sys.stderr)
    print(f"{arguments.rounds} rounds of {2 * len(chosen)} measurements: about {minutes:.1f} minutes", file=sys.stderr)
    if minutes < arguments.minutes:
        print(f"then rounds of what is open, until {arguments.minutes:g} minutes are over", file=sys.stderr)
    return results, chosen


def _version(tool: Tool) -> str:
    command, pattern = tool.version
    match_ = re.search(pattern, _output(command))
    return match_[1] if match_ else "of unknown version"


def _output(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False, stdin=subprocess.DEVNULL)
    return done.stdout + done.stderr


def _rounds(
    pair: Pair, contenders: Sequence[Contender], results: Results, arguments: argparse.Namespace, until_s: float
) -> None:
    """The first rounds of all contenders, and then those of the open ones until the time is over."""
    all_of_them = {(contender.comparison, contender.name, family) for contender in contenders for family in FAMILIES}
    for round_ in range(arguments.rounds):
        _round(pair, contenders, all_of_them, results, round_)
        results.write(arguments.out)
    for round_ in itertools.count(arguments.rounds):
        if time.monotonic() >= until_s or not (chosen := still_open(results.values, results.rounds)):
            return
        _round(pair, contenders, chosen, results, round_, until_s)
        results.write(arguments.out)


def _round(
    pair: Pair,
    contenders: Sequence[Contender],
    chosen: Collection[tuple[str, str, int]],
    results: Results,
    round_: int,
    until_s: float = math.inf,
) -> None:
    """A round of those that are chosen, by comparison, name and family, as far as the time goes."""
    for comparison in COMPARISONS:
        for family in mirrored(FAMILIES, round_):
            here = [
                contender
                for contender in contenders
                if contender.comparison == comparison.key and (contender.comparison, contender.name, family) in chosen
            ]
            if time.monotonic() >= until_s:
                return
            for contender in mirrored(here, round_):
                value = _value(pair, comparison, contender, family, results, round_)
                results.values.append(value)
                shown = value.failure or words.quantity(value.value, comparison.unit)
                print(f"{round_ + 1}  {comparison.key:<12} IPv{family}  {contender.name:<34} {shown}", file=sys.stderr)


def _value(
    pair: Pair, comparison: Comparison, contender: Contender, family: Family, results: Results, round_: int
) -> Value:
    value = Value(comparison=comparison.key, contender=contender.name, family=family, round=round_)
    try:
        done = pair.measure(comparison, contender, family, results.seconds)
    except Failed as failure:
        return replace(value, failure=str(failure))
    results.commands.setdefault((comparison.key, contender.name, family), done.command)
    return replace(
        value,
        value=done.value,
        tool_reports=done.tool_report,
        wire_pps=done.wire_pps,
        memory_bytes=done.memory_bytes,
        gap_errors_ns=done.gap_errors_ns,
    )


def _report(results: Results, directory: Path) -> None:
    results.write(directory)
    write_file(directory / "peers.md", markdown(results))
    write_figure(results, directory)
    print(text(HEADS, ratio_cells(results)))
    print(f"\nwritten: {directory}/results.json, peers.md, ratios.svg, ratios.png", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
