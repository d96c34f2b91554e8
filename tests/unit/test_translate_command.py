"""`sixbench translate` with the real agent: packets in, packets out, and what is said of them.

Headers and checksums are written and checked by functions of the tests alone.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any

import pytest
from ip_packets import HOST4, HOST6, ICMPV6, OTHER6, checksum, ipv4, ipv6, pcap
from waiting import wait_for

from sixbench.model.capture_file import MAX_PACKET_BYTES, read_capture

Command = Callable[..., Any]

LOCAL4, REMOTE4 = "192.0.2.1", "192.0.2.2"
LOCAL6, REMOTE6 = "2001:db8::1", "2001:db8::2"
GRE = 47
SIX_IN_FOUR = ("6in4", "--local", LOCAL4, "--remote", REMOTE4)
ETHERNET = b"\xaa" * 12


def block(kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    length = struct.pack("<I", 12 + len(body))
    return struct.pack("<I", kind) + length + body + length


def pcapng(packets: Sequence[bytes], *, simple: bool = False) -> bytes:
    content = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)) + block(1, struct.pack("<HHI", 101, 0, 0))
    for number, packet in enumerate(packets):
        sizes = struct.pack("<II", len(packet), len(packet))
        head = sizes[:4] if simple else struct.pack("<III", 0, 0, number) + sizes
        content += block(3 if simple else 6, head + packet)
    return content


@pytest.fixture
def carried(tmp_path: Path, sixbench: Command) -> Callable[..., list[bytes]]:
    """Function for the packets that come out of a mechanism, for packets that go in."""

    def run(arguments: Sequence[str], *packets: bytes) -> list[bytes]:
        (tmp_path / "in.pcap").write_bytes(pcap(packets))
        done = sixbench("translate", *arguments, "--in", tmp_path / "in.pcap", "--out", tmp_path / "out.pcap")
        assert (done.exit, done.stdout) == (0, ""), done.stderr
        return packets_of(tmp_path / "out.pcap")

    return run


@pytest.fixture
def explained(tmp_path: Path, sixbench: Command) -> Callable[..., list[tuple[str, str]]]:
    """The verdict of each packet, and the rule."""

    def run(arguments: Sequence[str], *packets: bytes) -> list[tuple[str, str]]:
        (tmp_path / "in.pcap").write_bytes(pcap(packets))
        done = sixbench("translate", *arguments, "--in", tmp_path / "in.pcap", "--json")
        assert done.exit == 0, done.stderr
        documents = [json.loads(line) for line in done.stdout.splitlines()]
        assert [document["number"] for document in documents] == list(range(1, len(packets) + 1))
        return [(document["verdict"], document["clause"]) for document in documents]

    return run


def packets_of(file: Path) -> list[bytes]:
    with file.open("rb") as stream:
        records = list(read_capture(stream))
    assert {record.link_type for record in records} <= {101}
    return [record.data for record in records]


DATA = b"\x03\xe8\x07\xd0\x00\x0c\xbe\xefdata"
INNER = ipv6(DATA)


def test_a_packet_goes_into_a_tunnel_and_comes_out_of_it(carried: Command) -> None:
    (outer,) = carried(SIX_IN_FOUR, INNER)
    assert outer == ipv4(INNER, source=LOCAL4, destination=REMOTE4, protocol=41)
    assert carried(("6in4", "--local", REMOTE4, "--remote", LOCAL4), outer) == [INNER]


def test_what_is_said_of_each_packet(tmp_path: Path, sixbench: Command) -> None:
    stranger = ipv4(INNER, source="192.0.2.9", destination=LOCAL4, protocol=41)
    (tmp_path / "in.pcap").write_bytes(pcap([INNER, stranger, b"\x45"]))
    done = sixbench("translate", *SIX_IN_FOUR, "--in", tmp_path / "in.pcap", "--explain")
    assert done.exit == 0
    assert done.stdout.splitlines() == [
        f"1 translated, encapsulated (RFC 4213 section 3.5): {HOST6} > {OTHER6}, 52 bytes -> {LOCAL4} > {REMOTE4}, "
        "72 bytes. The outer headers are put before the packet.",
        f"2 dropped, source-not-peer (RFC 4213 section 3.6): 192.0.2.9 > {LOCAL4}, 72 bytes. The outer source is none "
        "from which this end takes the packet.",
        "3 dropped, outer-truncated (RFC 791 section 3.1): no IP header, 1 bytes. The outer packet is not whole.",
    ]
    assert done.stderr == (
        "packets: 3 in, 1 out; 1 translated (1 encapsulated), 2 dropped (1 outer-truncated, 1 source-not-peer)\n"
    )


def test_json_has_the_same(tmp_path: Path, sixbench: Command) -> None:
    (tmp_path / "in.pcap").write_bytes(pcap([INNER]))
    done = sixbench("translate", *SIX_IN_FOUR, "--in", tmp_path / "in.pcap", "--json")
    assert json.loads(done.stdout) == {
        "number": 1,
        "verdict": "translated",
        "clause": "encapsulated",
        "section": "RFC 4213 section 3.5",
        "words": "The outer headers are put before the packet.",
        "in": {"source": HOST6, "destination": OTHER6, "bytes": 52},
        "out": [{"source": LOCAL4, "destination": REMOTE4, "bytes": 72}],
    }


def test_packets_keep_their_times(tmp_path: Path, sixbench: Command) -> None:
    (tmp_path / "in.pcap").write_bytes(pcap([INNER, INNER], time_ns=1_700_000_000_123_456_789))
    sixbench("translate", *SIX_IN_FOUR, "--in", tmp_path / "in.pcap", "--out", tmp_path / "out.pcap")
    with (tmp_path / "out.pcap").open("rb") as stream:
        times = [record.time_ns for record in read_capture(stream)]
    assert times == [1_700_000_000_123_456_789, 1_700_000_000_123_456_790]


def in_a_pipe(*arguments: str, given: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "sixbench", "translate", *arguments],
        input=given,
        capture_output=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )


def test_standard_input_and_output(tmp_path: Path) -> None:
    done = in_a_pipe(*SIX_IN_FOUR, "--in", "-", "--out", "-", "--explain", given=pcap([INNER] * 1000))
    assert done.returncode == 0
    (tmp_path / "out.pcap").write_bytes(done.stdout)
    assert len(packets_of(tmp_path / "out.pcap")) == 1000
    lines = done.stderr.decode().splitlines()
    assert (len(lines), lines[-1]) == (1001, "packets: 1000 in, 1000 out; 1000 translated (1000 encapsulated)")


def started(*arguments: str | Path) -> subprocess.Popen[bytes]:
    """The command in a process of its own, with pipes."""
    return subprocess.Popen(
        [sys.executable, "-m", "sixbench", "translate", *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )


def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    with started(*SIX_IN_FOUR, "--in", "-", "--out", tmp_path / "out.pcap", "--explain") as process:
        assert process.stdin is not None
        process.stdin.write(pcap([INNER] * 1000))
        process.stdin.flush()
        wait_for(lambda: bool(list(tmp_path.iterdir())))
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    assert list(tmp_path.iterdir()) == []


def test_packets_go_on_when_nobody_reads_what_is_said_of_them(tmp_path: Path) -> None:
    (tmp_path / "in.pcap").write_bytes(pcap([INNER] * 5000))
    files = ("--in", tmp_path / "in.pcap", "--out", tmp_path / "out.pcap")
    with started(*SIX_IN_FOUR, *files, "--explain") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b"1 translated, encapsulated")
        process.stdout.close()
        text = process.stderr.read().decode()
    assert (process.returncode, text) == (0, "packets: 5000 in, 5000 out; 5000 translated (5000 encapsulated)\n")
    assert len(packets_of(tmp_path / "out.pcap")) == 5000


@pytest.mark.parametrize("content", [pcapng([INNER, INNER]), pcapng([INNER, INNER], simple=True)])
def test_pcapng_is_read(tmp_path: Path, sixbench: Command, content: bytes) -> None:
    (tmp_path / "in.pcapng").write_bytes(content)
    done = sixbench("translate", *SIX_IN_FOUR, "--in", tmp_path / "in.pcapng", "--out", tmp_path / "out.pcap")
    assert done.exit == 0
    assert [packet[20:] for packet in packets_of(tmp_path / "out.pcap")] == [INNER, INNER]


def test_ip_packets_of_ethernet_frames_are_taken(tmp_path: Path, sixbench: Command) -> None:
    arp, padded = ETHERNET + b"\x08\x06" + bytes(28), ETHERNET + b"\x86\xdd" + INNER + bytes(20)
    (tmp_path / "in.pcap").write_bytes(pcap([arp, padded], link_type=1))
    done = sixbench("translate", *SIX_IN_FOUR, "--in", tmp_path / "in.pcap", "--out", tmp_path / "out.pcap", "--json")
    assert [packet[20:] for packet in packets_of(tmp_path / "out.pcap")] == [INNER]
    assert json.loads(done.stdout)["number"] == 2, "as Wireshark numbers it"
    assert done.stderr.endswith("; frames without an IP packet, left out: 1\n")


def test_the_largest_packets_and_many_of_them(carried: Command) -> None:
    large = ipv6(bytes(65_000))
    assert [len(packet) for packet in carried(SIX_IN_FOUR, *[large] * 200)] == [65_060] * 200


def test_no_packets_are_no_packets_out(tmp_path: Path, sixbench: Command) -> None:
    (tmp_path / "in.pcap").write_bytes(pcap([]))
    done = sixbench("translate", *SIX_IN_FOUR, "--in", tmp_path / "in.pcap", "--out", tmp_path / "out.pcap")
    assert (done.exit, done.stderr) == (0, "packets: 0 in, 0 out\n")
    assert packets_of(tmp_path / "out.pcap") == []


CUT_OFF = pcap([]) + struct.pack("<IIII", 0, 0, 52, 1500) + INNER
TOO_LONG = pcap([INNER, bytes(MAX_PACKET_BYTES + 1)])
TOO_LATE = pcapng([]) + block(6, struct.pack("<IIIII", 0, 2**31, 0, 52, 52) + INNER)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "in.pcap: at byte 0: the file ends where a capture should be"),
        (b"%PDF-1.4", "in.pcap: at byte 0: it is neither pcap nor pcapng"),
        (pcap([INNER, INNER])[:-1], "in.pcap: at byte 108: the file ends in the middle of a packet"),
        (pcap([INNER], link_type=147), "in.pcap: link type 147 cannot be read"),
        (CUT_OFF, "in.pcap: packet 1: it was cut off when it was captured, and has 52 of 1500 bytes"),
        (TOO_LONG, f"in.pcap: packet 2: it has {MAX_PACKET_BYTES + 1} bytes, and an IP packet has at most"),
        (TOO_LATE, "in.pcap: packet 1: a pcap file has no room for its time"),
        (pcap([INNER]) + struct.pack("<IIII", 0, 0, 2**31, 2**31), "a packet cannot have 2147483648 bytes"),
    ],
)
def test_a_file_that_is_wrong_leaves_nothing(tmp_path: Path, sixbench: Command, content: bytes, message: str) -> None:
    (tmp_path / "in.pcap").write_bytes(content)
    done = sixbench("translate", *SIX_IN_FOUR, "--in", tmp_path / "in.pcap", "--out", tmp_path / "out.pcap")
    assert done.exit == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["in.pcap"]


def test_what_was_there_stays_where_the_input_is_wrong(tmp_path: Path, sixbench: Command) -> None:
    (tmp_path / "in.pcap").write_bytes(b"nothing")
    (tmp_path / "out.pcap").write_bytes(b"mine")
    sixbench("translate", *SIX_IN_FOUR, "--in", tmp_path / "in.pcap", "--out", tmp_path / "out.pcap")
    assert (tmp_path / "out.pcap").read_bytes() == b"mine"


def test_a_capture_can_be_replaced_by_what_it_becomes(tmp_path: Path, sixbench: Command) -> None:
    (tmp_path / "x.pcap").write_bytes(pcap([INNER]))
    sixbench("translate", *SIX_IN_FOUR, "--in", tmp_path / "x.pcap", "--out", tmp_path / "x.pcap")
    assert [packet[20:] for packet in packets_of(tmp_path / "x.pcap")] == [INNER]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*SIX_IN_FOUR, "--out", "x", "--engine", "tayga"], "tayga is a translator without state"),
        ([*SIX_IN_FOUR, "--out", "x", "--engine", "kernel"], '--engine "kernel": it is one of user, ebpf, tayga'),
        ([*SIX_IN_FOUR], "write the packets to a file with --out FILE"),
        (["6in4", "--local", "host", "--remote", REMOTE4, "--json"], '--local: "host" is not an IPv4 address'),
        (["6in4", "--local", LOCAL4, "--remote", LOCAL4, "--json"], "remote and local are both 192.0.2.1"),
        ([*SIX_IN_FOUR, "--mtu", "1279", "--json"], '--mtu: "1279" is not a number from 1280 to'),
        ([*SIX_IN_FOUR, "--ttl", "-1", "--json"], '--ttl: "-1" is not a number from 0 to 255'),
        ([*SIX_IN_FOUR, "--pmtu", "none", "--json"], '"none" is not one of static, dynamic'),
        (["gre", "--local", LOCAL4, "--remote", REMOTE6, "--json"], "remote 2001:db8::2 is not of the outer family"),
        (["6to4", "--local", "10.0.0.1", "--json"], "needs allow_private"),
        (["6rd", "--local", LOCAL4, "--prefix", "2001:db8::/40", "--json"], "there is no room for a subnet"),
        (["6rd", "--local", LOCAL4, "--prefix", "2001:db8::1/32", "--json"], "is not an IPv6 prefix"),
        (["6in4", "--local", LOCAL4, "--json"], "Missing option '--remote'"),
        (["4in6", "--local", "fe80::1%eth0", "--remote", REMOTE6, "--json"], "is not an IPv6 address"),
    ],
)
def test_options_that_are_wrong(tmp_path: Path, sixbench: Command, arguments: list[str], message: str) -> None:
    (tmp_path / "in.pcap").write_bytes(pcap([INNER]))
    done = sixbench("translate", *arguments, "--in", tmp_path / "in.pcap")
    assert (done.exit, done.stdout) == (2, "")
    assert message in done.stderr


def test_files_that_cannot_be_read_or_written(tmp_path: Path, sixbench: Command) -> None:
    missing = sixbench("translate", *SIX_IN_FOUR, "--in", tmp_path / "none.pcap", "--json")
    assert (missing.exit, missing.stderr) == (
        2,
        f"sixbench: reading {tmp_path}/none.pcap: No such file or directory\n",
    )
    os.mkfifo(tmp_path / "fifo")
    assert (
        "give - for standard input" in sixbench("translate", *SIX_IN_FOUR, "--in", tmp_path / "fifo", "--json").stderr
    )
    (tmp_path / "in.pcap").write_bytes(pcap([INNER]))
    nowhere = sixbench("translate", *SIX_IN_FOUR, "--in", tmp_path / "in.pcap", "--out", tmp_path / "no" / "x")
    assert (nowhere.exit, "No such file or directory" in nowhere.stderr) == (3, True)


@pytest.mark.parametrize(
    ("lines", "exit_code", "message"),
    [
        ("exit 0", 3, "the agent ended with code 0 before it had answered"),
        ("echo help me >&2; exit 9", 3, "the agent ended with code 9 before it had answered: help me"),
        ("read first; read second; echo '{}'; cat > /dev/null", 3, "a packet was answered without verdict"),
        ("read first; read second; echo rubbish; cat > /dev/null", 3, "that is no JSON"),
    ],
)
def test_an_agent_that_fails(
    tmp_path: Path, sixbench: Command, monkeypatch: pytest.MonkeyPatch, lines: str, exit_code: int, message: str
) -> None:
    agent = tmp_path / "sixbench-agent"
    agent.write_text(f"#!/bin/sh\n{lines}\n")
    agent.chmod(0o755)
    monkeypatch.setenv("SIXBENCH_AGENT", str(agent))
    (tmp_path / "in.pcap").write_bytes(pcap([INNER]))
    done = sixbench("translate", *SIX_IN_FOUR, "--in", tmp_path / "in.pcap", "--out", tmp_path / "out.pcap")
    assert (done.exit, message in done.stderr) == (exit_code, True), done.stderr
    assert not (tmp_path / "out.pcap").exists()


def test_options_of_a_tunnel(carried: Command, explained: Command) -> None:
    marked = ipv6(DATA, traffic_class=0xB9, hop_limit=7)  # EF, ECT(1)
    header = carried(SIX_IN_FOUR, marked)[0]
    assert (header[1], header[6] >> 6, header[8]) == (0xB9, 0, 64)
    header = carried([*SIX_IN_FOUR, "--ttl", "0", "--tos", "40", "--no-ecn", "--pmtu", "dynamic"], marked)[0]
    assert (header[1], header[6] >> 6, header[8]) == (40, 1, 7)
    long = ipv6(bytes(1300))
    assert explained([*SIX_IN_FOUR, "--mtu", "1280"], long) == [("dropped", "outer-too-big")]
    assert explained([*SIX_IN_FOUR, "--mtu", "1280", "--own6", LOCAL6], long) == [("answered", "outer-too-big")]
    (answer,) = carried([*SIX_IN_FOUR, "--mtu", "1280", "--own6", LOCAL6], long)
    assert (answer[8:24], answer[24:40]) == (IPv6Address(LOCAL6).packed, IPv6Address(HOST6).packed)
    assert (answer[40], answer[44:48], icmpv6_is_right(answer)) == (2, struct.pack("!I", 1280), True)


def icmpv6_is_right(packet: bytes) -> bool:
    return checksum(packet[8:40] + struct.pack("!II", len(packet) - 40, ICMPV6) + packet[40:]) == 0


def test_4in6_cuts_the_outer_packet_of_what_may_be_cut(carried: Command) -> None:
    arguments = ["4in6", "--local", LOCAL6, "--remote", REMOTE6, "--mtu", "1280", "--own4", "192.0.2.254"]
    packet = ipv4(bytes(range(250)) * 8, identification=9)
    pieces = carried(arguments, packet)
    assert [len(piece) for piece in pieces] == [48 + 1272, 48 + 2020 - 1272]
    assert [piece[6] for piece in pieces] == [44, 44]
    assert b"".join(piece[48:] for piece in pieces) == packet
    assert carried(["4in6", "--local", REMOTE6, "--remote", LOCAL6], *pieces) == [packet]
    (answer,) = carried(arguments, ipv4(bytes(2000), flags_and_offset=0x4000))
    assert (answer[12:16], answer[16:20]) == (IPv4Address("192.0.2.254").packed, IPv4Address(HOST4).packed)
    assert (answer[20:22], answer[26:28], checksum(answer[20:])) == (b"\x03\x04", struct.pack("!H", 1280), 0)


def test_gre_carries_both_families_with_a_key(carried: Command, explained: Command) -> None:
    arguments = ["gre", "--local", LOCAL4, "--remote", REMOTE4, "--key", "7"]
    inner4 = ipv4(DATA)
    outer4, outer6 = carried(arguments, inner4, INNER)
    assert outer4[20:28] == bytes.fromhex("2000080000000007")
    assert outer6[20:28] == bytes.fromhex("200086dd00000007")
    back = ["gre", "--local", REMOTE4, "--remote", LOCAL4, "--key", "7"]
    assert carried(back, outer4, outer6) == [inner4, INNER]
    assert explained([*back[:-1], "8"], outer4) == [("dropped", "gre-key")]
    over6 = ["gre", "--local", LOCAL6, "--remote", REMOTE6]
    assert carried(over6, inner4)[0][:8] == struct.pack("!IHBB", 6 << 28, 4 + len(inner4), GRE, 64)


def test_6to4_finds_the_site_and_the_relay(carried: Command, explained: Command) -> None:
    site, other, native = "2002:c000:201::1", "2002:c000:202::1", "2001:db8::1"
    arguments = ["6to4", "--local", LOCAL4, "--relay", "192.0.2.254"]
    to_site, to_relay = carried(
        arguments, ipv6(DATA, source=site, destination=other), ipv6(DATA, source=site, destination=native)
    )
    assert (to_site[16:20], to_relay[16:20]) == (IPv4Address(REMOTE4).packed, IPv4Address("192.0.2.254").packed)
    spoofed = ipv4(ipv6(DATA, source="2002:c000:203::1", destination=site), source=REMOTE4, destination=LOCAL4)
    spoofed = ipv4(spoofed[20:], source=REMOTE4, destination=LOCAL4, protocol=41)
    assert explained(arguments, spoofed) == [("dropped", "inner-source-mismatch")]
    private = ["6to4", "--local", "10.0.0.1"]
    to_private = ipv6(DATA, source="2002:a00:1::1", destination="2002:a00:2::1")
    assert explained([*private, "--private"], to_private) == [("translated", "encapsulated")]


def test_6rd_has_customers_and_a_border_relay(carried: Command, explained: Command) -> None:
    domain = ["--prefix", "2001:db8::/32", "--ipv4-mask", "8", "--br", "10.0.0.254"]
    customer, relay = ["6rd", "--local", "10.0.0.1", *domain], ["6rd", "--local", "10.0.0.254", *domain]
    inside, outside = "2001:db8:0:100::1", "2001:db9::1"
    (outer,) = carried(customer, ipv6(DATA, source=inside, destination=outside))
    assert (outer[12:16], outer[16:20]) == (IPv4Address("10.0.0.1").packed, IPv4Address("10.0.0.254").packed)
    assert carried(relay, outer) == [outer[20:]]
    (back,) = carried(relay, ipv6(DATA, source=outside, destination=inside))
    assert back[16:20] == IPv4Address("10.0.0.1").packed
    assert explained(relay, ipv6(DATA, destination="2001:db9::2")) == [("dropped", "no-mapping")]
