"""Waiting until interfaces of machines have a carrier: after one was set up, it and its other end negotiate."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from concurrent.futures import Future

from ..lab.build import Completed, NodeHandle
from ..model.errors import LabError
from ..model.topology import Topology

CARRIER_S = 10.0
"""Longest time that a line may take to come up: a second or two for gigabit Ethernet over copper, which negotiates;
more for equipment that has just been switched on."""
LOOK_EVERY_S = 0.05
ANSWER_TIMEOUT_S = 10.0


def wait_for_carriers(topology: Topology, nodes: Mapping[str, NodeHandle]) -> None:
    """Waits until the interfaces at cables and equipment have a carrier. Raises `LabError` naming one that has none."""
    waiting = [(node, device) for node in topology.nodes for device in topology.borrowed(node)]
    deadline_s = time.monotonic() + CARRIER_S
    while True:
        asked = [(pair, nodes[pair[0]].execute(["ip", "-j", "link", "show", "dev", pair[1]])) for pair in waiting]
        waiting = [pair for pair, answer in asked if not _has_carrier(answer)]
        if not waiting:
            return
        if time.monotonic() > deadline_s:
            raise LabError(_lacking(topology, *waiting[0]))
        time.sleep(LOOK_EVERY_S)


def _lacking(topology: Topology, node: str, device: str) -> str:
    port = next((port for at, port in topology.ports if (at, port.name) == (node, device)), None)
    if port is None:
        where, help_ = f"of {topology.nodes[node].on}", "see to the cable and to its other end"
    else:
        where = f", which the experiment names {port.place},"
        help_ = "connect it to the equipment, and switch that on"
    return f"{device}{'' if port else ' '}{where} has had no carrier for {CARRIER_S:g} s: {help_}"


def _has_carrier(answer: Future[Completed]) -> bool:
    done = answer.result(timeout=ANSWER_TIMEOUT_S)
    return done.exit == 0 and "LOWER_UP" in json.loads(done.stdout)[0]["flags"]
