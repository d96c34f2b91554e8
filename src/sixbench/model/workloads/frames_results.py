"""The forms of the two ends of a flow of frames, as the agent tells of them. Imported when a result arrives."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from ..form import ABSENT, Form, Name, Natural, Positive
from ..result_form import Histogram
from .udp_results import FlowReceiver, FlowSender

MOST_TAGGED = 2000
"""Counts of a flow."""


class HardwareStamps(Form):
    """Times at which the tagged frames of a flow passed an interface, by the interface's own clock.

    Attributes:
        clock: its number: 0 is /dev/ptp0.
        one_of: one of so many frames is tagged, the first among them.
        from_ns: the least time. None: no frame was stamped.
        after_ns: how much later each tagged frame passed, in the order of their numbers. None: it was not stamped.
    """

    interface: Name
    clock: Natural
    one_of: Positive
    from_ns: Natural = ABSENT
    after_ns: Annotated[list[Natural | None], Field(max_length=MOST_TAGGED)]

    @model_validator(mode="after")
    def _has_a_beginning(self) -> Self:
        if self.from_ns is None and any(number is not None for number in self.after_ns):
            raise ValueError("frames were stamped, from no time on")
        return self


class NativeSent(Form):
    """The frames that went natively, at their sender."""

    family: Literal[4, 6]
    sent: Natural


class NativeReceived(Form):
    """The same at their receiver."""

    family: Literal[4, 6]
    unique: Natural


class FrameSender(FlowSender):
    """The sending end."""

    packets = "frames"
    due: Natural
    lateness: Histogram
    inter_frame_error: Histogram
    native: NativeSent = ABSENT
    engine: Name = ABSENT
    engine_refused: Name = ABSENT
    hardware_stamps: HardwareStamps = ABSENT
    hardware_stamps_refused: Name = ABSENT


class FrameReceiver(FlowReceiver):
    """The receiving end."""

    packets = "frames"
    corrupt: Natural
    late: Natural
    last_lost: Natural = ABSENT
    ring_drops: Natural
    native: NativeReceived | None = ABSENT
    otherwise_extended: Natural = ABSENT
    engine: Name = ABSENT
    engine_refused: Name = ABSENT
    hardware_stamps: HardwareStamps = ABSENT
    hardware_stamps_refused: Name = ABSENT

    @model_validator(mode="after")
    def _has_natives(self) -> Self:
        if self.native is not None and self.native.unique > self.unique:
            raise ValueError("more native frames arrived than frames at all")
        return self
