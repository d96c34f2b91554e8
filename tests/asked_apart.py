"""A program that has work done in other processes, as the page's server does: `python asked_apart.py SCENE DIRECTORY`.

It is a process of its own, because only one with a single thread may fork the process that forks the others. It prints
the results of the scene as JSON.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from processes import children

from sixbench.model.errors import CapabilityError, SixbenchError, StoreError, UsageError
from sixbench.ui import apart
from sixbench.ui.apart import Apart

PREPARED: list[str] = []
PAUSE_S = 0.01


def refuse(kind: str) -> None:
    """Raises an error of that kind."""
    raise {"usage": UsageError, "store": StoreError, "cannot": CapabilityError, "bug": KeyError}[kind](f"words: {kind}")


def wait_for_end(directory: str) -> None:
    """Notes its process, and goes on until that is ended."""
    (Path(directory) / str(os.getpid())).touch()
    while True:
        signal.pause()


def count_at_once(directory: str) -> int:
    """The number of such processes, itself included, that there are now; notes that it counted, and ends when `go` is there."""
    mine = Path(directory) / f"{os.getpid()}.works"
    mine.touch()
    number = len([*Path(directory).glob("*.works")])
    mine.with_suffix(".counted").touch()
    while not (Path(directory) / "go").exists():
        os.sched_yield()
    mine.unlink()
    return number


WORKS: dict[str, Callable[..., Any]] = {
    "process": lambda *words: [os.getpid(), *words],
    "prepared": lambda: PREPARED,
    "long": lambda: "x" * 1000,
    "refuse": refuse,
    "wait": wait_for_end,
    "count": count_at_once,
}


async def answers(work: Apart, _: Path) -> Any:
    """Results with their words; the second time to the same key, to another one, and to other words."""
    return [await work.done(key, "process", word) for key, word in ((1, "a"), (1, "a"), (2, "a"), (1, None))]


async def errors(work: Apart, _: Path) -> Any:
    """The errors that work raises, and the last of them once more."""
    errors = []
    for kind in ("usage", "store", "cannot", "bug", "bug"):
        try:
            await work.done(kind, "refuse", kind)
        except SixbenchError as error:
            errors.append([type(error).__name__, str(error)])
    return [*errors, (await work.done(1, "process"))[1:]]


async def leaving(work: Apart, directory: Path) -> Any:
    """The process whose client leaves, once it is gone."""
    task = asyncio.create_task(work.done(1, "wait", str(directory)))
    while not (noted := [int(item.name) for item in directory.iterdir()]):
        await asyncio.sleep(PAUSE_S)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    while Path(f"/proc/{noted[0]}").exists():
        await asyncio.sleep(PAUSE_S)
    return noted


async def crowd(work: Apart, directory: Path) -> Any:
    """Number of processes that each of six saw at work at the same time."""
    tasks = [asyncio.create_task(work.done(number, "count", str(directory))) for number in range(6)]
    while len([*directory.glob("*.counted")]) < apart.MOST_AT_ONCE:
        await asyncio.sleep(PAUSE_S)
    (directory / "go").touch()
    return await asyncio.gather(*tasks)


async def preparing(work: Apart, _: Path) -> Any:
    """Preparations of a process that was forked after nothing was asked for a while, and those of the server's
    process."""
    asked: Awaitable[Any] = work.done(0, "prepared")
    number = 0
    while not (prepared := await asked):
        number += 1
        await asyncio.sleep(PAUSE_S)
        asked = work.done(number, "prepared")
    return [prepared, PREPARED]


async def room(work: Apart, _: Path) -> Any:
    """Number of answers that are kept, of ten, where there is room for three."""
    apart.MOST_KEPT_BYTES = 3500
    for number in range(10):
        await work.done(number, "long")
    return len(work._answers)


async def forker(work: Apart, _: Path) -> Any:
    """The process that forks the others."""
    await work.done(1, "process")
    return children(os.getpid())


def main() -> None:
    """Runs a scene."""
    apart.IDLE_S = 0
    work = Apart(WORKS, lambda: PREPARED.append("packages"))
    scene = {item.__name__: item for item in (answers, errors, leaving, crowd, preparing, room, forker)}[sys.argv[1]]
    sys.stdout.write(json.dumps(asyncio.run(scene(work, Path(sys.argv[2])))))


if __name__ == "__main__":
    main()
