"""Finding the agent's binary and speaking its protocol (docs/protocol.md). Knows nothing of networks or experiments.

Imports `model` only.
"""

from .binary import agent_version, find_agent
from .client import Agent, AgentHub
from .packets import PacketDecision, PacketMechanism

__all__ = ["Agent", "AgentHub", "PacketDecision", "PacketMechanism", "agent_version", "find_agent"]
