"""The clocks of a trial whose client and server are on two machines."""

from __future__ import annotations

from dataclasses import dataclass

from ..form import Kept, Name, Number, Time, Whole


@dataclass(frozen=True, kw_only=True, slots=True)
class ClockLook(Kept):
    """Offset of the server's realtime clock from the client's.

    Attributes:
        realtime_ns: when, by the machine of the run.
        client_ns: when, by the client's clock.
        low_ns, high_ns: the server's was ahead of it by no less and no more than this.
    """

    realtime_ns: Time
    client_ns: Time
    low_ns: Whole
    high_ns: Whole

    @property
    def middle_ns(self) -> float:
        """The middle of the interval."""
        return (self.low_ns + self.high_ns) / 2

    @property
    def half_width_ns(self) -> float:
        """Largest distance of the truth from there."""
        return (self.high_ns - self.low_ns) / 2


@dataclass(frozen=True, kw_only=True, slots=True)
class TwoClocks(Kept):
    """The clocks before and after the trial, by an exchange over its own path.

    Attributes:
        client, server: the machines.
        low_ppm, high_ppm: by how many millionths the server's clock was faster: no less and no more than this.
    """

    client: Name
    server: Name
    before: ClockLook
    after: ClockLook
    low_ppm: Number
    high_ppm: Number

    @property
    def half_width_ns(self) -> float:
        """Largest distance of the clocks' difference from the line between the two looks, at any time between them."""
        return max(self.before.half_width_ns, self.after.half_width_ns)
