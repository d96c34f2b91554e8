"""Evidence about links: those with a known truth, changes in the middle of a trial, and timers that were late."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from ..form import Kept, Name, Natural, Number, Text
from ..observation import EmulatorRecord


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary(Kept):
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
    delay: Summary | None = None
    lateness: Summary | None = None
    ipdv: Summary | None = None


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

    def way(self, name: str) -> EmulatedWay:
        """Counts in a direction of `model.emulation.WAYS`. Nothing is known of it where the emulator is not ours."""
        return {"forward": self.forward, "reverse": self.reverse}[name] or EmulatedWay()


@dataclass(frozen=True, kw_only=True, slots=True)
class LinkEvent(Kept):
    """A change of a link in the middle of the trial.

    Attributes:
        due_ns, done_ns: after the trial's start.
        mtu_bytes: the new MTU, where that changed.
        forward, reverse: the properties of the direction that changed (`model.topology.Direction`), with new values.
        failed: what went wrong.
    """

    link: Name
    due_ns: Natural
    done_ns: Natural
    mtu_bytes: Natural | None = None
    forward: dict[Name, Any] | None = None
    reverse: dict[Name, Any] | None = None
    failed: Text | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class LateTimers(Kept):
    """The timers of the token bucket that sends on a link (`run.proof.timers`).

    Attributes:
        expired: how often one ran.
        late: how often it was later than the bucket has room for, which is `slack_ns`.
        worst_ns: the latest.
        lost_ns: for how long nothing was sent because of that, in all.
    """

    expired: Natural
    late: Natural
    worst_ns: Natural
    lost_ns: Natural
    slack_ns: Natural


_BUCKETS = {name: {"buckets"} for name in ("delay", "lateness", "ipdv")}


@cache
def _way_adapter() -> TypeAdapter[EmulatedWay]:
    return TypeAdapter(EmulatedWay)


def emulated_way(record: EmulatorRecord) -> EmulatedWay:
    """Counts of our emulator in one direction, without the buckets of its histograms."""
    return _way_adapter().validate_python(record.model_dump(exclude_none=True, exclude=_BUCKETS))
