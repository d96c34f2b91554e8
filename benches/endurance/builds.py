"""Many networks of forty nodes, built and taken down: nothing may remain.

They run in a user namespace that may have a few generations of network namespaces at a time: one that were never given
back would stop them. `tests/lab/test_endurance.py` does a few in each `make test`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from .keeping import STOPS, Keep

MEASURED = Path(__file__).parents[2] / "tests" / "lab" / "test_endurance.py"
NODES = 40
GENERATIONS = 6
MAX_GROWTH_MIB = 8.0


def build(scratch: Path, scale: float, seed: int, only: list[str], keep: Keep) -> dict[str, Any]:
    """Builds and takes down two hundred times."""
    count = max(1, round(200 * scale))
    limit = f'echo {GENERATIONS * NODES} > /proc/sys/user/max_net_namespaces && exec "$0" "$@"'
    words = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", limit]
    # A session of its own: where this part is stopped, it ends after the build that it is at, and tells what it has.
    process = subprocess.Popen(
        [*words, sys.executable, MEASURED, str(count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        stdout, complained = process.communicate()
        stopped = {}
    except STOPS:
        os.killpg(process.pid, signal.SIGINT)
        stdout, complained = process.communicate()
        stopped = {"stopped": True}
    if process.returncode != 0:
        return {"builds": count, "nodes": NODES, "failed": complained[-2000:]}
    return {"nodes": NODES, **json.loads(stdout), **stopped}


def wrong(result: dict[str, Any]) -> list[str]:
    """Resources that were not given back, in words."""
    if "failed" in result:
        return [result["failed"]]
    before, after = result["before"], result["after"]
    growth_mib = after["resident_mib"] - before["resident_mib"]
    kept = [
        f"{name}: {after[name]} after, {before[name]} before"
        for name in before
        if name != "resident_mib" and after[name] != before[name]
    ]
    return kept + ([f"{growth_mib:.1f} MiB more memory"] if growth_mib > MAX_GROWTH_MIB else [])
