"""Readers of the directory of a monitor, and the repetition of one that somebody has changed."""

from __future__ import annotations

import contextlib
import io
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from endurance.monitor_stock import SETTINGS, copying
from sixbench.analysis.monitoring import follow, new_conditions
from sixbench.cli.main import main
from sixbench.cli.repeating import Repeating
from sixbench.model.monitoring import Monitor
from sixbench.report.monitoring import document, page_of, render
from sixbench.store import MonitorWriter, make_room, read_monitor, used_bytes

MonitorReader = Callable[[Path, Monitor, Path, random.Random], None]
_CONTROLS = {chr(code) for code in range(32) if chr(code) not in "\r\n\t"} | {"\x7f"}
NOW_NS = 2 * 10**18


def read_it(directory: Path) -> Monitor:
    """Reads it."""
    monitor = read_monitor(directory)
    for problem in monitor.problems:
        assert "[type=" not in problem, "words of a library"
        assert problem.replace("\n", "").isprintable(), problem
    return monitor


def _render(directory: Path, result: Monitor, out: Path, dice: random.Random) -> None:
    followed = follow(result.occurrences, result.settings)
    text = render(str(directory), result, followed)
    assert not _CONTROLS & set(text), "control characters"
    text.encode()
    json.dumps(document(str(directory), result, followed, new_conditions(result.occurrences)), allow_nan=False).encode()


def _page(directory: Path, result: Monitor, out: Path, dice: random.Random) -> None:
    """Writes the page with the figure of one series only: figures are slow."""
    followed = follow(result.occurrences, result.settings)
    chosen = [dice.choice(followed)] if followed else []
    text = page_of(str(directory), result, chosen, new_conditions(result.occurrences))
    assert "<script>alert" not in text
    text.encode()


def _room(directory: Path, result: Monitor, out: Path, dice: random.Random) -> None:
    """Removes what is oldest, down to some bound."""
    with MonitorWriter.open(directory) as writer:
        most = dice.choice((0, used_bytes(writer.folder) // 2, 20_000))
        make_room(writer, writer.read().occurrences, most, NOW_NS)
        read_it(directory)


def _repeat(run: Path) -> MonitorReader:
    def repeat(directory: Path, result: Monitor, out: Path, dice: random.Random) -> None:
        """One more occurrence, which leaves that run."""
        with contextlib.redirect_stderr(io.StringIO()), MonitorWriter.open(directory) as writer:
            settings = SETTINGS if writer.is_new else writer.read().settings
            if dice.random() < 0.3:
                settings = replace(settings, keep_bytes=100_000)
            repeating = Repeating(writer, settings, quiet=True, call=copying(run))
            repeating.recover()
            begin_and_occur = repeating.begin_and_occur()
            repeating.make_room()
            after = writer.read()
            assert any(begin_and_occur.number == other.number for other in after.occurrences), (
                "the occurrence is not there"
            )
            _render(directory, after, out, dice)

    return repeat


def _command(*words: str) -> MonitorReader:
    def run_it(directory: Path, result: Monitor, out: Path, dice: random.Random) -> None:
        text = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
        output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(output):
            code = main(["monitor", str(directory), *words])
        assert code in (0, 1, 2, 3), f"exit {code}: {output.buffer.getvalue().decode()}"  # type: ignore[attr-defined]

    return run_it


def readers(run: Path) -> Mapping[str, tuple[float, MonitorReader]]:
    """Readers by name, each with how often it is chosen. `run` is a directory that a repetition leaves."""
    return {
        "told": (6, _render),
        "monitor page": (0.3, _page),
        "room": (2, _room),
        "repeat": (2, _repeat(run)),
        "monitor DIR": (0.5, _command()),
        "monitor DIR --json": (0.5, _command("--json", "--fail-on-change")),
    }
