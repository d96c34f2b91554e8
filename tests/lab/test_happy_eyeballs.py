"""`happy-eyeballs` over real connections: who wins, after how long, and what proves it."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab.experiments import run, wrong

from sixbench.agent import AgentHub
from sixbench.model.trial import TrialRecord

EXPERIMENT = """
topology:
  nodes: {{h1: host, r1: router, r2: router, h2: host}}
  links:
    - {{endpoints: [h1, r1], name: access}}
    - {{endpoints: [r1, r2], name: four, ipv6: none, delay: 10ms}}
    - {{endpoints: [r1, r2], name: six, ipv4: none, {six}}}
    - {{endpoints: [r2, h2], name: exit}}
between: [h1, h2]
paths: {{{path}}}
workloads: [happy-eyeballs: {{count: {count}, {params}}}]
blocks: 1
"""
MS = 10**6


def trial(hub: AgentHub, directory: Path, six: str, params: str = "gap: 0", count: int = 3) -> TrialRecord:
    text = EXPERIMENT.format(six=six, path="ipv4: native4", params=params, count=count)
    [trial] = run(hub, text, directory / "run").trials
    assert wrong([trial]) == []
    return trial


def test_a_family_that_is_slower_by_more_than_the_attempt_delay_loses(hub: AgentHub, tmp_path: Path) -> None:
    actual_trial = trial(hub, tmp_path, "delay: 300ms")
    assert actual_trial.metrics["ipv6_wins_ratio"] == 0
    assert actual_trial.metrics["attempts_per_connection"] == 2
    assert actual_trial.metrics["connect_mean_ns"] >= 269 * MS
    assert actual_trial.metrics["connect_ipv6_mean_ns"] >= 599 * MS
    lost_ns = actual_trial.metrics["connect_mean_ns"] - actual_trial.metrics["connect_ipv4_mean_ns"]
    assert actual_trial.metrics["time_lost_ns"] == pytest.approx(lost_ns)
    seen = {segment.link: set(segment.stacks) for segment in actual_trial.evidence.segments}
    assert seen == {"access": {"ipv4", "ipv6"}, "four": {"ipv4"}, "six": {"ipv6"}, "exit": {"ipv4", "ipv6"}}
    accepted = actual_trial.server["accepted_by_family"]
    assert accepted["ipv4"] >= 6
    assert accepted["ipv6"] >= 3


def test_the_preferred_family_wins_though_the_other_is_faster_by_less_than_the_delay(
    hub: AgentHub, tmp_path: Path
) -> None:
    slow = "attempt-delay: 10s, timeout: 20s, gap: 0"
    actual_trial = trial(hub, tmp_path, "delay: 60ms", slow)
    assert (actual_trial.metrics["ipv6_wins_ratio"], actual_trial.metrics["attempts_per_connection"]) == (1, 1)
    assert actual_trial.metrics["time_lost_ns"] > 0
    other = trial(hub, tmp_path / "other", "delay: 60ms", slow + ", prefer: ipv4")
    assert (other.metrics["ipv6_wins_ratio"], other.metrics["attempts_per_connection"]) == (0, 1)
    assert other.client["order"] == ["ipv4", "ipv6"]


def test_a_faster_family_that_is_listed_second_wins_after_its_delay(hub: AgentHub, tmp_path: Path) -> None:
    late = "prefer: ipv4, attempt-delay: 10ms, gap: 0"
    experiment = EXPERIMENT.replace("delay: 10ms", "delay: 600ms")
    text = experiment.format(six="delay: 1ms", path="ipv6: native6", params=late, count=3)
    [trial] = run(hub, text, tmp_path / "run").trials
    assert wrong([trial]) == []
    assert (trial.metrics["ipv6_wins_ratio"], trial.metrics["attempts_per_connection"]) == (1, 2)
    assert trial.metrics["connect_mean_ns"] >= 11 * MS


def test_a_black_hole_costs_the_attempt_delay_and_the_trial_is_as_it_should_be(hub: AgentHub, tmp_path: Path) -> None:
    actual_trial = trial(hub, tmp_path, "loss: 100%", "gap: 0, timeout: 1s, attempt-delay: 100ms")
    assert (actual_trial.metrics["ipv6_wins_ratio"], actual_trial.metrics["attempts_per_connection"]) == (0, 2)
    assert "connect_ipv6_mean_ns" not in actual_trial.metrics
    assert actual_trial.metrics["time_lost_ns"] >= 99 * MS
    assert actual_trial.evidence.silent == {"ipv6": ("access",)}
    assert "no connection over IPv6: its packets were seen on access" in actual_trial.notes
    assert "over IPv6 alone, connections failed: 3 timeout" in actual_trial.notes


def test_each_family_takes_the_way_of_its_path(hub: AgentHub, tmp_path: Path) -> None:
    text = """
topology:
  nodes: {h1: host, r1: router, r2: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, r2], name: core}, {endpoints: [r2, h2]}]
between: [h1, h2]
paths:
  both: dual-stack
  6in4: {6in4: {nodes: [r1, r2], engine: ebpf}}
  ds-lite: {ds-lite: {nodes: [r1, r2], engine: ebpf}}
workloads: [happy-eyeballs: {count: 3, gap: 0, attempt-delay: 20s, timeout: 30s}]
blocks: 1
"""
    trials = run(hub, text, tmp_path / "run").trials
    assert wrong(trials) == []
    core = {
        trial.path: next(set(link.stacks) for link in trial.evidence.segments if link.link == "core")
        for trial in trials
    }
    assert core == {
        "both": {"ipv4", "ipv6"},
        "6in4": {"ipv4", "ipv6 in ipv4"},
        "ds-lite": {"ipv4 in ipv6", "ipv6"},
    }
    assert {trial.metrics["ipv6_wins_ratio"] for trial in trials} == {1}
