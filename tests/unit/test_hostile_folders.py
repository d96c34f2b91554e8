"""Folders of strangers, with links and special files in every place that commands open: nothing outside changes."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import hostile_commands
import pytest
from hostile_folders import MONITOR, OTHER, RUN, Trap, all_traps, chosen_traps, make_outer, set_trap, state_of

TRAPS = all_traps() if os.environ.get("SIXBENCH_TRAPS") == "all" else chosen_traps()
"""All kinds at all places take some minutes."""

LIMIT_S = 300
"""Commands that wait for so long wait for ever: a FIFO has nobody at its other end."""


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("stock") / "runs"
    hostile_commands.stock(place)
    return place


@pytest.fixture(scope="module")
def outer(stock: Path) -> Path:
    place = stock.parent / "outer"
    make_outer(place, stock)
    return place


@pytest.fixture(scope="module")
def outer_before(outer: Path) -> dict[str, tuple[object, ...]]:
    return state_of(outer)


@pytest.fixture(autouse=True)
def quick_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are written, and not drawn, which would take most of the time."""
    drawing = SimpleNamespace(name="one", draw=lambda width_in: None)
    monkeypatch.setattr("sixbench.report.figures.catalogue.drawings", lambda run, analysis: [drawing])
    monkeypatch.setattr("sixbench.report.figures.save.render", lambda picture, kind, titled: kind.encode())


@pytest.fixture
def no_waiting() -> Iterator[None]:
    def ends(number: int, frame: object) -> None:
        raise TimeoutError("a command waits for ever")

    before = signal.signal(signal.SIGALRM, ends)
    signal.alarm(LIMIT_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize("trap", TRAPS, ids=str)
def test_nothing_outside_of_a_strangers_folder_changes(
    trap: Trap, stock: Path, outer: Path, outer_before: dict[str, tuple[object, ...]], tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    of_monitor = trap.place.startswith(MONITOR)
    for name in (MONITOR,) if of_monitor else (RUN, OTHER):
        shutil.copytree(stock / name, runs / name)
    if not of_monitor:
        shutil.copy(stock / f"{RUN}.events.jsonl", runs)
    set_trap(runs, outer, trap)
    hostile_commands.give_all(runs, of_monitor)
    assert state_of(outer) == outer_before


def test_without_a_trap_the_commands_write_what_they_should(stock: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    shutil.copytree(stock, runs)
    for command in (*hostile_commands.OF_RUNS, *hostile_commands.OF_MONITORS):
        command(runs)
    assert (runs / RUN / "report.html").read_text() == "<p>"
    assert b'"ended"' in (runs / f"{RUN}.events.jsonl").read_bytes()
    assert (runs / MONITOR / "occurrences" / "000002.json").exists()
