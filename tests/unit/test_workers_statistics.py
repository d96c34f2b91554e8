"""The worker in statistics: pairs are of one worker, and whether workers agree is tested."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import synthetic

from sixbench.analysis import analyse
from sixbench.report import FORMATS
from sixbench.stats import alike_p_value
from sixbench.store import Run, WorkerMachine

pytestmark = pytest.mark.computes

WORKERS = ("lab1", "lab2")


def on_workers(blocks: int, slower: float = 1.0) -> Run:
    """A run of which two workers have every second block; on the second one IPv6 is so many times as fast."""
    small_run = synthetic.small(blocks)
    trials = []
    for trial in small_run.trials:
        worker = WORKERS[trial.block % 2]
        metrics = dict(trial.metrics)
        if worker == "lab2" and trial.path == "ipv6" and "goodput_bps" in metrics:
            metrics["goodput_bps"] *= slower
        trials.append(replace(trial, worker=worker, attempt=1, metrics=metrics))
    workers = {name: WorkerMachine(environment=synthetic.environment()) for name in WORKERS}
    return replace(synthetic.replace_run(small_run, workers=workers), trials=trials).in_memory()


@pytest.mark.parametrize("sizes", [(3, 3), (2, 5), (4, 4, 4), (10, 12)])
def test_workers_that_are_alike_are_found_different_no_more_often_than_stated(sizes: tuple[int, ...]) -> None:
    dice = np.random.default_rng(7)
    draws = 600
    standard_ts = [alike_p_value([list(dice.standard_t(2, size)) for size in sizes]) for _ in range(draws)]
    false = sum(p is not None and p < 0.05 for p in standard_ts)
    assert false <= 0.05 * draws + 3 * (0.05 * 0.95 * draws) ** 0.5


def test_workers_that_differ_are_found() -> None:
    dice = np.random.default_rng(7)
    p_value = alike_p_value([list(dice.normal(0, 1, 10)), list(dice.normal(3, 1, 10))])
    assert p_value is not None
    assert p_value < 0.01


def test_one_wild_block_weighs_no_more_than_any_other() -> None:
    calm = [[1.0, 2.0, 3.0, 4.0], [1.5, 2.5, 3.5, 4.5]]
    wild = [calm[0], [*calm[1][:3], 1e9]]
    assert alike_p_value(calm) == alike_p_value(wild)


@pytest.mark.parametrize("groups", [[], [[1.0]], [[1.0, 2.0], []], [[1.0], [2.0]]])
def test_with_too_few_blocks_nothing_is_said(groups: list[list[float]]) -> None:
    assert alike_p_value(groups) is None


def test_values_that_are_all_the_same_are_alike() -> None:
    assert alike_p_value([[1.0, 1.0], [1.0, 1.0, 1.0]]) == 1.0


def test_a_pair_never_spans_workers() -> None:
    run = on_workers(6)
    torn = [replace(trial, worker="lab1") if trial.key == "b003-c0001-ipv6" else trial for trial in run.trials]
    pairs = {(item.combination, item.path, item.metric): item.n for item in analyse(replace(run, trials=torn)).findings}
    whole = {(finding.combination, finding.path, finding.metric): finding.n for finding in analyse(run).findings}
    assert pairs["c0001", "ipv6", "goodput"] == whole["c0001", "ipv6", "goodput"] - 1
    assert pairs["c0001", "ipv4-again", "goodput"] == whole["c0001", "ipv4-again", "goodput"]


def test_a_run_on_one_machine_has_no_workers() -> None:
    run = synthetic.small().in_memory()
    analysis = analyse(run)
    assert analysis.workers == []
    assert json.loads(FORMATS["json"].render(run, analysis))["workers"] is None
    assert "Change by worker" not in FORMATS["md"].render(run, analysis)


def test_where_workers_agree_the_table_says_what_each_found() -> None:
    run = on_workers(12)
    analysis = analyse(run)
    goodput = next(worker for worker in analysis.workers if (worker.metric, worker.path) == ("goodput", "ipv6"))
    assert [value.worker for value in goodput.workers] == [*WORKERS]
    assert not any("workers differ" in remark for remark in analysis.remarks)
    for name in ("md", "terminal"):
        text = FORMATS[name].render(run, analysis)
        assert "lab1" in text, name


def test_where_workers_differ_a_remark_says_so() -> None:
    run = on_workers(20, slower=0.8)
    analysis = analyse(run)
    goodput = next(worker for worker in analysis.workers if (worker.metric, worker.path) == ("goodput", "ipv6"))
    assert goodput.p_value is not None
    assert goodput.p_value < 0.05
    assert any("workers differ" in remark and "over ipv6" in remark for remark in analysis.remarks)


def test_what_came_late_is_told() -> None:
    run = on_workers(4)
    late = replace(run, manifest=replace(run.manifest, apart=3))
    assert any("3 trials came from workers late or twice" in remark for remark in analyse(late).remarks)
