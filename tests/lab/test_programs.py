"""Programs under test: anyone's program in a router, with evidence; and what is said of those that do not do what they
should. The texts are in `tests/golden/programs.txt`, which `SIXBENCH_UPDATE_GOLDEN=1` writes anew."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lab.experiments import read, run, wrong

from sixbench.agent import AgentHub
from sixbench.bench.laboratory import Laboratories
from sixbench.model.errors import LabError
from sixbench.model.reason import ReasonKind

GOLDEN = Path(__file__).parent.parent / "golden" / "programs.txt"

FORWARDER = """
dut: {{program: {{start: '{start}', ready: "{ready}", ready-within: {within}, memory: 64MiB}}}}
workloads: [{{ping: {{count: {count}, interval: 2ms}}}}]
blocks: 1
"""
EATS = 'sh -c "head -c 300000000 /dev/zero | tail -c 300000000 > /dev/null"'
LISTENS = "python3 -c \"import socket, time; s = socket.create_server(('', 8080)); print('here'); time.sleep(99)\""

BAD = {
    "never ready": ("sleep 99", "test -e /run/device/there", "300ms"),
    "ready says why": ("sleep 99", "ip link show nat64", "300ms"),
    "not there": ("no-such-program --fast", "true", "5s"),
    "ends": ("sh -c 'echo no configuration >&2; exit 3'", "false", "5s"),
    "forks away": ("sh -c 'sleep 99 & exit 0'", "false", "5s"),
    "killed": ("sh -c 'kill -9 $$'", "false", "5s"),
    "eats memory": (EATS, "false", "20s"),
    "no ready": ("sleep 99", "no-such-program", "5s"),
}


def experiment(start: str, ready: str = "true", within: str = "5s", count: int = 5) -> str:
    return FORWARDER.format(start=start.replace("'", "''"), ready=ready, within=within, count=count)


def goldens() -> dict[str, str]:
    return dict(line.split(": ", 1) for line in GOLDEN.read_text().splitlines())


@pytest.mark.parametrize("name", BAD)
def test_a_program_that_does_not_begin_ends_the_run_with_its_own_words(hub: AgentHub, name: str) -> None:
    content = read(hub, experiment(*BAD[name]))
    laboratories = Laboratories(hub, content)
    try:
        with pytest.raises(LabError) as raised:
            laboratories.get(content.paths[0], 0)
    finally:
        laboratories.close()
    words = re.sub(r"used [0-9]+ MiB", "used N MiB", str(raised.value))
    assert "\n" not in words
    if os.environ.get("SIXBENCH_UPDATE_GOLDEN") == "1":
        output = (goldens() if GOLDEN.exists() else {}) | {name: words}
        GOLDEN.write_text("".join(f"{key}: {text}\n" for key, text in output.items()))
    assert words == goldens()[name]


def test_what_a_program_uses_and_says_is_recorded_and_it_listens_in_its_namespace_alone(
    hub: AgentHub, tmp_path: Path
) -> None:
    finished = run(hub, experiment(LISTENS, ready="grep -q :1F90 /proc/net/tcp"), tmp_path / "run")
    assert wrong(finished.trials) == []
    used = (finished.trials[0].evidence.programs or {})["dut"]
    assert used.listening == ("tcp 0.0.0.0:8080",)
    assert (used.processes, used.peak_memory_bytes > 1 << 20) == (1, True)
    outside = subprocess.run(["ss", "-ltnH", "sport = 8080"], capture_output=True, text=True, check=True).stdout
    assert outside == ""


def test_a_program_that_ends_in_a_trial_fails_it_and_is_there_again_in_the_next(hub: AgentHub, tmp_path: Path) -> None:
    """It ends with the first large packet that it sees, and has a quarter of a second for that."""
    program = """
import os, socket
s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
open('ready', 'w')
while True:
    size = len(s.recv(2000))
    if size > 500:
        print('a packet of more than 500 bytes is more than I can bear', flush=True)
        os._exit(7)
"""
    text = json.dumps(
        {
            "dut": {
                "program": {
                    "start": "python3 {dir}/program.py",
                    "ready": "test -e {dir}/ready",
                    "files": {"program.py": program},
                }
            },
            "workloads": [
                {"ping": {"count": 25, "interval": "10ms"}},
                {"ping": {"count": 25, "interval": "10ms", "payload": "900B"}},
            ],
            "blocks": 2,
        }
    )
    finished = run(hub, text, tmp_path / "run")
    by_size = {trial.key: trial for trial in finished.trials}
    assert {trial.status for trial in by_size.values()} == {"ok", "failed"}
    for trial in finished.trials:
        is_large = trial.params.get("payload_bytes") == 900
        assert trial.status == ("failed" if is_large else "ok"), trial.reasons
        if is_large:
            [reason] = trial.reasons
            assert reason.kind == ReasonKind.DEVICE_ENDED
            assert reason.text == (
                "the device in dut: `python3 /run/device/program.py` ended with 7; its last output: a packet of "
                "more than 500 bytes is more than I can bear"
            )
            log = (finished.directory / "trials" / trial.key / "dut.log").read_text()
            assert log == "a packet of more than 500 bytes is more than I can bear\n"


def _has(program: str) -> bool:
    return shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin") is not None


@pytest.mark.parametrize("device", ["tayga", "nftables-nat44"])
def test_a_shipped_device_carries_every_kind_of_traffic_with_evidence(
    hub: AgentHub, tmp_path: Path, device: str
) -> None:
    if device == "tayga" and not _has("tayga"):
        pytest.skip("tayga is not installed")
    workloads = (
        "[{ping: {count: 10, interval: 2ms}}, {tcp-stream: {duration: 600ms, warmup: 20ms}}, {udp-rr: {count: 20}}, "
        "{frames: {frame: 128B, packet-rate: 1000pps, duration: 100ms}}]"
    )
    finished = run(
        hub, f"dut: {{mechanism: {device}, rate: 100Mbit}}\nworkloads: {workloads}\nblocks: 1\n", tmp_path / "run"
    )
    assert wrong(finished.trials) == []
    for trial in finished.trials:
        for segment in trial.evidence.segments or ():
            assert (segment.other_addresses, segment.other_hop_limits) == ({}, {}), (trial.key, segment)


@pytest.mark.parametrize(("device", "program"), [("unbound", "unbound"), ("bind9", "named")])
def test_a_resolver_under_test_answers_with_the_right_addresses(
    hub: AgentHub, tmp_path: Path, device: str, program: str
) -> None:
    if not _has(program):
        pytest.skip(f"{program} is not installed; its package starts a resolver, so make does not install it")
    text = f"dut: {device}\nworkloads: [{{dns64: {{rate: 100, duration: 300ms}}}}]\nblocks: 1\n"
    finished = run(hub, text, tmp_path / "run")
    assert wrong(finished.trials) == []
    [trial] = finished.trials
    assert trial.metrics["questions_answered_ratio"] == 1
    assert (trial.evidence.programs or {})["dut"].cpu_ns > 0


def test_nothing_of_a_program_is_left_when_its_node_is_killed(hub: AgentHub) -> None:
    marker = f"98{os.getpid()}"
    content = read(hub, experiment(f"sh -c 'sleep {marker} & exec sleep {marker}'"))
    laboratories = Laboratories(hub, content)
    try:
        laboratory, _ = laboratories.get(content.paths[0], 0)
        assert len(_sleeping(marker)) == 2
        killed = laboratory.agents["dut"]
        os.kill(killed.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):  # the hub was faster
            os.waitid(os.P_PID, killed.pid, os.WEXITED | os.WNOWAIT)
        _wait_until_gone(marker)
    finally:
        laboratories.close()


def _wait_until_gone(marker: str) -> None:
    """The kernel ends processes one after the other; their ends are what is waited for."""
    for pid in _sleeping(marker):
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        assert select.select([descriptor], [], [], 10)[0], "it outlives its node"
        os.close(descriptor)
    assert _sleeping(marker) == []


def _sleeping(marker: str) -> list[int]:
    """The processes `sleep MARKER`."""
    collected = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[:2] == [b"sleep", marker.encode()]:
                collected.append(int(folder.name))
    return collected


def test_consent_is_kept_nowhere(sixbench: Callable[..., Any], tmp_path: Path) -> None:
    file, out = tmp_path / "x.yaml", tmp_path / "run"
    file.write_text(experiment("sleep 99"))
    done = sixbench("run", file, "--out", out, "--allow-programs", "--quiet", figures=False)
    assert done.returncode == 0, done.stderr
    assert "--allow-programs" not in (out / "manifest.json").read_text()
    again = sixbench("resume", out)
    assert again.returncode == 2
    assert "sleep 99" in again.stderr
    assert "--allow-programs" in again.stderr
