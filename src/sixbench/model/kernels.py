"""The names of kernels that an experiment can be run on, in an emulated machine."""

from __future__ import annotations

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
