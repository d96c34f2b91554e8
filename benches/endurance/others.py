"""Parts that are programs of their own: floods against `sixbench serve`, and directories that were tampered with.

Each ends with 0 where nothing was wrong. It prints what it has counted so far as a line of JSON, again and again, and
its progress to standard error. SIGINT ends it, and its last line counts.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import ceil
from pathlib import Path
from typing import Any

from .keeping import STOPS, Keep, PartResults

HERE = Path(__file__).parent


def flood(scratch: Path, scale: float, seed: int, only: list[str], keep: Keep) -> PartResults:
    """Half-open and slow clients, and floods, against a server that good clients want to reach."""
    programs = [("serve_flood.py", "--clients", str(max(1, round(100 * scale))))]
    return _run(programs, lambda expected: expected[0], keep)


def tampered(scratch: Path, scale: float, seed: int, only: list[str], keep: Keep) -> PartResults:
    """Mutated directories, read by every command that reads one. Each processor that this process may use has a seed of
    its own, from the given one on: what follows from other seeds is added up (`document`)."""
    seeds = range(seed, seed + len(os.sched_getaffinity(0)))
    share = str(ceil(max(1, round(1_000_000 * scale)) / len(seeds)))
    programs = [("tampered_runs.py", "--count", share, "--seed", str(seed)) for seed in seeds]

    def by_seed(expected: list[PartResults]) -> PartResults:
        return {"seeds": {str(seed): result for seed, result in zip(seeds, expected, strict=True) if result}}

    return _run(programs, by_seed, keep)


def wrong(result: PartResults) -> list[str]:
    """That a program said so."""
    return [result["failed"]] if "failed" in result else []


def _run(
    programs: list[tuple[str, ...]], together: Callable[[list[PartResults]], PartResults], keep: Keep
) -> PartResults:
    """Runs programs beside each other to their end. Returns what `together` makes of the last line of each."""
    begun = [
        subprocess.Popen([sys.executable, str(HERE / name), "--json", *rest], stdout=subprocess.PIPE, text=True)
        for name, *rest in programs
    ]
    output: list[PartResults] = [{} for _ in begun]

    def listen(number: int, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            output[number] = json.loads(line)
            keep(together(output))
        process.wait()

    stopped: dict[str, Any] = {}
    with ThreadPoolExecutor(len(begun)) as listeners:
        jobs = [listeners.submit(listen, *item) for item in enumerate(begun)]
        try:
            for job in jobs:
                job.result()
        except STOPS:
            stopped = {"stopped": True}
            for process in begun:
                process.send_signal(signal.SIGINT)
    failed = [
        f"{name} ended with {process.returncode}"
        for process, (name, *_) in zip(begun, programs, strict=True)
        if process.returncode != 0 and not (stopped and process.returncode in STOPPED)
    ]
    return together(output) | stopped | ({"failed": failed[0]} if failed else {})


STOPPED = (130, -signal.SIGINT, -signal.SIGTERM)
"""Exit codes of a program that a signal ended, where nothing was wrong until then: the last two before it listened."""
