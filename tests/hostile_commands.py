"""Everything that sixbench opens in a folder of runs and in the directory of a monitor, one function for each command.

Where a command would start others, or build a network, it goes as far as that, and then writes what it would write.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import synthetic
from hostile_folders import MONITOR, OTHER, RUN

from sixbench.cli.bugs import tell
from sixbench.cli.completions import run_directories as completed
from sixbench.cli.event_logs import event_log
from sixbench.cli.main import main
from sixbench.cli.repeating import Repeating
from sixbench.model.errors import Bug, SixbenchError
from sixbench.model.finding import Analysis
from sixbench.model.monitoring import FalseAlarms, Settings
from sixbench.notebook import load
from sixbench.report import write_figures
from sixbench.store import MonitorWriter, create_new_run, create_run, open_run, read_run, write_derived
from sixbench.ui import trial
from sixbench.ui.commands import Commands
from sixbench.ui.events import reader_of, rest_of
from sixbench.ui.runner import _Runner
from sixbench.ui.runs import FILES, Runs, described

SETTINGS = Settings(
    command=("run", "small"),
    baseline=2,
    false_alarms=FalseAlarms(per_look=0.05),
    keep_bytes=2**30,
    created_realtime_ns=10**18,
)
DONE = {0, 1, 2, 3, 4}
"""Exit codes of a command that did its work, or said in a sentence why not."""

WRITTEN = synthetic.small(blocks=1)


def stock(runs: Path) -> None:
    """A folder of runs without traps."""
    synthetic.replace_run(synthetic.small(blocks=1), state="interrupted").write(runs / RUN)
    (runs / f"{RUN}.events.jsonl").write_text('{"event": "block-done", "at_realtime_ns": 1, "block": 1}\n')
    synthetic.small(blocks=1).write(runs / OTHER)
    with MonitorWriter.open(runs / MONITOR) as writer:
        repeating = Repeating(writer, SETTINGS, quiet=True, call=_measured)
        repeating.recover()
        repeating.begin_and_occur()
        writer.write_page("<p>")


def _measured(words: list[str], quiet: bool) -> tuple[int, str]:
    """Stands for the command that a monitor repeats: it makes a run directory as `sixbench run` does."""
    writer = create_run(Path(words[words.index("--out") + 1]), WRITTEN.manifest)
    for record in WRITTEN.trials[:2]:
        writer.add_trial(record, {}, {})
    writer.set_state("complete", 1)
    writer.close()
    return 0, ""


def list_runs(runs: Path) -> None:
    """`sixbench runs`, and what a shell offers after Tab."""
    _obeyed("runs", runs)
    completed(f"{runs}/")


def report(runs: Path) -> None:
    """`sixbench report` and `verify`."""
    _obeyed("verify", runs / RUN)
    _obeyed("report", runs / RUN, "--format", "csv", "--out", runs / "report.csv")


def report_into(runs: Path) -> None:
    """`sixbench report`, whose output the user has in the run's own directory. Who names a path through a link has
    written that link into the command."""
    if (runs / RUN).is_symlink():
        return
    if not (runs / RUN / "report.md").is_fifo():  # as everywhere, that waits for a reader
        _obeyed("report", runs / OTHER, "--format", "md", "--out", runs / RUN / "report.md")
    write_figures(read_run(runs / OTHER), Analysis(estimates=[], findings=[]), runs / RUN / "figures")


def compare(runs: Path) -> None:
    """`sixbench compare`."""
    _obeyed("compare", runs / RUN, runs / OTHER, "--json")


def notebook(runs: Path) -> None:
    """`sixbench.load`."""
    loaded = load(runs / RUN)
    for record in read_run(runs / RUN).trials[:2]:
        len(loaded.series(record.key))


def resume(runs: Path) -> None:
    """`sixbench resume` with `--events`."""
    _resumed(runs / RUN, runs / f"{RUN}.events.jsonl")


def _resumed(directory: Path, events: Path | None) -> None:
    writer, run = open_run(directory)
    with writer, event_log(events) as log:
        writer.save_manifest(state="running")
        for record in WRITTEN.trials[-2:]:
            if record.key not in run.by_key:
                writer.add_trial(record, WRITTEN.series.get(record.key, {}), {"h1-r1.pcapng": b"packets"})
                if log is not None:
                    log.trial_ended(record)
        if log is not None:
            log.ended("complete", 1)
        writer.set_state("complete", 1)
    write_derived(read_run(directory), {"report.html": "<p>", "findings.json": "{}"})


def fail(runs: Path) -> None:
    """The traceback of a bug."""
    tell(Bug(directory=runs / RUN, traceback="KeyError: 1\n"))


def run(runs: Path) -> None:
    """`sixbench run --out` into the folder."""
    create_new_run(runs / RUN, WRITTEN.manifest).close()
    for taken in (RUN, f"{RUN}.events.jsonl"):
        with contextlib.suppress(SixbenchError):
            create_run(runs / taken, WRITTEN.manifest).close()


def page(runs: Path) -> None:
    """Everything that the page of `sixbench ui` shows."""
    shown = Runs(runs)
    json.dumps(shown.listed())
    reader = reader_of(shown, RUN)
    with contextlib.closing(reader):
        reader.more()
    for file in FILES:
        with contextlib.suppress(SixbenchError):
            shown.file(RUN, file)
    rest_of(shown, RUN)
    kept = shown.kept(RUN)
    described(RUN, kept, [])
    for record in kept.trials[:2]:
        trial.trial(kept, record.key)


def go_on(runs: Path) -> None:
    """ "Go on" and "start" of the page, and then what the command that it starts would write."""
    commands = _Noted()
    runner = _Runner(runs, commands)
    runner.answer(json.dumps({"ask": "start", "experiment": {"name": "quickstart", "quick": True}}).encode())
    runner.answer(json.dumps({"ask": "start", "experiment": {"text": "experiment: x"}}).encode())
    commands.words.clear()
    runner = _Runner(runs, commands)
    runner.answer(json.dumps({"ask": "resume", "run": RUN}).encode())
    for words in commands.words:
        at = words.index("resume")
        events = Path(words[words.index("--events") + 1]) if "--events" in words else None
        _resumed(Path(words[at + 1]), events)


class _Noted(Commands):
    """Notes what would be started."""

    def __init__(self) -> None:
        super().__init__(selectors.DefaultSelector())
        self.words: list[list[str]] = []

    def begin(self, command: Any, ended: Callable[[int, IO[bytes]], None], *, heard: str) -> Any:
        """Starts nothing."""
        self.words.append([*command])


def monitor(runs: Path) -> None:
    """`sixbench monitor DIR`, which only tells."""
    _obeyed("monitor", runs / MONITOR, "--json")


def repeat(runs: Path) -> None:
    """`sixbench monitor DIR -- run small`."""
    with MonitorWriter.open(runs / MONITOR) as writer:
        writer.read()
        repeating = Repeating(writer, SETTINGS, quiet=True, call=_measured)
        repeating.recover()
        repeating.begin_and_occur()
        repeating.make_room(SETTINGS.keep_bytes)
        writer.write_page("<p>")


OF_RUNS = (list_runs, report, compare, notebook, page, go_on, fail, run, report_into, resume)
OF_MONITORS = (list_runs, monitor, repeat)
"""Each command comes after those that change less."""


def give_all(runs: Path, of_monitor: bool) -> None:
    """Gives all commands, each of which does its work or refuses it in a sentence."""
    for command in OF_MONITORS if of_monitor else OF_RUNS:
        with contextlib.suppress(SixbenchError):
            command(runs)


def _obeyed(*words: str | os.PathLike[str]) -> None:
    code = main([os.fspath(word) for word in words])
    assert code in DONE, (words, code)
