"""Files that users name: regular ones only, since a FIFO keeps its reader waiting and a device has no end."""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path


def open_regular(path: Path | str, *, in_folder: int | None = None, follow_links: bool = True) -> BufferedReader:
    """Opens a regular file to read. Raises `OSError`, whose `strerror` says so where it is anything else.

    Args:
        in_folder: descriptor of the directory that a relative path starts from; None: the current one.
        follow_links: whether the last component of the path may be a symbolic link.
    """
    # Without O_NONBLOCK, opening a FIFO waits for whoever writes to it. It changes nothing for regular files.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow_links else os.O_NOFOLLOW)
    descriptor = os.open(path, flags, dir_fd=in_folder)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        what = "Is a directory" if stat.S_ISDIR(mode) else "it is not a regular file"
        raise OSError(errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL, what)
    return os.fdopen(descriptor, "rb")
