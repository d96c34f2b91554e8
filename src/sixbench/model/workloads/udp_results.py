"""The forms of the two ends of a flow of datagrams, as the agent tells of them. Imported when a result arrives."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, model_validator

from ..form import ABSENT, Counts, Form, Natural
from ..result_form import Histogram, SideResult
from ..results import Sequences


class Waits(Form):
    """A sender's waiting for its due times."""

    spun_ns: Natural = ABSENT
    warmup_spun_ns: Natural = ABSENT


def _column(item_bytes: int) -> AfterValidator:
    def check_column(text: str) -> str:
        try:
            content = base64.b64decode(text, validate=True)
        except binascii.Error as error:
            raise ValueError(f"no Base64: {error}") from error
        if len(content) % item_bytes:
            raise ValueError(f"{len(content)} bytes are not numbers of {item_bytes} bytes each")
        return text

    return AfterValidator(check_column)


def _entries(text: str, item_bytes: int) -> int:
    return len(base64.b64decode(text)) // item_bytes


class SentLog(Form):
    """The datagrams that were sent, each column in Base64."""

    sent_realtime_ns: Annotated[str, _column(8)]
    payload_bytes: Annotated[str, _column(2)]
    omitted: Natural

    @model_validator(mode="after")
    def _is_even(self) -> SentLog:
        if _entries(self.sent_realtime_ns, 8) != _entries(self.payload_bytes, 2):
            raise ValueError("the columns of a packet log are not equally long")
        return self


class ReceivedLog(Form):
    """The datagrams that arrived, each column in Base64."""

    sequence: Annotated[str, _column(4)]
    received_realtime_ns: Annotated[str, _column(8)]
    omitted: Natural

    @model_validator(mode="after")
    def _is_even(self) -> ReceivedLog:
        if _entries(self.sequence, 4) != _entries(self.received_realtime_ns, 8):
            raise ValueError("the columns of a packet log are not equally long")
        return self


class FlowSender(SideResult):
    """The sending end of a flow of numbered packets."""

    packets: ClassVar = "datagrams"
    """Their names."""

    sent: Natural
    sent_bytes: Natural
    send_errors: Counts = ABSENT
    measured_ns: Natural = ABSENT
    scheduled_ns: Natural = ABSENT
    lateness: Histogram = ABSENT
    unsent: Natural = ABSENT
    waits: Waits = ABSENT
    warmup_sent: Natural = ABSENT

    @model_validator(mode="after")
    def _has_a_window(self) -> Self:
        if self.sent and self.measured_ns is None:
            raise ValueError(f"{self.packets} were sent, in no time")
        return self


class FlowReceiver(SideResult):
    """The receiving end of a flow of numbered packets."""

    packets: ClassVar = "datagrams"
    """Their names."""

    received: Natural
    unique: Natural
    duplicates: Natural
    reordered: Natural
    lost_middle: Natural
    lost_tail: Natural = ABSENT
    unique_bytes: Natural
    measured_bytes: Natural = ABSENT
    measured_ns: Natural = ABSENT
    one_way_delay: Histogram
    one_way_delay_negative: Natural = ABSENT
    ipdv: Histogram
    pdv: Histogram
    warmup_received: Natural = ABSENT
    sequences: Sequences = ABSENT

    @model_validator(mode="after")
    def _has_a_window(self) -> Self:
        if self.unique and ABSENT in (self.measured_bytes, self.measured_ns):
            raise ValueError(f"{self.packets} arrived, in no time")
        return self


class UdpSender(FlowSender):
    """The sending end of a flow of datagrams."""

    refused: Natural = ABSENT
    errors: Counts = ABSENT
    packet_log: SentLog = ABSENT


class UnevenSender(UdpSender):
    """One whose datagrams are not equally far apart, so that only it can tell how long its schedule was."""

    @model_validator(mode="after")
    def _has_a_schedule(self) -> UnevenSender:
        if self.sent and self.scheduled_ns is None:
            raise ValueError("datagrams were sent, by a schedule of no length")
        return self


class UdpReceiver(FlowReceiver):
    """The receiving end of a flow of datagrams."""

    jitter_rfc3550_ns: float = ABSENT
    socket_drops: Natural = ABSENT
    packet_log: ReceivedLog = ABSENT
