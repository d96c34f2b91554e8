"""The packets of a capture on their way through a mechanism: what goes in, what comes out, and what is told of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from ..model.capture_file import (
    MAX_PACKET_BYTES,
    CaptureError,
    PcapWriter,
    Record,
    addresses_of,
    ip_start,
    read_capture,
)
from ..model.errors import UsageError
from .engines import PacketCarrier
from .process import PacketDecision

_BATCH_PACKETS = 64
_BATCH_BYTES = 2**16


@dataclass(frozen=True, kw_only=True)
class NumberedPacket:
    """An IP packet of a capture. `number` counts the capture's packets from 1, as Wireshark does."""

    number: int
    time_ns: int
    data: bytes


class CapturePackets:
    """The IP packets of a capture.

    Attributes:
        name: of the file, for messages.
        left_out: how many frames that are no IP packets there were so far.
    """

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self.name = name
        self.left_out = 0
        self._stream = stream
        self._kept: list[NumberedPacket] | None = None

    def keep(self) -> Sequence[NumberedPacket]:
        """All packets, which can then be had again. Raises `UsageError` as they do one by one."""
        if self._kept is None:
            self._kept = list(self)
        return self._kept

    def __iter__(self) -> Iterator[NumberedPacket]:
        """The packets in the order of the file. Raises `UsageError`, which says what is wrong, and where."""
        if self._kept is not None:
            yield from self._kept
            return
        number = 0
        try:
            for number, record in enumerate(read_capture(self._stream), 1):
                data = _ip_packet(record)
                if data is None:
                    self.left_out += 1
                else:
                    yield NumberedPacket(number=number, time_ns=record.time_ns or 0, data=data)
        except _NoWholePacket as error:
            raise UsageError(f"{self.name}: packet {number}: {error}") from error
        except CaptureError as error:
            raise UsageError(f"{self.name}: {error}") from error
        except OSError as error:
            raise UsageError(f"reading {self.name}: {error.strerror or error}") from error


class _NoWholePacket(CaptureError):
    """A packet that is not there as it was sent."""


def _ip_packet(record: Record) -> bytes | None:
    start = ip_start(record)
    if start is None:
        return None
    if len(record.data) < record.original_bytes:
        raise _NoWholePacket(
            f"it was cut off when it was captured, and has {len(record.data)} of {record.original_bytes} bytes; "
            "capture whole packets"
        )
    data = record.data[start:]
    if len(data) > MAX_PACKET_BYTES:
        raise _NoWholePacket(f"it has {len(data)} bytes, and an IP packet has at most {MAX_PACKET_BYTES}")
    return data


@dataclass(frozen=True, kw_only=True)
class CarriedPacket:
    """A packet, and what became of it."""

    packet: NumberedPacket
    decision: PacketDecision

    def in_words(self) -> str:
        """A line: number, verdict, rule and its section, addresses before and after, and what the rule says."""
        section = f" ({self.decision.section})" if self.decision.section else ""
        decided = f"{self.decision.verdict}, {self.decision.reason}{section}"
        after = f" -> {_in_words(self.decision.packets)}" if self.decision.packets else ""
        return f"{self.packet.number} {decided}: {_in_words([self.packet.data])}{after}. {self.decision.words}"

    def to_json(self) -> str:
        """The same as a JSON object on one line."""
        answers = {
            "number": self.packet.number,
            "verdict": self.decision.verdict,
            "clause": self.decision.reason,
            "section": self.decision.section,
            "words": self.decision.words,
            "in": _to_json(self.packet.data),
            "out": [_to_json(packet) for packet in self.decision.packets],
        }
        return json.dumps(answers, allow_nan=False)


class PacketJourney:
    """Packets as they pass through a mechanism, one after the other, and the counts of what became of them."""

    def __init__(self, mechanism: PacketCarrier, packets: CapturePackets, written: PcapWriter | None) -> None:
        self._mechanism = mechanism
        self._packets = packets
        self._written = written
        self._counts: Counter[tuple[str, str]] = Counter()
        self._out = 0
        self._in_vain = 0

    def __iter__(self) -> Iterator[CarriedPacket]:
        """Each packet when what came out of it has been written. Raises `UsageError` and `AgentError`."""
        for batch in _batches(self._packets):
            decisions = self._mechanism.carry([(packet.time_ns, packet.data) for packet in batch])
            for packet, decision in zip(batch, decisions, strict=True):
                self._write(packet, decision)
                yield CarriedPacket(packet=packet, decision=decision)
        self._in_vain = self._mechanism.finish()

    def _write(self, packet: NumberedPacket, decision: PacketDecision) -> None:
        self._counts[decision.verdict, decision.reason] += 1
        self._out += len(decision.packets)
        if self._written is None:
            return
        try:
            for data in decision.packets:
                self._written.write(packet.time_ns, data)
        except CaptureError as error:
            raise UsageError(f"{self._packets.name}: packet {packet.number}: {error}") from error

    def summary(self) -> str:
        """Number of packets, with the counts of each outcome and rule."""
        verdicts: dict[str, Counter[str]] = {}
        for (verdict, reason), count in sorted(self._counts.items()):
            verdicts.setdefault(verdict, Counter())[reason] += count
        parts = [
            f"{counts.total()} {verdict} ({', '.join(f'{count} {reason}' for reason, count in counts.most_common())})"
            for verdict, counts in sorted(verdicts.items(), reverse=True)
        ]
        text = f"packets: {self._counts.total()} in, {self._out} out"
        text += f"; {', '.join(parts)}" if parts else ""
        if self._in_vain:
            text += f"; fragments that waited in vain for others of their packet: {self._in_vain}"
        left_out = self._packets.left_out
        return f"{text}; frames without an IP packet, left out: {left_out}" if left_out else text


def _batches(packets: Iterable[NumberedPacket]) -> Iterator[list[NumberedPacket]]:
    batch: list[NumberedPacket] = []
    batch_bytes = 0
    for packet in packets:
        batch.append(packet)
        batch_bytes += len(packet.data)
        if len(batch) == _BATCH_PACKETS or batch_bytes >= _BATCH_BYTES:
            yield batch
            batch, batch_bytes = [], 0
    if batch:
        yield batch


def _in_words(packets: Iterable[bytes]) -> str:
    """Addresses and lengths: lengths with a plus between them where the addresses are the same, as of fragments."""
    lengths: dict[str, list[int]] = {}
    for packet in packets:
        ends = addresses_of(packet)
        lengths.setdefault(f"{ends[0]} > {ends[1]}" if ends else "no IP header", []).append(len(packet))
    return "; ".join(f"{ends}, {' + '.join(map(str, all_of))} bytes" for ends, all_of in lengths.items())


def _to_json(packet: bytes) -> dict[str, Any]:
    ends = addresses_of(packet)
    source, destination = map(str, ends) if ends else (None, None)
    return {"source": source, "destination": destination, "bytes": len(packet)}
