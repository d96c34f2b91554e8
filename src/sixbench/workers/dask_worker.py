"""Dask's worker of a worker, in a thread of its own: it takes tasks, and the main thread does them."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from distributed.worker import Worker

from ..model.errors import CapabilityError
from .address import Address
from .plain import only
from .request_queue import RequestQueue
from .settings import HEARTBEAT
from .tasks import WORKER_RESOURCE, choose

if TYPE_CHECKING:
    from distributed.security import Security

START_S = 30.0
CLOSE_S = 5.0


_REQUESTS = ("identity", "connection_stream", "get_data", "gather", "free_keys", "ping", "terminate")
_STREAMED = (
    "close",
    "cancel-compute",
    "acquire-replicas",
    "compute-task",
    "free-keys",
    "remove-replicas",
    "steal-request",
    "refresh-who-has",
    "worker-status-change",
    "remove-worker",
)
"""Requests of a scheduler and of other workers. All other requests of Dask's worker are refused: it runs functions, and
imports files."""


class _Worker(Worker):
    def __init__(self, *words: Any, **given: Any) -> None:
        super().__init__(*words, extensions={}, **given)
        self.handlers = only(self.handlers, *_REQUESTS) | {"choose": choose}
        self.stream_handlers = only(self.stream_handlers, *_STREAMED)

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """There is none: what it shows would go over the network in clear."""


class DaskWorker:
    """A worker from `start` to `close`. When the scheduler has gone it closes the desk, and never comes back."""

    def __init__(self, address: Address, here: str, security: Security, name: str, desk: RequestQueue) -> None:
        """`here`: the address of this machine on which it listens."""
        self._address = address
        self._here = here
        self._security = security
        self._name = name
        self._desk = desk
        self._started: Future[None] = Future()
        self._worker: _Worker | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="worker", daemon=True)

    def start(self) -> None:
        """Joins the scheduler. Raises `CapabilityError`."""
        self._thread.start()
        try:
            self._started.result(START_S)
        except TimeoutError:
            raise CapabilityError(f"joining the scheduler at {self._address}: no answer within {START_S:g} s") from None

    def close(self) -> None:
        """Leaves the scheduler, which hands out again what was not done. Tasks are not waited for."""
        worker, loop = self._worker, self._loop
        if worker is not None and loop is not None and self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(worker.close(timeout=CLOSE_S, executor_wait=False, nanny=False), loop)
            self._thread.join(CLOSE_S)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        scratch = tempfile.mkdtemp(prefix="sixbench-worker-")
        try:
            self._worker = _Worker(
                self._address.uri,
                security=self._security,
                name=self._name,
                host=self._here,
                nthreads=1,
                resources={WORKER_RESOURCE: 1},
                memory_limit=0,
                local_directory=scratch,
                heartbeat_interval=HEARTBEAT,
            )
            # The worker spills nothing there, and after `kill -9` the folder would remain.
            shutil.rmtree(scratch, ignore_errors=True)
            await self._worker
        except (OSError, ValueError, TimeoutError) as error:
            self._started.set_exception(CapabilityError(self._refusal(error)))
            return
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        self._started.set_result(None)
        await self._worker.finished()  # type: ignore[no-untyped-call]
        self._desk.close()

    def _refusal(self, error: Exception) -> str:
        if "name taken" in str(error):
            return (
                f"the scheduler at {self._address} has a worker {self._name} already; give this one another name with "
                "--name"
            )
        return f"joining the scheduler at {self._address}: {error}"
