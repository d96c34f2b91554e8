"""The clocks of hosts beside this machine's, by an exchange over the connection of control.

A host tells its realtime clock between two looks at ours (RFC 5905 section 8 has the same four times). Whatever the way
there and the way back took, its clock was ahead of ours by no less than what it said minus our second look, and by no
more than what it said minus our first one. Several exchanges narrow that down.
"""

from __future__ import annotations

import time

from ...agent import Agent
from ...store import ClockReading

EXCHANGES = 12
"""How many exchanges a reading has: the fastest of so many is near the fastest that there is."""


def read_control(agent: Agent) -> ClockReading:
    """How far the realtime clock of an agent's machine is ahead of this one's. Raises `AgentError`."""
    low_ns, high_ns, fastest_ns = -(2**63), 2**63, 2**63
    for _ in range(EXCHANGES):
        began_ns, began_realtime_ns = time.monotonic_ns(), time.time_ns()
        said_ns = int(agent.call("cpu")["realtime_ns"])
        took_ns = time.monotonic_ns() - began_ns
        low_ns = max(low_ns, said_ns - began_realtime_ns - took_ns)
        high_ns = min(high_ns, said_ns - began_realtime_ns)
        fastest_ns = min(fastest_ns, took_ns)
    # A clock that was stepped meanwhile has no one difference.
    return ClockReading(
        realtime_ns=time.time_ns(),
        low_ns=min(low_ns, high_ns),
        high_ns=max(low_ns, high_ns),
        round_trip_ns=fastest_ns,
    )
