"""A small directory of `sixbench monitor`, which `tampered_runs` changes, and the command that stands for a run."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

from sixbench.cli.repeating import Repeating
from sixbench.model.errors import SixbenchError
from sixbench.model.monitoring import FalseAlarms, Settings
from sixbench.store import MonitorWriter

SETTINGS = Settings(
    command=("run", "small"),
    baseline=2,
    false_alarms=FalseAlarms(per_look=0.05),
    keep_bytes=2**30,
    created_realtime_ns=10**18,
)
CAPTURE = b"captured" * 500


def monitor(directory: Path, *runs: Path) -> Path:
    """A monitor with an occurrence of each of these runs, one that failed and one that was killed. It has a page."""
    ends: list[Path | tuple[int, str]] = [*runs[:1], (3, "no agent"), *runs[1:]]
    with MonitorWriter.open(directory) as writer, redirect_stderr(StringIO()):
        for end in ends:
            Repeating(writer, SETTINGS, quiet=True, call=copying(end)).begin_and_occur()
        repeating = Repeating(writer, SETTINGS, quiet=True, call=copying(runs[0]))
        (writer.run_directory(len(ends) + 1) / "trials").mkdir(parents=True)
        repeating.recover()
        repeating.page()
    # All runs but the last are gone, as after a bound on the disk: it is large enough.
    for run in sorted((directory / "runs").iterdir())[1:-1]:
        shutil.rmtree(run)
    [trial, *_] = sorted((directory / "runs/000001/trials").iterdir())
    (trial / "h1-r1.pcapng").write_bytes(CAPTURE)
    return directory


def copying(end: Path | tuple[int, str]) -> Callable[[list[str], bool], tuple[int, str]]:
    """Stands for the command that is repeated: it leaves a copy of that run, or ends so."""

    def call(words: list[str], quiet: bool) -> tuple[int, str]:
        if isinstance(end, tuple):
            return end
        place = Path(words[words.index("--out") + 1])
        try:
            shutil.copytree(end, place)
        except OSError as error:  # as the command says it
            return 3, f"making {place}: {error.strerror}"
        except SixbenchError as error:
            return 2, str(error)
        return 0, ""

    return call
