"""Many networks of forty nodes, built and taken down: nothing may remain.

They run in a user namespace that may have a few generations of network namespaces at a time: one that were never given
back would stop them. `tests/lab/test_endurance.py` does a few in each `make test`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

MEASURED = Path(__file__).parents[2] / "tests" / "lab" / "test_endurance.py"
NODES = 40
GENERATIONS = 6
MAX_GROWTH_MIB = 8.0


def build(scratch: Path, scale: float, seed: int, only: list[str]) -> dict[str, Any]:
    """Builds and takes down two hundred times."""
    count = max(1, round(200 * scale))
    limit = f'echo {GENERATIONS * NODES} > /proc/sys/user/max_net_namespaces && exec "$0" "$@"'
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", limit, sys.executable, MEASURED, str(count)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        return {"builds": count, "nodes": NODES, "failed": done.stderr[-2000:]}
    return {"builds": count, "nodes": NODES, **json.loads(done.stdout)}


def wrong(found: dict[str, Any]) -> list[str]:
    """What was not given back."""
    if "failed" in found:
        return [found["failed"]]
    before, after = found["before"], found["after"]
    growth_mib = after["resident_mib"] - before["resident_mib"]
    kept = [
        f"{name}: {after[name]} after, {before[name]} before"
        for name in before
        if name != "resident_mib" and after[name] != before[name]
    ]
    return kept + ([f"{growth_mib:.1f} MiB more memory"] if growth_mib > MAX_GROWTH_MIB else [])
