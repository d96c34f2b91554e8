"""The requests of the command line for runs, as values that the functions behind the commands take."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..plan.changes import NO_CHANGES, ExperimentChanges
from ..plan.loading import default_directory, experiment_source, load_experiment, paper_name
from .running import begin_run, first_manifest

if TYPE_CHECKING:
    from ..model.experiment import Experiment
    from ..plan.yaml_source import Source
    from ..store import Environment, Manifest, RunWriter


@dataclass(frozen=True, kw_only=True)
class RunOutput:
    """The output of a run besides its trials.

    Attributes:
        as_json: whether findings are printed as JSON.
        quiet: whether no progress is shown.
        events: the file to which the run's events are appended; None: they are not written.
        report: whether findings are computed and printed at the end.
    """

    as_json: bool = False
    quiet: bool = False
    events: Path | None = None
    report: bool = True


@dataclass(frozen=True, kw_only=True)
class WorkersRequest:
    """The workers that measure the blocks of a run.

    Attributes:
        scheduler: its address, as HOST:PORT.
        key: the file with the key; None: the usual one.
    """

    scheduler: str
    key: Path | None = None


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """A new run of an experiment.

    Attributes:
        experiment: its file, or the name of a shipped one.
        changes: to that file.
        out: the run directory; None: a new one in `runs`.
        capture: whether the packets of all links are kept.
        workers: the workers that measure it; None: this machine.
        wait: whether it begins only when no other run measures on this machine.
        allows_programs: whether programs may run that the experiment names.
        means_it: whether interfaces may be lent that are in use.
    """

    experiment: str
    changes: ExperimentChanges = NO_CHANGES
    out: Path | None = None
    capture: bool = False
    workers: WorkersRequest | None = None
    wait: bool = False
    allows_programs: bool = False
    means_it: bool = False
    output: RunOutput = field(default_factory=RunOutput)

    def load(self) -> Experiment:
        """The experiment with its changes. Raises `ExperimentError` and `UsageError`."""
        return load_experiment(self.experiment, self.changes)

    def source(self) -> Source:
        """The text of the experiment's file with its changes. Raises as `load` does."""
        return experiment_source(self.experiment, self.changes)

    def first_manifest(
        self, directory: Path, experiment: Experiment, environment: Environment, **more: Any
    ) -> Manifest:
        """The manifest of this run, which begins now in that directory."""
        return first_manifest(
            directory,
            experiment,
            environment,
            paper=paper_name(self.experiment),
            quick=self.changes.quick,
            capture=self.capture,
            **more,
        )

    def directory(self, experiment: Experiment) -> Path:
        """The run directory that was named, or else one with the time of this call in its name."""
        return self.out or default_directory(experiment.name)

    def begin(self, directory: Path, manifest: Manifest) -> RunWriter:
        """Makes the run directory. Raises as `begin_run` does."""
        return begin_run(directory, manifest, is_named=self.out is not None)


@dataclass(frozen=True, kw_only=True)
class ResumeRequest:
    """The rest of an interrupted run.

    Attributes:
        directory: the run's.
        workers: the workers that measure it; None: this machine.
        wait: whether it goes on only when no other run measures on this machine.
        allows_programs: whether programs may run that the experiment names.
        allows_hosts: whether hosts may be connected to that the run names.
        means_it: whether interfaces may be lent that are in use.
    """

    directory: Path
    workers: WorkersRequest | None = None
    wait: bool = False
    allows_programs: bool = False
    allows_hosts: bool = False
    means_it: bool = False
    output: RunOutput = field(default_factory=RunOutput)
