"""Cycles and instructions of the whole machine, by the agent's perf events (docs/protocol.md, `perf-start`)."""

from __future__ import annotations

from dataclasses import dataclass

from ..agent import Agent
from ..agent.requests import PerfStart, PerfStop
from ..model.errors import AgentError
from ..model.observation import PerfAnswer
from .session import ANSWER_TIMEOUT_S

SPUN = "cycles and instructions per packet are not known, because the sender waits by spinning, which takes both"


@dataclass(kw_only=True)
class Counted:
    """The counts of a trial.

    Attributes:
        counts: None: nothing was counted.
        refused: why the kernel gives no counters.
        lost: why the counters that it gave have counted nothing.
    """

    counts: PerfAnswer | None = None
    refused: str | None = None
    lost: str | None = None


class HardwareCounters:
    """Counts from the start of a trial's traffic to its end, where the machine can."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.counted = Counted()
        """The counts so far."""
        self._is_counting = False

    def start(self) -> None:
        """Begins to count, unless the kernel refuses. Raises `AgentError`."""
        try:
            self._agent.answer(PerfStart(), timeout_s=ANSWER_TIMEOUT_S)
        except AgentError as error:
            if error.code != "system":
                raise
            self.counted.refused = str(error)
            return
        self._is_counting = True

    def stop(self) -> None:
        """Stops counting and keeps the counts. Raises `AgentError`."""
        if not self._is_counting:
            return
        self._is_counting = False
        try:
            self.counted.counts = self._agent.answer(PerfStop(), timeout_s=ANSWER_TIMEOUT_S)
        except AgentError as error:
            if error.code != "system":
                raise
            self.counted.lost = str(error)


def ask(agent: Agent) -> str | None:
    """The reason why cycles and instructions cannot be counted here; None where they can. Raises `AgentError`."""
    counters = HardwareCounters(agent)
    counters.start()
    counters.stop()
    refusal = counters.counted.refused or counters.counted.lost
    return refusal and refusal.removeprefix(f"{agent.name}: ")


def hardware_metrics(counts: PerfAnswer, packets: int) -> dict[str, float]:
    """The metrics, from the counts and the number of packets that crossed a link. Those that are not known are
    absent."""
    cycles, instructions = counts.cycles, counts.instructions
    if not cycles or not instructions:
        return {}
    metrics = {"instructions_per_cycle": instructions / cycles}
    if packets > 0:
        metrics |= {"cycles_per_packet": cycles / packets, "instructions_per_packet": instructions / packets}
    return metrics


def hardware_notes(counted: Counted) -> list[str]:
    """Notes on the counts of this trial. What the kernel refuses in every trial is a note on the run."""
    if counted.lost is not None:
        return [f"cycles and instructions are not known: {counted.lost}"]
    if counted.counts is None or counted.counts.running_ns >= counted.counts.enabled_ns:
        return []
    enabled_ns, running_ns = counted.counts.enabled_ns, counted.counts.running_ns
    share = f"{100 * running_ns / enabled_ns:.0f} %"
    why = f"the counters ran for only {share} of the time, because other programs used them too"
    return [f"cycles and instructions are scaled up: {why}"]
