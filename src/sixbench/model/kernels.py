"""The names of kernels that an experiment can be run on, in an emulated machine."""

from __future__ import annotations

from .errors import CapabilityError
from .wording import listed, printable

DEBIAN_KERNELS = {"debian-5.10": "bullseye", "debian-6.1": "bookworm", "debian-6.12": "trixie"}
"""Debian's kernels for virtual machines, and the suites that have them."""

HOST_KERNEL = "host"
"""The kernel that this machine runs, by the files that it was booted from."""

COLUMN = "kernel"
"""The level that tells the kernels of one run apart."""


def is_kernel_name(name: str) -> bool:
    """Whether it names a kernel: one of these, or `FILE:MODULES`. Whether there is such a file is another question."""
    file, _, modules = name.rpartition(":")
    return name in DEBIAN_KERNELS or name == HOST_KERNEL or bool(file and modules)


def no_such_kernel(name: str) -> CapabilityError:
    """That none is of that name, and which there are."""
    known = f"{listed(DEBIAN_KERNELS)}, {HOST_KERNEL}, and FILE:MODULES"
    return CapabilityError(
        f"there is no kernel {printable(name)}; there are {known} with a kernel's image and the directory of its "
        "modules"
    )
