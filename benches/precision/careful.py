"""A careful user with iperf3 or sockperf in the same networks: each network in turn, again and again, in the reverse
order every other time; then the mean of the differences and its t interval."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from peer_bench.contender import Command, Contender, Ends, Tool, ToolReport, Unreadable
from peer_bench.pair import Failed, Theirs
from peer_bench.schedule import mirrored
from peer_bench.tools import iperf3, sockperf
from peer_bench.tools.reading import number

from sixbench.agent import Agent, AgentHub, find_agent
from sixbench.bench.emulation import begin
from sixbench.bench.laboratory import Laboratories
from sixbench.bench.probing import probe_machine
from sixbench.model.errors import AgentError
from sixbench.model.experiment import Experiment

from .curve import Answer, mean_and_t, points
from .differences import PLAIN, Differences, Measured, Side

SECONDS = 1
"""Length of one measurement: the shortest that both tools know, for many short ones tell more than few long ones."""
TOOLS: dict[str, Tool] = {"tcp-stream": iperf3.TOOL, "tcp-rr": sockperf.TOOL}
"""Tools by workload. netperf is not free in Debian's sense, and flent runs netperf, so that sockperf takes their
part."""

Round = dict[str, float]
"""Values of one round, by path. Those of failed measurements are absent."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """Rounds of one tool.

    Attributes:
        took_s: all of it, from the first measurement to the last.
    """

    tool: str
    command: str
    rounds: list[Round]
    took_s: float


@dataclass(frozen=True, kw_only=True)
class _Between:
    """The two hosts of a network."""

    client: Agent
    server: Agent
    ends: Ends


def measure(differences: Differences, seconds: float) -> Measurement:
    """Whole rounds until the time is over, and at least two."""
    contender = TOOLS[differences.workload].contenders[0]
    with AgentHub(find_agent()) as hub:
        experiment, _ = probe_machine(hub, differences.experiment())
        laboratories = Laboratories(hub, experiment)
        try:
            between = _networks(laboratories, experiment)
            started = time.monotonic()
            rounds: list[Round] = []
            while len(rounds) < 2 or time.monotonic() < started + seconds:
                rounds.append(_round(contender, between, len(rounds)))
            took_s = time.monotonic() - started
        finally:
            laboratories.close()
    command = _command(contender, between[PLAIN].ends)
    return Measurement(
        tool=_version(TOOLS[differences.workload]), command=" ".join(command.client), rounds=rounds, took_s=took_s
    )


def _networks(laboratories: Laboratories, experiment: Experiment) -> dict[str, _Between]:
    [combination] = experiment.combinations
    networks = {}
    for path in experiment.paths:
        laboratory, network = laboratories.get(path, combination.topology_of(path.name))
        begin(laboratory, "bench")
        client, server = (laboratory.agents[name] for name in experiment.between)
        leg = network.legs[0]
        networks[path.name] = _Between(
            client=client,
            server=server,
            ends=Ends(family=leg.family, client=str(leg.source), server=str(leg.destination)),
        )
    return networks


def _round(contender: Contender, between: dict[str, _Between], round_: int) -> Round:
    values = {}
    for path in mirrored(list(between), round_):
        try:
            with Theirs(between[path], _command(contender, between[path].ends)) as running:
                values[path] = running.finish()["value"]
        except (AgentError, Failed, Unreadable):
            continue  # The round is without it, and is counted so.
    return values


def _command(contender: Contender, ends: Ends) -> Command:
    command = contender.traffic(ends, SECONDS)
    assert isinstance(command, Command)
    if contender.comparison == "tcp-rr":
        return replace(command, read=_median_round_trip)

    def goodput(client: str, server: str) -> ToolReport:
        return {"value": command.read(client, server)["received_bps"]}

    return replace(command, read=goodput)


def _median_round_trip(client: str, _: str) -> ToolReport:
    """sockperf tells half of a round trip, in microseconds. Raises `Unreadable`."""
    return {"value": 2000 * number(r"percentile 50\.000 =\s*([\d.]+)", client, "median latency")}


def _version(tool: Tool) -> str:
    command, pattern = tool.version
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    match_ = re.search(pattern, done.stdout + done.stderr)
    return f"{tool.name} {match_[1] if match_ else '(version unknown)'}"


def summary(differences: Differences, measurement: Measurement, theory: Mapping[str, float | None]) -> dict[str, Any]:
    """Summary of each difference in the rounds, by the time spent.

    Args:
        theory: what theory expects of each side over the plain one, by the side's title.
    """
    sides = len(differences.sides) + 1
    wanted = sides * len(measurement.rounds)
    pair_s = 2 * measurement.took_s / wanted
    return {
        "tool": measurement.tool,
        "command": measurement.command,
        "rounds": len(measurement.rounds),
        "failed": wanted - sum(map(len, measurement.rounds)),
        "differences": {
            side.title: _difference(side, measurement.rounds, pair_s, theory.get(side.title))
            for side in differences.sides
        },
    }


def _difference(side: Side, rounds: Sequence[Round], pair_s: float, theory: float | None) -> dict[str, Any]:
    pairs = [
        (each_round[PLAIN], each_round[side.name])
        for each_round in rounds
        if PLAIN in each_round and side.name in each_round
    ]
    if not pairs:
        return {"truth": None, "direction": None, "plain": None, "ratio": None, "pair_s": pair_s, "points": []}
    plain = sum(before for before, _ in pairs) / len(pairs)
    truth = side.truth(Measured(plain=plain, theory=theory))
    whole = mean_and_t([before for before, _ in pairs], [after for _, after in pairs])

    def answer(window: range) -> Answer | None:
        return mean_and_t([pairs[number][0] for number in window], [pairs[number][1] for number in window])

    return {
        "truth": truth.ratio,
        "direction": truth.direction,
        "plain": plain,
        "ratio": whole.ratio if whole else None,
        "pair_s": pair_s,
        "points": points(len(pairs), pair_s, truth, answer),
    }
