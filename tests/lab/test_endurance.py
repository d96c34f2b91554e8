"""Many builds and teardowns leave everything where it was.

They run in a process of their own, in a user namespace that may have a few generations of network namespaces at a time:
one that were never given back would stop them. `make endurance` builds two hundred (benches/endurance/builds.py).
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

BUILDS = 12
NODES = 40
WARM_UP_BUILDS = 4
"""Until the process has the memory that it needs."""

GENERATIONS = 6
"""So many networks' namespaces may be there at a time: the kernel takes them down behind our back."""

MAX_GROWTH_MIB = 8.0

PATIENCE_S = 300.0
"""After this something stays. The hub's thread closes the outputs of agents soon after they have ended."""


def test_builds_and_teardowns_leave_everything_where_it_was() -> None:
    limit = GENERATIONS * NODES
    words = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c"]
    possible = subprocess.run([*words, "echo 9 > /proc/sys/user/max_net_namespaces"], capture_output=True, check=False)
    if possible.returncode != 0:
        reason = "user namespaces with a limit cannot be made"
        pytest.fail(reason) if os.environ.get("SIXBENCH_EXPECT_LAB") == "1" else pytest.skip(reason)
    script = f'echo {limit} > /proc/sys/user/max_net_namespaces && exec "$0" "$@"'
    done = subprocess.run(
        [*words, script, sys.executable, __file__, str(BUILDS)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    before, after = document["before"], document["after"]
    growth_mib = after.pop("resident_mib") - before.pop("resident_mib")
    assert after == before
    assert growth_mib < MAX_GROWTH_MIB


def main(builds: int) -> None:
    """Builds and takes down; prints what there was before and after, as JSON."""
    from sixbench.agent import AgentHub, find_agent
    from sixbench.bench.laboratory import Laboratory
    from sixbench.model.network import Blueprint
    from sixbench.plan.experiment_file import read_topology_only
    from sixbench.plan.yaml_source import parse_yaml

    topology = read_topology_only(parse_yaml(f"chain: {NODES}\nmasquerade: true\nrate: 1Gbit\n", "endurance.yaml"))
    done = 0
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))  # it is looked for between two networks
    with AgentHub(find_agent()) as hub:
        before = state()
        for build in range(WARM_UP_BUILDS + builds):
            if build == WARM_UP_BUILDS:
                before["resident_mib"] = state()["resident_mib"]
            Laboratory(hub, Blueprint(topology=topology)).close()
            done = build + 1
            if done > WARM_UP_BUILDS and signal.SIGINT in signal.sigpending():
                break
        after = settled(before)
    sys.stdout.write(json.dumps({"before": before, "after": after, "builds": done - WARM_UP_BUILDS}))


def settled(before: dict[str, object]) -> dict[str, object]:
    """The state once it is what it was before, memory aside; the last one where that does not come."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        actual_state = state()
        if actual_state | {"resident_mib": None} == before | {"resident_mib": None} or time.monotonic() > deadline:
            return actual_state
        time.sleep(0.05)


def state() -> dict[str, object]:
    """Descriptors, threads, children, interfaces and memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "threads": len(list(Path("/proc/self/task").iterdir())),
        "children": Path(f"/proc/self/task/{os.getpid()}/children").read_text().split(),
        "interfaces": sorted(name for _, name in socket.if_nameindex()),
        "resident_mib": pages * os.sysconf("SC_PAGE_SIZE") / 2**20,
    }


if __name__ == "__main__":
    main(int(sys.argv[1]))
