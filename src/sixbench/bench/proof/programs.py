"""The programs under test in a trial: what each used, where it listened, and whether it lived to the end."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ...model.evidence.programs import ProgramUse
from ...model.form import ABSENT
from ...model.observation import DeviceCountersAnswer
from ...model.reason import Reason, ReasonKind

EMULATOR = "QEMU"
"""Programs that emulate machines under test."""

Answers = Mapping[str, DeviceCountersAnswer]
"""The answers to `device-counters`, by node."""


def program_evidence(before: Answers, after: Answers, emulated: Collection[str] = ()) -> dict[str, ProgramUse]:
    """Resources that each node's program used between two looks. One that has ended is absent.

    Args:
        emulated: the nodes whose program is the emulator of a machine.
    """
    return {
        node: ProgramUse(
            cpu_ns=max(0, late.cpu_ns - before[node].cpu_ns),
            peak_memory_bytes=late.peak_memory_bytes,
            processes=late.processes,
            listening=tuple(late.listening),
            emulator=EMULATOR if node in emulated else None,
        )
        for node, late in after.items()
        if node in before and late.ended is ABSENT and before[node].ended is ABSENT
    }


def ended_programs(after: Answers) -> list[Reason]:
    """The programs that have ended, each with what was its end."""
    return [
        Reason(kind=ReasonKind.DEVICE_ENDED, text=f"the device in {node}: {answer.ended}")
        for node, answer in after.items()
        if answer.ended is not ABSENT
    ]
