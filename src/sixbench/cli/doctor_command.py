"""`sixbench doctor`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import typer

from .common import print_json

if TYPE_CHECKING:
    from ..lab.doctor import Answer, Capability
    from ..run.mechanism_doctor import EngineAnswer

NOT_ITS_ENGINE = "-"
"""Where a mechanism has no such engine."""

YES_MEANS = "yes: echoes went from end to end of a throw-away network, in the headers that the mechanism claims"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("doctor")(doctor)


def doctor(
    json: bool = typer.Option(False, "--json", help="Print as JSON."),
    kernel: str | None = typer.Option(
        None, "--kernel", metavar="NAME", help="Of an emulated machine with this kernel: sixbench kernels list."
    ),
) -> int:
    """Tell what this machine can do, and why not; every mechanism is tried with every engine. Exit code 3 if something
    that every run needs is missing."""
    from dataclasses import asdict

    from ..run.environment import GUEST

    if kernel is not None:
        from .guest_runs import doctor_in_guest

        return doctor_in_guest(kernel, json)
    capabilities, answers = _examine()
    if GUEST not in os.environ:
        capabilities.append(kvm_capability())
    if json:
        print_json(
            {
                "schema": "sixbench.doctor/1",
                "capabilities": [asdict(capability) for capability in capabilities],
                "mechanisms": [asdict(answer) for answer in answers],
            }
        )
    else:
        width = max(len(capability.name) for capability in capabilities)
        for capability in capabilities:
            typer.echo(
                f"{capability.answer:<7}  {capability.name:<{width}}  {capability.needed_for}: {capability.reason}"
            )
        typer.echo()
        for line in matrix(answers):
            typer.echo(line)
        typer.echo(YES_MEANS)
        for line in reasons(answers):
            typer.echo(line)
    missing = [capability.name for capability in capabilities if capability.required and capability.answer == "no"]
    if missing:
        print(f"sixbench: this machine lacks what every run needs: {', '.join(missing)}", file=sys.stderr)
    return 3 if missing else 0


def matrix(answers: Sequence[EngineAnswer]) -> list[str]:
    """Mechanisms by engines, as lines."""
    engines = list(dict.fromkeys(answer.engine for answer in answers))
    cells = {(answer.mechanism, answer.engine): str(answer.answer) for answer in answers}
    rows = [("mechanism", *engines)]
    for mechanism in dict.fromkeys(answer.mechanism for answer in answers):
        rows.append((mechanism, *(cells.get((mechanism, engine), NOT_ITS_ENGINE) for engine in engines)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def reasons(answers: Iterable[EngineAnswer]) -> list[str]:
    """Why it is no or unknown, as lines: each reason once, with what it is the reason of."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for one in answers:
        if one.answer != "yes":
            groups.setdefault((one.answer, one.engine, one.reason), []).append(one.mechanism)
    return [
        f"{answer:<7}  {engine}: {', '.join(names)}: {reason}" for (answer, engine, reason), names in groups.items()
    ]


def counters_capability(refusal: str | None) -> Capability:
    """Whether cycles and instructions can be counted.

    Args:
        refusal: why not; None where they can.
    """
    from ..lab.doctor import Capability

    return Capability(
        name="hardware counters",
        answer="yes" if refusal is None else "no",
        reason=refusal or "cycles and instructions of the whole machine were counted",
        needed_for="cycles and instructions per packet; CPU time per packet goes without",
    )


def kvm_capability() -> Capability:
    """Whether an emulated machine can be one by KVM."""
    from ..guest import find_qemu, kept_kernels, why_no_kvm
    from ..lab.doctor import Capability
    from ..model.errors import CapabilityError

    kernels = kept_kernels()
    answer: Answer
    try:
        qemu = find_qemu()
        if not kernels:
            answer, reason = "unknown", "there is no kernel to try it with; fetch one: sixbench kernels add debian-6.1"
        else:
            refusal = why_no_kvm(qemu, kernels[0].vmlinuz)
            answer, reason = ("yes", f"{kernels[0].name} came up by it") if refusal is None else ("no", refusal)
    except CapabilityError as error:
        answer, reason = "no", str(error)
    return Capability(
        name="KVM",
        answer=answer,
        reason=reason,
        needed_for="other kernels at the speed of this machine (--clock real)",
    )


def _examine() -> tuple[list[Capability], list[EngineAnswer]]:
    from ..agent import AgentHub, find_agent
    from ..lab.build import Completed
    from ..lab.doctor import Capability, examine
    from ..lab.privileges import enter_namespace_if_needed
    from ..model.errors import AgentError, CapabilityError
    from ..run.hardware_counters import ask
    from ..run.laboratory import AgentNode
    from ..run.mechanism_doctor import examine_mechanisms, unknown_mechanisms

    needed_for = "everything but reports"
    try:
        binary = find_agent()
    except CapabilityError as error:
        reason = str(error)
        agent = Capability(name="agent", answer="no", reason=reason, needed_for=needed_for, required=True)
        return [agent, *examine(None, reason)], unknown_mechanisms("there is no agent to try it with")
    agent = Capability(name="agent", answer="yes", reason=str(binary), needed_for=needed_for, required=True)
    try:
        enter_namespace_if_needed(sys.argv[1:])
        with AgentHub(binary) as hub:
            started = hub.start(["doctor"])["doctor"]
            node = AgentNode(started)

            def run(argv: list[str]) -> Completed:
                return node.execute(argv).result(timeout=60)

            counters = counters_capability(ask(started))
            return [agent, *examine(run, None), counters], examine_mechanisms(hub)
    except (AgentError, CapabilityError) as error:
        return [agent, *examine(None, str(error))], unknown_mechanisms("no node could be made to try it in")
