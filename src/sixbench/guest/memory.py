"""The guest's memory, laid out before it starts: working memory, and then three disks.

A disk in memory (`memmap=SIZE!START`, Linux's Documentation/admin-guide/kernel-parameters) answers at once: an emulated
one would answer when the host has the time, and the guest would see that on its clock. The memory is an anonymous file
that QEMU maps and this process reads afterwards: nothing is left over, however either ends.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ..model.errors import CapabilityError

OWN_BYTES = 1280 * 2**20
"""The memory of the guest's kernel and programs."""

RESULTS_BYTES = 512 * 2**20
"""The size of the third disk."""

MAX_BYTES = 3 * 2**30
"""QEMU's microvm has its memory in one piece up to here. Above it are devices."""

ALIGNMENT_BYTES = 128 * 2**20
"""Linux's memory sections on x86-64."""

_TAIL_BYTES = 32 * 2**20
"""Ordinary memory behind the disks. QEMU reserves the last page of all for its tables (seen in 10.0), and Linux makes
no disk of memory that lacks its last page."""

_CHUNK_BYTES = 16 * 2**20


@dataclass(frozen=True, kw_only=True)
class Disk:
    """A piece of memory that the guest sees as `/dev/pmemN`. `image` is its content; None: it is empty."""

    start: int
    size_bytes: int
    image: Path | None


def lay_out(root: Path, modules: Path) -> list[Disk]:
    """The disks, in order. Raises `CapabilityError` where they do not fit."""
    disks = []
    start = OWN_BYTES
    for image in (root, modules, None):
        content = RESULTS_BYTES if image is None else image.stat().st_size
        size = -(-content // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        disks.append(Disk(start=start, size_bytes=size, image=image))
        start += size
    if start + _TAIL_BYTES > MAX_BYTES:
        sizes = " and ".join(f"{image.stat().st_size / 2**20:.0f} MiB" for image in (root, modules))
        raise CapabilityError(
            f"a guest's memory of {MAX_BYTES / 2**20:.0f} MiB is too small for its file systems of {sizes} "
            f"({root}, {modules}); give a tree with fewer modules"
        )
    return disks


def total_bytes(disks: list[Disk]) -> int:
    """The size of the whole memory."""
    return disks[-1].start + disks[-1].size_bytes + _TAIL_BYTES


def parameters(disks: list[Disk]) -> str:
    """The kernel's parameters for the disks."""
    return " ".join(f"memmap={disk.size_bytes}!{disk.start}" for disk in disks)


def make_memory(disks: list[Disk]) -> int:
    """The descriptor of the memory, filled. Raises `CapabilityError` where this machine has too little."""
    descriptor = os.memfd_create("sixbench-guest", os.MFD_CLOEXEC)
    try:
        os.ftruncate(descriptor, total_bytes(disks))
        for disk in disks:
            if disk.image is not None:
                _copy(disk.image, descriptor, disk.start)
    except OSError as error:
        os.close(descriptor)
        raise CapabilityError(
            f"filling a guest's memory of {total_bytes(disks) / 2**20:.0f} MiB: {error.strerror or error}"
        ) from error
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def anonymous(name: str, content: bytes) -> int:
    """The descriptor of an anonymous file with that content, which any process that inherits it may open anew."""
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC)
    try:
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(content)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def anonymous_copy(path: Path) -> int:
    """The descriptor of an anonymous copy of a file. Raises `CapabilityError` where it cannot be read."""
    try:
        return anonymous(f"sixbench-{path.name}"[:100], path.read_bytes())
    except OSError as error:
        raise CapabilityError(f"reading {path}: {error.strerror or error}") from error


def open_results(descriptor: int, disks: list[Disk]) -> IO[bytes]:
    """The third disk as a file, at its beginning."""
    file = os.fdopen(descriptor, "rb", closefd=False)
    file.seek(disks[-1].start)
    return file


def _copy(image: Path, descriptor: int, start: int) -> None:
    """Copies a file without its holes."""
    with open(image, "rb") as source:
        position = 0
        while True:
            try:
                position = os.lseek(source.fileno(), position, os.SEEK_DATA)
            except OSError as error:
                if error.errno == errno.ENXIO:
                    return
                raise
            end = os.lseek(source.fileno(), position, os.SEEK_HOLE)
            while position < end:
                chunk = os.pread(source.fileno(), min(_CHUNK_BYTES, end - position), position)
                position += os.pwrite(descriptor, chunk, start + position)
