"""Dask's scheduler as cells need it: under TLS, and without the pages that it would show to everyone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from distributed.scheduler import Scheduler

from ..model.errors import CapabilityError
from .address import Address

if TYPE_CHECKING:
    from distributed.security import Security


class _Scheduler(Scheduler):
    def start_http_server(self, *_: Any, **__: Any) -> None:
        """There is none: what it shows would go over the network in clear."""


def run_scheduler(address: Address, security: Security, ready: Callable[[Address], None]) -> None:
    """Serves until `KeyboardInterrupt`. Raises `CapabilityError` where it cannot listen there.

    Args:
        ready: is called with the address that it listens on.
    """

    async def serve() -> None:
        # A block whose cell died is ours to hand out again, as another attempt.
        made = _Scheduler(
            host=address.host, port=address.port, protocol="tls", security=security, allowed_failures=0, dashboard=False
        )
        try:
            await made
        except OSError as error:
            raise CapabilityError(f"listening on {address}: {error.strerror or error}") from error
        ready(Address(host=address.host, port=int(made.port)))
        await made.finished()  # type: ignore[no-untyped-call]

    asyncio.run(serve())
