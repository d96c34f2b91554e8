"""Detection of KVM that works, by a QEMU that says so or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from sixbench.guest import kvm
from sixbench.guest.boot import _accelerators

KERNEL = Path(__file__)
ABORTED = "echo 'failed to set MSR 0x10a' >&2; exit 134"


@pytest.fixture(autouse=True)
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "kvm"
    path.touch()
    monkeypatch.setattr(kvm, "_DEVICE", path)
    monkeypatch.setattr(kvm, "is_another_user", lambda: False)
    monkeypatch.setattr(kvm, "confined", lambda groups: ["setpriv", "--pdeathsig", "KILL"])
    return path


def qemu(tmp_path: Path, script: str) -> Path:
    path = tmp_path / "qemu"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_kvm_works_where_a_kernel_came_to_its_end_by_it(tmp_path: Path) -> None:
    assert kvm.why_no_kvm(qemu(tmp_path, "exit 0"), KERNEL) is None


def test_what_qemu_says_is_told(tmp_path: Path) -> None:
    assert kvm.why_no_kvm(qemu(tmp_path, ABORTED), KERNEL) == "KVM does not run a kernel: failed to set MSR 0x10a"


def test_a_kvm_that_hangs_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kvm, "KVM_ANSWER_S", 0.2)
    refusal = kvm.why_no_kvm(qemu(tmp_path, "exec sleep 1000"), KERNEL)
    assert refusal == "no kernel comes up by KVM within 0.2 s"


def test_without_the_device_nothing_is_tried(tmp_path: Path, device: Path) -> None:
    device.unlink()
    assert kvm.why_no_kvm(tmp_path / "nowhere", KERNEL) == f"there is no {device}"


def test_a_guest_on_the_real_clock_is_emulated_where_kvm_does_not_work_and_that_is_said(tmp_path: Path) -> None:
    collected: list[str] = []
    program = qemu(tmp_path, ABORTED)
    assert _accelerators("real", program, KERNEL, collected.append) == ("tcg",)
    assert collected == ["KVM does not run a kernel: failed to set MSR 0x10a: the guest is emulated, on the real clock"]
    assert _accelerators("virtual", program, KERNEL, collected.append) == ("tcg",)
    assert len(collected) == 1


def test_a_device_that_only_root_may_open_is_no_kvm_for_qemu(
    tmp_path: Path, device: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kvm, "is_another_user", lambda: True)
    device.chmod(0o600)
    refusal = kvm.why_no_kvm(qemu(tmp_path, "exit 0"), KERNEL)
    assert refusal == f"{device} may be opened by root alone, and QEMU is not root"


def test_a_device_that_anybody_may_open_is_a_kvm_for_qemu_whatever_its_group(
    tmp_path: Path, device: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kvm, "is_another_user", lambda: True)
    device.chmod(0o666)
    assert kvm.why_no_kvm(qemu(tmp_path, "exit 0"), KERNEL) is None
