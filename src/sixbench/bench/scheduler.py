"""Runs an experiment: block after block, each trial durable the moment it ends, until a rule or the time ends it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

from ..analysis.looks import expected_blocks, schedule
from ..analysis.stopping import rules_met
from ..model.errors import Interrupted, WriteError
from ..model.evidence import NO_EVIDENCE
from ..model.experiment import PlannedTrial
from ..model.observer import Observer
from ..model.repeats import next_attempt
from ..model.trial import TrialRecord
from ..plan.schedule import block_order
from ..store import Environment, RunState, RunWriter
from .bypass import by_workload, measure_bypass
from .host_clocks import ClockWatch
from .laboratory import Laboratories
from .node_settings import merged
from .open_run import OpenRun
from .probing_hosts import with_clocks
from .remaining import Remaining
from .runner import Runner, TrialRunner
from .servers.runner import ServerRunner
from .trial import Outcome
from .underlays import read_again


@dataclass(frozen=True, kw_only=True)
class RunEnd:
    """The end of a run."""

    state: RunState
    trials: int


def run_experiment(run: OpenRun, observer: Observer) -> RunEnd:
    """Runs the trials that are not done yet.

    Raises:
        Interrupted: on `KeyboardInterrupt`, with all that is done kept.
        LabError, CapabilityError: the first network cannot be built.
        WriteError: a trial cannot be kept.
    """
    clock = MeasuredTime(run.done)
    experiment, writer = run.experiment, run.writer
    laboratories = run.kept or Laboratories(run.hub, experiment)
    laboratories.forget_times()
    observer.planned(experiment, str(writer.directory), len(run.done))
    loop = _Loop(run, laboratories, observer, clock)
    try:
        if experiment.topologies:
            laboratories.processors.start(experiment.keep_awake, experiment.topologies)
        writer.save_manifest(bypass=measure_bypass(run.hub, experiment, writer.manifest.bypass))
        loop.run()
    except BaseException as error:
        with contextlib.suppress(WriteError):
            writer.save_manifest(state="interrupted", ended_realtime_ns=time.time_ns(), **built(writer, laboratories))
        observer.ended("interrupted", len(loop.by_key))
        if isinstance(error, KeyboardInterrupt):
            raise Interrupted(
                f"stopped after {len(loop.by_key)} trials, which are kept in {writer.directory}; "
                f"continue with: sixbench resume {writer.directory}"
            ) from None
        raise
    finally:
        if run.kept is None:
            laboratories.close()
    surveys = loop.runner.last_surveys()
    if surveys:
        writer.save_manifest(environment=writer.manifest.environment.with_surveys(surveys))
    state: RunState = "complete" if all(record.status != "failed" for record in loop.by_key.values()) else "partial"
    writer.save_manifest(state=state, ended_realtime_ns=time.time_ns(), **built(writer, laboratories))
    observer.ended(state, len(loop.by_key))
    return RunEnd(state=state, trials=len(loop.by_key))


class BuildTimes(TypedDict):
    """The keys of a manifest that say what was built."""

    lab_build_ns: list[int]
    environment: Environment
    install_ns: dict[str, list[int]]


def built(writer: RunWriter, laboratories: Laboratories) -> BuildTimes:
    """The manifest's part about the networks that were built, with those of before."""
    before, environment = writer.manifest.install_ns, writer.manifest.environment
    return {
        "lab_build_ns": [*writer.manifest.lab_build_ns, *laboratories.build_ns],
        "environment": replace(
            environment,
            nodes=merged(environment.nodes, laboratories.settings),
            processors=laboratories.processors.use,
            hosts=laboratories.processors.with_use(with_clocks(laboratories.hub, environment.hosts)),
            underlays=read_again(laboratories.hub, environment.underlays, laboratories.topologies),
        ),
        "install_ns": before
        | {path: [*before.get(path, []), *times] for path, times in laboratories.install_ns.items()},
    }


@dataclass
class _Loop:
    open_run: OpenRun
    laboratories: Laboratories
    observer: Observer
    clock: MeasuredTime

    def __post_init__(self) -> None:
        self.experiment, self.writer, done = self.open_run.experiment, self.open_run.writer, self.open_run.done
        self.by_key = {record.key: _without_details(record) for record in done}
        self.by_combination: dict[str, list[TrialRecord]] = {}
        for record in self.by_key.values():
            self.by_combination.setdefault(record.combination, []).append(record)
        self.combinations = {combination.name: combination for combination in self.experiment.combinations}
        self.sequence = max((record.sequence for record in done), default=0)
        self.remaining = Remaining(self.experiment.combinations, done)
        self.open_combinations = set(self.combinations)
        self.blocks_expected = dict.fromkeys(self.combinations, self.experiment.blocks.minimum)
        self.clock_watch = ClockWatch(self.laboratories.hub, self.writer)

    def run(self) -> None:
        self.runner = self._runner()
        open_combinations = self.open_combinations
        looks = schedule(self.experiment.blocks) if self.experiment.blocks.until is not None else ()
        for block in range(1, self.experiment.blocks.maximum + 1):
            order = [trial for trial in block_order(self.experiment, block) if trial.combination in open_combinations]
            for position, planned in enumerate(order):
                # A repeat follows at once, so that the trials of a pair stay close in time.
                while (attempt := self._next_attempt(planned)) is not None:
                    if self._is_time_over(attempt, order[position + 1 :]):
                        for name in sorted(open_combinations):
                            self.observer.stopped(name, ["time"], block - 1)
                        return
                    self.clock_watch.look()
                    self._tell_progress(block, len(order) - position)
                    self.observer.trial_begins(self.experiment, self.combinations[attempt.combination], attempt)
                    self._keep(*self._trial(attempt))
            if order:
                self.observer.block_ended(block)
            for name in sorted(open_combinations):
                so_far = [record for record in self.by_combination.get(name, []) if record.block <= block]
                ended = self.runner.has_ended(name)
                rules = (ended,) if ended is not None else rules_met(self.experiment, self.combinations[name], so_far)
                if rules:
                    self.observer.stopped(name, rules, block)
                    open_combinations.discard(name)
                    self.remaining.leaves(name)
                elif block >= self.experiment.blocks.minimum:
                    if block in looks:
                        self.blocks_expected[name] = expected_blocks(self.experiment, self.combinations[name], so_far)
                    self.blocks_expected[name] = max(block + 1, self.blocks_expected[name])
            if not open_combinations:
                break

    def _runner(self) -> Runner:
        """Runs the trials: towards servers, or in laboratories."""
        surveys = self.writer.manifest.environment.all_surveys
        if self.experiment.servers and surveys:
            return ServerRunner(
                hub=self.open_run.hub,
                experiment=self.experiment,
                surveys=surveys,
                observer=self.observer,
                presence=self.open_run.presence,
                directory=self.writer.identity,
                done=self.open_run.done,
            )
        return TrialRunner(
            experiment=self.experiment,
            laboratories=self.laboratories,
            theory=self.open_run.theory,
            observer=self.observer,
            bypass=by_workload(self.writer.manifest.bypass),
            keeps_packets=self.writer.manifest.capture,
            presence=self.open_run.presence,
            directory=self.writer.identity,
            any_built=bool(self.by_key),
        )

    def _next_attempt(self, planned: PlannedTrial) -> PlannedTrial | None:
        """The trial, or its next repeat; None: there is none, as once a server has refused, even within a block."""
        if self.runner.has_ended(planned.combination) == "refused":
            return None
        return next_attempt(planned, self.by_key, self.experiment.repeats)

    def _is_time_over(self, planned: PlannedTrial, rest: Sequence[PlannedTrial]) -> bool:
        """True if a trial and the rest of this combination's block would end after the time of the run. The minimum of
        blocks is run in any case."""
        blocks = self.experiment.blocks
        if blocks.time_ns is None or planned.block <= blocks.minimum:
            return False
        trials = 1 + sum(
            planned_trial.combination == planned.combination and planned_trial.key not in self.by_key
            for planned_trial in rest
        )
        return self.clock.elapsed_ns + trials * self.remaining.trial_ns(planned.combination) > blocks.time_ns

    def _trial(self, planned: PlannedTrial) -> tuple[Outcome, int | None]:
        self.sequence += 1
        return self.runner.run(planned, self.sequence)

    def _keep(self, outcome: Outcome, elapsed_ns: int | None) -> None:
        record = outcome.record
        self.writer.add_trial(record, outcome.series, outcome.files)
        kept = _without_details(record)
        self.by_key[kept.key] = kept
        self.by_combination.setdefault(kept.combination, []).append(kept)
        self.remaining.ended(record, None if record.status == "failed" else elapsed_ns)
        self.observer.trial_ended(record)

    def _tell_progress(self, block: int, in_block: int) -> None:
        rest = self.remaining.rest(
            self.experiment,
            block,
            in_block=in_block,
            expected=self.blocks_expected,
            elapsed_ns=self.clock.elapsed_ns,
        )
        until, done = self.experiment.blocks.until, len(self.by_key)
        decided = None if until is None else len(self.combinations) - self.remaining.combinations
        self.observer.progress(done, done + rest.trials, rest.time_ns, decided)


class MeasuredTime:
    """Time for which a run has measured: the lengths of its recorded trials, and the time since the process went on
    with it.

    Args:
        done: the trials recorded before.
        now_ns: a monotonic clock.
    """

    def __init__(self, done: Iterable[TrialRecord], now_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._now_ns = now_ns
        self._started_ns = now_ns() - sum(record.elapsed_ns for record in done)

    @property
    def elapsed_ns(self) -> int:
        """So far."""
        return self._now_ns() - self._started_ns


def _without_details(record: TrialRecord) -> TrialRecord:
    """The trials that a run looks at again: tens of thousands of trials have their details in files, and not in
    memory."""
    return replace(record, histograms={}, evidence=NO_EVIDENCE, client={}, server={}, notes=[])
