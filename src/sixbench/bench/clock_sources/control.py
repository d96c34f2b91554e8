"""The clocks of hosts beside this machine's, by an exchange over the connection of control.

A host tells its realtime clock between two looks at ours (RFC 5905 section 8 has the same four times). Whatever the way
there and the way back took, its clock was ahead of ours by no less than what it said minus our second look, and by no
more than what it said minus our first one. Several exchanges narrow that down.
"""

from __future__ import annotations

import time

from ...agent import Agent
from ...store import ClockReading
from .looks import ahead_ns

EXCHANGES = 12
"""Number of exchanges of a reading: the fastest of so many is near the fastest that there is."""


def read_control(agent: Agent) -> ClockReading:
    """Lead of the realtime clock of an agent's machine over this one's. Raises `AgentError`."""
    looks = []
    for _ in range(EXCHANGES):
        began_ns, began_realtime_ns = time.monotonic_ns(), time.time_ns()
        said_ns = int(agent.call("cpu")["realtime_ns"])
        looks.append((began_realtime_ns, said_ns, began_realtime_ns + time.monotonic_ns() - began_ns))
    low_ns, high_ns = ahead_ns(looks)
    fastest_ns = min(after - before for before, _, after in looks)
    return ClockReading(realtime_ns=time.time_ns(), low_ns=low_ns, high_ns=high_ns, round_trip_ns=fastest_ns)
