"""What Dask runs on cells and in the scheduler. It finds these functions by their names, so each side has its own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from .. import __version__
from .desk import AskedToChoose, AskedToMeasure, desk

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler

CELL = "cell"
"""The resource of which each cell has one, and each block takes one."""

_USER = "sixbench"
"""Under which the scheduler keeps who uses its cells."""


def measure_block(job: str) -> dict[str, Any]:
    """A task: measures a block on this cell."""
    from distributed.worker import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def is_wanted() -> bool:
        task = worker.state.tasks.get(key)
        return worker.status.name == "running" and task is not None and task.state == "executing"

    return desk().put(AskedToMeasure(text=job, is_wanted=is_wanted)).result()


async def choose(run: str) -> dict[str, Any]:
    """Asks this cell which engines it would take for a run."""
    return await asyncio.wrap_future(desk().put(AskedToChoose(text=run)))


def claim(name: str, client: str, dask_scheduler: Scheduler | None = None) -> tuple[str, str | None]:
    """Takes the cells of a scheduler for a run, unless another one has them.

    Args:
        name: of the run.
        client: the identity of its client. The cells are free again when the scheduler has lost it.

    Returns:
        The scheduler's version of sixbench, and the name of the other run; None: the cells are this run's.
    """
    assert dask_scheduler is not None, "it runs in a scheduler"
    used: tuple[str, str] | None = dask_scheduler.extensions.get(_USER)
    if used is not None and used[0] != client and used[0] in dask_scheduler.clients:
        return __version__, used[1]
    dask_scheduler.extensions[_USER] = (client, name)
    return __version__, None


def list_cells(dask_scheduler: Scheduler | None = None) -> dict[str, str]:
    """The cells of a scheduler: their names by address."""
    assert dask_scheduler is not None, "it runs in a scheduler"
    workers = dask_scheduler.workers.values()
    return {worker.address: str(worker.name) for worker in workers if worker.resources.get(CELL)}
