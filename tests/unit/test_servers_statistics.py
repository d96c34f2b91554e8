"""Statistics of simulated runs to servers, whose truth is known."""

from __future__ import annotations

import random

import pytest
from reach_agents import MS, RecordedAgent
from reach_runs import (
    NAMES,
    experiment,
    measured,
    shown,
)

from sixbench.analysis import analyse
from sixbench.report import terminal
from sixbench.stats import Pairs, compare


def test_of_forty_servers_those_five_that_are_slower_are_found() -> None:
    drawn = random.Random(38)
    names = [f"s{number}.example" for number in range(40)]
    slower = set(names[::8])
    zone = {
        name: {"A": [f"203.0.113.{number}"], "AAAA": [f"2001:db8:1::{number + 1:x}"]}
        for number, name in enumerate(names)
    }
    slow = {zone[name]["AAAA"][0] for name in slower}
    agent = RecordedAgent(
        names=zone,
        rtt_ns=lambda address: round(20 * MS * (1.15 if address in slow else 1.0) * drawn.lognormvariate(0, 0.01)),
    )
    run = measured(agent, experiment(*names, blocks=10, more="statistics: {margin: 5%}\n"))
    groups = [group for group in analyse(run).groups if group.metric == "connect_p50"]
    [group] = groups
    outcomes = {str(member.level): member.outcome for member in group.members}
    assert {name for name, outcome in outcomes.items() if outcome == "higher"} == slower
    assert "lower" not in outcomes.values()
    assert group.pooled is not None
    assert group.pooled.ratio is not None
    truth = 1.15 ** (5 / 40)
    assert group.pooled.ci_low < truth < group.pooled.ci_high
    assert "5 are slower over IPv6" in " ".join(terminal.render(run, analyse(run)).split()) or "5 slower" in shown(run)


RUNS, MANY_RUNS = 100, 2000
TIMES = {"tcp-connect": "connect_p50", "tls": "handshake_p50", "http": "first_byte_p50"}


def answers_of(truth: float, seed: int) -> dict[str, tuple[float, float, str]]:
    """The interval of each time's ratio and the verdict, of a run to a server at 20 ms over IPv4 with up to 0.5 ms of
    random delay each way, and at that ratio over IPv6."""
    drawn = random.Random(f"{truth}/{seed}")
    agent = RecordedAgent(
        names=NAMES,
        rtt_ns=lambda address: round(MS * (20 * (truth if ":" in address else 1) + drawn.uniform(0, 0.5))),
    )
    run = measured(agent, experiment("www.example.org", workloads="[tcp-connect, tls, http]", blocks=12))
    findings = [finding for finding in analyse(run).findings if TIMES[finding.workload] == finding.metric]
    return {
        finding.workload: (finding.ci_low or 0, finding.ci_high or 0, finding.direction or "") for finding in findings
    }


@pytest.mark.parametrize("ipv6_ms", [20.0, 21.0, 23.0, 26.0])
def test_intervals_hold_the_truth_as_often_as_they_say(ipv6_ms: float) -> None:
    truth = ipv6_ms / 20
    # The random delay is added to both, and its mean of 0.25 ms brings the ratio that much nearer to one.
    actual = (ipv6_ms + 0.25) / 20.25
    intervals = [interval for seed in range(RUNS) for interval in answers_of(truth, seed).values()]
    held = sum(low <= actual <= high for low, high, _ in intervals) / len(intervals)
    called_different = sum(bool(direction) for *_, direction in intervals) / len(intervals)
    # Four standard errors of a share of 95 %, and three of 5 %, in 300.
    assert 0.9 <= held <= 0.99
    assert called_different <= 0.09 if truth == 1 else called_different >= 0.95


@pytest.mark.parametrize("blocks", [5, 12])
def test_equal_families_are_called_different_as_often_as_they_say(blocks: int) -> None:
    """Runs as above at equal families call http different in 6.3 % of 300, and in 5.4 % of 5,256, with a standard error
    of 0.3 %: the former is chance."""
    drawn = random.Random(blocks)

    def times() -> list[float]:
        return [4 * (20 + drawn.uniform(0, 0.5)) for _ in range(blocks)]

    missed = 0
    for _ in range(MANY_RUNS):
        pairs = Pairs(path=times(), baseline=times())
        compared = compare(pairs, confidence=0.95, margin=0.05, estimator="biweight")
        assert compared.low is not None
        assert compared.high is not None
        missed += not compared.low <= 1 <= compared.high
    # Three standard errors of 5 %.
    assert 0.036 <= missed / MANY_RUNS <= 0.064
