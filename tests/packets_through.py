"""Packets through `sixbench translate`, with the real agent."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ip_packets import pcap

from sixbench.model.capture_file import read_capture


def packets_through(
    sixbench: Callable[..., Any],
    folder: Path,
    words: Sequence[object],
    packets: Sequence[bytes],
    times_ns: Sequence[int] | None = None,
) -> list[tuple[str, str, list[bytes]]]:
    """Verdict, rule and packets out of each packet that goes in.

    Args:
        sixbench: runs the command.
        folder: where the captures are written.
        words: the mechanism and its options.
        times_ns: of the packets; None: one after the other.
    """
    (folder / "in.pcap").write_bytes(pcap(packets, times_ns=times_ns))
    files = ("--in", folder / "in.pcap", "--out", folder / "out.pcap")
    done = sixbench("translate", *words, *files, "--json")
    assert done.exit == 0, done.stderr
    with (folder / "out.pcap").open("rb") as stream:
        out = [record.data for record in read_capture(stream)]
    collected = []
    for line in map(json.loads, done.stdout.splitlines()):
        collected.append((line["verdict"], line["clause"], [out.pop(0) for _ in line["out"]]))
    assert out == []
    return collected
