"""Guests that panic, hang or are interrupted: one sentence, and nothing left over."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sixbench.agent import find_agent
from sixbench.guest import GuestCommand, boot, find_kernel
from sixbench.model.errors import CapabilityError

KERNEL = "debian-6.1"
PATIENCE_S = 300.0

EXPERIMENT = """
topology: {nodes: {h1: host, h2: host}, links: [{endpoints: [h1, h2]}]}
paths: {ipv4: native4, ipv6: native6}
workloads: [{ping: {count: 1000, interval: 1s}}]
blocks: 1
"""


def qemu_below(process: int) -> int | None:
    """The QEMU that a process started, by its number."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid=,comm="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    return next((int(pid) for pid, parent, name in rows if int(parent) == process and name.startswith("qemu")), None)


def wait_until(happens: Callable[[], bool]) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while not happens():
        assert time.monotonic() < end_s
        time.sleep(0.05)


def is_gone(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def boot_with(script: str, silence_s: float, monkeypatch: pytest.MonkeyPatch) -> str:
    """What is said of a guest whose second script is this one."""
    module = importlib.import_module("sixbench.guest.boot")
    monkeypatch.setattr(module, "second_script", lambda *arguments: script)
    command = GuestCommand(arguments=("--version",), agent=find_agent(), limit_s=60, silence_s=silence_s)
    with pytest.raises(CapabilityError) as error:
        boot(find_kernel(KERNEL), command, lambda line: None)
    assert qemu_below(os.getpid()) is None
    return str(error.value)


def test_a_guest_that_panics_is_told_with_the_end_of_its_console(monkeypatch: pytest.MonkeyPatch) -> None:
    said = boot_with("echo the last words; exit 3\n", PATIENCE_S, monkeypatch)
    assert said.startswith("the guest panicked; its console's last lines: ")
    assert "Attempted to kill init" in said


def test_a_guest_that_hangs_is_ended_and_told_with_the_end_of_its_console(monkeypatch: pytest.MonkeyPatch) -> None:
    said = boot_with("echo the last words; while :; do :; done\n", 5, monkeypatch)
    assert said.startswith(f"the guest with {KERNEL} said nothing for 5 s; its console's last lines: ")
    assert said.endswith("the last words")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_stopped_takes_its_guest_with_it(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "experiment.yaml").write_text(EXPERIMENT)
    (tmp_path / "tmp").mkdir()
    argv = [sys.executable, "-m", "sixbench", "run", "experiment.yaml", "--kernel", KERNEL, "--out", "run"]
    environment = os.environ | {"TMPDIR": str(tmp_path / "tmp")}
    process = subprocess.Popen(argv, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)
    wait_until(lambda: qemu_below(process.pid) is not None)
    guest = qemu_below(process.pid)
    assert guest is not None
    process.send_signal(number)
    code = process.wait(PATIENCE_S)
    wait_until(lambda: is_gone(guest))
    assert list((tmp_path / "tmp").iterdir()) == []
    if number != signal.SIGKILL:
        assert code == 130
        assert not (tmp_path / "run").exists()
