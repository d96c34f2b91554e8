"""A measurement as it goes on: trials printed as they end, kept where asked for, compared at the end."""

from __future__ import annotations

import os
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path

import typer

from ..agent import find_agent
from ..model.errors import Interrupted
from ..model.experiment import Experiment
from ..model.finding import Analysis
from ..report import measurement, measurement_json
from ..run.arriving import Arriving
from ..run.environment import gather
from ..run.interrupt import interruptible
from ..run.machines import Machines
from ..run.measurement import measure
from ..run.needs import read_sysctls
from ..run.session import expected_ns
from ..run.trial import Outcome
from ..store import Environment, Manifest, Run, RunState, create_run, write_derived
from .common import note

EXIT_PARTLY = 4
"""Trials failed, or a family has no valid one."""


class Measuring:
    """One measurement from its first trial to its conclusion.

    Args:
        out: where a run directory of it is made.
        shows_intervals: whether each trial is printed with its intervals rather than on one line.
    """

    def __init__(
        self, experiment: Experiment, machines: Machines, *, as_json: bool, out: Path | None, shows_intervals: bool
    ) -> None:
        self.experiment = experiment
        self.machines = machines
        self.as_json = as_json
        self.shows_intervals = shows_intervals
        self.total = len(experiment.paths) * experiment.blocks.maximum
        self.outcomes: list[Outcome] = []
        self.addresses = {
            path.name: (machines.addresses[path.family].client, machines.addresses[path.family].server)
            for path in experiment.paths
        }
        self.manifest = Manifest(
            run=out.resolve().name if out is not None else experiment.name,
            experiment=experiment,
            environment=_environment(machines),
            state="running",
            started_realtime_ns=time.time_ns(),
            command=["sixbench", *sys.argv[1:]],
        )
        self.writer = None if out is None else create_run(out, self.manifest)

    def run(self) -> int:
        """Measures and prints; the exit code. Raises `Interrupted` after printing what was done, and `CapabilityError`
        where the other machine refuses."""
        self._say(measurement.header(self.experiment, self.addresses, self.machines.target.port))
        params = self.experiment.combinations[0].workload.params
        timed_ns = expected_ns(params)
        if timed_ns is not None and self.total == 1 and sys.stderr.isatty():
            note(f"measuring for {timed_ns / 1e9:g} s")
        try:
            with interruptible():
                watch = self._arriving if self.shows_intervals and not self.as_json and sys.stderr.isatty() else None
                for outcome in measure(self.experiment, self.machines, watch):
                    self._ended(outcome)
        except BaseException as error:
            self._conclude("interrupted")
            if isinstance(error, KeyboardInterrupt):
                raise Interrupted(f"stopped after {len(self.outcomes)} of {self.total} trials") from None
            raise
        whole = len(self.outcomes) == self.total and all(o.record.status != "failed" for o in self.outcomes)
        self._conclude("complete" if whole else "partial")
        valid = {outcome.record.path for outcome in self.outcomes if outcome.record.status == "ok"}
        return 0 if whole and len(valid) == len(self.experiment.paths) else EXIT_PARTLY

    def _arriving(self, seen: Arriving) -> None:
        note(measurement.arriving(seen.path, seen.direction, seen.from_ns, seen.to_ns, seen.rate_bps))

    def _ended(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        if self.writer is not None:
            self.writer.add_trial(outcome.record, outcome.series, outcome.files)
        if self.total == 1 or self.shows_intervals:
            shown = measurement.intervals(outcome.record, outcome.series) if self.shows_intervals else ""
            self._say("\n" + (f"{shown}\n" if shown else "") + measurement.summary(outcome.record))
        else:
            self._say(measurement.one_line(outcome.record, len(self.outcomes), self.total))

    def _conclude(self, state: RunState) -> None:
        """Analyses, keeps and prints what there is."""
        if self.writer is not None:
            self.writer.save_manifest(state=state, ended_realtime_ns=time.time_ns())
        if not self.outcomes:
            return
        run = Run(
            directory=self.writer.directory if self.writer is not None else Path(),
            manifest=replace(self.manifest, state=state, ended_realtime_ns=time.time_ns()),
            trials=[outcome.record for outcome in self.outcomes],
        )
        analysis = self._analysis(run)
        if self.writer is not None:
            _keep(run, analysis)
        if self.as_json:
            typer.echo(self._document(run, analysis), nl=False)
        else:
            colour = sys.stdout.isatty()
            width = min(160, shutil.get_terminal_size().columns) if colour else 80
            self._say("\n" + measurement.conclusion(self.experiment, run.trials, analysis, width=width, colour=colour))

    def _analysis(self, run: Run) -> Analysis:
        """Of a trial that is only printed there is nothing to analyse, which would take longer than many a trial."""
        if self.total == 1 and not self.as_json and self.writer is None:
            return Analysis(estimates=[], findings=[])
        from ..analysis import analyse

        return analyse(run)

    def _document(self, run: Run, analysis: Analysis) -> str:
        return measurement_json.render(
            run,
            analysis,
            port=self.machines.target.port,
            remote=self.machines.server.hello,
            addresses=self.addresses,
            series={outcome.record.key: outcome.series for outcome in self.outcomes},
        )

    def _say(self, text: str) -> None:
        if not self.as_json:
            typer.echo(text, nl=False)
            sys.stdout.flush()


def _keep(run: Run, analysis: Analysis) -> None:
    from ..report import FORMATS

    made = {
        "report.html": FORMATS["html"].render(run, analysis),
        "findings.json": FORMATS["json"].render(run, analysis),
    }
    written = write_derived(run, made)
    note(f"report: {written['report.html']}")


def _environment(machines: Machines) -> Environment:
    """Of this machine."""
    environment = gather(find_agent(), read_sysctls(machines.client), in_user_namespace=False)
    return environment if os.geteuid() == 0 else replace(environment, privileges="user")
