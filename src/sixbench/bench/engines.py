"""Choice of the engine that executes a path's mechanism: the one that the experiment names, or the first that works
here."""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import replace

from ..agent import Agent
from ..agent.answers import ExecAnswer
from ..agent.requests import Exec, RelayStop, TranslatorRemove, TunnelRemove
from ..engines import Engine
from ..engines.kernel import refusal
from ..lab.render import own_address
from ..mechanisms import MECHANISMS, find_engine, install
from ..model.device import Device, Relay, Translator, Tunnel
from ..model.errors import AgentError, CapabilityError
from ..model.experiment import Experiment
from ..model.network import Blueprint
from ..model.path import Path
from ..model.stage import NodeRequest, Program
from .emulation import choose_emulators

PROGRAM_NS = 200_000_000
"""A program that ends within this time when it is tried is taken for one that does not work here."""


NOT_FOUND = 127
"""Exit code of a shell that does not find a command (POSIX, Shell Command Language, 2.8.2)."""


def choose_engines(probe: Agent, experiment: Experiment) -> Experiment:
    """The experiment with an engine for every path and an emulator for every link that needs one. Raises
    `CapabilityError` with `file:line` where there is none.

    Args:
        probe: a node to try engines in.
    """
    paths = []
    for path in experiment.paths:
        network = install(path, experiment.topologies[0], experiment.between)
        paths.append(replace(path, engine=choose_engine(probe, path, network, experiment.file)))
    topologies = choose_emulators(probe, experiment.topologies)
    return replace(experiment, paths=tuple(paths), topologies=topologies)


def choose_engine(probe: Agent, path: Path, network: Blueprint, file: str) -> str:
    """The engine of a path. Raises `CapabilityError` where the named one, or every one, does not work here."""
    engines = MECHANISMS[path.mechanism].engines if path.engine is None else (path.engine,)
    reasons: dict[str, str] = {}
    for engine in engines:
        reason = why_not(probe, network, engine)
        if reason is None:
            _check_programs(path, network, file)
            return engine
        reasons[engine] = reason
    place = f"{file}:{path.line}: " if path.line is not None else f"{file}: "
    words = "; ".join(f"{engine}: {reason}" for engine, reason in reasons.items())
    others = [name for name in MECHANISMS[path.mechanism].engines if name not in engines]
    help_ = f"; other engines of {path.mechanism}: {', '.join(others)}" if others else ""
    raise CapabilityError(
        f"{place}paths.{path.name}: {path.mechanism} cannot be executed on this machine by {words}{help_}"
    )


def _check_programs(path: Path, network: Blueprint, file: str) -> None:
    """Raises `CapabilityError` where a stage of the network needs a program that is missing."""
    for stage in (stage for stages in network.stages for stage in stages.values()):
        for program in stage.programs:
            if program.package is not None and shutil.which(program.name or program.argv[0]) is None:
                place = f"{file}:{path.line}: " if path.line is not None else f"{file}: "
                raise CapabilityError(f"{place}paths.{path.name}: {_lacking(program)}")


def why_not(probe: Agent, network: Blueprint, engine: str) -> str | None:
    """The reason why an engine cannot make the devices of a network, found out by trying one of each kind in a
    throw-away node; None if it can."""
    can = find_engine(engine)
    unfit = next((reason for device in network.devices if (reason := can.unfit(device))), None)
    if unfit is not None:
        return unfit
    of_kind = {device.kind: device for device in reversed(network.devices)}
    return next((reason for device in of_kind.values() if (reason := _refusal(probe, device, can))), None)


def _refusal(probe: Agent, device: Device, engine: Engine) -> str | None:
    name = "sb-probe"
    lines = ["link set lo up"]
    undo: list[NodeRequest] = []
    trial = replace(device, device=name)
    if isinstance(trial, Tunnel):
        trial = replace(trial, underlay=("lo",))
        lines.append(f"address replace {own_address(trial.local)}")
    if isinstance(trial, Translator):
        trial = replace(trial, discovery=None)
    try:
        for line in lines:
            probe.answer(Exec(argv=["ip", *line.split()]))
        stage = engine.make(trial)
        for request in stage.requests:
            answer = probe.call(request.op, **request.fields)
            undo += [request.undo] if request.undo is not None else []
            if (wrong := request.check(answer)) is not None:
                return wrong
        if stage.ip:
            done = probe.answer(Exec(argv=["ip", "-batch", "-"], stdin="\n".join(stage.ip) + "\n"))
            if done.exit != 0:
                return refusal(done.stderr, stage.ip) or f"ip ended with {done.exit}"
        if stage.nft:
            # The kernel only checks the rules, and does not apply them.
            check = Program(argv=("nft", "--check", "-f", "-"), stdin=stage.nft, package="nftables")
            if (why := _failure(probe, check)) is not None:
                return why
        return next((why for program in stage.programs if (why := _ending(probe, program))), None)
    except AgentError as error:
        return str(error).removeprefix(f"{probe.name}: ")
    finally:
        for request in undo:
            with contextlib.suppress(AgentError):
                probe.call(request.op, **request.fields)
        with contextlib.suppress(AgentError):
            _end(probe, device, name)
        with contextlib.suppress(AgentError):
            probe.answer(Exec(argv=["ip", "link", "delete", name]))


def _end(probe: Agent, device: Device, name: str) -> None:
    """Ends what the agent has made for a device."""
    if isinstance(device, Relay):
        probe.answer(RelayStop())
    elif isinstance(device, Translator):
        probe.answer(TranslatorRemove(device=name))
    else:
        probe.answer(TunnelRemove(device=name))


def _failure(probe: Agent, program: Program) -> str | None:
    """The message of a program that failed; None if it ended as it should."""
    try:
        done = probe.answer(Exec(argv=[*program.argv], stdin=program.stdin))
    except AgentError as error:
        return _missing(program, error)
    return None if done.exit == 0 else _failure_words(program, done)


def _ending(probe: Agent, program: Program) -> str | None:
    """The message of a program that ended at once; None if it ran on."""
    try:
        done = probe.answer(Exec(argv=[*program.argv], stdin=program.stdin, timeout_ns=PROGRAM_NS))
    except AgentError as error:
        if error.code == "timeout":
            return None
        return _missing(program, error)
    return _failure_words(program, done)


def _missing(program: Program, error: AgentError) -> str:
    """In words, that there is no such program. Raises the error where it says something else."""
    if program.package is not None and "No such file or directory" in str(error):
        return _lacking(program)
    raise error


def _failure_words(program: Program, done: ExecAnswer) -> str:
    if program.package is not None and program.name is not None and done.exit == NOT_FOUND:
        return _lacking(program)
    text = " ".join((done.stderr or done.stdout).split())
    return f"{program.name or program.argv[0]} ended with {done.exit}: {text or 'it said nothing'}"


def _lacking(program: Program) -> str:
    return f"the program {program.name or program.argv[0]} is missing (Debian package {program.package})"
