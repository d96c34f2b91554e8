"""Checks whether KVM works here. It is tried, because `/dev/kvm` says little inside another virtual machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from ..model.errors import CapabilityError
from .confinement import anybody_opens, confined, group_that_opens, is_another_user
from .memory import anonymous_copy

KVM_ANSWER_S = 10.0
"""Longest time that KVM may take to answer. It takes a second or hangs, where it is inside another KVM and does not
work."""

KVM_CPU = "max,la57=off,arch-capabilities=off"
"""The processor of a guest under KVM. Inside another virtual machine, setting the register of this feature is often
refused."""

_DEVICE = Path("/dev/kvm")


def why_no_kvm(qemu: Path, vmlinuz: Path) -> str | None:
    """The reason why KVM cannot be used; None where this kernel starts by it, finds no file system and ends, within
    `KVM_ANSWER_S`."""
    if not _DEVICE.exists():
        return f"there is no {_DEVICE}"
    if not os.access(_DEVICE, os.R_OK | os.W_OK):
        return f"{_DEVICE} may not be opened by this user; the group kvm may"
    if is_another_user() and not kvm_groups() and not anybody_opens(_DEVICE):
        return f"{_DEVICE} may be opened by root alone, and QEMU is not root"
    image = anonymous_copy(vmlinuz)
    try:
        argv = [*confined(kvm_groups()), str(qemu)]
        argv += ["-M", "microvm,pcie=on,rtc=on", "-accel", "kvm", "-cpu", KVM_CPU, "-m", "256M", "-nodefaults"]
        argv += ["-no-user-config", "-no-reboot", "-display", "none", "-kernel", f"/proc/self/fd/{image}"]
        argv += ["-append", "panic=-1 reboot=t tsc=reliable mitigations=off"]
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=KVM_ANSWER_S,
            check=False,
            pass_fds=(image,),
        )
    except subprocess.TimeoutExpired:
        return f"no kernel comes up by KVM within {KVM_ANSWER_S:g} s"
    except (OSError, CapabilityError) as error:
        return f"trying KVM: {error}"
    finally:
        os.close(image)
    if done.returncode == 0:
        return None
    text = " ".join(done.stderr.split())[-200:]
    return f"KVM does not run a kernel: {text or f'QEMU ended with {done.returncode}'}"


def kvm_groups() -> tuple[int, ...]:
    """The groups by whose rights a user may open the device; empty where only root may, or anybody."""
    group = group_that_opens(_DEVICE)
    return () if group is None else (group,)
