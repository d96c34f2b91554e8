"""The needs of an experiment beyond namespaces, checked before anything is built."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable

from ..agent import Agent
from ..agent.requests import Exec, Sysctl
from ..mechanisms import install
from ..model.errors import AgentError, CapabilityError
from ..model.experiment import Experiment
from ..model.programs import recipes
from ..model.programs.end import Feature
from ..model.topology import Topology
from ..model.workloads import WORKLOADS
from .environment import RECORDED_SYSCTLS

_PROGRAMS = {"ip": "iproute2", "tc": "iproute2", "ethtool": "ethtool"}


def check_requirements(probe: Agent, experiment: Experiment) -> None:
    """Raises `CapabilityError` naming what is missing and what needs it."""
    check_programs()
    check_links(probe, experiment.topologies)
    check_rulesets(experiment)
    check_ends(experiment)
    wanted = kernels_congestion_controls(experiment)
    available = (
        read_sysctls(probe, ["net.ipv4.tcp_available_congestion_control"])
        .get("net.ipv4.tcp_available_congestion_control", "")
        .split()
    )
    for name in sorted(wanted):
        if available and name not in available:
            raise CapabilityError(
                f'the TCP congestion control "{name}" is not in this kernel, which has {", ".join(available)}'
            )


def kernels_congestion_controls(experiment: Experiment) -> set[str]:
    """The congestion controls that the kernel must have: those of TCP. QUIC brings its own."""
    workloads = [combination.workload for combination in experiment.combinations]
    of_tcp = [workload.params for workload in workloads if WORKLOADS[workload.kind].transport == "tcp"]
    return {str(params["congestion"]) for params in of_tcp if "congestion" in params}


def check_programs() -> None:
    """Raises `CapabilityError` naming the Debian package of a program that is missing."""
    for program, package in _PROGRAMS.items():
        if shutil.which(program) is None:
            raise CapabilityError(f"the program {program} is missing; install the Debian package {package}")


def check_programs_of(probe: Agent) -> None:
    """Does as `check_programs` on a host. Raises `CapabilityError`."""
    for program, package in _PROGRAMS.items():
        if probe.answer(Exec(argv=["sh", "-c", f"command -v {program}"])).exit != 0:
            raise CapabilityError(
                f"{probe.host} lacks the program {program}; install the Debian package {package} there"
            )


def check_rulesets(experiment: Experiment) -> None:
    """Raises `CapabilityError` where a path needs nftables and the program is missing."""
    if shutil.which("nft") is not None:
        return
    for path in experiment.paths:
        network = install(path, experiment.topologies[0], experiment.between)
        if any(stage.nft for stages in network.stages for stage in stages.values()):
            raise CapabilityError(
                f"{experiment.file}:{path.line}: paths.{path.name}: {path.mechanism} needs the program nft, "
                "which is missing; install the Debian package nftables"
            )


def check_ends(experiment: Experiment) -> None:
    """Raises `CapabilityError` where a workload has a server or a client that is not on this machine, though its nodes
    are."""
    if any(topology.is_spread for topology in experiment.topologies):
        return
    for combination in experiment.combinations:
        workload = combination.workload
        for recipe in recipes(workload.params):
            place = f"{experiment.file}: workloads.{workload.kind}: {recipe.side}: the program {recipe.program}"
            if shutil.which(recipe.program) is None:
                raise CapabilityError(f"{place} is missing; install the Debian package {recipe.package}")
            feature = recipe.feature(workload.params)
            if feature is not None and not has_feature(feature):
                raise CapabilityError(f"{place} {feature.lacks}")


def has_feature(feature: Feature) -> bool:
    """True if a program of this machine lists the feature."""
    try:
        done = subprocess.run(feature.argv, capture_output=True, text=True, errors="replace", timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return False
    return feature.word in done.stdout + done.stderr


def check_links(probe: Agent, topologies: Iterable[Topology]) -> None:
    """Raises `CapabilityError` where the kernel lacks a queueing discipline that a link needs."""
    limited: str | None = None
    queued: dict[str, str] = {}
    for topology in topologies:
        for link in topology.links:
            limited = limited or (link.name if link.has_rate else None)
            for name in sorted({direction.queue.discipline for direction in link.directions} - {"tail-drop"}):
                queued.setdefault(name, link.name)
    if limited and not _works(probe, "tbf rate 1mbit burst 2000 limit 4000"):
        raise CapabilityError(
            f"the link {limited} has a rate, which needs the kernel's tbf (sch_tbf); this kernel has none"
        )
    for discipline, link_name in queued.items():
        if not _works(probe, discipline):
            raise CapabilityError(
                f"the link {link_name} has a queue-discipline of {discipline}, which needs the kernel's {discipline} "
                f"(sch_{discipline}); this kernel has none; leave it out for tail drop"
            )


def read_sysctls(probe: Agent, names: Iterable[str] = RECORDED_SYSCTLS) -> dict[str, str]:
    """The settings in a node, as far as it has them."""
    values: dict[str, str] = {}
    for name in names:
        try:
            values |= probe.answer(Sysctl(get=[name])).values
        except AgentError as error:
            if error.code != "system":
                raise
    return values


def _works(probe: Agent, discipline: str) -> bool:
    arguments = f"qdisc replace dev lo root {discipline}".split()
    return probe.answer(Exec(argv=["tc", *arguments])).exit == 0
