"""Moves the trials of one run into another run's directory."""

from __future__ import annotations

from dataclasses import replace

from ..model.record_json import record_to_json
from .atomic import dumps
from .run_directory import TRIAL, TRIALS, Run
from .run_writing import RunWriter


def adopt_trials(writer: RunWriter, run: Run, after: int) -> int:
    """Takes over every trial of a run, with all its files. Raises `WriteError`.

    Args:
        writer: the writer of the directory that the trials come to.
        run: the run that the trials come from.
        after: the sequence number of the last trial that the directory already has.

    Returns:
        The sequence number of the last trial afterwards.
    """
    last = after
    trials = run.opened().folder(TRIALS)
    for trial in run.trials:
        numbered = replace(trial, sequence=after + trial.sequence)
        last = max(last, numbered.sequence)
        source = trials.folder(trial.key)
        files = {name: source.read(name) for name in source.names() if name != TRIAL}
        writer.add_files(trial.key, files | {TRIAL: dumps(record_to_json(numbered)).encode()})
    return last
