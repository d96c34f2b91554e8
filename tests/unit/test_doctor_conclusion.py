"""Conclusions of `sixbench doctor`, and its advice on each limit."""

from __future__ import annotations

import pytest

from sixbench.bench.doctor_conclusion import conclude
from sixbench.bench.mechanism_doctor import EngineAnswer
from sixbench.cli.doctor_command import conclusion_lines, counters_capability
from sixbench.lab.doctor import Answer, Capability
from sixbench.lab.mending import OTHER_KERNEL, MachineState, mend_capability, mend_engine

pytestmark = pytest.mark.computes

ROOT = MachineState(is_root=True)
USER = MachineState(is_root=False)
NO_SIT = "this kernel has no sit devices, or may not load their module (CONFIG_IPV6_SIT)"


def capability(name: str, answer: Answer = "no", reason: str = "why", *, required: bool = False) -> Capability:
    return Capability(name=name, answer=answer, reason=reason, needed_for="something", required=required)


def engine(mechanism: str, name: str, answer: Answer, reason: str = "seen") -> EngineAnswer:
    return EngineAnswer(mechanism=mechanism, engine=name, answer=answer, reason=reason)


def test_a_machine_with_everything_is_ready() -> None:
    conclusion = conclude([capability("ip", "yes", required=True)], [engine("6in4", "kernel", "yes")], ROOT)
    assert (conclusion.ready, conclusion.sentence) == (True, "Ready, without limits.")


def test_each_limit_has_what_mends_it() -> None:
    machine = MachineState(is_root=False, modules=frozenset({"sit"}))
    answers = [
        engine("6in4", "kernel", "no", NO_SIT),
        engine("6rd", "kernel", "no", NO_SIT),
        engine("6in4", "ebpf", "yes"),
        engine("6rd", "ebpf", "yes"),
    ]
    conclusion = conclude([capability("ip", "yes", required=True), capability("tcpdump")], answers, machine)
    assert conclusion.ready
    assert conclusion_lines(conclusion) == [
        "Ready. 2 limits:",
        "1. tcpdump: why",
        "   affects: something",
        "   to mend it: sudo apt-get install tcpdump",
        "2. engine kernel for 6in4, 6rd: this kernel has no sit devices, or may not load",
        "   their module (CONFIG_IPV6_SIT)",
        "   affects: these are carried by ebpf instead",
        "   to mend it: sudo modprobe sit",
    ]


def test_a_mechanism_that_no_engine_carries_is_lost() -> None:
    answers = [engine("vxlan", "kernel", "no", "this kernel has no vxlan devices"), engine("6in4", "ebpf", "yes")]
    [limit] = conclude([], answers, ROOT).limits
    assert limit.affects == "no path by vxlan can be measured"
    assert limit.mend == OTHER_KERNEL


def test_what_every_run_needs_is_told_alone() -> None:
    conclusion = conclude(
        [capability("tc", required=True), capability("veth", "unknown", required=True), capability("tcpdump")],
        [engine("6in4", "ebpf", "unknown")],
        ROOT,
    )
    assert (conclusion.ready, conclusion.limits) == (False, ())
    assert conclusion_lines(conclusion) == [
        "Not ready. 1 thing is missing:",
        "1. tc: why",
        "   affects: something",
        "   to mend it: apt-get install iproute2",
    ]


@pytest.mark.parametrize(
    ("name", "reason", "machine", "mend"),
    [
        ("agent", "nowhere", ROOT, "make install, or pip install sixbench-agent"),
        ("nft", "not on the PATH", ROOT, "apt-get install nftables"),
        ("netem", "none", MachineState(is_root=True, modules=frozenset({"sch_netem"})), "modprobe sch_netem"),
        ("netem", "none", ROOT, OTHER_KERNEL),
        ("network namespaces", "Operation not permitted", USER, "run it as root"),
        (
            "network namespaces",
            "Operation not permitted",
            MachineState(is_root=False, forbidding=("kernel.apparmor_restrict_unprivileged_userns=0",)),
            "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        ("hardware counters", "perf_event_open failed: No such file", ROOT, "no command does; a virtual machine"),
        ("hardware counters", "Permission denied (os error 13)", USER, "sudo sysctl -w kernel.perf_event_paranoid=-1"),
        (
            "KVM",
            "there is no qemu; install it with: apt-get install qemu-system-x86",
            USER,
            "sudo apt-get install qemu",
        ),
        ("KVM", "there is no kernel; fetch one: sixbench kernels add debian-6.1", ROOT, "sixbench kernels add"),
        ("KVM", "/dev/kvm may not be opened by this user; the group kvm may", USER, "sudo usermod -aG kvm"),
        ("KVM", "/dev/kvm may be opened by root alone, and QEMU is not root", ROOT, "groupadd -rf kvm && chgrp kvm"),
        ("KVM", "there is no /dev/kvm", MachineState(is_root=True, modules=frozenset({"kvm_amd"})), "modprobe kvm_amd"),
        ("KVM", "there is no /dev/kvm", ROOT, "no command does; a virtual machine needs nested virtualisation"),
    ],
)
def test_what_mends_a_capability(name: str, reason: str, machine: MachineState, mend: str) -> None:
    assert mend_capability(capability(name, reason=reason), machine).startswith(mend)


@pytest.mark.parametrize(
    ("name", "reason", "mend"),
    [
        ("kernel", NO_SIT, OTHER_KERNEL),
        ("ebpf", 'loading failed; this process has no CAP_BPF here; engine "user" needs no BPF', "run it as root"),
        ("ebpf", "the program tc is missing (Debian package iproute2)", "apt-get install iproute2"),
        ("ebpf", "this kernel has no BPF", OTHER_KERNEL),
        (
            "miredo",
            "the program miredo-server is missing (Debian package miredo-server)",
            "systemctl mask miredo && apt-get install miredo miredo-server",
        ),
    ],
)
def test_what_mends_an_engine(name: str, reason: str, mend: str) -> None:
    assert mend_engine(name, reason, ROOT) == mend


def test_counters_that_are_there_are_no_limit() -> None:
    assert conclude([counters_capability(None)], [], ROOT).limits == ()
