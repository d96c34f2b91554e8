"""The parts of agents' results that records keep and reports read (docs/protocol.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field, model_validator

from .form import ABSENT, MAX_ITEMS, Counts, Form, Name, Natural, Range, Ranges

ENDS = ("forward_sender", "forward_receiver", "reverse_sender", "reverse_receiver")
"""The ends of flows that have a result of their own in a side's result."""


MAX_HOPS = 255
"""A hop limit has 8 bits (RFC 8200 section 3)."""


class Socket(Form):
    """Settings that the kernel granted to a socket."""

    sndbuf_bytes: Natural = ABSENT
    rcvbuf_bytes: Natural = ABSENT
    mss_bytes: Natural = ABSENT
    window_bytes: Natural = ABSENT
    congestion: Name = ABSENT
    nodelay: bool = ABSENT


class KernelPathMtu(Form):
    """The path MTU that the kernel learned."""

    confirmed: bool
    silent: bool


class TcpPathMtu(Form):
    """TCP's use of the path MTU."""

    stalled: bool
    bytes_acked: Natural = ABSENT


class PathHop(Form):
    """A place on the way."""

    index: Natural = ABSENT
    between: Range = ABSENT
    address: Name = ABSENT
    before: Name = ABSENT
    after: Name = ABSENT


class PathMtu(Form):
    """The path MTU of one direction."""

    tcp: TcpPathMtu
    probes: Natural
    probe_bytes: Natural
    lost_probes: Natural = ABSENT
    routers: Natural = ABSENT
    kernel: KernelPathMtu = ABSENT
    kernel_bytes: Natural = ABSENT
    probed_bytes: Natural = ABSENT
    interface_bytes: Natural = ABSENT
    tcp_bytes: Natural = ABSENT
    converged_ns: Counts = ABSENT
    black_hole: PathHop = ABSENT
    limiting_hop: PathHop = ABSENT
    hops: Annotated[list[Name | None], Field(max_length=MAX_HOPS)] = ABSENT

    @model_validator(mode="after")
    def _is_whole(self) -> PathMtu:
        if (self.kernel is None) != (self.kernel_bytes is None):
            raise ValueError("a path MTU that the kernel learned lacks its bytes or its source")
        if self.probed_bytes != ABSENT and ABSENT in (self.kernel, self.interface_bytes):
            raise ValueError("a probed path MTU lacks the kernel's, with which it is compared")
        return self


class ObjectTimes(Form):
    """The times of all objects of a page, from its start."""

    begun_ns: Annotated[list[Natural], Field(max_length=MAX_ITEMS)]
    first_byte_ns: Annotated[list[Natural], Field(max_length=MAX_ITEMS)]
    ended_ns: Annotated[list[Natural], Field(max_length=MAX_ITEMS)]

    @model_validator(mode="after")
    def _in_order(self) -> ObjectTimes:
        times = (self.begun_ns, self.first_byte_ns, self.ended_ns)
        if len({len(column) for column in times}) > 1:
            raise ValueError("the times of a page's objects are not equally many")
        if any(list(of_object) != sorted(of_object) for of_object in zip(*times, strict=True)):
            raise ValueError("an object of a page ended before its answer began, or began before it was asked for")
        return self


class SequenceSet(Form):
    """Sequence numbers."""

    ranges: Ranges
    omitted: Natural


class Sequences(Form):
    """Datagrams that were lost, came again, or came late."""

    lost: SequenceSet
    duplicate: SequenceSet
    reordered: SequenceSet


class KeptEnd(Form):
    """The record's part about one end of a flow."""

    socket: Socket = ABSENT


class KeptResult(KeptEnd):
    """The record's part about a side's result. A workload of several flows has the result of each in `parts`."""

    sent: Natural = ABSENT
    sequences: Sequences = ABSENT
    last_page: ObjectTimes = ABSENT
    forward: PathMtu = ABSENT
    reverse: PathMtu = ABSENT
    forward_sender: KeptEnd = ABSENT
    forward_receiver: KeptEnd = ABSENT
    reverse_sender: KeptEnd = ABSENT
    reverse_receiver: KeptEnd = ABSENT
    parts: dict[Name, KeptResult] = ABSENT


def sockets_of(result: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """All sockets that a side's result tells of, of all its flows."""
    for item in (result, *(result[end] for end in ENDS if end in result)):
        if "socket" in item:
            yield item["socket"]
    for part in result.get("parts", {}).values():
        yield from sockets_of(part)
