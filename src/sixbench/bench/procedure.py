"""Runs the tests of an RFC: trials that a test chooses, one after the other, in networks that are built once.

What was recorded before is not measured again: a test that is run again asks for the same trials in the same order, and
the recorded ones answer first.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..model.errors import Interrupted, StoreError, WriteError
from ..model.experiment import Combination, PlannedTrial
from ..model.observer import Observer
from ..model.parameter import Scalar
from ..model.path import Path
from ..model.trial import TrialRecord
from ..model.workload import Workload
from ..rfc.places import Places, by_place
from ..rfc.rfc_test import RfcTest
from ..store import RunState
from .laboratory import Laboratories
from .open_run import OpenRun
from .record import TrialTask
from .scheduler import RunEnd, built
from .trial import References, run_trial

BETWEEN_TRIALS_NS = 500_000_000
"""About how long a trial takes besides its frames, for the progress line."""


class _Failed(Exception):
    """A trial failed: the device, its network or the tester is no longer there."""


def run_procedure(run: OpenRun, observer: Observer) -> RunEnd:
    """Runs the tests of the manifest's procedure, the tester's own limit first. Raises as `run_experiment` does."""
    experiment, writer = run.experiment, run.writer
    laboratories = Laboratories(run.hub, experiment)
    observer.planned(experiment, str(writer.directory), len(run.done))
    tests = _Tests(run, laboratories, observer)
    try:
        laboratories.processors.start(experiment.keep_awake, experiment.topologies)
        tests.run()
    except BaseException as error:
        with contextlib.suppress(WriteError):
            writer.save_manifest(state="interrupted", ended_realtime_ns=time.time_ns(), **built(writer, laboratories))
        observer.ended("interrupted", tests.sequence)
        if isinstance(error, KeyboardInterrupt):
            raise Interrupted(
                f"stopped after {tests.sequence} trials, which are kept in {writer.directory}; "
                f"continue with: sixbench resume {writer.directory}"
            ) from None
        raise
    finally:
        laboratories.close()
    state: RunState = "partial" if tests.any_failed else "complete"
    writer.save_manifest(state=state, ended_realtime_ns=time.time_ns(), **built(writer, laboratories))
    observer.ended(state, tests.sequence)
    return RunEnd(state=state, trials=tests.sequence)


@dataclass
class _Tests:
    open_run: OpenRun
    laboratories: Laboratories
    observer: Observer

    def __post_init__(self) -> None:
        self.experiment, self.writer, done = self.open_run.experiment, self.open_run.writer, self.open_run.done
        self.presence = self.open_run.presence
        procedure = self.writer.manifest.procedure
        assert procedure is not None, "a run without a procedure is run by `run_experiment`"
        self.sequence = len(done)
        self.any_failed = any(record.status == "failed" for record in done)
        self.records = by_place(done)
        self.places = Places(experiment=self.experiment, procedure=procedure, records=self.records)
        self.left = [test.lasts(self.places.lengths) for test, _, _ in self.places.each()]

    def run(self) -> None:
        """All tests, size by size."""
        for test, combination, path in self.places.each():
            with contextlib.suppress(_Failed):
                self._test(test, combination, path)
            self.left.pop(0)

    def _test(self, test: RfcTest, combination: Combination, path: Path) -> None:
        assert test.run is not None, "a test that reads another's trials has no combination"
        recorded = deque(self.records.get((combination.name, path.name), []))
        number = 0

        def ask(params: Mapping[str, Scalar]) -> TrialRecord:
            nonlocal number
            number += 1
            if recorded:
                record = recorded.popleft()
                if any(record.params.get(column) != value for column, value in params.items()):
                    raise StoreError(
                        f"{self.writer.directory}: {record.key} is no trial that this test asks for: another version "
                        "of sixbench or MLRsearch ran it; start anew with another --out"
                    )
            else:
                record = self._measured(combination, path, params, number)
            if record.status == "failed":
                raise _Failed
            return record

        test.run(ask, self.places.place(combination, path))

    def _measured(self, combination: Combination, path: Path, params: Mapping[str, Scalar], number: int) -> TrialRecord:
        planned = PlannedTrial(block=number, combination=combination.name, path=path.name)
        # A trial that ends after a count has no duration.
        usual = {
            column: value
            for column, value in combination.workload.params.items()
            if not (column == "duration_ns" and "count" in params)
        }
        workload = Workload(kind=combination.workload.kind, params={**usual, **params})
        asked_for = replace(combination, workload=workload)
        self._report()
        self.observer.trial_begins(self.experiment, asked_for, planned)
        self.sequence += 1
        trial = TrialTask(experiment=self.experiment, combination=asked_for, planned=planned, sequence=self.sequence)
        laboratory, network = self.laboratories.get(path, combination.topology_of(path.name))
        if self.presence is not None:
            self.presence.next_trial()
        keeps_packets = self.writer.manifest.capture
        outcome = run_trial(
            trial, laboratory, network, References(theory=self.open_run.theory), keeps_packets=keeps_packets
        )
        record = outcome.record
        if self.presence is not None:
            record = self.presence.noted(record, self.writer.identity)
        self.writer.add_trial(record, outcome.series, outcome.files)
        self.records.setdefault((combination.name, path.name), []).append(record)
        self.any_failed |= record.status == "failed"
        self.observer.trial_ended(record)
        return record

    def _report(self) -> None:
        trials = sum(count for count, _ in self.left)
        left_ns = sum(count * (round(1e9 * seconds) + BETWEEN_TRIALS_NS) for count, seconds in self.left)
        self.observer.progress(self.sequence, self.sequence + trials, left_ns)
