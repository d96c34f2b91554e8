"""The environment of a run: kernel, machine, versions, settings."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from .. import __version__
from ..agent import agent_version
from ..model.experiment import Experiment
from ..model.programs import recipes
from ..store import EmulatedMachine, Environment

_LIBRARIES = ("numpy", "scipy", "pyarrow", "pydantic", "matplotlib")

RECORDED_SYSCTLS = (
    *(
        "net.ipv4.tcp_congestion_control",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_wmem",
        "net.ipv4.tcp_sack",
        "net.ipv4.tcp_timestamps",
    ),
    *(
        "net.ipv4.tcp_window_scaling",
        "net.ipv4.tcp_ecn",
        "net.ipv4.tcp_mtu_probing",
        "net.ipv4.tcp_no_metrics_save",
        "net.ipv4.tcp_tw_reuse",
    ),
    *(
        "net.core.rmem_max",
        "net.core.wmem_max",
        "net.core.default_qdisc",
        "net.core.netdev_max_backlog",
        "net.core.bpf_jit_enable",
    ),
    *(
        "net.ipv4.ip_no_pmtu_disc",
        "net.ipv4.ipfrag_high_thresh",
        "net.ipv6.ip6frag_high_thresh",
        "net.ipv6.auto_flowlabels",
    ),
)
"""The settings that are read in a node, where it has them, and kept in the manifest."""


GUEST = "SIXBENCH_GUEST"
"""The variable that marks an emulated machine. Its value is the `EmulatedMachine`, as JSON."""


def guest_from(variables: Mapping[str, str]) -> EmulatedMachine | None:
    """The emulated machine that this is, by the environment's variables; None on any other."""
    text = variables.get(GUEST)
    return None if text is None else EmulatedMachine(**json.loads(text))


def gather(agent: Path, sysctls: dict[str, str], in_user_namespace: bool) -> Environment:
    """Everything that can be found out about this machine without a privilege."""
    versions = {"sixbench": __version__, "agent": agent_version(agent), "python": platform.python_version()}
    for name in _LIBRARIES:
        versions[name] = metadata.version(name)
    for command in (("ip", "-V"), ("tc", "-V"), ("ethtool", "--version")):
        version = _program_version(command)
        if version:
            versions[command[0]] = version
    guest = guest_from(os.environ)
    return Environment(
        clock="virtual" if guest is not None and guest.instruction_ns is not None else "real",
        guest=guest,
        kernel=platform.release() + " " + platform.version(),
        machine=platform.machine(),
        cpu=_cpu_model(),
        distribution=_distribution(),
        cores=os.cpu_count() or 1,
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        versions=versions,
        sysctls=sysctls,
        privileges="user-namespace" if in_user_namespace else "root",
    )


def end_versions(experiment: Experiment) -> dict[str, str]:
    """Versions of the servers and clients of others that sixbench starts on this machine, by program. Those that do not
    say one are left out."""
    if any(topology.is_spread for topology in experiment.topologies):
        return {}
    ends = {
        recipe.program: recipe.version
        for combination in experiment.combinations
        for recipe in recipes(combination.workload.params)
        if recipe.version
    }
    versions = {program: _program_version(command) for program, command in ends.items()}
    return {program: version for program, version in versions.items() if version is not None}


def _program_version(command: tuple[str, ...]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=5, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"[0-9]+\.[0-9][0-9.]*", done.stdout + done.stderr)
    return match.group() if match else None


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() in ("model name", "Model", "cpu model"):
                return value.strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "unknown")
    except OSError:
        return "unknown"
