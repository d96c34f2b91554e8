"""Functions that run on workers and in the scheduler when Dask has brought a request there. Each side has its own
functions: none comes with a message (`plain`)."""

from __future__ import annotations

import asyncio
from importlib import metadata
from typing import TYPE_CHECKING

from .. import __version__
from ..model.json_object import JsonObject
from .request_queue import BlockRequest, PlanRequest, request_queue

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler

WORKER_RESOURCE = "worker"
"""The resource of which each worker has one, and each block takes one."""

_USER = "sixbench"
"""Under which the scheduler keeps who uses its workers."""


def measure_block(job: str) -> JsonObject:
    """A task: measures a block on this worker."""
    from distributed.worker import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def is_wanted() -> bool:
        task = worker.state.tasks.get(key)
        return worker.status.name == "running" and task is not None and task.state == "executing"

    return request_queue().put(BlockRequest(text=job, is_wanted=is_wanted)).result()


async def choose(run: str) -> JsonObject:
    """Asks this worker which engines it would take for a run."""
    return await asyncio.wrap_future(request_queue().put(PlanRequest(text=run)))


def look(name: str, client: str, dask_scheduler: Scheduler) -> tuple[tuple[str, str], str | None, dict[str, str]]:
    """Takes the workers of a scheduler for a run, unless another one has them.

    Args:
        name: of the run.
        client: the identity of its client. The workers are free again when the scheduler has lost it.

    Returns:
        The scheduler's versions of sixbench and of distributed; the name of the other run, or None where the workers
        are this one's; the names of the workers by address.
    """
    used: tuple[str, str] | None = dask_scheduler.extensions.get(_USER)
    other = None
    if used is not None and used[0] != client and used[0] in dask_scheduler.clients:
        other = used[1]
    else:
        dask_scheduler.extensions[_USER] = (client, name)
    workers = dask_scheduler.workers.values()
    by_address = {worker.address: str(worker.name) for worker in workers if worker.resources.get(WORKER_RESOURCE)}
    return versions(), other, by_address


def versions() -> tuple[str, str]:
    """The versions of sixbench and of distributed here."""
    return __version__, metadata.version("distributed")
