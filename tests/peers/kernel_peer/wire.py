"""Packets that cross a link of the router, captured by tcpdump and decoded by tshark: readers that no one here
wrote."""

from __future__ import annotations

import json
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .process import PeerError, in_namespace_of

START_TIMEOUT_S = 300.0


class Capture:
    """Packets of an interface, to a file."""

    def __init__(self, process: subprocess.Popen[bytes], path: Path, count: int) -> None:
        self.path = path
        self._process = process
        self._count = count

    def packets(self, timeout_s: float = 20) -> list[dict[str, Any]]:
        """Waits until there are all, and decodes them: for each its layers, as tshark's `-T json` names them.
        Raises `PeerError` where fewer came."""
        try:
            self._process.wait(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            raise PeerError(f"not {self._count} packets within {timeout_s:g} s in {self.path}") from None
        line = ["tshark", "-r", str(self.path), "-T", "json", "--no-duplicate-keys"]
        line += ["-o", "ip.check_checksum:TRUE"]
        done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=True)
        return [packet["_source"]["layers"] for packet in json.loads(done.stdout)]


@contextmanager
def capture(pid: int, interface: str, expression: str, count: int, folder: Path) -> Iterator[Capture]:
    """Captures the next so many packets of an interface in the namespace of a process."""
    path = folder / f"{interface}.pcap"
    tcpdump = ["tcpdump", "-n", "-U", "--immediate-mode", "-Z", "root", "-i", interface, "-c", str(count)]
    process = subprocess.Popen(
        in_namespace_of(pid, "setpriv", "--pdeathsig", "KILL", *tcpdump, "-w", str(path), expression),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        bufsize=0,
    )
    try:
        _wait_listening(process)
        yield Capture(process, path, count)
    finally:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def _wait_listening(process: subprocess.Popen[bytes]) -> None:
    assert process.stderr is not None
    deadline, content = time.monotonic() + START_TIMEOUT_S, b""
    while b"listening on" not in content:
        ready = select.select([process.stderr], [], [], max(0.0, deadline - time.monotonic()))[0]
        data = process.stderr.read(4096) if ready else b""
        if not data:
            raise PeerError(f"tcpdump does not listen: {content.decode(errors='replace')}")
        content += data
