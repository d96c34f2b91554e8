"""The clocks of a run's hosts while it goes on: between trials, no more often than once a minute."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from ..agent import AgentHub
from ..store import RunWriter
from .probing_hosts import with_clocks

EVERY_NS = 60 * 10**9
"""Time from one look to the next. A clock that is 200 ppm fast goes 12 ms further meanwhile; a look takes a new agent
on each host, some 0.2 s."""


class ClockWatch:
    """Looks at the clocks, and keeps what they say in the manifest.

    Args:
        now_ns: a monotonic clock.
    """

    def __init__(self, hub: AgentHub, writer: RunWriter, now_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._hub = hub
        self._writer = writer
        self._now_ns = now_ns
        self._looked_ns = now_ns()

    def look(self) -> None:
        """Looks, if there are hosts and it is time. A host that has gone tells nothing. Raises `WriteError`."""
        environment = self._writer.manifest.environment
        if not environment.hosts or self._now_ns() - self._looked_ns < EVERY_NS:
            return
        hosts = with_clocks(self._hub, environment.hosts)
        self._writer.save_manifest(environment=replace(environment, hosts=hosts))
        self._looked_ns = self._now_ns()
