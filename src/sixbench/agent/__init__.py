"""Finding the agent's binary, starting agents on this machine and on hosts, and speaking their protocol
(docs/protocol.md). Knows nothing of networks or experiments.

Imports `model` only.
"""

from .binary import agent_version, find_agent, held_agent
from .client import Agent
from .hub import AgentHub
from .lendable import (
    HARDWARE_CLOCK,
    LENDABLE,
    HardwareTimes,
    Lendable,
    lendable_here,
    read_hardware_clock,
    read_lendable,
)
from .machine import Seat
