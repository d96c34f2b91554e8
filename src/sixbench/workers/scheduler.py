"""Dask's scheduler as workers need it: under TLS, and without the pages that it would show to everyone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from distributed.scheduler import Scheduler

from ..model.errors import CapabilityError
from .address import Address
from .plain import only
from .tasks import look

if TYPE_CHECKING:
    from distributed.security import Security


_REQUESTS = (
    "identity",
    "connection_stream",
    "register-client",
    "register-worker",
    "unregister",
    "heartbeat_worker",
    "gather",
)
_STREAMED = (
    "task-finished",
    "task-erred",
    "release-worker-data",
    "add-keys",
    "long-running",
    "reschedule",
    "keep-alive",
    "worker-status-change",
    "request-refresh-who-has",
    "update-graph",
    "client-desires-keys",
    "client-releases-keys",
    "heartbeat-client",
    "close-client",
    "subscribe-topic",
    "unsubscribe-topic",
    "cancel-keys",
)
"""Requests of workers and runs. All other requests of Dask's scheduler are refused: it runs functions, and writes
files."""


class _Scheduler(Scheduler):
    def __init__(self, **given: Any) -> None:
        super().__init__(extensions={}, **given)
        self.handlers = only(self.handlers, *_REQUESTS) | {"look": self._look, "choose": self._choose}
        self.stream_handlers = only(self.stream_handlers, *_STREAMED) | {"log-event": lambda **_: None}

    async def _look(self, name: str, client: str) -> tuple[tuple[str, str], str | None, dict[str, str]]:
        return look(name, client, self)

    async def _choose(self, run: str, workers: list[str]) -> dict[str, Any]:
        """The measurements that workers would make of a run, by their addresses; those are left out that do not
        answer."""
        asked: dict[str, Any] = {"op": "choose", "run": run}
        return await self.broadcast(
            msg=asked, workers=[worker for worker in workers if worker in self.workers], on_error="ignore"
        )

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """There is none: what it shows would go over the network in clear."""


def run_scheduler(address: Address, security: Security, ready: Callable[[Address], None]) -> None:
    """Serves until `KeyboardInterrupt`. Raises `CapabilityError` where it cannot listen there.

    Args:
        ready: is called with the address that it listens on.
    """

    async def serve() -> None:
        # The run itself hands out a block again whose worker died, as another attempt.
        scheduler = _Scheduler(
            host=f"[{address.host}]" if ":" in address.host else address.host,
            port=address.port,
            protocol="tls",
            security=security,
            allowed_failures=0,
            dashboard=False,
        )
        try:
            await scheduler
        except (OSError, RuntimeError) as error:
            # Dask may wrap the kernel's error in another one.
            why = error if isinstance(error, OSError) else error.__cause__
            if not isinstance(why, OSError):
                raise
            raise CapabilityError(f"listening on {address}: {why.strerror or why}") from error
        ready(Address(host=address.host, port=int(scheduler.port)))
        await scheduler.finished()  # type: ignore[no-untyped-call]

    asyncio.run(serve())
