"""Links with a known truth, and what our emulator counted of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from pydantic import TypeAdapter

from ..form import Kept, Name, Natural, Number, Text
from ..observation import EmulatorRecord


@dataclass(frozen=True, kw_only=True, slots=True)
class HistogramSummary(Kept):
    """A histogram without its buckets. One of no values has the count alone.

    Attributes:
        unit: that of all values, such as `ns`.
    """

    count: Natural | None = None
    unit: Name | None = None
    min: Natural | None = None
    max: Natural | None = None
    mean: Number | None = None
    stdev: Number | None = None
    p50: Natural | None = None
    p90: Natural | None = None
    p99: Natural | None = None
    p999: Natural | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class EmulatedWay(Kept):
    """Counts of our emulator in one direction of a link. The histograms are of nanoseconds."""

    packets: Natural | None = None
    control_packets: Natural | None = None
    lost: Natural | None = None
    duplicated: Natural | None = None
    corrupted: Natural | None = None
    overtaking: Natural | None = None
    late: Natural | None = None
    late_given_up: Natural | None = None
    no_room: Natural | None = None
    send_errors: Natural | None = None
    send_errors_by_code: dict[Name, Natural] | None = None
    socket_drops: Natural | None = None
    user_timestamps: Natural | None = None
    delay: HistogramSummary | None = None
    lateness: HistogramSummary | None = None
    ipdv: HistogramSummary | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class EmulatedLink(Kept):
    """A link with a known truth.

    Attributes:
        emulator: `netem` or `user`, which is ours.
        settings: what netem was asked for, by direction.
        forward, reverse: what ours did.
    """

    emulator: Name
    settings: dict[Name, Text] | None = None
    forward: EmulatedWay | None = None
    reverse: EmulatedWay | None = None

    def direction(self, name: str) -> EmulatedWay:
        """Counts in a direction of `model.emulation.WAYS`. Nothing is known of it where the emulator is not ours."""
        return {"forward": self.forward, "reverse": self.reverse}[name] or EmulatedWay()


_BUCKETS = {name: {"buckets"} for name in ("delay", "lateness", "ipdv")}


@cache
def _way_adapter() -> TypeAdapter[EmulatedWay]:
    return TypeAdapter(EmulatedWay)


def emulated_way(record: EmulatorRecord) -> EmulatedWay:
    """Counts of our emulator in one direction, without the buckets of its histograms."""
    return _way_adapter().validate_python(record.model_dump(exclude_none=True, exclude=_BUCKETS))
