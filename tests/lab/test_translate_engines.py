"""The same packets through the core (`--engine user`) and through the device that experiments have (`--engine ebpf`):
what comes out is the same, but for what a node does that forwards packets into a device and out of it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from ip_packets import pcap
from lab.commands import SIXBENCH, with_exit
from lab.packet_cases import MECHANISMS, SIIT
from lab.packets import Ends, as_compared, in4, in6, udp
from packets_through import packets_through
from processes import children
from waiting import wait_for


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_same_comes_out(sixbench: Callable[..., object], tmp_path: Path, name: str) -> None:
    mechanism = MECHANISMS[name]
    packets = mechanism.packets()
    core, device = (
        packets_through(with_exit(sixbench), tmp_path, (*mechanism.words, "--engine", engine), [*packets.values()])
        for engine in ("user", "ebpf")
    )
    assert sum(verdict == "translated" for verdict, _, _ in core) >= 10, core
    wrong = []
    for packet, item, other in zip(packets, core, device, strict=True):
        if any(fnmatchcase(packet, pattern) for pattern in mechanism.node):
            continue
        if [*map(as_compared, item[2])] != [*map(as_compared, other[2])]:
            wrong.append((packet, item[:2], [p.hex() for p in item[2]], other[:2], [p.hex() for p in other[2]]))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("engine", ["user", "ebpf"])
@pytest.mark.parametrize("name", MECHANISMS)
def test_what_is_cut_short_is_dropped(sixbench: Callable[..., object], tmp_path: Path, name: str, engine: str) -> None:
    """At every length to 60 bytes, of both families."""
    ends = Ends(source="198.51.100.1", destination="192.0.2.1"), Ends(source="2001:db8:1::1", destination="2001:db8::2")
    whole = in4(ends[0], udp(ends[0], 48)), in6(ends[1], udp(ends[1], 48))
    packets = [packet[:length] for packet in whole for length in range(61)]
    passed = packets_through(with_exit(sixbench), tmp_path, (*MECHANISMS[name].words, "--engine", engine), packets)
    wrong = [
        (packet.hex(), *result)
        for packet, result in zip(packets, passed, strict=True)
        if result[::2] != ("dropped", [])
    ]
    assert not wrong, "\n".join(map(str, wrong))


def test_a_killed_command_leaves_nothing(tmp_path: Path) -> None:
    there, _ = SIIT
    (tmp_path / "in.pcap").write_bytes(pcap([in4(there, udp(there))] * 3000))
    words = (
        *MECHANISMS["siit"].words,
        "--engine",
        "ebpf",
        "--in",
        tmp_path / "in.pcap",
        "--out",
        tmp_path / "out.pcap",
    )
    with subprocess.Popen(
        [*SIXBENCH, "translate", *map(str, words), "--explain"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        running.stdout.read(1)  # the first packets are through
        agents = children(running.pid)
        assert agents
        running.kill()
    assert not (tmp_path / "out.pcap").exists()
    wait_for(lambda: not any(map(is_running, agents)))


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
