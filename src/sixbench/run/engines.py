"""Which engine executes a path's mechanism: the one that the experiment names, or the first that works here."""

from __future__ import annotations

import contextlib
from dataclasses import replace

from ..agent import Agent
from ..lab.engines import ENGINES
from ..lab.engines.kernel import refusal
from ..mechanisms import MECHANISMS, install
from ..model.errors import AgentError, CapabilityError
from ..model.experiment import Experiment
from ..model.network import Blueprint, Tunnel
from ..model.path import Path
from .emulation import choose_emulators


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
    if not network.tunnels:
        return engines[0]
    reasons: dict[str, str] = {}
    for engine in engines:
        reason = why_not(probe, network.tunnels[0], engine)
        if reason is None:
            return engine
        reasons[engine] = reason
    place = f"{file}:{path.line}: " if path.line is not None else f"{file}: "
    words = "; ".join(f"{engine}: {reason}" for engine, reason in reasons.items())
    others = [name for name in MECHANISMS[path.mechanism].engines if name not in engines]
    help_ = f"; other engines of {path.mechanism}: {', '.join(others)}" if others else ""
    raise CapabilityError(
        f"{place}paths.{path.name}: {path.mechanism} cannot be executed on this machine by {words}{help_}"
    )


def why_not(probe: Agent, tunnel: Tunnel, engine: str) -> str | None:
    """Why an engine cannot make such a tunnel, found out by trying it in a throw-away node; None if it can."""
    unfit = ENGINES[engine].unfit(tunnel)
    if unfit is not None:
        return unfit
    trial = replace(tunnel, underlay=("lo",), device="sb-probe")
    try:
        for line in ("link set lo up", f"address replace {tunnel.local}/{tunnel.local.max_prefixlen} dev lo"):
            probe.call("exec", argv=["ip", *line.split()])
        script = ENGINES[engine].make(trial)
        for request in script.requests:
            probe.call(request.op, **request.fields)
        if script.ip:
            done = probe.call("exec", argv=["ip", "-batch", "-"], stdin="\n".join(script.ip) + "\n")
            if done["exit"] != 0:
                return refusal(str(done["stderr"]), script.ip) or f"ip ended with {done['exit']}"
    except AgentError as error:
        return str(error).removeprefix(f"{probe.name}: ")
    finally:
        with contextlib.suppress(AgentError):
            probe.call("tunnel-remove", device=trial.device)
        with contextlib.suppress(AgentError):
            probe.call("exec", argv=["ip", "link", "delete", trial.device])
    return None
