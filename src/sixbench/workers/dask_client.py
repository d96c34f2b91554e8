"""Dask's client as a sweep sees it: workers that take blocks."""

from __future__ import annotations

import queue
import time
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from distributed import Client, Future
from distributed.scheduler import KilledWorker

from .. import __version__
from ..model.errors import CapabilityError
from ..model.quoting import printable
from . import tasks
from .address import Address
from .messages import BlockJob, chosen_from_wire, job_to_wire, other_version, reply_from_wire
from .plain import Unread
from .reaching import reach
from .sweep import JobOutcome

if TYPE_CHECKING:
    from distributed.security import Security

CONNECT_S = 30.0
"""Time for which a scheduler may be gone until the run ends."""

POLL_S = 0.5
"""Interval at which a waiting run looks for free workers."""


class _Client(Client):
    """Dask's client, which shows nothing of what workers print and warn of, and looks at no error of theirs."""

    _default_event_handlers = {}  # noqa: RUF012, as in the base class

    def _handle_task_erred(self, key: Any = None, exception: Any = None, traceback: Any = None) -> None:
        super()._handle_task_erred(key=key, exception=Unread("its task failed"))  # type: ignore[no-untyped-call]


class DaskWorkers(AbstractContextManager["DaskWorkers"]):
    """The workers of a scheduler, taken for one run. Use as a context manager.

    Args:
        run: the name of the run's experiment, for others who want the workers.
        wait: whether to wait until no other run has them.
        report: gets a sentence for people: for which run it waits.

    Raises `CapabilityError` where the scheduler cannot be reached, has another version or is used by another run, or
    has no worker.
    """

    def __init__(
        self, address: Address, security: Security, run: str, *, wait: bool, report: Callable[[str], None]
    ) -> None:
        reach(address, security)
        self._address = address
        self._run = run
        self._outcomes: queue.Queue[tuple[BlockJob, Future[Any]]] = queue.Queue()
        self._known: dict[str, str] = {}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about versions, which are compared below
                client = _Client(address.uri, security=security, timeout=CONNECT_S, set_as_default=False)  # type: ignore[no-untyped-call]
                self._client: Any = client  # Dask's client has no type annotations
        except (OSError, TimeoutError) as error:
            raise CapabilityError(f"connecting to the scheduler at {address}: {error}") from error
        try:
            self._take_workers(wait, report)
        except BaseException:
            self.close()
            raise

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Gives the workers back. What they measure for this run is abandoned."""
        self._client.close(timeout=5)

    def choose(self, run: str) -> dict[str, str]:
        """The plan of each worker for a run: its manifest, by the worker's name. Raises `CapabilityError` where a
        worker cannot measure it, or has another version of sixbench."""
        texts = {}
        answers = self._asked("choose", run=run, workers=list(self._known))
        for place, worker in self._known.items():
            if not isinstance(answers, Mapping) or not isinstance(answers.get(place), Mapping):
                raise CapabilityError(f"asking the worker {worker}: it does not answer; see its output")
            chosen, version = chosen_from_wire(answers[place])
            if version != __version__:
                raise CapabilityError(other_version(chosen.worker, version))
            if chosen.run is None:
                raise CapabilityError(f"the worker {chosen.worker} cannot measure this: {chosen.why}")
            texts[chosen.worker] = chosen.run
        return texts

    def names(self) -> list[str]:
        """The workers that there are now, or were when the scheduler was last there."""
        if self._client.status == "closed":
            raise CapabilityError(f"the scheduler at {self._address} is gone")
        if self._client.status == "running":
            try:
                other = self._look()
            except (OSError, TimeoutError):
                return list(self._known.values())
            if other is not None:
                raise CapabilityError(f"another run, {other}, has the workers of the scheduler at {self._address} now")
        return list(self._known.values())

    def hand_out(self, job: BlockJob) -> None:
        """Gives a block to a worker that has none, or to the first that ends."""
        future = self._client.submit(
            tasks.measure_block,
            job_to_wire(job),
            key=f"sixbench-{job.name}",
            resources={tasks.WORKER_RESOURCE: 1},
            pure=False,
        )
        future.add_done_callback(lambda done: self._outcomes.put((job, done)))

    def next(self, timeout_s: float) -> JobOutcome | None:
        """The outcome of a job; None where nothing came in time."""
        try:
            job, future = self._outcomes.get(timeout=timeout_s)
        except queue.Empty:
            return None
        try:
            return JobOutcome(job=job, reply=reply_from_wire(future.result(timeout=CONNECT_S)))
        except KilledWorker:
            return JobOutcome(job=job, reply=None)
        except Unread:
            return JobOutcome(job=job, reply=None, loss="its worker ended without an outcome")
        except CancelledError:
            return JobOutcome(job=job, reply=None, loss="the connection to the scheduler was lost meanwhile")
        except (OSError, TimeoutError) as error:
            return JobOutcome(
                job=job, reply=None, loss=f"its outcome could not be fetched ({str(error) or 'no answer'})"
            )

    def _take_workers(self, wait: bool, report: Callable[[str], None]) -> None:
        other = self._look()
        if other is not None and not wait:
            raise CapabilityError(
                f"another run, {other}, has the workers of the scheduler at {self._address}; let this one wait for it "
                "with --wait"
            )
        if other is not None:
            report(f"waiting for another run, {other}, to give back the workers of the scheduler at {self._address}")
        while other is not None:
            time.sleep(POLL_S)
            other = self._look()
        if not self._known:
            raise CapabilityError(
                f"the scheduler at {self._address} has no worker; start one with: sixbench worker --scheduler "
                f"{self._address}"
            )

    def _asked(self, op: str, **words: Any) -> Any:
        """The scheduler's answer to a request of ours. Raises `ValueError` where it does not know it."""
        return self._client.sync(getattr(self._client.scheduler, op), **words)

    def _look(self) -> str | None:
        """Learns which workers there are, and takes them. The name of the run that has them instead; None: this one.
        Raises `CapabilityError` where the scheduler is not of this version."""
        try:
            there, other, workers = self._asked("look", name=self._run, client=self._client.id)
        except (Unread, ValueError, TypeError) as error:
            raise CapabilityError(
                f"the scheduler at {self._address} is not one of sixbench {__version__}; start it with: "
                "sixbench scheduler"
            ) from error
        here = tasks.versions()
        if tuple(there) != here:
            theirs, ours = (f"sixbench {item[0]} with distributed {item[1]}" for item in (there, here))
            raise CapabilityError(
                f"the scheduler at {self._address} has {printable(theirs)} and this machine {ours}; install the same "
                "versions on both"
            )
        self._known = {str(place): str(name) for place, name in workers.items()}
        return None if other is None else printable(str(other))
