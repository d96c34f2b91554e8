"""Captured packets as files that others read: tshark and capinfos are the readers here."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import observed
import pytest

from sixbench.bench.proof.pcapng import to_pcapng
from sixbench.model.observation import Packet

pytestmark = pytest.mark.computes

SIX_IN_FOUR = (
    "020000000002020000000001" + "0800"
    "4500003c000000004029ace0c6120101c6120102"
    "6000000000003b4020010002000000000000000000000001" + "20010002000000020000000000000002"
)
"""Ethernet, IPv4 (protocol 41) from 198.18.1.1 to 198.18.1.2, IPv6 without anything inside."""

TIME_NS = 1_760_000_000_123_456_789


def packet(data: str = SIX_IN_FOUR, **fields: Any) -> Packet:
    output = {"realtime_ns": TIME_NS, "wire_bytes": len(data) // 2, "outgoing": False, "data": data}
    return observed.packet(output | fields)


def blocks(content: bytes) -> list[tuple[int, bytes]]:
    """Kind and body of each block, whose length stands at both its ends (draft-ietf-opsawg-pcapng section 3.1)."""
    blocks = []
    while content:
        kind, length = struct.unpack_from("<II", content)
        assert length % 4 == 0
        assert struct.unpack_from("<I", content, length - 4) == (length,)
        blocks.append((kind, content[8 : length - 4]))
        content = content[length:]
    return blocks


def test_a_file_is_a_section_with_an_interface_and_its_packets() -> None:
    actual_blocks = blocks(to_pcapng([packet(), packet("00" * 15)], "eth1 of r1 on r1-r2", 192))
    assert [kind for kind, _ in actual_blocks] == [0x0A0D0D0A, 1, 6, 6]
    assert actual_blocks[0][1][:4] == bytes.fromhex("4d3c2b1a")
    assert b"eth1 of r1 on r1-r2" in actual_blocks[1][1]
    assert struct.unpack_from("<HHI", actual_blocks[1][1]) == (1, 0, 192)


def test_without_packets_it_is_a_file_too() -> None:
    assert [kind for kind, _ in blocks(to_pcapng([], "eth0", 192))] == [0x0A0D0D0A, 1]


@pytest.mark.parametrize("octets", range(14, 22))
def test_packets_of_any_length_are_kept_whole(octets: int) -> None:
    data = bytes(range(octets)).hex()
    _, body = blocks(to_pcapng([packet(data, wire_bytes=1514)], "eth0", 192))[2]
    assert struct.unpack_from("<II", body, 12) == (octets, 1514)
    assert body[20 : 20 + octets].hex() == data


@pytest.mark.parametrize(("time_ns", "high", "low"), [(0, 0, 0), (None, 0, 0), (2**32 + 5, 1, 5)])
def test_times_are_two_halves(time_ns: int | None, high: int, low: int) -> None:
    _, body = blocks(to_pcapng([packet(realtime_ns=time_ns)], "eth0", 192))[2]
    assert struct.unpack_from("<II", body, 4) == (high, low)


def tool(name: str) -> str:
    place = shutil.which(name)
    if place is None:
        pytest.skip(f"this machine has no {name}")
    return place


def dissected(*argv: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """An arriving packet of which all was kept, and a leaving one of which not."""
    path = tmp_path / "r1-r2.pcapng"
    whole = packet()
    cut = packet(SIX_IN_FOUR[:108], wire_bytes=1514, outgoing=True, realtime_ns=TIME_NS + 1)
    path.write_bytes(to_pcapng([whole, cut], "eth1 of r1 on r1-r2", 192))
    return path


def test_tshark_reads_it(file: Path) -> None:
    fields = (
        *("frame.time_epoch", "frame.len", "frame.cap_len", "frame.interface_name", "frame.packet_flags_direction"),
        *("eth.dst", "ip.proto", "ip.src", "ip.dst", "ipv6.src", "ipv6.dst"),
    )
    asked = [word for field in fields for word in ("-e", field)]
    text = dissected(tool("tshark"), "-r", str(file), "-T", "fields", "-E", "separator=|", *asked)
    rows = [dict(zip(fields, line.split("|"), strict=True)) for line in text.splitlines()]
    assert [row["frame.time_epoch"] for row in rows] == ["1760000000.123456789", "1760000000.123456790"]
    assert [(row["frame.len"], row["frame.cap_len"]) for row in rows] == [("74", "74"), ("1514", "54")]
    assert {row["frame.interface_name"] for row in rows} == {"eth1 of r1 on r1-r2"}
    assert [int(row["frame.packet_flags_direction"], 0) for row in rows] == [1, 2]
    first = rows[0]
    assert (first["eth.dst"], first["ip.proto"]) == ("02:00:00:00:00:02", "41")
    assert (first["ip.src"], first["ip.dst"]) == ("198.18.1.1", "198.18.1.2")
    assert (first["ipv6.src"], first["ipv6.dst"]) == ("2001:2::1", "2001:2:0:2::2")


def test_capinfos_finds_nothing_wrong(file: Path) -> None:
    text = dissected(tool("capinfos"), "-M", str(file))
    texts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}
    assert texts["File type"].endswith("pcapng")
    assert texts["File encapsulation"] in ("Ethernet", "ether")
    assert texts["File timestamp precision"].startswith("nanoseconds")
    assert (texts["Number of packets"], texts["Data size"]) == ("2", "1588 bytes")
