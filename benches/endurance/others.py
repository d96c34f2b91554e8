"""Parts that are programs of their own: floods against `sixbench serve`, and run directories that were tampered with.

Each ends with 0 where nothing was wrong, and prints what it counted as JSON. Its progress goes to standard error.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from math import ceil
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def flood(scratch: Path, scale: float, seed: int, only: list[str]) -> dict[str, Any]:
    """Half-open and slow clients, and floods, against a server that good clients want to reach."""
    return _run("serve_flood.py", "--clients", str(max(1, round(100 * scale))))


def tampered(scratch: Path, scale: float, seed: int, only: list[str]) -> dict[str, Any]:
    """Mutated run directories, read by every command that reads one. Each processor has a seed of its own, from the
    given one on."""
    count = max(1, round(1_000_000 * scale))
    seeds = range(seed, seed + (os.cpu_count() or 1))
    share = str(ceil(count / len(seeds)))
    with ThreadPoolExecutor(len(seeds)) as processors:
        each = list(processors.map(lambda one: _run("tampered_runs.py", "--count", share, "--seed", str(one)), seeds))
    found: dict[str, Any] = {name: sum(one.get(name, 0) for one in each) for name in ("cases", "executions", "cpu_s")}
    found["outcomes"] = len({kind for one in each for kind in one.get("kinds", [])})
    found["failures"] = {kind: words for one in each for kind, words in one.get("failures", {}).items()}
    failed = [one["failed"] for one in each if "failed" in one]
    return found | {"seed": seed} | ({"failed": failed[0]} if failed else {})


def wrong(found: dict[str, Any]) -> list[str]:
    """That the program said so."""
    return [found["failed"]] if "failed" in found else []


def _run(name: str, *arguments: str) -> dict[str, Any]:
    words = [sys.executable, str(HERE / name), "--json", *arguments]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    found = json.loads(done.stdout or "{}")
    return found if done.returncode == 0 else {**found, "failed": f"{name} ended with {done.returncode}"}
