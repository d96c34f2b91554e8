"""The rests of a server between trials of different vantages. Within a vantage its agent keeps them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from .probes.prober import PACE_NS, REST_NS, SECOND_NS, Probed

MOST_BYTES_A_SECOND = 64 * 1024
"""The most that is read of a server, on average."""


@dataclass(frozen=True, kw_only=True)
class _Last:
    """The last trial that went to an address."""

    vantage: str | None
    rests_until_ns: int


@dataclass(kw_only=True)
class ServerRests:
    """Keeps vantages from asking a server one right after the other, as if each were its only one.

    Attributes:
        now_ns: a monotonic clock.
        sleep: waits for so many seconds.
    """

    now_ns: Callable[[], int] = time.monotonic_ns
    sleep: Callable[[float], None] = time.sleep
    _last: dict[str, _Last] = field(default_factory=dict)

    def wait(self, address: str, vantage: str | None) -> None:
        """Waits until this vantage may ask an address."""
        last = self._last.get(address)
        if last is not None and last.vantage != vantage:
            self.sleep(max(0, last.rests_until_ns - self.now_ns()) / SECOND_NS)

    def note(self, address: str, vantage: str | None, probed: Probed) -> None:
        """Keeps that a vantage has just asked an address, and what came."""
        read = max((_body_bytes(attempt) for attempt in probed.attempts), default=0)
        rest_ns = min(REST_NS, max(PACE_NS, read * SECOND_NS // MOST_BYTES_A_SECOND))
        self._last[address] = _Last(vantage=vantage, rests_until_ns=self.now_ns() + rest_ns)


def _body_bytes(attempt: object) -> int:
    read = getattr(attempt, "body_bytes", 0)
    return read if isinstance(read, int) else 0
