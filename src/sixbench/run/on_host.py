"""What the agent's own program tells of a host, beside what agents are asked."""

from __future__ import annotations

from ..agent import HARDWARE_CLOCK, LENDABLE, Agent, HardwareTimes, Lendable, read_hardware_clock, read_lendable
from ..agent.requests import Exec
from ..model.errors import CapabilityError
from ..model.quoting import printable


def lendable_of(machine: Agent) -> list[Lendable]:
    """The interfaces of a host. Raises `CapabilityError` where it cannot tell, and `AgentError`.

    Args:
        machine: an agent in the host's own network namespace.
    """
    return read_lendable(_said(machine, LENDABLE, doing="looking at its interfaces"))


def hardware_clock_of(machine: Agent, number: int) -> list[HardwareTimes]:
    """What `/dev/ptpN` of a host says. Raises as `lendable_of`."""
    return read_hardware_clock(_said(machine, HARDWARE_CLOCK, str(number), doing="reading its hardware clock"))


def _said(machine: Agent, *words: str, doing: str) -> str:
    done = machine.answer(Exec(argv=["sh", "-c", 'exec /proc/$PPID/exe "$@"', "agent", *words]))
    if done.exit != 0:
        raise CapabilityError(f"{doing}: {printable(done.stderr.strip()) or f'the agent ended with {done.exit}'}")
    return done.stdout
