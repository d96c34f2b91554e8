"""Making an ext4 file system in a file from a directory, without root.

Decided by measurement for 400 MiB and 5000 files on a 2-core machine: ext4 by `mke2fs -d` is made in 1.5 s, and a guest
executes it in place (DAX), nothing copied; an initramfs of that size is unpacked by the guest at a byte an instruction.
"""

from __future__ import annotations

import os
from pathlib import Path

from ..model.errors import CapabilityError
from .cache import no_space
from .programs import find_program, run_program

BLOCK_BYTES = 4096
ALIGNMENT_BYTES = 2 * 2**20


def make_filesystem(tree: Path, image: Path) -> None:
    """Writes the file system. Raises `CapabilityError`."""
    needed = 0
    files = 0
    for folder, folders, names in os.walk(tree):
        files += len(names) + len(folders)
        for name in names:
            needed += -(-os.lstat(os.path.join(folder, name)).st_size // BLOCK_BYTES) * BLOCK_BYTES
    spare = needed // 50 + files * 1024 + 8 * 2**20
    image_bytes = -(-(needed + spare) // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
    with open(image, "wb") as file:
        file.truncate(image_bytes)
    features = "^has_journal,^resize_inode"
    options = ["-q", "-t", "ext4", "-O", features, "-m", "0", "-b", str(BLOCK_BYTES), "-N", str(files + 1024)]
    mke2fs = find_program("mke2fs", "e2fsprogs")
    try:
        run_program([mke2fs, *options, "-E", "root_owner=0:0", "-d", tree, image], "making a file system")
    except CapabilityError as error:
        if "space" in str(error) and _free_bytes(image) < image_bytes:
            raise no_space(image) from error
        raise


def _free_bytes(path: Path) -> int:
    about = os.statvfs(path.parent)
    return about.f_bavail * about.f_frsize
