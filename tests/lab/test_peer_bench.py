"""`make bench-peers` on real namespaces: what it measures of us, and that an interrupt leaves nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from peer_bench.memory import children
from waiting import PATIENCE_S, wait_for

from sixbench.lab.registry import start_ticks

PROGRAM = Path(__file__).parents[2] / "benches" / "peers.py"
TOO_SLOW = ("too little arrived", "it ended before the end of the window")
"""Messages that a machine under load may give."""


def started(directory: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), "--out", "out", *arguments],
        cwd=directory,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_every_comparison_measures_ours(tmp_path: Path) -> None:
    process = started(tmp_path, "--rounds", "1", "--minutes", "0", "--peers", "none")
    _, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, stderr
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    values = {(value["comparison"], value["family"]): value for value in results["values"]}
    assert {key for key, _ in values} == set(results["comparisons"])
    for value in values.values():
        assert value.get("failure") in (None, *TOO_SLOW), value
    # A datagram each its own packet on the wire: as many packets as datagrams, but for those under way.
    floods = [values["udp-64", family] for family in (4, 6)]
    assert all(flood["wire_pps"] > 0.9 * flood["value"] for flood in floods if "value" in flood)
    assert (tmp_path / "out" / "peers.md").read_text().startswith("# sixbench beside its peers")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupt_leaves_no_process_no_namespace_and_no_file(tmp_path: Path, number: signal.Signals) -> None:
    process = started(tmp_path, "--rounds", "1000", "--only", "tcp-rr")
    assert process.stderr is not None
    while not (line := process.stderr.readline()).startswith("1  tcp-rr"):
        assert line, "it ended before its first measurement"
    descendants = {pid: namespace_of(pid) for pid in children(process.pid)}
    namespaces = set(descendants.values()) - {namespace_of(os.getpid()), None}
    assert len(namespaces) == 3, "two hosts, and who keeps processors awake"
    if number == signal.SIGINT:  # from the keyboard it comes to all of the terminal's processes
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    _, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == (-number if number == signal.SIGKILL else 130), stderr

    # The kernel ends them at once when their parent ends, and shows them until they have.
    def left() -> list[bytes]:
        return [command_of(pid) for pid in all_processes() if namespace_of(pid) in namespaces]

    wait_for(lambda: not left(), lambda: f"left behind: {left()}")
    assert [pid for pid in descendants if start_ticks(pid) is not None] == []
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def all_processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def namespace_of(pid: int) -> str | None:
    try:
        return os.readlink(f"/proc/{pid}/ns/net")
    except OSError:
        return None
