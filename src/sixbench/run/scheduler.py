"""Runs an experiment: block after block, each trial durable the moment it ends, until precision or the maximum."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import Any, Protocol

from ..agent import AgentHub
from ..analysis.stopping import should_stop
from ..model.errors import AgentError, CapabilityError, Interrupted, LabError, WriteError
from ..model.experiment import Combination, Experiment, PlannedTrial
from ..model.trial import TrialRecord
from ..model.workloads import WORKLOADS
from ..plan.schedule import block_order
from ..store import RunState, RunWriter
from .bypass import bypass_of, measure_bypass
from .interrupt import interruptible
from .laboratory import Laboratories
from .parts import trial_expected_ns
from .trial import Outcome, Theory, failed_outcome, run_trial

TRIAL_OVERHEAD_NS = 150_000_000
"""What a trial takes beyond its measuring, for the estimate of the time left; corrected as trials end."""


class Observer(Protocol):
    """Whoever wants to know how a run goes on."""

    def progress(self, done: int, expected: int, remaining_ns: int) -> None:
        """So many trials are done of so many that are expected, which leaves so much time."""

    def trial_ended(self, record: TrialRecord) -> None:
        """A trial was recorded."""


@dataclass(frozen=True, kw_only=True)
class RunEnd:
    """How a run ended."""

    state: RunState
    trials: int


def run_experiment(
    experiment: Experiment,
    writer: RunWriter,
    done: list[TrialRecord],
    hub: AgentHub,
    theory: Theory,
    observer: Observer,
    kept: Laboratories | None = None,
) -> RunEnd:
    """Runs what is not yet done.

    Args:
        kept: networks of the same topologies that outlast this run; None: it has its own.

    Raises:
        Interrupted: on Ctrl-C or SIGTERM, with all that is done kept.
        LabError, CapabilityError: the first network cannot be built.
        WriteError: a trial cannot be kept.
    """
    laboratories = kept or Laboratories(hub, experiment)
    laboratories.forget_times()
    loop = _Loop(experiment, writer, done, laboratories, theory, observer)
    try:
        with interruptible():
            writer.save_manifest(bypass=measure_bypass(hub, experiment, writer.manifest.bypass))
            loop.run()
    except BaseException as error:
        with contextlib.suppress(WriteError):
            writer.save_manifest(state="interrupted", ended_realtime_ns=time.time_ns(), **_builds(writer, laboratories))
        if isinstance(error, KeyboardInterrupt):
            raise Interrupted(
                f"stopped after {len(loop.records)} trials, which are kept in {writer.directory}; "
                f"continue with: sixbench resume {writer.directory}"
            ) from None
        raise
    finally:
        if kept is None:
            laboratories.close()
    state: RunState = "complete" if all(record.status != "failed" for record in loop.records) else "partial"
    writer.save_manifest(state=state, ended_realtime_ns=time.time_ns(), **_builds(writer, laboratories))
    return RunEnd(state=state, trials=len(loop.records))


def _builds(writer: RunWriter, laboratories: Laboratories) -> dict[str, Any]:
    before = writer.manifest.install_ns
    return {
        "lab_build_ns": [*writer.manifest.lab_build_ns, *laboratories.build_ns],
        "install_ns": before
        | {path: [*before.get(path, []), *times] for path, times in laboratories.install_ns.items()},
    }


class _Loop:
    def __init__(
        self,
        experiment: Experiment,
        writer: RunWriter,
        done: list[TrialRecord],
        laboratories: Laboratories,
        theory: Theory,
        observer: Observer,
    ) -> None:
        self.experiment = experiment
        self.writer = writer
        self.laboratories = laboratories
        self.theory = theory
        self.observer = observer
        self.records = list(done)
        self.by_key = {record.key: record for record in done}
        self.by_combination: dict[str, list[TrialRecord]] = {}
        for record in done:
            self.by_combination.setdefault(record.combination, []).append(record)
        self.combinations = {combination.name: combination for combination in experiment.combinations}
        self.sequence = max((record.sequence for record in done), default=0)
        self.overhead_ns = float(TRIAL_OVERHEAD_NS)
        self.any_built = bool(done)

    def run(self) -> None:
        open_combinations = set(self.combinations)
        for block in range(1, self.experiment.blocks.maximum + 1):
            order = [trial for trial in block_order(self.experiment, block) if trial.combination in open_combinations]
            for position, planned in enumerate(order):
                if planned.key not in self.by_key:
                    self._report(block, len(order) - position, open_combinations)
                    self._keep(self._trial(planned))
            for name in sorted(open_combinations):
                so_far = [record for record in self.by_combination.get(name, []) if record.block <= block]
                if should_stop(self.experiment, self.combinations[name], so_far):
                    open_combinations.discard(name)
            if not open_combinations:
                break

    def _trial(self, planned: PlannedTrial) -> Outcome:
        combination = self.combinations[planned.combination]
        self.sequence += 1
        try:
            laboratory, network = self.laboratories.get(
                self.experiment.path(planned.path), combination.topology_of(planned.path)
            )
        except (LabError, AgentError, CapabilityError) as error:
            if not self.any_built:
                raise
            return failed_outcome(
                self.experiment, combination, planned, self.sequence, f"the network could not be built again: {error}"
            )
        self.any_built = True
        started_ns = time.monotonic_ns()
        outcome = run_trial(
            self.experiment,
            combination,
            planned,
            laboratory,
            network,
            self.sequence,
            self.theory,
            self.writer.manifest.capture,
            bypass_of(self.experiment, combination, self.experiment.path(planned.path), self.writer.manifest.bypass),
        )
        measuring_ns = trial_expected_ns(WORKLOADS[combination.workload.kind], combination.workload.params)
        if measuring_ns is not None and outcome.record.status != "failed":
            self.overhead_ns += 0.2 * (time.monotonic_ns() - started_ns - measuring_ns - self.overhead_ns)
        return outcome

    def _keep(self, outcome: Outcome) -> None:
        record = outcome.record
        self.writer.add_trial(record, outcome.series, outcome.files)
        self.records.append(record)
        self.by_key[record.key] = record
        self.by_combination.setdefault(record.combination, []).append(record)
        self.observer.trial_ended(record)

    def _report(self, block: int, left_in_block: int, open_combinations: set[str]) -> None:
        blocks = self.experiment.blocks
        more_blocks = max(
            0, (blocks.maximum if blocks.precision is None and blocks.deviation is None else blocks.minimum) - block
        )
        per_block = [self._cost_ns(self.combinations[name]) for name in open_combinations]
        paths = len(self.experiment.paths)
        one_block_ns = sum(per_block) * paths
        remaining_ns = more_blocks * one_block_ns + one_block_ns * left_in_block / max(1, len(per_block) * paths)
        expected = len(self.records) + left_in_block + more_blocks * len(per_block) * paths
        self.observer.progress(len(self.records), expected, int(remaining_ns))

    def _cost_ns(self, combination: Combination) -> float:
        measuring_ns = trial_expected_ns(WORKLOADS[combination.workload.kind], combination.workload.params)
        if measuring_ns is None:
            took = [record.elapsed_ns for record in self.by_combination.get(combination.name, [])]
            return sum(took) / len(took) if took else 1e9
        return measuring_ns + self.overhead_ns
