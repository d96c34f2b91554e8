"""sixbench measures a set of differences for a given time, as it measures any experiment."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from sixbench.agent import AgentHub, find_agent
from sixbench.analysis.findings import findings
from sixbench.bench.open_run import OpenRun
from sixbench.bench.other_runs import measuring
from sixbench.bench.probing import probe_machine
from sixbench.bench.scheduler import run_experiment
from sixbench.cli.running import tell
from sixbench.model.experiment import Blocks, Combination, Experiment, PlannedTrial
from sixbench.model.finding import Finding
from sixbench.model.metric import METRICS
from sixbench.model.observer import Observer
from sixbench.model.trial import TrialRecord
from sixbench.store import Manifest, Run, create_run, read_run
from sixbench.theory import expected_amid_changes

from .curve import Answer, points
from .differences import PLAIN, Differences, Measured

LEAST_BLOCKS = 3


def measure(differences: Differences, seconds: float, directory: Path) -> Run:
    """Whole blocks until the time is over, into a run directory."""
    with AgentHub(find_agent()) as hub:
        experiment, environment = probe_machine(hub, differences.experiment())
        with measuring(experiment.name, wait=False, report=tell) as presence:
            manifest = Manifest(
                run=directory.name,
                experiment=experiment,
                environment=environment,
                state="running",
                started_realtime_ns=time.time_ns(),
            )
            writer = create_run(directory, manifest)
            try:
                until = _Until(seconds)
                run = OpenRun(
                    experiment=experiment, writer=writer, hub=hub, theory=expected_amid_changes, presence=presence
                )
                run_experiment(run, until)
            except _Enough:
                pass
            finally:
                writer.close()
    return read_run(directory)


class _Enough(Exception):
    """The time is over, and the block too."""


class _Until(Observer):
    """Watches the time from the first trial on."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until: float | None = None
        self._block = 0

    def trial_begins(self, experiment: Experiment, combination: Combination, planned: PlannedTrial) -> None:
        """Ends the run at the first trial of a block that comes too late."""
        if self._until is None:
            self._until = time.monotonic() + self._seconds
        if planned.block != self._block and planned.block > LEAST_BLOCKS and time.monotonic() > self._until:
            raise _Enough
        self._block = planned.block


def summary(differences: Differences, run: Run) -> dict[str, Any]:
    """Summary of each difference in the run, by the time spent."""
    took_s = _spans_s(run.trials)
    blocks = sorted({trial.block for trial in run.trials})
    reasons = Counter(kind for trial in run.trials for kind in {reason.kind.value for reason in trial.reasons})
    return {
        "blocks": len(blocks),
        "trials": len(run.trials),
        "valid": sum(trial.status == "ok" for trial in run.trials),
        "reasons": dict(reasons),
        "trial_s": statistics.median(took_s.values()),
        "differences": {
            side.title: _difference(differences, run, side.name, blocks, took_s) for side in differences.sides
        },
    }


def _spans_s(trials: Sequence[TrialRecord]) -> dict[str, float]:
    """Time from each trial to the next one, by the trial's key. The last is given the median."""
    ordered = sorted(trials, key=lambda trial: trial.sequence)
    spans = {
        before.key: (after.started_realtime_ns - before.started_realtime_ns) / 1e9
        for before, after in pairwise(ordered)
    }
    return spans | {ordered[-1].key: statistics.median(spans.values())}


def _difference(
    differences: Differences, run: Run, path: str, blocks: Sequence[int], took_s: dict[str, float]
) -> dict[str, Any]:
    [side] = [side for side in differences.sides if side.name == path]
    trials = [trial for trial in run.trials if trial.path in (PLAIN, path)]
    column = METRICS[differences.metric].column
    [whole] = findings_of(run, path, blocks, differences.metric) or [None]
    measured = Measured(
        plain=statistics.fmean(
            trial.metrics[column] for trial in trials if trial.path == PLAIN and trial.status == "ok"
        ),
        theory=whole.theory / whole.theory_baseline if whole and whole.theory and whole.theory_baseline else None,
    )
    truth = side.truth(measured)
    pair_s = sum(took_s[trial.key] for trial in trials) / len(blocks)

    def answer(window: range) -> Answer | None:
        [finding] = findings_of(run, path, [blocks[number] for number in window], differences.metric) or [None]
        return None if finding is None else _answer(finding)

    return {
        "truth": truth.ratio,
        "theory": measured.theory,
        "direction": truth.direction,
        "plain": measured.plain,
        "ratio": whole.ratio if whole else None,
        "pair_s": pair_s,
        "points": points(len(blocks), pair_s, truth, answer),
    }


def findings_of(run: Run, path: str, blocks: Sequence[int], metric: str) -> list[Finding]:
    """The finding of one metric that a run of these two paths and blocks alone would have; none without valid pairs."""
    experiment = run.manifest.experiment
    chosen = set(blocks)
    alone = replace(
        experiment,
        paths=tuple(each_path for each_path in experiment.paths if each_path.name in (PLAIN, path)),
        blocks=Blocks(minimum=len(chosen), maximum=len(chosen)),
    )
    trials = [trial for trial in run.trials if trial.block in chosen and trial.path in (PLAIN, path)]
    part = replace(run, manifest=replace(run.manifest, experiment=alone), trials=trials)
    return [finding for finding in findings(part) if finding.metric == metric]


def _answer(finding: Finding) -> Answer | None:
    if finding.ratio is None or finding.ci_low is None or finding.ci_high is None:
        return None
    return Answer(
        ratio=finding.ratio,
        low=finding.ci_low,
        high=finding.ci_high,
        is_declared=finding.verdict in ("higher", "lower"),
    )
