"""Capabilities of a host over SSH."""

from __future__ import annotations

import re
import shlex
import time

from ..agent import Agent, AgentHub, Lendable, Seat
from ..lab.build import Completed
from ..lab.doctor import Capability, examine
from ..model.errors import AgentError, CapabilityError, UsageError
from ..model.host import NO_HARDWARE_CLOCK, Host
from ..model.identifiers import SSH_DESTINATION, SSH_RULE
from ..model.quoting import printable, shown
from ..store import CONTROL, PTP, HostFacts
from .laboratory import AgentNode
from .mechanism_doctor import EngineAnswer, refusals
from .on_host import lendable_of
from .probing_hosts import facts_of

EVERYTHING = "every node on it"
LENDING = "a cable to another host"
CLOCKS = "a second measurement of the hosts' clocks"
_COMMAND_TIMEOUT_S = 60


def host_from(destination: str, *, sudo: bool = False) -> Host:
    """The host that the command line names. Raises `UsageError`."""
    if not SSH_DESTINATION.fullmatch(destination):
        raise UsageError(f"--host {shown(destination)}: give it {SSH_RULE}")
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", destination.rpartition("@")[2]).strip("-._")[:40]
    return Host(name=name, ssh=destination, sudo=sudo)


def examine_host(hub: AgentHub, host: Host) -> tuple[list[Capability], list[EngineAnswer]]:
    """Abilities of a host for nodes, and the interfaces that can be borrowed there. Its interfaces are not touched."""
    began_ns = time.monotonic_ns()
    try:
        hub.join([host])
    except CapabilityError as error:
        return [Capability(name="ssh", answer="no", reason=str(error), needed_for=EVERYTHING, required=True)], []
    took_ms = (time.monotonic_ns() - began_ns) / 1e6
    reason = f"connected, with the agent there, after {took_ms:.0f} ms"
    capabilities = [Capability(name="ssh", answer="yes", reason=reason, needed_for=EVERYTHING, required=True)]
    try:
        machine = hub.start_here(f"({host.name})", host.name)
    except (AgentError, CapabilityError) as error:
        return [
            *capabilities,
            Capability(name="agent", answer="no", reason=str(error), needed_for=EVERYTHING, required=True),
        ], []
    try:
        facts = facts_of(machine)
        capabilities.append(
            Capability(name="agent", answer="yes", reason=_agent_words(facts), needed_for=EVERYTHING, required=True)
        )
        capabilities.append(ptp_capability(facts))
        return capabilities + _of_nodes(hub, host) + _interfaces(machine), _engines(hub, host)
    finally:
        hub.stop([machine])


def _agent_words(facts: HostFacts) -> str:
    took = [
        clock_reading.round_trip_ns
        for clock_reading in facts.clock
        if clock_reading.source == CONTROL and clock_reading.round_trip_ns is not None
    ]
    return f"{facts.kernel} on {facts.machine}; a request takes {took[0] / 1e6:.2g} ms"


def ptp_capability(facts: HostFacts) -> Capability:
    """Checks whether PTP tells how a host's clock stands to a grandmaster."""
    clock_reading = next((reading for reading in facts.clock if reading.source == PTP), None)
    if clock_reading is None:
        return Capability(
            name="PTP", answer="no", reason=facts.no_clock.get(PTP, "it was not asked"), needed_for=CLOCKS
        )
    reason = (
        f"the system's clock is {clock_reading.low_ns} to {clock_reading.high_ns} ns ahead of "
        f"{printable(str(clock_reading.reference))}"
    )
    return Capability(name="PTP", answer="yes", reason=reason, needed_for=CLOCKS)


def _of_nodes(hub: AgentHub, host: Host) -> list[Capability]:
    try:
        agent = hub.start(["doctor"], {"doctor": Seat(on=host.name)})["doctor"]
    except (AgentError, CapabilityError) as error:
        return examine(None, str(error), which=lambda program: None)
    node = AgentNode(agent)

    def run(argv: list[str]) -> Completed:
        return node.execute(argv).result(timeout=_COMMAND_TIMEOUT_S)

    def which(program: str) -> str | None:
        return run(["sh", "-c", f"command -v {shlex.quote(program)}"]).stdout.strip() or None

    try:
        return examine(run, None, which=which)
    finally:
        hub.stop([agent])


def _engines(hub: AgentHub, host: Host) -> list[EngineAnswer]:
    """The engines that cannot make a mechanism's devices there."""
    try:
        refused = refusals(hub, Seat(on=host.name))
    except (AgentError, CapabilityError):
        return []  # no node can be created, which is reported already
    return [
        EngineAnswer(mechanism=mechanism, engine=engine, answer="no", reason=reason)
        for (mechanism, engine), reason in refused.items()
        if reason is not None
    ]


def _interfaces(machine: Agent) -> list[Capability]:
    try:
        lendables = lendable_of(machine)
    except (AgentError, CapabilityError) as error:
        return [Capability(name="interfaces", answer="unknown", reason=str(error), needed_for=LENDING)]
    return [interface_capability(lendable) for lendable in lendables if lendable.interface != "lo"]


def interface_capability(lendable: Lendable) -> Capability:
    """Checks whether an interface can be borrowed for a cable, and what of it matters there."""
    refused = lendable.refused or lendable.in_use
    carrier = "it can be borrowed" + ("" if lendable.has_carrier else ", and has no carrier now")
    return Capability(
        name=f"interface {printable(lendable.interface)}",
        answer="yes" if refused is None else "no",
        reason=f"{carrier}; {_clock_words(lendable)}" if refused is None else printable(refused),
        needed_for=LENDING,
    )


def _clock_words(lendable: Lendable) -> str:
    if lendable.hardware_clock is None:
        return "it is not known whether it has a hardware clock"
    if lendable.hardware_clock == NO_HARDWARE_CLOCK:
        return "it has no hardware clock"
    return f"it has the hardware clock {printable(lendable.hardware_clock)}{_stamps_words(lendable)}"


def _stamps_words(lendable: Lendable) -> str:
    if lendable.hardware_stamps is None:
        return ""
    sends, receives = lendable.hardware_stamps.sends, lendable.hardware_stamps.receives
    if sends and receives:
        return ", and stamps frames by it"
    if sends or receives:
        return f", and does not stamp {'all frames that it receives' if sends else 'what it sends'}"
    return ", and stamps no frames by it"
