"""Remedies for capabilities that a machine lacks: a command, or words where no command does.

Nothing here tries anything: what is known of the machine comes as an argument.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from .doctor import Capability

OTHER_KERNEL = "sixbench kernels add debian-6.12, then sixbench run EXPERIMENT --kernel debian-6.12"
"""A kernel that has everything, in an emulated machine."""

_PACKAGES = {"ip": "iproute2", "tc": "iproute2", "nft": "nftables", "nsenter": "util-linux", "named": "bind9"}
"""Debian packages of programs that are named otherwise."""

_PROGRAMS = frozenset({"ip", "tc", "ethtool", "nft", "tcpdump", "tshark", "nsenter", "unbound", "named"})

_SERVICES = frozenset({"unbound", "named"})
"""Programs whose packages start them at once, as services of that name."""

_MODULES = {"veth": "veth", "tbf": "sch_tbf", "netem": "sch_netem", "clsact": "sch_ingress", "IPv6": "ipv6"}
"""The kernel modules of capabilities."""

DEVICE_MODULES = {"sit": "sit", "ip6tnl": "ip6_tunnel", "gre": "ip_gre", "ip6gre": "ip6_gre", "vxlan": "vxlan"}
"""The kernel modules of tunnel devices, by the kind that `ip link` names."""

_MIREDO = ("miredo", "miredo-server")

_KIND = re.compile(r"this kernel has no ([a-z0-9]+) devices")

_NAMESPACE_SYSCTLS = (
    ("kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "kernel.apparmor_restrict_unprivileged_userns=0"),
    ("user/max_user_namespaces", "0", "user.max_user_namespaces=15000"),
    ("user/max_net_namespaces", "0", "user.max_net_namespaces=15000"),
)
"""Under /proc/sys: the setting, the value with which it forbids namespaces, and what allows them."""


@dataclass(frozen=True, kw_only=True)
class MachineState:
    """Facts that decide which command helps.

    Attributes:
        is_root: whether commands need no `sudo`.
        modules: names of the kernel modules on the disk that the running kernel can load.
        forbidding: assignments for `sysctl -w` that would allow namespaces which are forbidden now.
    """

    is_root: bool
    modules: frozenset[str] = frozenset()
    forbidding: tuple[str, ...] = ()


def machine_state() -> MachineState:
    """The facts of this machine."""
    settings = (_setting(path) for path, _, _ in _NAMESPACE_SYSCTLS)
    return MachineState(
        is_root=os.geteuid() == 0,
        modules=_modules_on_disk(Path("/lib/modules") / os.uname().release),
        forbidding=tuple(
            mend for (_, forbids, mend), now in zip(_NAMESPACE_SYSCTLS, settings, strict=True) if now == forbids
        ),
    )


def mend_capability(capability: Capability, machine: MachineState) -> str:
    """The remedy that would make the answer `yes`."""
    name, reason = capability.name, capability.reason
    if name == "agent":
        return "make install, or pip install sixbench-agent"
    if name in _PROGRAMS:
        install = _as_root(f"apt-get install {_PACKAGES.get(name, name)}", machine)
        return f"{_as_root(f'systemctl mask {name}', machine)} && {install}" if name in _SERVICES else install
    if name == "network namespaces":
        if machine.forbidding:
            return _as_root(f"sysctl -w {' '.join(machine.forbidding)}", machine)
        return (
            "run it as root"
            if not machine.is_root
            else "run it where namespaces may be made, such as outside a container"
        )
    if name in _MODULES:
        return mend_module(_MODULES[name], machine)
    if name == "hardware counters":
        if "Permission denied" in reason or "Operation not permitted" in reason:
            return _as_root("sysctl -w kernel.perf_event_paranoid=-1", machine)
        return "no command does; a virtual machine needs a virtual PMU from its host (QEMU: -cpu host,pmu=on)"
    if name == "KVM":
        return _mend_kvm(reason, machine)
    return "no command is known"


def mend_engine(engine: str, reason: str, machine: MachineState) -> str:
    """The remedy for an engine that cannot make tunnels for that reason."""
    match = _KIND.search(reason)
    if match is not None and match[1] in DEVICE_MODULES:
        return mend_module(DEVICE_MODULES[match[1]], machine)
    if "CAP_BPF" in reason or "CAP_NET_ADMIN" in reason:
        return "run it as root"
    package = re.search(r"Debian package ([a-z0-9-]+)", reason)
    if package is not None and package[1] in _MIREDO:
        # The package of Miredo starts a Teredo client at once.
        return " && ".join(
            _as_root(name, machine) for name in ("systemctl mask miredo", f"apt-get install {' '.join(_MIREDO)}")
        )
    if package is not None:
        return _as_root(f"apt-get install {package[1]}", machine)
    if engine == "user":
        return "no command is known"
    return OTHER_KERNEL


def mend_module(module: str, machine: MachineState) -> str:
    """The command that loads a module, where the disk has it; otherwise only another kernel helps."""
    return _as_root(f"modprobe {module}", machine) if module in machine.modules else OTHER_KERNEL


def _mend_kvm(reason: str, machine: MachineState) -> str:
    if "apt-get install" in reason:
        return _as_root(f"apt-get install {reason.partition('apt-get install ')[2].split()[0]}", machine)
    if "sixbench kernels add" in reason:
        return "sixbench kernels add debian-6.1, then sixbench doctor"
    if "may not be opened by this user" in reason:
        return "sudo usermod -aG kvm $USER, then log in again"
    if "may be opened by root alone" in reason:
        return "groupadd -rf kvm && chgrp kvm /dev/kvm && chmod g+rw /dev/kvm"
    for module in ("kvm_intel", "kvm_amd"):
        if "there is no /dev/kvm" in reason and module in machine.modules:
            return _as_root(f"modprobe {module}", machine)
    return "no command does; a virtual machine needs nested virtualisation from its host"


def _as_root(command: str, machine: MachineState) -> str:
    return command if machine.is_root else f"sudo {command}"


def _setting(path: str) -> str | None:
    try:
        return (Path("/proc/sys") / path).read_text().strip()
    except OSError:
        return None


def _modules_on_disk(directory: Path) -> frozenset[str]:
    """The names of the modules in `modules.dep`; none where there is no such file."""
    try:
        lines = (directory / "modules.dep").read_text().splitlines()
    except OSError:
        return frozenset()
    return frozenset(Path(line.partition(":")[0]).name.partition(".")[0].replace("-", "_") for line in lines)
