"""Guests that panic, hang or are interrupted: one sentence, and nothing left over."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import PATIENCE_S, wait_for

from sixbench.agent import find_agent
from sixbench.guest import GuestTask, boot, find_kernel
from sixbench.lab.registry import start_ticks
from sixbench.model.errors import CapabilityError

KERNEL = "debian-6.1"

EXPERIMENT = """
topology: {nodes: {h1: host, h2: host}, links: [{endpoints: [h1, h2]}]}
paths: {ipv4: native4, ipv6: native6}
workloads: [{ping: {count: 1000, interval: 1s}}]
blocks: 1
"""


def guest_below(process: int) -> int | None:
    """The QEMU with a guest that a process started, by its number; not the QEMU that is asked for its version."""
    command = ["ps", "-ww", "-eo", "pid=,ppid=,comm=,args="]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        pid, parent, name, arguments = line.split(None, 3)
        if int(parent) == process and name.startswith("qemu") and " -kernel " in arguments:
            return int(pid)
    return None


def guest_of(process: int) -> int:
    """The same, once there is one."""
    wait_for(lambda: guest_below(process) is not None, "a guest")
    guest = guest_below(process)
    assert guest is not None, "it has ended"
    return guest


def boot_with(script: str, silence_s: float, monkeypatch: pytest.MonkeyPatch) -> str:
    """Message about a guest whose second script is this one."""
    module = importlib.import_module("sixbench.guest.boot")
    monkeypatch.setattr(module, "second_script", lambda *arguments: script)
    command = GuestTask(arguments=("--version",), agent=find_agent(), limit_s=60, silence_s=silence_s)
    with pytest.raises(CapabilityError) as error:
        boot(find_kernel(KERNEL), command, lambda line: None)
    assert guest_below(os.getpid()) is None
    return str(error.value)


def test_a_guest_that_panics_is_told_with_the_end_of_its_console(monkeypatch: pytest.MonkeyPatch) -> None:
    failure_words = boot_with("echo the last words; exit 3\n", PATIENCE_S, monkeypatch)
    assert failure_words.startswith("the guest panicked; its console's last lines: ")
    assert "Attempted to kill init" in failure_words


def test_a_guest_that_hangs_is_ended_and_told_with_the_end_of_its_console(monkeypatch: pytest.MonkeyPatch) -> None:
    failure_words = boot_with("echo the last words; while :; do :; done\n", 5, monkeypatch)
    assert failure_words.startswith(f"the guest with {KERNEL} said nothing for 5 s; its console's last lines: ")
    assert failure_words.endswith("the last words")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_stopped_takes_its_guest_with_it(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "experiment.yaml").write_text(EXPERIMENT)
    (tmp_path / "tmp").mkdir()
    argv = [sys.executable, "-m", "sixbench", "run", "experiment.yaml", "--kernel", KERNEL, "--out", "run"]
    environment = os.environ | {"TMPDIR": str(tmp_path / "tmp")}
    process = subprocess.Popen(argv, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)
    guest = guest_of(process.pid)
    process.send_signal(number)
    code = process.wait(PATIENCE_S)
    wait_for(lambda: start_ticks(guest) is None)
    assert list((tmp_path / "tmp").iterdir()) == []
    if number != signal.SIGKILL:
        assert code == 130
        assert not (tmp_path / "run").exists()
