"""Devices under test that are emulated machines: what they carry, what is said of those that do not begin, and that
nothing of them is left over."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from waiting import PATIENCE_S, wait_for

from sixbench.guest.confinement import FIRST_UID
from sixbench.lab.registry import start_ticks
from sixbench.model.trial import TrialRecord
from sixbench.store import Run, read_run

KERNEL = "debian-6.1"


def sixbench(directory: Path, dut: Any, workloads: list[Any]) -> subprocess.CompletedProcess[str]:
    """A run of an experiment with a device, in the folder `run`."""
    text = json.dumps({"dut": dut, "workloads": workloads, "blocks": 1})
    (directory / "experiment.yaml").write_text(text)
    argv = [sys.executable, "-m", "sixbench", "run", "experiment.yaml", "--out", "run", "--allow-programs"]
    return subprocess.run(argv, cwd=directory, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Plain forwarding, by one machine for both families."""
    directory = tmp_path_factory.mktemp("forwarding")
    workloads = [
        {"ping": {"count": 10, "interval": "5ms", "payload": "1400B"}},
        {"frames": {"frame": "128B", "packet-rate": "200pps", "duration": "500ms"}},
        {"tcp-stream": {"duration": "200ms", "warmup": "50ms"}},
    ]
    done = sixbench(directory, {"guest": KERNEL, "setup": [], "mtu": 1500}, workloads)
    assert done.returncode == 0, done.stderr
    return read_run(directory / "run")


def test_a_guest_forwards_both_families_with_evidence(run: Run) -> None:
    assert {(trial.path, trial.workload) for trial in run.trials} == {
        (path, kind) for path in ("ipv4", "ipv6") for kind in ("ping", "frames", "tcp-stream")
    }
    for trial in run.trials:
        # A busy machine may keep the tester from its rate; that is no fault of the device.
        assert trial.status == "ok" or {reason.kind for reason in trial.reasons} == {"tester-limited"}, trial.reasons
        for segment in trial.evidence.segments or ():
            assert (segment.node, segment.claimed) == ("dut", trial.path)
            assert (segment.other_addresses, segment.other_hop_limits) == ({}, {}), (trial.key, segment)
    assert all(trial.metrics["loss_ratio"] == 0 for trial in run.trials if trial.workload == "ping")


def test_a_packet_passes_the_machine_and_not_the_namespace(run: Run) -> None:
    for trial in (trial for trial in run.trials if trial.workload == "ping"):
        passed = _counted(trial)
        assert passed["eth0"]["rx_packets"] >= 10
        assert passed["sixtap0"]["tx_packets"] == passed["eth0"]["rx_packets"]
        assert passed["sixtap1"]["rx_packets"] == passed["eth1"]["tx_packets"]


def _counted(trial: TrialRecord) -> dict[str, Any]:
    return dict((trial.evidence.counters or {})["dut"].interfaces)


def test_what_it_used_is_of_its_emulator_and_the_record_says_so(run: Run) -> None:
    for trial in run.trials:
        used = (trial.evidence.programs or {})["dut"]
        assert used.emulator == "QEMU"
        assert used.peak_memory_bytes > 64 << 20
        versions = (trial.evidence.versions or {})["dut"]
        assert versions["Linux"].startswith("6.1.")
        assert "QEMU" in versions


@pytest.mark.parametrize(
    ("dut", "words"),
    [
        (
            {"setup": ["true", "echo why >&2; modprobe no-such-module"]},
            "setup command 2, `echo why >&2; modprobe no-such-module`, ended with 1: why modprobe: FATAL",
        ),
        (
            {"setup": ["sysctl -w net.ipv6.conf.all.forwarding=0"]},
            "the guest does not forward after its setup: net/ipv6/conf/all/forwarding is 0",
        ),
        ({"setup": ["sleep 60"], "ready-within": "15s"}, "its last output: setup command 1, `sleep 60`,"),
        ({"setup": ["echo c >/proc/sysrq-trigger"]}, "Kernel panic"),
    ],
)
def test_one_that_does_not_begin_ends_the_run_with_its_own_words(
    tmp_path: Path, dut: dict[str, Any], words: str
) -> None:
    done = sixbench(tmp_path, {"guest": KERNEL, **dut}, ["ping"])
    assert done.returncode != 0
    assert words in " ".join(done.stderr.split()), done.stderr
    assert "Traceback" not in done.stderr


def _below(process: int) -> list[int]:
    """The QEMUs with a machine among the descendants of a process; not the one that is asked for its version."""
    command = ["ps", "-ww", "-eo", "pid=,ppid=,comm=,args="]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    split = [line.split(None, 3) for line in listed.splitlines()]
    parents = {int(pid): int(parent) for pid, parent, *_ in split}

    def is_below(pid: int) -> bool:
        while pid in parents and pid != process:
            pid = parents[pid]
        return pid == process

    machines = [int(pid) for pid, _, name, arguments in split if name.startswith("qemu") and " -kernel " in arguments]
    return [pid for pid in machines if is_below(pid)]


def status(process: int) -> dict[str, str]:
    """The kernel's status of a process."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return {name: value.strip() for name, value in (line.split(":", 1) for line in lines)}


def has_no_rights(machine: int) -> None:
    """That QEMU is a user whom nobody else is, without capabilities, and with filters of system calls."""
    actual_status = status(machine)
    if os.geteuid() == 0:
        assert {int(user) for user in (*actual_status["Uid"].split(), *actual_status["Gid"].split())}.isdisjoint(
            range(FIRST_UID)
        )
        assert actual_status["Groups"] == ""
    assert {int(actual_status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}
    assert actual_status["NoNewPrivs"] == "1"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_stopped_leaves_no_machine_and_no_tap(number: signal.Signals, tmp_path: Path) -> None:
    text = json.dumps({"dut": {"guest": KERNEL}, "workloads": [{"ping": {"count": 1000, "interval": "1s"}}]})
    (tmp_path / "experiment.yaml").write_text(text)
    argv = [sys.executable, "-m", "sixbench", "run", "experiment.yaml", "--out", "run"]
    process = subprocess.Popen(argv, cwd=tmp_path, stderr=subprocess.DEVNULL)
    wait_for(lambda: _below(process.pid), "a machine")
    machines = _below(process.pid)
    namespace = os.stat(f"/proc/{machines[0]}/ns/net").st_ino
    # It gives up its last rights by itself, once it has begun.
    wait_for(lambda: status(machines[0])["Seccomp"] == "2")
    has_no_rights(machines[0])
    process.send_signal(number)
    process.wait(PATIENCE_S)
    wait_for(lambda: all(start_ticks(machine) is None for machine in machines))
    wait_for(lambda: namespace not in _namespaces())


def _namespaces() -> set[int]:
    """The network namespaces that processes have. A tap goes with its namespace."""
    namespaces = set()
    for place in Path("/proc").glob("[0-9]*/ns/net"):
        try:
            namespaces.add(os.stat(place).st_ino)
        except OSError:
            continue
    return namespaces


def test_a_guest_is_tested_by_the_rfcs(tmp_path: Path) -> None:
    """Only where the tester was in time: an emulator and the hosts share this machine's processors."""
    text = json.dumps({"dut": {"guest": KERNEL, "family": 4}, "workloads": ["ping"]})
    (tmp_path / "experiment.yaml").write_text(text)
    asked = ["--profile", "2544", "--quick", "--test", "latency", "--frame", "512B", "--traffic", "plain"]
    argv = [sys.executable, "-m", "sixbench", "rfc", "experiment.yaml", *asked, "--out", "run", "--json", "--quiet"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rfc = json.loads(done.stdout)["rfc"]
    [device] = [item for item in rfc["throughput"] if not item["is_tester"]]
    assert device["path"] == "guest"
    assert device["lower_pps"] or device["refused_why"], device
    for result in rfc["results"]:
        assert (result["value"] is None) == (device["lower_pps"] is None) or result["remark"], result
    trials = [trial for trial in read_run(tmp_path / "run").trials if trial.path == "guest"]
    assert {trial.status for trial in trials} <= {"ok", "invalid"}, [trial.reasons for trial in trials]
    assert {(trial.evidence.programs or {})["dut"].emulator for trial in trials} == {"QEMU"}
