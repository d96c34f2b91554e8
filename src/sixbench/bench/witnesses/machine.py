"""Clocks and processors of the machines during a trial: whether they stayed what they were."""

from __future__ import annotations

from ...model.reason import Reason, ReasonKind
from ...model.workload import Result
from ..cpu import clock_step_ns, find_span, processors
from ..proof.case import EndResults, Testimony
from .witness import Witness

MAX_CLOCK_STEP_NS = 10 * 10**6
"""NTP may slew by 500 ppm, 2.5 ms in 5 s; a larger difference between the clocks is a step."""


class MachineWitness(Witness):
    """Compares the clocks and processors that both ends told of at the edges of the traffic."""

    @classmethod
    def judge_results(cls, results: EndResults) -> Testimony:
        return Testimony(reasons=machine_changes(results.client, results.server))


def machine_changes(client: Result, server: Result) -> list[Reason]:
    """The reason why a trial is invalid during which a machine's clock was stepped, or its processors became more or
    fewer."""
    spans = [span for span in map(find_span, (client, server)) if span]
    reasons = []
    step_ns = max(map(clock_step_ns, spans), key=abs, default=0)
    if abs(step_ns) > MAX_CLOCK_STEP_NS:
        words = f"the realtime clock was stepped by {step_ns / 1e6:.1f} ms during the trial"
        reasons.append(Reason(kind=ReasonKind.CLOCK_STEP, text=words))
    for before, after in map(processors, spans):
        if before and after and before != after:
            words = f"the machine had {before} processors at the start of the trial and {after} at its end"
            reasons.append(Reason(kind=ReasonKind.PROCESSORS_CHANGED, text=words))
    return list(dict.fromkeys(reasons))
