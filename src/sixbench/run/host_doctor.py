"""What a host over SSH can do."""

from __future__ import annotations

import json
import re
import shlex
import time

from ..agent import Agent, AgentHub, Seat
from ..agent.requests import Exec
from ..lab.build import Completed
from ..lab.doctor import Capability, examine
from ..model.errors import AgentError, CapabilityError, UsageError
from ..model.host import Host
from ..model.identifiers import SSH_DESTINATION
from ..model.quoting import printable, shown
from .laboratory import AgentNode
from .mechanism_doctor import EngineAnswer, refusals
from .probing_hosts import facts_of

EVERYTHING = "every node on it"
LENDING = "a cable to another host"
_COMMAND_TIMEOUT_S = 60

LENDABLE = ["sh", "-c", "exec /proc/$PPID/exe lendable"]
"""The agent's own program on the host tells which interfaces it can borrow there."""


def host_from(destination: str, *, sudo: bool = False) -> Host:
    """The host that the command line names. Raises `UsageError`."""
    if not SSH_DESTINATION.fullmatch(destination):
        raise UsageError(f"--host {shown(destination)}: give it as ssh takes it, such as user@lab1.example")
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", destination.rpartition("@")[2]).strip("-._")[:40]
    return Host(name=name, ssh=destination, sudo=sudo)


def examine_host(hub: AgentHub, host: Host) -> tuple[list[Capability], list[EngineAnswer]]:
    """What a host can do for nodes, and which interfaces can be borrowed there. Its interfaces are not touched."""
    began_ns = time.monotonic_ns()
    try:
        hub.join([host])
    except CapabilityError as error:
        return [Capability(name="ssh", answer="no", reason=str(error), needed_for=EVERYTHING, required=True)], []
    took_ms = (time.monotonic_ns() - began_ns) / 1e6
    reason = f"connected, with the agent there, after {took_ms:.0f} ms"
    found = [Capability(name="ssh", answer="yes", reason=reason, needed_for=EVERYTHING, required=True)]
    try:
        machine = hub.start_here(f"({host.name})", host.name)
    except (AgentError, CapabilityError) as error:
        return [
            *found,
            Capability(name="agent", answer="no", reason=str(error), needed_for=EVERYTHING, required=True),
        ], []
    try:
        facts = facts_of(machine)
        told = f"{facts.kernel} on {facts.machine}; a request takes {facts.clock[0].round_trip_ns / 1e6:.2g} ms"
        found.append(Capability(name="agent", answer="yes", reason=told, needed_for=EVERYTHING, required=True))
        return found + _of_nodes(hub, host) + _interfaces(machine), _engines(hub, host)
    finally:
        hub.stop([machine])


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
        return []  # no node can be made, which is told already
    return [
        EngineAnswer(mechanism=mechanism, engine=engine, answer="no", reason=reason)
        for (mechanism, engine), reason in refused.items()
        if reason is not None
    ]


def _interfaces(machine: Agent) -> list[Capability]:
    done = machine.answer(Exec(argv=LENDABLE))
    if done.exit != 0:
        reason = printable(done.stderr.strip()) or f"the agent ended with {done.exit}"
        return [Capability(name="interfaces", answer="unknown", reason=reason, needed_for=LENDING)]
    found = []
    for one in json.loads(done.stdout):
        state = "it can be borrowed" + ("" if one["has_carrier"] else ", and has no carrier now")
        refused = one["refused"]
        found.append(
            Capability(
                name=f"interface {printable(str(one['interface']))}",
                answer="yes" if refused is None else "no",
                reason=state if refused is None else printable(str(refused)),
                needed_for=LENDING,
            )
        )
    return found
