"""`sixbench monitor`."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..model.errors import Interrupted, UsageError
from ..model.exit_codes import Exit
from ..model.quoting import text_of
from . import completions
from .common import note, print_json, say, say_lines
from .monitor_options import MonitorTerms, every_of, false_alarms_of, keep_of
from .options import JSON

if TYPE_CHECKING:
    from ..model.monitoring import Followed, Monitor, Settings
    from ..store import MonitorWriter
    from .repeating import Repeating

REPEATED = ("run", "measure", "reach")
BASELINE = 24
"""The hours of a day, for what is repeated each hour."""
FALSE_ALARMS = "1/year"
KEEP = "1GiB"
_SET_BY_MONITOR = ("--out", "--json", "-J")
_NAP_S = 30.0
"""The longest sleep at once: after it the clock is read again, which goes on while a machine is suspended."""


def monitor(
    directory: Path = typer.Argument(
        metavar="DIR", help="The directory of the monitor.", autocompletion=completions.directories
    ),
    command: list[str] = typer.Argument(
        None,
        metavar="COMMAND",
        help="The command to repeat, behind a --: run EXPERIMENT, measure HOST or reach NAME, with their options. "
        "None: show the changes found so far.",
    ),
    every: str | None = typer.Option(
        None,
        "--every",
        metavar="TIME",
        help=("Time from one repetition to the next, such as 1h or 1d; default: run it once."),
    ),
    times: int | None = typer.Option(
        None, "--times", metavar="N", min=1, help="With --every: end after this many occurrences."
    ),
    baseline: int | None = typer.Option(
        None,
        "--baseline",
        metavar="N",
        min=2,
        max=1000,
        help=f"Hold all others against the first N occurrences; default {BASELINE}. It is fixed at the beginning.",
    ),
    false_alarms: str | None = typer.Option(
        None,
        "--false-alarms",
        metavar="RATE",
        help="Rate of false alarms, in all metrics together: such as 1/year, or 0.1% of "
        f"the looks; default {FALSE_ALARMS}. It is fixed at the beginning.",
    ),
    keep: str | None = typer.Option(
        None,
        "--keep",
        metavar="SIZE",
        help=f"Largest size of the directory; default {KEEP}. The oldest captures go first, then the oldest runs.",
    ),
    fail_on_change: bool = typer.Option(
        False, "--fail-on-change", help="End with exit code 1 if the last look found a change."
    ),
    units: Path | None = typer.Option(
        None,
        "--units",
        metavar="FOLDER",
        help="Instead, write a systemd service and a timer that repeat it, into this folder. It needs --every.",
    ),
    json: bool = JSON,
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Show no progress."),
) -> int:
    """Repeat a run or a measurement by a schedule, and find changes.

    Each occurrence is a run directory in DIR. Its trials are added to the data set DIR/trials, and DIR/index.html shows
    every headline metric over time. An occurrence that fails is recorded and does not end the monitor.
    """
    terms = MonitorTerms(baseline=baseline, false_alarms=false_alarms, keep=keep)
    every_ns = None if every is None else every_of(every)
    terms.check()
    show = ShownChanges(as_json=json, fails=fail_on_change)
    if not command:
        if terms != MonitorTerms() or every is not None or times is not None or units is not None:
            raise UsageError(
                "there is nothing to repeat; name it after the options: "
                "sixbench monitor DIR --every 1h -- run EXPERIMENT"
            )
        return _show(directory, show)
    _check(command)
    if times is not None and every is None:
        raise UsageError("--times needs --every; give both, or neither")
    request = MonitorRequest(directory=directory, command=tuple(command), every_ns=every_ns, times=times, terms=terms)
    if units is not None:
        return _write_units(units, request, show)
    return _monitor(request, show, quiet=quiet)


@dataclass(frozen=True, kw_only=True)
class ShownChanges:
    """The output of a monitor.

    Attributes:
        as_json: whether the changes are printed as JSON.
        fails: whether a change makes the exit code 1.
    """

    as_json: bool
    fails: bool


@dataclass(frozen=True, kw_only=True)
class MonitorRequest:
    """A command that is repeated.

    Attributes:
        directory: the monitor's.
        every_ns: time from one occurrence to the next; None: there is one occurrence.
        times: the number of occurrences; None: until it is interrupted.
    """

    directory: Path
    command: tuple[str, ...]
    every_ns: int | None
    times: int | None
    terms: MonitorTerms


def _monitor(request: MonitorRequest, show: ShownChanges, *, quiet: bool) -> int:
    """Repeats the command. Returns the exit code of all occurrences together."""
    from ..lab.own_process import call
    from ..store import MonitorWriter
    from .repeating import Repeating

    with MonitorWriter.open(request.directory) as writer:
        settings = _settings(writer, request)
        return _repeat(Repeating(writer, settings, quiet=quiet, call=call), request, show)


def _check(command: list[str]) -> None:
    """Raises `UsageError` where that is not to be repeated."""
    if command[0] not in REPEATED:
        raise UsageError(
            f"a monitor repeats run, measure or reach, not {command[0]}; write: sixbench monitor DIR -- run EXPERIMENT"
        )
    odd = next((word for word in command if text_of(word) != word), None)
    if odd is not None:
        raise UsageError(f"{text_of(odd)} is no UTF-8, and a monitor keeps its command as text; rename that file")
    for word in command[1:]:
        if word.partition("=")[0] in _SET_BY_MONITOR:
            raise UsageError(f"the monitor itself sets {word} of the repeated command; leave it out")


def _settings(writer: MonitorWriter, request: MonitorRequest) -> Settings:
    """The settings that are fixed beforehand: those of the existing monitor, which these options may not contradict, or
    those of the new one. Raises `UsageError`."""
    from ..model.monitoring import Settings

    command, baseline = request.command, request.terms.baseline
    rate, keep_bytes = request.terms.false_alarm_rate, request.terms.keep_bytes
    if writer.is_new:
        return Settings(
            command=command,
            baseline=baseline or BASELINE,
            false_alarms=rate or false_alarms_of(FALSE_ALARMS),
            keep_bytes=keep_of(KEEP) if keep_bytes is None else keep_bytes,
            created_realtime_ns=time.time_ns(),
        )
    known = writer.read().settings
    place = writer.directory
    if command != known.command:
        import shlex

        raise UsageError(
            f"{place} repeats another command: sixbench {shlex.join(known.command)}; repeat that, or name another DIR"
        )
    if baseline not in (None, known.baseline):
        raise UsageError(
            f"--baseline {baseline}: {place} has a baseline of {known.baseline}, fixed when it began; leave the option "
            "out, or begin another monitor"
        )
    if rate not in (None, known.false_alarms):
        raise UsageError(
            f"--false-alarms: the rate of {place} was fixed when it began; leave the option out, or begin another "
            "monitor"
        )
    return known if keep_bytes is None else replace(known, keep_bytes=keep_bytes)


def _show(directory: Path, show: ShownChanges) -> int:
    """Prints the changes found so far, and measures nothing."""
    from ..analysis.monitoring import follow
    from ..store import read_monitor

    monitor = read_monitor(directory)
    return _tell(directory, monitor, follow(monitor.occurrences, monitor.settings), show)


def _tell(directory: Path, monitor: Monitor, followed: list[Followed], show: ShownChanges) -> int:
    from ..analysis.monitoring import new_conditions
    from ..report.monitoring import document, render

    if show.as_json:
        print_json(document(str(directory), monitor, followed, new_conditions(monitor.occurrences)))
    else:
        say_lines(render(str(directory), monitor, followed))
    for problem in monitor.problems:
        note(f"sixbench: {problem}; it is left out")
    if monitor.problems:
        return Exit.USAGE
    return Exit.CHECK_FAILED if show.fails and any(metric.changed for metric in followed) else Exit.DONE


def _repeat(repeating: Repeating, request: MonitorRequest, show: ShownChanges) -> int:
    """Repeats it until it was repeated often enough. Returns the exit code of all occurrences together."""
    from .repeating import next_start_ns

    writer = repeating.writer
    repeating.recover()
    first_ns, done, whole = _clock_ns(), 0, True
    while True:
        occurrence = repeating.begin_and_occur()
        done += 1
        whole = whole and occurrence.state == "complete"
        if occurrence.reason is not None:
            note(f"sixbench: occurrence {occurrence.number} is {occurrence.state}: {occurrence.reason}")
        repeating.make_room()
        monitor, followed = repeating.page()
        code = _tell(writer.directory, monitor, followed, show)
        if request.every_ns is None or (request.times is not None and done >= request.times):
            return code or (Exit.DONE if whole else Exit.PARTLY)
        first_ns, missed = next_start_ns(first_ns, request.every_ns, _clock_ns())
        if missed:
            note(f"sixbench: it took longer than --every; left out: {missed}")
        _wait_until(first_ns, done)


def _wait_until(start_ns: int, done: int) -> None:
    """Raises `Interrupted`."""
    try:
        while (left_ns := start_ns - _clock_ns()) > 0:
            time.sleep(min(left_ns / 1e9, _NAP_S))
    except KeyboardInterrupt:
        raise Interrupted(f"stopped after {done} occurrences, between two of them") from None


def _clock_ns() -> int:
    """It goes on while the machine is suspended, and nobody sets it."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def _write_units(folder: Path, request: MonitorRequest, show: ShownChanges) -> int:
    """Writes the service and the timer, and says how to begin. Raises `UsageError` where there is no time between two
    occurrences."""
    from ..store import write_into
    from .monitor_units import units

    if request.every_ns is None:
        raise UsageError("--units needs --every; give the time from one occurrence to the next")
    directory = request.directory.resolve()
    line = [
        str(Path(sys.argv[0]).resolve()),
        "monitor",
        str(directory),
        *request.terms.options(),
        *(["--fail-on-change"] if show.fails else []),
        "--quiet",
        "--",
        *request.command,
    ]
    contents = units(directory.name, line, Path.cwd(), request.every_ns)
    for file in write_into(folder, contents):
        say(str(file))
    timer = next(name for name in contents if name.endswith(".timer"))
    note(f"Copy both to /etc/systemd/system, then: systemctl enable --now {timer}")
    return Exit.DONE
