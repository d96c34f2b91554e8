"""Hardware time stamps of the tagged frames of a flow: what both ends have of them, and the delays that follow.

The interfaces of both hosts stamp tagged frames, by one clock. A frame without both stamps has no such delay, and
nothing stands in for it. All delays of a flow are by hardware, or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..parameter import Params
from ..quoting import printable
from ..workload import Result
from .two_ways import flows_of

HARDWARE_STAMPS = "hardware_stamps"
"""Parameter of the agents where the interfaces of both hosts may stamp frames; and its part of their results."""

REFUSED = "hardware_stamps_refused"
"""The reason why an interface does not."""


@dataclass(frozen=True, kw_only=True)
class Stamped:
    """The delays of a flow by hardware.

    Attributes:
        by: whose stamps they are, in words.
        tagged: how many frames were sent with a tag.
        delays_ns: from the sender's interface to the receiver's, of the frames that have both stamps.
    """

    by: str
    tagged: int
    delays_ns: Sequence[int]

    @property
    def words(self) -> str:
        """The frames that they belong to."""
        return f"{len(self.delays_ns)} of {self.tagged} tagged frames have the hardware time stamps of {self.by}"

    @property
    def is_wrong(self) -> bool:
        """True if a frame arrived before it was sent, so that somebody has set the clock meanwhile."""
        return any(delay_ns < 0 for delay_ns in self.delays_ns)


def stamps_of(sender: Result, receiver: Result) -> Stamped | str | None:
    """The delays of a flow by hardware; or why there are none, so that they are by the clock of the system. None:
    nobody was told to stamp frames."""
    for side, result in (("sender", sender), ("receiver", receiver)):
        if REFUSED in result:
            return f"{printable(result[REFUSED])} (at the {side})"
    if HARDWARE_STAMPS not in sender or HARDWARE_STAMPS not in receiver:
        return None
    sent, received = sender[HARDWARE_STAMPS], receiver[HARDWARE_STAMPS]
    names = [f"{printable(item['interface'])} (/dev/ptp{item['clock']})" for item in (sent, received)]
    if sent["clock"] != received["clock"]:
        return f"{names[0]} and {names[1]} have two clocks"
    if sent["one_of"] != received["one_of"]:
        return "the two ends have tagged different frames"
    tagged = min(len(sent["after_ns"]), -(-int(sender["sent"]) // int(sent["one_of"])))
    if tagged and "from_ns" not in sent:
        return f"{names[0]} has stamped none of the {tagged} tagged frames that it sent"
    pairs = zip(sent["after_ns"], received["after_ns"], strict=False)
    between_ns = received.get("from_ns", 0) - sent.get("from_ns", 0)
    delays_ns = [
        between_ns + came_ns - left_ns for left_ns, came_ns in pairs if left_ns is not None and came_ns is not None
    ]
    return Stamped(by=f"{names[0]} and {names[1]}", tagged=tagged, delays_ns=delays_ns)


def stamped_flows(params: Params, client: Result, server: Result) -> dict[str, Stamped]:
    """The flows of a trial whose delays are by hardware, by direction."""
    results = {name: stamps_of(*ends) for name, ends in flows_of(params, client, server).items()}
    return {name: item for name, item in results.items() if isinstance(item, Stamped)}
