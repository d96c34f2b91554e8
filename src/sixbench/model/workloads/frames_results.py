"""The forms of the two ends of a flow of frames, as the agent tells of them. Imported when a result arrives."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from ..form import ABSENT, Counts, Form, Name, Natural
from ..result_form import Histogram, SideResult
from ..results import Sequences
from .udp_results import Waits


class NativeSent(Form):
    """The frames that went natively, at their sender."""

    family: Literal[4, 6]
    sent: Natural


class NativeReceived(Form):
    """The same at their receiver."""

    family: Literal[4, 6]
    unique: Natural


class FrameSender(SideResult):
    """The sending end."""

    sent: Natural
    sent_bytes: Natural
    due: Natural
    send_errors: Counts = ABSENT
    measured_ns: Natural = ABSENT
    scheduled_ns: Natural = ABSENT
    lateness: Histogram
    inter_frame_error: Histogram
    unsent: Natural = ABSENT
    waits: Waits = ABSENT
    warmup_sent: Natural = ABSENT
    native: NativeSent = ABSENT
    engine: Name = ABSENT
    engine_refused: Name = ABSENT

    @model_validator(mode="after")
    def _has_a_window(self) -> FrameSender:
        if self.sent and self.measured_ns is None:
            raise ValueError("frames were sent, in no time")
        return self


class FrameReceiver(SideResult):
    """The receiving end."""

    received: Natural
    unique: Natural
    duplicates: Natural
    reordered: Natural
    corrupt: Natural
    late: Natural
    lost_middle: Natural
    lost_tail: Natural = ABSENT
    last_lost: Natural = ABSENT
    unique_bytes: Natural
    measured_bytes: Natural = ABSENT
    measured_ns: Natural = ABSENT
    one_way_delay: Histogram
    one_way_delay_negative: Natural = ABSENT
    ipdv: Histogram
    pdv: Histogram
    ring_drops: Natural
    warmup_received: Natural = ABSENT
    sequences: Sequences = ABSENT
    native: NativeReceived | None = ABSENT
    otherwise_extended: Natural = ABSENT
    engine: Name = ABSENT
    engine_refused: Name = ABSENT

    @model_validator(mode="after")
    def _has_a_window(self) -> FrameReceiver:
        if self.native is not None and self.native.unique > self.unique:
            raise ValueError("more native frames arrived than frames at all")
        if self.unique and ABSENT in (self.measured_bytes, self.measured_ns):
            raise ValueError("frames arrived, in no time")
        return self
