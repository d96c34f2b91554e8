"""The forms of the two ends of a flow of frames, as the agent tells of them. Imported when a result arrives."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from ..form import ABSENT, Form, Name, Natural
from ..result_form import Histogram
from .udp_results import FlowReceiver, FlowSender


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

    @model_validator(mode="after")
    def _has_natives(self) -> Self:
        if self.native is not None and self.native.unique > self.unique:
            raise ValueError("more native frames arrived than frames at all")
        return self
