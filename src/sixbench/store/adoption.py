"""Trials of one run taken over into another's directory."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from .atomic import dumps, write_directory
from .run_directory import TRIAL, TRIALS, Run, RunWriter


def adopt_trials(writer: RunWriter, run: Run, after: int) -> int:
    """Takes over every trial of a run, with all its files. Raises `WriteError`.

    Args:
        writer: of the directory that they come to.
        run: whose trials they are.
        after: the sequence number of the last trial that is there already.

    Returns:
        The sequence number of the last one now.
    """
    last = after
    for trial in run.trials:
        source = run.directory / TRIALS / trial.key
        numbered = replace(trial, sequence=after + trial.sequence)
        last = max(last, numbered.sequence)

        def fill(directory: Path, source: Path = source, text: str = dumps(numbered.to_json())) -> None:
            for path in source.iterdir():
                if path.name != TRIAL:
                    shutil.copyfile(path, directory / path.name)
            (directory / TRIAL).write_text(text, encoding="utf-8")

        write_directory(writer.directory / TRIALS / trial.key, fill)
    return last
