"""Dask's settings, whatever a machine's own configuration of it says."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

_SETTINGS: Mapping[str, Any] = {
    "distributed.scheduler.work-stealing": False,  # a block stays with its worker
    "distributed.scheduler.worker-ttl": "60s",  # for a worker whose machine is disconnected or hangs
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.comm.timeouts.connect": "10s",
    "distributed.comm.timeouts.tcp": "30s",
    "distributed.comm.retry.count": 0,
    "distributed.comm.require-encryption": True,
    "distributed.comm.compression": False,  # nor is received data decompressed
    # Periodic work beside a measurement disturbs it.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "60s",
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.limit": "1h",
    "distributed.worker.use-file-locking": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
}

HEARTBEAT = "2s"
"""Interval at which a worker reports that it is alive."""


def set_up() -> None:
    """Sets Dask up for this process, has it send and read plain data only, and keeps its logs of what we say in our own
    words."""
    import dask.config
    import distributed  # noqa: F401, it sets up its logs when it is imported

    from . import plain

    plain.hold()
    dask.config.set(_SETTINGS)
    of_dask = [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]
    for name in ("tornado", "asyncio", *of_dask):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def why_missing() -> str | None:
    """That what workers need is not installed, in words; None where it is."""
    from importlib.util import find_spec

    missing = [name for name in ("distributed", "cryptography") if find_spec(name) is None]
    if not missing:
        return None
    are = "is" if len(missing) == 1 else "are"
    need = f"workers need {' and '.join(missing)}, which {are} not installed"
    return f"{need}; install with: pip install 'sixbench[workers]'"
