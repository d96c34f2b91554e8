"""Where and of what figures were measured."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import sixbench


def provenance(started_s: float) -> dict[str, Any]:
    """The date, what the measuring took, the commit of sixbench and the machine.

    Args:
        started_s: when it began, of the time of day.
    """
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime(started_s)),
        "took_s": round(time.time() - started_s),
        "commit": _commit(),
        "kernel": os.uname().release,
        "machine": os.uname().machine,
        "processors": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "python": sys.version.split()[0],
    }


def _commit() -> str | None:
    """The commit of the sources that are imported; None where they are not in a repository."""
    command = ["git", "-C", str(Path(sixbench.__file__).parent), "describe", "--always", "--dirty"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or None
