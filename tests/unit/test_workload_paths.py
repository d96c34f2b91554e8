"""A workload that names its paths: what is planned, compared and told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stored import record
from synthetic_trials import combination_of, experiment_of, trial_of

from sixbench.analysis.findings import findings
from sixbench.analysis.stopping import rules_met
from sixbench.model.experiment import Blocks, Experiment
from sixbench.model.path import Path as NetworkPath
from sixbench.plan.schedule import all_trials, trial_counts
from sixbench.store import Environment, Manifest, Run
from sixbench.store.manifest_check import _of_experiment
from sixbench.store.record_check import RecordPlan, problems_of

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]
Command = Callable[..., Any]

TEXT = """
topology:
  nodes: {h1: host, r1: router, r2: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, r2]}, {endpoints: [r2, h2]}]
between: [h1, h2]
paths:
  ipv4: native4
  ipv6: native6
  told: {464xlat: {nodes: [h1, r2], discovery: ra}}
  asked: {464xlat: {nodes: [h1, r2], discovery: dns64, dns64: r1}}
aa: true
workloads:
  - ping: {count: 5, interval: 2ms, paths: [ipv6, ipv4]}
  - bring-up: {count: 3, paths: [told, asked]}
  - tcp-rr
blocks: 3
"""


def test_there_are_trials_on_its_paths_alone(read: Read) -> None:
    experiment = read(TEXT)
    ping, bring_up, tcp_rr = experiment.combinations
    names = {
        combination.name: [path.name for path in experiment.paths_of(combination)]
        for combination in experiment.combinations
    }
    assert names[ping.name] == ["ipv4", "ipv6", "ipv4-aa"]
    assert names[bring_up.name] == ["told", "asked"]
    assert names[tcp_rr.name] == ["ipv4", "ipv6", "told", "asked", "ipv4-aa"]
    assert trial_counts(experiment) == (30, 30)
    planned = {(trial.combination, trial.path) for trial in all_trials(experiment)}
    assert planned == {(name, path) for name, paths in names.items() for path in paths}
    assert [experiment.baseline_of(combination) for combination in experiment.combinations] == ["ipv4", "told", "ipv4"]


def test_naming_all_paths_changes_nothing(read: Read) -> None:
    def order(text: str) -> list[str]:
        return [trial.key for trial in all_trials(read(text))]

    whole = TEXT.replace(", paths: [ipv6, ipv4]", "").replace("  - bring-up: {count: 3, paths: [told, asked]}\n", "")
    named = whole.replace("interval: 2ms}", "interval: 2ms, paths: [asked, told, ipv6, ipv4]}")
    assert named != whole
    assert order(named) == order(whole)


def test_the_plan_says_so(sixbench: Command, tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(TEXT)
    done = sixbench("plan", file)
    assert done.stdout.startswith("30 trials, ")
    assert "10 of 3 combinations x 5 paths x 3 blocks; baseline ipv4" in done.stdout
    assert "ping      count: 5, interval: 2ms; over ipv6, ipv4, ipv4-aa\n" in done.stdout
    assert "bring-up  count: 3; over told, asked, baseline told\n" in done.stdout


IPV4 = NetworkPath(name="ipv4", mechanism="native4", family=4)
CLAT_PATH = NetworkPath(name="one", mechanism="464xlat", family=4)
OTHER_CLAT_PATH = NetworkPath(name="other", mechanism="464xlat", family=4)
COMBINATION = combination_of("c0", message_bytes=1)
NAMED = replace(combination_of("c1", message_bytes=2), paths=("one", "other"))


def run() -> Run:
    experiment = experiment_of((IPV4, CLAT_PATH, OTHER_CLAT_PATH), [COMBINATION, NAMED], Blocks(minimum=5, maximum=5))
    values = {"ipv4": 100e6, "one": 90e6, "other": 60e6}
    trials = [
        trial_of(combination.name, path, block, {"goodput_bps": value * (1 + block / 1000)}, "ok", theory={})
        for combination in (COMBINATION, NAMED)
        for path, value in values.items()
        if combination.goes_over(path)
        for block in range(1, 6)
    ]
    environment = Environment(
        kernel="6.18", machine="x86_64", cpu="", distribution="", cores=2, memory_bytes=1, versions={}
    )
    manifest = Manifest(
        run="made-up", experiment=experiment, environment=environment, state="complete", started_realtime_ns=0
    )
    return Run(directory=Path("nowhere"), manifest=manifest, trials=trials)


def test_without_the_baseline_the_first_path_is_compared_with() -> None:
    result = {(item.combination, item.path): (item.baseline, item.verdict, item.n) for item in findings(run())}
    assert result == {
        ("c0", "one"): ("ipv4", "lower", 5),
        ("c0", "other"): ("ipv4", "lower", 5),
        ("c1", "other"): ("one", "lower", 5),
    }


def test_paths_without_trials_do_not_hold_it_up() -> None:
    done = run()
    rules = Blocks(minimum=5, maximum=20, precision=0.01)
    experiment = replace(done.manifest.experiment, blocks=rules)
    assert rules_met(experiment, NAMED, done.trials)


def test_a_record_of_a_path_that_is_not_its_own_is_told(read: Read) -> None:
    experiment = read(TEXT)
    wrong = record(key="b001-c0002-ipv4", block=1, combination="c0002", path="ipv4", workload="bring-up")
    planned = RecordPlan.of(experiment, ())
    assert list(problems_of(replace(wrong, mechanism="native4"), wrong.key, planned)) == ["c0002 does not go over ipv4"]


def test_a_manifest_that_names_unknown_paths_is_told(read: Read) -> None:
    experiment = read(TEXT)
    assert list(_of_experiment(experiment)) == []
    first, *others = experiment.combinations
    wrong = replace(experiment, combinations=(replace(first, paths=("ipv4", "ipv9")), *others))
    assert list(_of_experiment(wrong)) == ['c0001: it goes over no path "ipv9"']
