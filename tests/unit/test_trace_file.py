"""Captures to traces: the formats, what is taken of each packet, and what is said of files that are none."""

from __future__ import annotations

import base64
import os
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sixbench.bench.proof.pcapng import to_pcapng
from sixbench.model.capture_file import CaptureError
from sixbench.model.observation import Packet
from sixbench.model.trace import MAX_PACKETS
from sixbench.plan.trace_file import read_trace

pytestmark = pytest.mark.computes

SECOND = 10**9
ETHERNET = b"\xaa" * 12


def ipv4(payload_bytes: int, options_bytes: int = 0) -> bytes:
    """A UDP datagram with so much payload, as far as its IP header."""
    length = 20 + options_bytes + 8 + payload_bytes
    return struct.pack("!BBH", 0x45 + options_bytes // 4, 0, length) + bytes(16 + options_bytes)


def ipv6(payload_bytes: int) -> bytes:
    return struct.pack("!IH", 6 << 28, 8 + payload_bytes) + bytes(34)


def pcap(packets: Sequence[tuple[int, bytes]], link_type: int = 1, order: str = "<", magic: int = 0xA1B23C4D) -> bytes:
    ticks = SECOND if magic == 0xA1B23C4D else 10**6
    parts = [struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 65535, link_type)]
    for time_ns, data in packets:
        fraction = time_ns % SECOND // (SECOND // ticks)
        parts += [struct.pack(f"{order}IIII", time_ns // SECOND, fraction, len(data), len(data)), data]
    return b"".join(parts)


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    body += bytes(-len(body) % 4)
    length = struct.pack(f"{order}I", 12 + len(body))
    return struct.pack(f"{order}I", kind) + length + body + length


def section(order: str = "<") -> bytes:
    return block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def interface(link_type: int = 101, options: bytes = b"", order: str = "<") -> bytes:
    return block(1, struct.pack(f"{order}HHI", link_type, 0, 0) + options, order)


def enhanced(ticks: int, data: bytes, number: int = 0, order: str = "<") -> bytes:
    head = struct.pack(f"{order}IIIII", number, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data))
    return block(6, head + data, order)


def decoded(text: str) -> list[tuple[int, int]]:
    numbers, value, shift = [], 0, 0
    for byte in base64.b64decode(text):
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(value)
            value = shift = 0
    return list(zip(numbers[::2], numbers[1::2], strict=True))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "calls.pcap"


def read(file: Path, content: bytes) -> list[tuple[int, int]]:
    file.write_bytes(content)
    return decoded(read_trace(file).datagrams)


TWO = [(5 * SECOND, ipv4(100)), (5 * SECOND + 20_000_000, ipv4(200))]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("magic", [0xA1B2C3D4, 0xA1B23C4D])
def test_pcap_in_every_byte_order_and_unit(file: Path, order: str, magic: int) -> None:
    assert read(file, pcap(TWO, 101, order, magic)) == [(0, 100), (20_000_000, 200)]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(
    ("options", "ticks_per_s"),
    [
        (b"", 10**6),
        (b"\x09\x00\x01\x00\x09\x00\x00\x00", 10**9),
        (b"\x09\x00\x01\x00\x94\x00\x00\x00\x00\x00\x00\x00", 2**20),
    ],
)
def test_pcapng_in_every_byte_order_and_resolution(file: Path, order: str, options: bytes, ticks_per_s: int) -> None:
    if order == ">":
        options = options.replace(b"\x09\x00\x01\x00", b"\x00\x09\x00\x01")
    content = section(order) + interface(101, options, order) + block(5, bytes(12), order)
    content += enhanced(ticks_per_s, ipv6(80), 0, order) + enhanced(3 * ticks_per_s, ipv4(90), 0, order)
    assert read(file, content) == [(0, 80), (2 * SECOND, 90)]


def test_what_our_own_captures_hold_is_read(file: Path) -> None:
    packets = [
        Packet(
            realtime_ns=10**18 + at,
            wire_bytes=200,
            outgoing=True,
            data=(ETHERNET + b"\x08\x00" + data).hex(),
            layers=[],
        )
        for at, data in ((0, ipv4(100)), (7_000, ipv4(40)))
    ]
    assert read(file, to_pcapng(packets, "eth0", 192)) == [(0, 100), (7_000, 40)]


@pytest.mark.parametrize(
    ("link_type", "head"),
    [
        (1, ETHERNET + b"\x08\x00"),
        (1, ETHERNET + b"\x81\x00\x00\x05\x88\xa8\x00\x06\x08\x00"),
        (0, b"\x02\x00\x00\x00"),
        (113, bytes(14) + b"\x08\x00"),
        (276, b"\x08\x00" + bytes(18)),
        (228, b""),
    ],
)
def test_every_link_layer(file: Path, link_type: int, head: bytes) -> None:
    assert read(file, pcap([(at, head + data) for at, data in TWO], link_type)) == [(0, 100), (20_000_000, 200)]


def test_what_is_taken_of_a_packet(file: Path) -> None:
    arp = ETHERNET + b"\x08\x06" + bytes(28)
    four, six = ETHERNET + b"\x08\x00", ETHERNET + b"\x86\xdd"
    before_segmentation = struct.pack("!BBH", 0x45, 0, 0) + bytes(76)
    packets = [four + ipv4(100, options_bytes=8), six + ipv6(60_000), four + ipv4(3), four + before_segmentation, arp]
    file.write_bytes(pcap([(1000 * index, packet) for index, packet in enumerate(packets)]))
    trace = read_trace(file)
    assert [size for _, size in decoded(trace.datagrams)] == [100, 60_000, 32, 52]
    assert (trace.packets, trace.padded, trace.skipped, trace.duration_ns) == (4, 1, 1, 3000)
    assert len(trace.sha256) == 64


def test_packets_go_in_the_order_of_their_times(file: Path) -> None:
    assert read(file, pcap([(9000, ipv4(40)), (100, ipv4(50)), (4100, ipv4(60))], 101)) == [
        (0, 50),
        (4000, 60),
        (4900, 40),
    ]


HEAD = pcap([], 101)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "at byte 0: the file ends where a capture should be"),
        (b"%PDF-1.4", "at byte 0: it is neither pcap nor pcapng"),
        (HEAD[:20], "at byte 4: the file ends in the middle of the header of a pcap file"),
        (HEAD, "it has 0 IP packets; at least two are needed"),
        (pcap(TWO, 101)[:-1], "at byte 76: the file ends in the middle of a packet"),
        (HEAD + struct.pack("<IIII", 1, 1, 2**31, 2**31), "at byte 24: a packet cannot have 2147483648 bytes"),
        (pcap(TWO, 147), "link type 147 cannot be read"),
        (pcap([(0, ipv4(40)), (3601 * SECOND, ipv4(40))], 101), "there is an hour or more between two of its packets"),
        (section()[:12] + bytes(16), "at byte 0: a block's two lengths differ"),
        (section() + block(6, bytes(20)), "at byte 28: a packet is of interface 0, which the file does not describe"),
        (section() + interface() + block(6, bytes(8)), "at byte 48: a packet's block is too short"),
        (section() + interface() + block(3, bytes(8)), "at byte 48: a packet has no time"),
        (section() + struct.pack("<II", 1, 13), "at byte 28: a block cannot have 13 bytes"),
        (section() + interface() * 1025, "it has more than 1024 interfaces"),
        (struct.pack("<III", 0x0A0D0D0A, 28, 7), "at byte 0: a section has no byte order"),
    ],
)
def test_what_is_wrong_is_said_with_the_byte(file: Path, content: bytes, message: str) -> None:
    file.write_bytes(content)
    with pytest.raises(CaptureError) as refused:
        read_trace(file)
    assert message in str(refused.value)


def test_too_many_packets_are_refused(file: Path) -> None:
    file.write_bytes(pcap([(at, ipv4(40)) for at in range(0, 1000 * (MAX_PACKETS + 1), 1000)], 101))
    with pytest.raises(CaptureError, match=f"more than {MAX_PACKETS} IP packets; cut it"):
        read_trace(file)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        read_trace(tmp_path)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(OSError, match="it is not a regular file"):
        read_trace(tmp_path / "fifo")


@settings(max_examples=300)
@given(st.binary(max_size=200), st.sampled_from([b"", HEAD, section(), section() + interface()]))
def test_no_file_is_more_than_refused(tmp_path_factory: pytest.TempPathFactory, rest: bytes, start: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "any.pcap"
    file.write_bytes(start + rest)
    try:
        assert read_trace(file).packets >= 2
    except CaptureError as refused:
        if not str(refused).isprintable():
            raise AssertionError(f"refused with {refused!r}") from refused


@given(st.lists(st.tuples(st.integers(1000, 3600 * SECOND), st.integers(32, 1400)), min_size=2, max_size=40))
def test_what_is_written_is_what_is_sent(
    tmp_path_factory: pytest.TempPathFactory, packets: list[tuple[int, int]]
) -> None:
    file, now_ns, written = tmp_path_factory.getbasetemp() / "written.pcap", 0, []
    for gap_ns, size in packets:
        now_ns += gap_ns
        written.append((now_ns, ipv4(size)))
    gaps = [0, *(gap_ns for gap_ns, _ in packets[1:])]
    assert read(file, pcap(written, 101)) == list(zip(gaps, [size for _, size in packets], strict=True))
