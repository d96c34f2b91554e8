"""The conclusion from all that `sixbench doctor` tried: whether runs are possible here, and what limits them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..engines import ENGINES
from ..lab.doctor import Capability
from ..lab.mending import MachineState, mend_capability, mend_engine
from .mechanism_doctor import EngineAnswer


@dataclass(frozen=True, kw_only=True)
class MissingCapability:
    """Something that a machine lacks.

    Attributes:
        what: what it lacks, and why.
        affects: what goes without it, or what does it instead.
        mend: the command that would mend it, or words where there is none.
    """

    what: str
    affects: str
    mend: str


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """State of readiness for experiments.

    Attributes:
        ready: nothing is missing that every run needs.
        missing: what every run needs and is not there.
        limits: what some runs need and is not there.
    """

    ready: bool
    missing: tuple[MissingCapability, ...]
    limits: tuple[MissingCapability, ...]

    @property
    def sentence(self) -> str:
        """The conclusion in one line, such as `Ready. 2 limits:`, `Ready, without limits.`, `Not ready. 1 thing is
        missing:`."""
        if not self.ready:
            number = len(self.missing)
            return f"Not ready. {number} thing{' is' if number == 1 else 's are'} missing:"
        if not self.limits:
            return "Ready, without limits."
        return f"Ready. {len(self.limits)} limit{'' if len(self.limits) == 1 else 's'}:"


def conclude(capabilities: Sequence[Capability], answers: Sequence[EngineAnswer], machine: MachineState) -> Conclusion:
    """The conclusion from all answers. What is unknown because something else is missing is not told a second time."""
    missing = tuple(
        _of_capability(capability, machine)
        for capability in capabilities
        if capability.required and capability.answer == "no"
    )
    if missing:
        return Conclusion(ready=False, missing=missing, limits=())
    limits = [_of_capability(capability, machine) for capability in capabilities if capability.answer != "yes"]
    return Conclusion(ready=True, missing=(), limits=(*limits, *_of_engines(answers, machine)))


def _of_capability(capability: Capability, machine: MachineState) -> MissingCapability:
    return MissingCapability(
        what=f"{capability.name}: {capability.reason}",
        affects=capability.needed_for,
        mend=mend_capability(capability, machine),
    )


def _of_engines(answers: Sequence[EngineAnswer], machine: MachineState) -> list[MissingCapability]:
    """One limit for all that is mended by one command. An engine that one mechanism has for itself is there to compare
    with, so it is no limit where it is missing."""
    working: dict[str, list[str]] = {}
    for answer in answers:
        if answer.answer == "yes":
            working.setdefault(answer.mechanism, []).append(answer.engine)
    groups: dict[tuple[str, str], list[EngineAnswer]] = {}
    for answer in answers:
        if answer.answer != "yes" and answer.engine in ENGINES:
            groups.setdefault((answer.engine, mend_engine(answer.engine, answer.reason, machine)), []).append(answer)
    limits = []
    for (engine, mend), lacking in groups.items():
        names = [engine_answer.mechanism for engine_answer in lacking]
        lost = [name for name in names if name not in working]
        others = list(dict.fromkeys(other for name in names for other in working.get(name, [])))
        reasons = "; ".join(dict.fromkeys(engine_answer.reason for engine_answer in lacking))
        parts = [f"no path by {', '.join(lost)} can be measured"] if lost else []
        if others:
            parts.append(f"{'the others' if lost else 'these'} are carried by {' and '.join(others)} instead")
        limits.append(
            MissingCapability(
                what=f"engine {engine} for {', '.join(names)}: {reasons}", affects="; ".join(parts), mend=mend
            )
        )
    return limits
