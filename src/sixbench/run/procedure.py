"""Runs the tests of an RFC: trials that a test chooses, one after the other, in networks that are built once.

What was recorded before is not measured again: a test that is run again asks for the same trials in the same order, and
the recorded ones answer first.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from ..agent import AgentHub
from ..model.errors import Interrupted, StoreError, WriteError
from ..model.experiment import Combination, Experiment, PlannedTrial
from ..model.observer import Observer
from ..model.path import Path
from ..model.procedure import TEST_LEVEL
from ..model.trial import TrialRecord
from ..model.workload import Workload
from ..rfc import throughput
from ..rfc.goal import LoadTrial
from ..rfc.lengths import lengths
from ..rfc.results import tester_of
from ..rfc.sizes import line_pps
from ..store import RunState, RunWriter
from .laboratory import Laboratories
from .other_runs import Presence
from .record import Trial
from .scheduler import RunEnd, built
from .trial import References, Theory, run_trial

TRIALS_OF_A_SEARCH = 12
"""About how many it takes, for the progress line."""


class _Failed(Exception):
    """A trial failed: the device, its network or the tester is no longer there."""


def run_procedure(
    experiment: Experiment,
    writer: RunWriter,
    done: list[TrialRecord],
    hub: AgentHub,
    theory: Theory,
    observer: Observer,
    presence: Presence | None = None,
) -> RunEnd:
    """Runs the tests of the manifest's procedure, the tester's own limit first. Raises as `run_experiment` does."""
    laboratories = Laboratories(hub, experiment)
    observer.planned(experiment, str(writer.directory), len(done))
    tests = _Tests(experiment, writer, done, laboratories, theory, observer, presence)
    try:
        laboratories.processors.start(experiment.keep_awake)
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


class _Tests:
    def __init__(
        self,
        experiment: Experiment,
        writer: RunWriter,
        done: Sequence[TrialRecord],
        laboratories: Laboratories,
        theory: Theory,
        observer: Observer,
        presence: Presence | None,
    ) -> None:
        procedure = writer.manifest.procedure
        assert procedure is not None, "a run without a procedure is run by `run_experiment`"
        self.experiment = experiment
        self.writer = writer
        self.procedure = procedure
        self.own = lengths(procedure.quick)
        self.laboratories = laboratories
        self.theory = theory
        self.observer = observer
        self.presence = presence
        self.sequence = len(done)
        self.any_failed = any(record.status == "failed" for record in done)
        self.records: dict[tuple[str, str], list[TrialRecord]] = {}
        for record in done:
            self.records.setdefault((record.combination, record.path), []).append(record)
        self.left = len(experiment.combinations) * len(experiment.paths)

    def run(self) -> None:
        """All tests, size by size."""
        testers = [self.experiment.path(name) for name in self.procedure.testers]
        devices = [path for path in self.experiment.paths if path not in testers]
        for combination in self.experiment.combinations:
            for path in (*testers, *devices):
                with contextlib.suppress(_Failed):
                    self._test(combination, path)
                self.left -= 1

    def _test(self, combination: Combination, path: Path) -> None:
        assert combination.levels[TEST_LEVEL] == "throughput", "the only test there is"
        key = combination.name, path.name
        recorded = deque(self.records.get(key, []))
        asked = 0

        def measure(load_pps: float, duration_s: float) -> LoadTrial | None:
            nonlocal asked
            asked += 1
            params = {"rate_pps": max(1, int(load_pps)), "duration_ns": round(duration_s * 1e9)}
            if recorded:
                record = recorded.popleft()
                if any(record.params.get(column) != value for column, value in params.items()):
                    raise StoreError(
                        f"{self.writer.directory}: {record.key} is no trial that this search asks for: another version "
                        "of sixbench or MLRsearch ran it; start anew with another --out"
                    )
            else:
                record = self._measured(combination, path, params, asked)
            if record.status == "failed":
                raise _Failed
            return throughput.load_trial(record)

        throughput.run(measure, self.own, self._most_pps(combination, path))

    def _most_pps(self, combination: Combination, path: Path) -> float | None:
        """The highest rate of a search: the line's, and no more than the tester can do."""
        _, network = self.laboratories.get(path, combination.topology_of(path.name))
        limits = [line_pps(network, int(combination.levels["frame_bytes"]))]
        tester = tester_of(self.experiment, self.procedure, path.family)
        if tester is not None and tester != path.name:
            records = self.records.get((combination.name, tester), [])
            limits.append(throughput.read(records, self.own.goals[:1])[0].bounds.lower_pps)
        return min((limit for limit in limits if limit is not None), default=None)

    def _measured(self, combination: Combination, path: Path, params: dict[str, int], number: int) -> TrialRecord:
        planned = PlannedTrial(block=number, combination=combination.name, path=path.name)
        workload = Workload(kind=combination.workload.kind, params={**combination.workload.params, **params})
        own = replace(combination, workload=workload)
        self._report(params["duration_ns"])
        self.observer.trial_begins(self.experiment, own, planned)
        self.sequence += 1
        trial = Trial(experiment=self.experiment, combination=own, planned=planned, sequence=self.sequence)
        laboratory, network = self.laboratories.get(path, combination.topology_of(path.name))
        if self.presence is not None:
            self.presence.next_trial()
        keeps_packets = self.writer.manifest.capture
        outcome = run_trial(trial, laboratory, network, References(theory=self.theory), keeps_packets=keeps_packets)
        record = outcome.record
        if self.presence is not None:
            record = self.presence.noted(record, self.writer.identity)
        self.writer.add_trial(record, outcome.series, outcome.files)
        self.records.setdefault((combination.name, path.name), []).append(record)
        self.any_failed |= record.status == "failed"
        self.observer.trial_ended(record)
        return record

    def _report(self, duration_ns: int) -> None:
        trials = self.left * TRIALS_OF_A_SEARCH
        self.observer.progress(self.sequence, self.sequence + trials, trials * (duration_ns + 10**9))
