"""Work in the emulated machine of test_stamping.py: runs at ports that stamp frames, and looks at them.

All that it finds is in `told.json`, which the test reads.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

JOB = Path(__file__).parent
WITHOUT_REPORT = """
import sys
from sixbench.__main__ import main
from sixbench.cli import run_command
run_command.present = lambda *_: None
sys.exit(main())
"""
SIXBENCH = [sys.executable, "-c", WITHOUT_REPORT]
"""Command without reports, whose packages are not in the machine."""
SET, GET = 0x89B0, 0x89B1
"""SIOCSHWTSTAMP and SIOCGHWTSTAMP."""
OWNERS_STAMPS = {"eth1": [0, 0, 12], "eth2": [0, 1, 0]}
"""Stamps as the machine's owner has set them: packets of PTP that come, and frames that go."""
EXPERIMENT = """\
experiment: stamps
dut: {{ports: [eth1, eth2], description: a namespace that forwards}}
workloads: [{{frames: {{frame: 128B, packet-rate: 500pps, direction: both, duration: {duration}, tolerance: 1s}}}}]
blocks: 1
"""
ROUTER = """\
link set lo up
address add 198.18.0.2/24 dev dut1
address add 2001:2::2/64 dev dut1 nodad
address add 198.18.1.1/24 dev dut2
address add 2001:2:0:1::1/64 dev dut2 nodad
link set dut1 up
link set dut2 up
"""
PATIENCE_S = 300
PTP = """\
[global]
time_stamping hardware
free_running 1
network_transport L2
logSyncInterval -3
logMinDelayReqInterval -3
logAnnounceInterval -2
priority1 {priority}
uds_address /run/ptp4l-{interface}
"""
"""The clocks are not touched: how far they are apart is known."""


def do(*words: str, stdin: str = "") -> str:
    done = subprocess.run(words, input=stdin, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{words}: {done.stdout} {done.stderr}")
    return done.stdout


def stamping(interface: str, new: list[int] | None = None) -> list[int]:
    """Settings of an interface's time stamps: flags, kind of sending, filter."""
    words = (ctypes.c_uint32 * 3)(*(new or (0, 0, 0)))
    with socket.socket() as probe:
        request = struct.pack("16sP16x", interface.encode(), ctypes.addressof(words))
        fcntl.ioctl(probe, GET if new is None else SET, request)
    return list(words)


def settings() -> dict[str, list[int]]:
    return {name: stamping(name) for name in OWNERS_STAMPS}


@contextlib.contextmanager
def bench(*parameters: str) -> Iterator[None]:
    """The ports, with equipment between them."""
    do("modprobe", "stamping", *parameters)
    do("ip", "netns", "add", "dut")
    try:
        for port in ("dut1", "dut2"):
            do("ip", "link", "set", port, "netns", "dut")
        for name in ("net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"):
            do("ip", "netns", "exec", "dut", "sysctl", "-qw", f"{name}=1")
        do("ip", "-n", "dut", "-batch", "-", stdin=ROUTER)
        for name, value in OWNERS_STAMPS.items():
            stamping(name, value)
        yield
    finally:
        do("ip", "netns", "delete", "dut")
        wait_for(
            lambda: subprocess.run(["modprobe", "-r", "stamping"], capture_output=True, check=False).returncode == 0
        )


def wait_for(is_so: Callable[[], object]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not is_so():
        if time.monotonic() > until:
            raise SystemExit("waited in vain")
        time.sleep(0.05)


def experiment(duration: str) -> Path:
    file = JOB / "experiment.yaml"
    file.write_text(EXPERIMENT.format(duration=duration))
    return file


def run(name: str) -> dict[str, Any]:
    """A run, and how the ports were set before and after it."""
    before, out = settings(), Path("/run") / name
    argv = [*SIXBENCH, "run", experiment("400ms"), "--out", out, "--quiet"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    records = [json.loads(file.read_text()) for file in sorted((out / "trials").glob("*/trial.json"))]
    fields = {"exit": done.returncode, "said": done.stderr, "before": before, "after": settings(), "records": records}
    shutil.rmtree(out, ignore_errors=True)
    return fields


def away(interface: str) -> list[int] | None:
    """Settings of an interface in the other namespace that has it; None where none has it."""
    st_ino = os.stat("/proc/self/ns/net").st_ino
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "ns/net").stat().st_ino == st_ino:
                continue
            argv = ["nsenter", "-t", process.name, "--net", sys.executable, __file__, interface]
            done = subprocess.run(argv, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return list(json.loads(done.stdout))
    return None


def killed() -> dict[str, Any]:
    """A run that is killed while frames are stamped."""
    argv = [*SIXBENCH, "run", experiment("60s"), "--out", "/run/killed", "--quiet"]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        wait_for(
            lambda: (
                (away("eth1") or OWNERS_STAMPS["eth1"]) != OWNERS_STAMPS["eth1"]
                and away("eth2") not in (None, OWNERS_STAMPS["eth2"])
            )
        )
        during = {name: away(name) for name in OWNERS_STAMPS}
        running.send_signal(signal.SIGKILL)
        running.wait()
    wait_for(lambda: all(Path(f"/sys/class/net/{name}").exists() for name in OWNERS_STAMPS))
    with contextlib.suppress(SystemExit):
        wait_for(lambda: settings() == OWNERS_STAMPS)
    return {"during": during, "after": settings()}


def by_ptp() -> dict[str, Any]:
    """Readings by sixbench of ptp4l at eth2, which follows that at eth1. They have a clock each."""
    from sixbench.agent import AgentHub, find_agent
    from sixbench.bench.clock_sources.ptp import read_ptp
    from sixbench.model.errors import CapabilityError

    do("ip", "-n", "dut", "link", "add", "bridge", "up", "type", "bridge")
    has_second_socket = b"uds_ro_address" in (JOB / "ptp4l").read_bytes()  # linuxptp 4.0
    programs = []
    hub = AgentHub(find_agent())
    try:
        for priority, name in enumerate(OWNERS_STAMPS, start=10):
            do("ip", "link", "set", name, "up")
            do("ip", "-n", "dut", "link", "set", name.replace("eth", "dut"), "master", "bridge")
            more = f"uds_ro_address /run/ptp4lro-{name}\n" if has_second_socket else ""
            (JOB / name).write_text(PTP.format(priority=priority, interface=name) + more)
            programs.append(subprocess.Popen([JOB / "ptp4l", "-f", JOB / name, "-i", name], stdout=subprocess.DEVNULL))
        machine = hub.start_here("clocks")
        # As IEEE 1588 makes an identity of an Ethernet address. Until it follows, ptp4l is its own grandmaster.
        ethernet = Path("/sys/class/net/eth1/address").read_text().strip().replace(":", "")
        leads = f"{ethernet[:6]}.fffe.{ethernet[6:]}"
        until = time.monotonic() + PATIENCE_S
        while True:
            text = ""
            try:
                reading = read_ptp(machine)
                if str(reading.reference).startswith(leads):
                    return {"low_ns": reading.low_ns, "high_ns": reading.high_ns, "reference": reading.reference}
            except CapabilityError as error:
                text = str(error)
            if time.monotonic() > until:
                return {"reference": text}
            time.sleep(0.1)
    finally:
        hub.close()
        for program in programs:
            program.terminate()
            program.wait()


def main() -> None:
    fields: dict[str, Any] = {"own": OWNERS_STAMPS}
    with bench():
        agent = os.environ["SIXBENCH_AGENT"]
        fields["lendable"] = json.loads(do(agent, "lendable"))
        fields["clock"] = json.loads(do(agent, "hardware-clock", "0"))
        fields["one clock"] = run("one")
        fields["killed"] = killed()
    with bench("clocks=2"):
        fields["two clocks"] = run("two")
        fields["ptp"] = by_ptp()
    with bench("stamps=0"):
        fields["no stamps"] = run("none")
    (JOB / "told.json").write_text(json.dumps(fields))


if __name__ == "__main__":
    if sys.argv[1:]:
        sys.stdout.write(json.dumps(stamping(sys.argv[1])))
    else:
        main()
