"""Emulated machines as devices under test: their packets are seen at both ends, and nothing is left of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from sixbench.guest import add_kernel, find_kernel

KERNEL = "debian-6.1"
JOOL = """
dut:
  guest: debian-6.1
  setup:
    - modprobe jool
    - jool instance add --netfilter --pool6 {prefix}
    - jool pool4 add --tcp {far-address} 1024-65535
    - jool pool4 add --udp {far-address} 1024-65535
    - jool pool4 add --icmp {far-address} 0-65535
  family: [6, 4]
  prefix: 2001:db8:64::/96
  client-as: own
  hops: 1
  state: own
workloads:
  - ping: {count: 5, interval: 2ms}
  - frames: {frame: 128B, packet-rate: 300pps, duration: 200ms}
blocks: 1
"""


def run(directory: Path, text: str) -> subprocess.CompletedProcess[str]:
    (directory / "device.yaml").write_text(text)
    argv = [sys.executable, "-m", "sixbench", "run", "device.yaml", "--out", "run", "--quiet"]
    return subprocess.run(argv, cwd=directory, capture_output=True, text=True, check=False)


def records(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in sorted((directory / "run" / "trials").glob("*/trial.json"))]


def taps() -> set[str]:
    shown = subprocess.run(["ip", "-j", "tuntap", "show"], capture_output=True, text=True, check=True).stdout
    return {one["ifname"] for one in json.loads(shown or "[]") if one["ifname"].startswith("sb")}


def test_jool_in_an_emulated_machine_is_a_device_with_evidence(tmp_path: Path) -> None:
    if not find_kernel(KERNEL).built:
        add_kernel(KERNEL, with_jool=True)
    before = taps()
    done = run(tmp_path, JOOL)
    assert done.returncode == 0, done.stderr + done.stdout
    found = records(tmp_path)
    assert {record["workload"] for record in found} == {"ping", "frames"}
    for record in found:
        assert {reason["kind"] for reason in record["reasons"]} <= {"tester-limited"}, record["reasons"]
        assert [one["claimed"] for one in record["evidence"]["segments"]] == ["ipv6", "ipv4"]
        assert all(one["other_addresses"] == {} for one in record["evidence"]["segments"])
    assert taps() == before


def test_a_setup_that_fails_ends_the_run_with_its_words(tmp_path: Path) -> None:
    done = run(tmp_path, "dut: {guest: debian-6.1, setup: [ip link set nothing up]}\nworkloads: [ping]\nblocks: 1\n")
    assert done.returncode == 3
    assert "its setup ended with 1" in done.stderr
    assert 'Cannot find device "nothing"' in done.stderr
