"""The names of kernels with which an experiment can be run, in an emulated machine."""

from __future__ import annotations

from .errors import CapabilityError
from .quoting import listed, printable

DEBIAN_KERNELS = {"debian-5.10": "bullseye", "debian-6.1": "bookworm", "debian-6.12": "trixie"}
"""Debian's kernels for virtual machines, and the suites that have them."""

HOST_KERNEL = "host"
"""The name of the kernel that this machine runs, found by the files that it was booted from."""

COLUMN = "kernel"
"""The column of levels that tells the kernels of one run apart."""


def is_kernel_name(name: str) -> bool:
    """True if a text names a kernel: one of these, or `FILE:MODULES`. It does not look whether there is such a file."""
    file, _, modules = name.rpartition(":")
    return name in DEBIAN_KERNELS or name == HOST_KERNEL or bool(file and modules)


def is_kernel_file(name: str) -> bool:
    """True if a text names a kernel by its file: one that may be anyone's."""
    return is_kernel_name(name) and name not in DEBIAN_KERNELS and name != HOST_KERNEL


def no_such_kernel(name: str) -> CapabilityError:
    """The error that there is no kernel of that name. It lists those that there are."""
    known = f"{listed(DEBIAN_KERNELS)}, {HOST_KERNEL}, and FILE:MODULES"
    return CapabilityError(
        f"there is no kernel {printable(name)}; there are {known} with a kernel's image and the directory of its "
        "modules"
    )
