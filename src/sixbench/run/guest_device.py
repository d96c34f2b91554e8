"""An emulated machine in the place of a node: its interfaces are those of its neighbours."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from itertools import count

from ..agent import find_agent
from ..guest import GuestDevice, Line, find_kernel
from ..lab.render import lending
from ..model.errors import LabError
from ..model.network import Blueprint
from ..model.quoting import printable

_NUMBERS = count()


def started(network: Blueprint, node: str, pids: Mapping[str, int]) -> GuestDevice:
    """Starts the machine and gives its interfaces to its neighbours. Raises `CapabilityError` and `LabError`.

    Args:
        pids: the processes that hold the neighbours' namespaces.
    """
    links = [link for link in network.topology.links_of(node) if not link.is_tunnel]
    number = next(_NUMBERS)
    lines = [
        Line(
            tap=f"sb{os.getpid()}x{number}{position}",
            addresses=tuple(str(one) for one in (link.end_of(node).ipv4, link.end_of(node).ipv6) if one is not None),
            mtu_bytes=link.mtu_bytes,
        )
        for position, link in enumerate(links)
    ]
    wanted = network.guests[node]
    first, second = lines
    device = GuestDevice(find_kernel(wanted.kernel), find_agent(), (first, second), wanted.setup)
    try:
        for line, link in zip(lines, links, strict=True):
            assert link.port is not None, "a link to an emulated machine has a tap"
            own = link.other_end(node).node
            command = [*lending(line.tap, str(pids[own])), "name", link.port.name]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                said = printable(" ".join(done.stderr.split()))
                raise LabError(f"giving {own} its interface at the emulated machine in {node}: {said}")
    except BaseException:
        device.close()
        raise
    return device
