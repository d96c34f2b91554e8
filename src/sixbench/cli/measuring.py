"""A measurement as it goes on: trials printed as they end, kept where asked for, compared at the end."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path

from ..agent import find_agent
from ..bench.environment import gather
from ..bench.machines import Machines
from ..bench.measure_trials import measure
from ..bench.other_runs import Presence
from ..bench.requirements import read_sysctls
from ..bench.session import expected_ns
from ..bench.trial import Outcome
from ..model.errors import Interrupted, SixbenchError
from ..model.exit_codes import Exit
from ..model.experiment import Experiment
from ..model.finding import Analysis
from ..model.observer import Arrived, Observer, Observers
from ..model.quoting import printable_json
from ..model.trial import TrialRecord
from ..plan.schedule import all_trials
from ..report import measure_json, measure_text
from ..store import Environment, EventLog, Run, RunState, create_run, write_derived
from .bugs import keeping_trials
from .colours import has_colour
from .common import note, say_coloured, say_document
from .measure_request import MeasureRequest
from .progress import ProgressDisplay
from .running import first_manifest


class Measuring:
    """One measurement from its first trial to its conclusion.

    Args:
        presence: this measurement among the runs of this machine.
        log: gets the events of the measurement; None: they are not written.
    """

    def __init__(
        self,
        request: MeasureRequest,
        experiment: Experiment,
        machines: Machines,
        presence: Presence,
        log: EventLog | None = None,
    ) -> None:
        out = request.out
        self.experiment = experiment
        self.presence = presence
        self.machines = machines
        self.as_json = request.as_json
        self.shows_intervals = request.shows_intervals(experiment)
        self.log = log
        self.order = list(all_trials(experiment))
        self.total = len(self.order)
        self.observer: Observer = Observers(*([] if log is None else [log]))
        self.outcomes: list[Outcome] = []
        between = {path.name: machines.addresses[path.family] for path in experiment.paths}
        self.addresses = {
            name: (ends.with_zone(ends.client), ends.with_zone(ends.server)) for name, ends in between.items()
        }
        self.manifest = first_manifest(out or Path(experiment.name), experiment, _environment(machines))
        self.writer = None if out is None else create_run(out, self.manifest)

    def run(self) -> int:
        """Measures and prints; the exit code. Raises `Interrupted` after printing what was done, `CapabilityError`
        where the other machine refuses, and `Bug`."""
        directory = None if self.writer is None else self.writer.directory
        with self.writer or contextlib.nullcontext(), keeping_trials(directory):
            return self._run()

    def _run(self) -> int:
        self._say(measure_text.header(self.experiment, self.addresses, self.machines.target.port))
        params = self.experiment.combinations[0].workload.params
        timed_ns = expected_ns(params)
        if timed_ns is not None and self.total == 1 and sys.stderr.isatty():
            note(f"measuring for {timed_ns / 1e9:g} s")
        try:
            with ProgressDisplay(quiet=not self._needs_progress()) as progress:
                shown = self.shows_intervals and not self.as_json and sys.stderr.isatty()
                observer = self.observer = Observers(
                    progress, *([self.log] if self.log else []), *([_Shown(self)] if shown else [])
                )
                observer.planned(self.experiment, "" if self.writer is None else str(self.writer.directory), 0)
                self._begins()
                for outcome in measure(self.experiment, self.machines, observer if observer.wants_values else None):
                    observer.trial_ended(self._ended(outcome))
                    self._begins()
        except (KeyboardInterrupt, SixbenchError) as error:
            self._conclude("interrupted")
            if isinstance(error, KeyboardInterrupt):
                raise Interrupted(f"stopped after {len(self.outcomes)} of {self.total} trials") from None
            raise
        except BaseException:
            if self.writer is not None:
                self.writer.save_manifest(state="interrupted", ended_realtime_ns=time.time_ns())
            raise
        whole = len(self.outcomes) == self.total and all(o.record.status != "failed" for o in self.outcomes)
        self._conclude("complete" if whole else "partial")
        valid = {outcome.record.path for outcome in self.outcomes if outcome.record.status == "ok"}
        return Exit.DONE if whole and len(valid) == len(self.experiment.paths) else Exit.PARTLY

    def _needs_progress(self) -> bool:
        """True if somebody at a terminal would otherwise see nothing: each trial's own line goes elsewhere."""
        return self.total > 1 and sys.stderr.isatty() and (self.as_json or not sys.stdout.isatty())

    def _begins(self) -> None:
        """Tells of the next trial, if there is one."""
        self.presence.next_trial()
        done = len(self.outcomes)
        if done < self.total:
            [combination] = self.experiment.combinations
            timed_ns = expected_ns(combination.workload.params)
            took_ns = sum(outcome.record.elapsed_ns for outcome in self.outcomes)
            each_ns = took_ns // done if done else timed_ns or 0
            self.observer.progress(done, self.total, each_ns * (self.total - done))
            self.observer.trial_begins(self.experiment, combination, self.order[done])

    def _ended(self, outcome: Outcome) -> TrialRecord:
        """Keeps and prints a trial, and returns it as it is kept."""
        directory = None if self.writer is None else self.writer.identity
        outcome = replace(outcome, record=self.presence.noted(outcome.record, directory))
        self.outcomes.append(outcome)
        if self.writer is not None:
            self.writer.add_trial(outcome.record, outcome.series, outcome.files)
        if self.total == 1 or self.shows_intervals:
            shown = measure_text.intervals(outcome.record, outcome.series) if self.shows_intervals else ""
            self._say("\n" + (f"{shown}\n" if shown else "") + measure_text.summary(outcome.record))
        else:
            self._say(measure_text.one_line(outcome.record, len(self.outcomes), self.total))
        return outcome.record

    def _conclude(self, state: RunState) -> None:
        """Analyses, keeps and prints what there is."""
        if self.writer is not None:
            self.writer.save_manifest(state=state, ended_realtime_ns=time.time_ns())
        self.observer.ended(state, len(self.outcomes))
        if not self.outcomes:
            return
        run = Run(
            directory=self.writer.directory if self.writer is not None else Path(),
            manifest=replace(self.manifest, state=state, ended_realtime_ns=time.time_ns()),
            trials=[outcome.record for outcome in self.outcomes],
        )
        analysis = self._analysis(run)
        if self.writer is not None:
            self.observer.report_written(str(_keep(run, analysis)))
        if self.as_json:
            say_document(printable_json(self._document(run, analysis)))
        else:
            width = min(160, shutil.get_terminal_size().columns) if sys.stdout.isatty() else 80
            colour = has_colour(sys.stdout)
            self._say("\n" + measure_text.conclusion(self.experiment, run.trials, analysis, width=width, colour=colour))

    def _analysis(self, run: Run) -> Analysis:
        """The analysis. A trial that is only printed needs none, which would take longer than many a trial."""
        if self.total == 1 and not self.as_json and self.writer is None:
            return Analysis(estimates=[], findings=[])
        from ..analysis import analyse

        return analyse(run)

    def _document(self, run: Run, analysis: Analysis) -> str:
        return measure_json.render(
            run,
            analysis,
            port=self.machines.target.port,
            remote=self.machines.server.hello,
            addresses=self.addresses,
            series={outcome.record.key: outcome.series for outcome in self.outcomes},
        )

    def _say(self, text: str) -> None:
        if not self.as_json:
            say_coloured(text)


def _keep(run: Run, analysis: Analysis) -> Path:
    """Writes what follows from a run into its directory. Returns the report's file."""
    from ..report import FORMATS

    contents = {
        "report.html": FORMATS["html"].render(run, analysis),
        "findings.json": FORMATS["json"].render(run, analysis),
    }
    written = write_derived(run, contents)
    note(f"report: {written['report.html']}")
    return written["report.html"]


class _Shown(Observer):
    """Lines about arriving data, printed while a trial goes on."""

    wants_values = True

    def __init__(self, measuring: Measuring) -> None:
        self._measuring = measuring

    def arrived(self, seen: Arrived) -> None:
        path = self._measuring.order[len(self._measuring.outcomes)].path
        note(measure_text.arriving(path, seen.direction, seen.from_ns, seen.to_ns, seen.rate_bps))


def _environment(machines: Machines) -> Environment:
    environment = gather(find_agent(), read_sysctls(machines.client), in_user_namespace=False)
    return environment if os.geteuid() == 0 else replace(environment, privileges="user")
