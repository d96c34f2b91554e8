"""`sixbench doctor`."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import typer

from ..model.aligned import aligned_lines
from ..model.errors import UsageError
from . import completions
from .common import note, print_json, say
from .options import JSON

if TYPE_CHECKING:
    from ..bench.doctor_conclusion import Conclusion
    from ..bench.mechanism_doctor import EngineAnswer
    from ..lab.doctor import Answer, Capability

EXIT_NOT_READY = 3
"""Something is missing that every run needs. With limits alone the exit code is 0."""

NOT_ITS_ENGINE = "-"
"""The cell of the table for a mechanism without such an engine."""

YES_MEANS = (
    '"yes" means that echoes went from end to end of a throw-away network, in the headers that the mechanism claims'
)


def doctor(
    json: bool = JSON,
    kernel: str | None = typer.Option(
        None,
        "--kernel",
        metavar="NAME",
        help="Examine an emulated machine with this kernel instead; see: sixbench kernels list.",
        autocompletion=completions.kept_kernels,
    ),
    host: str | None = typer.Option(
        None,
        "--host",
        metavar="DESTINATION",
        help="Examine a host over SSH instead, such as user@lab1.example: the abilities of its nodes, and the "
        "interfaces that they can borrow.",
    ),
    sudo: bool = typer.Option(False, "--sudo", help="With --host: start agents there by sudo."),
) -> int:
    """Tell what this machine can do, and how to mend what it cannot.

    Every mechanism is tried with every engine. The exit code is 3 if something that every run needs is missing.
    """
    from dataclasses import asdict

    from ..bench.doctor_conclusion import conclude
    from ..bench.environment import GUEST
    from ..lab.mending import machine_state

    if kernel is not None and host is not None:
        raise UsageError("--kernel and --host examine different machines; give one of them")
    if host is None and sudo:
        raise UsageError("--sudo has a meaning with --host only")
    if host is not None:
        return _doctor_of_host(host, sudo, json)
    if kernel is not None:
        from .guest_runs import doctor_in_guest

        return doctor_in_guest(kernel, json)
    capabilities, answers = _examine()
    if GUEST not in os.environ:
        capabilities.append(kvm_capability())
    conclusion = conclude(capabilities, answers, machine_state())
    if json:
        print_json(
            {
                "schema": "sixbench.doctor/1",
                "conclusion": {"sentence": conclusion.sentence} | asdict(conclusion),
                "capabilities": [asdict(capability) for capability in capabilities],
                "mechanisms": [asdict(answer) for answer in answers],
            }
        )
    else:
        _tell(capabilities)
        for line in ("", *matrix(answers), YES_MEANS, *reasons(answers), "", *conclusion_lines(conclusion)):
            say(line)
    if not conclusion.ready:
        missing = ", ".join(limit.what.partition(":")[0] for limit in conclusion.missing)
        note(f"sixbench: no run is possible on this machine, which lacks: {missing}")
    return 0 if conclusion.ready else EXIT_NOT_READY


def _tell(capabilities: Sequence[Capability]) -> None:
    width = max(len(capability.name) for capability in capabilities)
    for capability in capabilities:
        say(f"{capability.answer:<7}  {capability.name:<{width}}  {capability.needed_for}: {capability.reason}")


def _doctor_of_host(destination: str, sudo: bool, json: bool) -> int:
    from dataclasses import asdict

    from ..bench.host_doctor import examine_host, host_from
    from .running import agent_hub

    host = host_from(destination, sudo=sudo)
    with agent_hub() as hub:
        capabilities, answers = examine_host(hub, host)
    missing = [capability.name for capability in capabilities if capability.required and capability.answer != "yes"]
    if json:
        print_json(
            {
                "schema": "sixbench.doctor-host/1",
                "host": destination,
                "ready": not missing,
                "capabilities": [asdict(capability) for capability in capabilities],
                "mechanisms": [asdict(answer) for answer in answers],
            }
        )
    else:
        _tell(capabilities)
        for line in reasons(answers):
            say(line)
    if missing:
        note(f"sixbench: {destination} can run no node, because it lacks: {', '.join(missing)}")
    return EXIT_NOT_READY if missing else 0


def conclusion_lines(conclusion: Conclusion) -> list[str]:
    """Checks whether runs are possible, then each limit with what mends it, in 80 columns."""
    lines = [conclusion.sentence]
    for number, limit in enumerate((*conclusion.missing, *conclusion.limits), start=1):
        head = f"{number}. "
        indent = " " * len(head)
        lines += _wrapped(limit.what, head, indent)
        lines += _wrapped(limit.affects, f"{indent}affects: ", indent + "  ")
        lines += _wrapped(limit.mend, f"{indent}to mend it: ", indent + "  ")
    return lines


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        text, 80, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


def matrix(answers: Sequence[EngineAnswer]) -> list[str]:
    """A table of mechanisms by engines, as lines."""
    engines = list(dict.fromkeys(answer.engine for answer in answers))
    cells = {(answer.mechanism, answer.engine): str(answer.answer) for answer in answers}
    rows = [
        (mechanism, *(cells.get((mechanism, engine), NOT_ITS_ENGINE) for engine in engines))
        for mechanism in dict.fromkeys(answer.mechanism for answer in answers)
    ]
    return aligned_lines([("mechanism", *engines), *rows], ["left"] * (1 + len(engines)))


def reasons(answers: Iterable[EngineAnswer]) -> list[str]:
    """The reasons of answers other than yes, as lines. Each reason stands once, with the mechanisms that it
    concerns."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for answer in answers:
        if answer.answer != "yes":
            groups.setdefault((answer.answer, answer.engine, answer.reason), []).append(answer.mechanism)
    return [
        f"{answer:<7}  {engine}: {', '.join(names)}: {reason}" for (answer, engine, reason), names in groups.items()
    ]


def counters_capability(refusal: str | None) -> Capability:
    """Checks whether cycles and instructions can be counted.

    Args:
        refusal: why not; None if they can be counted.
    """
    from ..lab.doctor import Capability

    return Capability(
        name="hardware counters",
        answer="yes" if refusal is None else "no",
        reason=refusal or "cycles and instructions of the whole machine were counted",
        needed_for="cycles and instructions per packet; CPU time per packet is there without them",
    )


def kvm_capability() -> Capability:
    """Checks whether emulated machines can use KVM."""
    from ..guest import find_qemu, kept_kernels, why_no_kvm
    from ..lab.doctor import Capability
    from ..model.errors import CapabilityError

    kernels = kept_kernels()
    answer: Answer
    try:
        qemu = find_qemu()
        if not kernels:
            answer, reason = (
                "unknown",
                "there is no kernel to try it with; fetch one with: sixbench kernels add debian-6.1",
            )
        else:
            refusal = why_no_kvm(qemu, kernels[0].vmlinuz)
            answer, reason = ("yes", f"{kernels[0].name} started with it") if refusal is None else ("no", refusal)
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
    from ..bench.hardware_counters import ask
    from ..bench.laboratory import AgentNode
    from ..bench.mechanism_doctor import examine_mechanisms, unknown_mechanisms
    from ..lab.build import Completed
    from ..lab.doctor import Capability, examine
    from ..lab.privileges import enter_namespace_if_needed
    from ..model.errors import AgentError, CapabilityError

    needed_for = "everything but reports"
    try:
        binary = find_agent()
    except CapabilityError as error:
        reason = str(error)
        agent = Capability(name="agent", answer="no", reason=reason, needed_for=needed_for, required=True)
        return [agent, *examine(None, reason, was_tried=False)], unknown_mechanisms("there is no agent to try it with")
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
        return [agent, *examine(None, str(error))], unknown_mechanisms("there is no node to test it in")
