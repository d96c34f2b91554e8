"""Parts that are programs of their own: floods against `sixbench serve`, and run directories that were tampered with.

Each ends with 0 where nothing was wrong, and prints what it counted as JSON. Its progress goes to standard error.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def flood(scratch: Path, scale: float, seed: int, only: list[str]) -> dict[str, Any]:
    """Half-open and slow clients, and floods, against a server that good clients want to reach."""
    return _run("serve_flood.py", "--clients", str(max(1, round(100 * scale))))


def tampered(scratch: Path, scale: float, seed: int, only: list[str]) -> dict[str, Any]:
    """Mutated run directories, read by every command that reads one."""
    return _run("tampered_runs.py", "--count", str(max(1, round(1_000_000 * scale))), "--seed", str(seed))


def wrong(found: dict[str, Any]) -> list[str]:
    """That the program said so."""
    return [found["failed"]] if "failed" in found else []


def _run(name: str, *arguments: str) -> dict[str, Any]:
    words = [sys.executable, str(HERE / name), "--json", *arguments]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    found = json.loads(done.stdout or "{}")
    return found if done.returncode == 0 else {**found, "failed": f"{name} ended with {done.returncode}"}
