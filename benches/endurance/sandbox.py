"""A process that can read, compute, and write in one folder; it can start nothing and reach nobody.

The kernel sees to it (Landlock, Linux 5.13), and Python's audit events besides, which name what was tried.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from pathlib import Path
from typing import Any

FORBIDDEN = ("subprocess.", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork", "pty.", "socket.")
WRITING = ("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.symlink", "os.link", "os.chmod", "os.chown", "shutil.")
WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PATH_BENEATH = 1
_NO_NEW_PRIVILEGES = 38
_EXECUTE, _READ_FILE, _READ_FOLDER = 1 << 0, 1 << 2, 1 << 3
_ALL = (1 << 13) - 1
"""The accesses of the first version (linux/landlock.h)."""


class Escape(BaseException):
    """Something was tried that is not allowed."""


class Watch:
    """Python's audit events. Only while `on` is anything forbidden.

    Attributes:
        folders: where may be written.
    """

    def __init__(self, *folders: Path) -> None:
        self.on = False
        self._harmless = dict[str, bool]()
        self.folders = tuple(f"{os.path.realpath(folder)}/" for folder in folders)
        sys.addaudithook(self._audit)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on:
            return
        harmless = self._harmless.get(event)
        if harmless is None:  # judged once: there are dozens in each case, and a hundred names
            harmless = event != "open" and not event.startswith((*FORBIDDEN, *WRITING))
            self._harmless[event] = harmless
        if harmless:
            return
        if event.startswith(FORBIDDEN):
            raise Escape(f"{event} {arguments!r}"[:300])
        is_opened = event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITE_FLAGS
        if is_opened or event.startswith(WRITING):
            self._check(event, arguments[0])

    def _check(self, event: str, path: Any) -> None:
        text = os.fsdecode(path) if isinstance(path, (str, bytes)) else ""
        # A name of one component is seen from a descriptor, which Landlock judges.
        if text.startswith("/") and not f"{os.path.realpath(text)}/".startswith(self.folders):
            raise Escape(f"{event} {text!r}"[:300])


def confine(*folders: Path) -> bool:
    """From now on this process can write in these folders only, and start no program. False where the kernel has no
    Landlock."""
    libc = ctypes.CDLL(None, use_errno=True)
    handled = ctypes.create_string_buffer(struct.pack("=Q", _ALL))
    ruleset = libc.syscall(_CREATE_RULESET, handled, ctypes.c_size_t(8), 0)
    if ruleset < 0:
        return False
    allowed = [(Path("/"), _READ_FILE | _READ_FOLDER), *((folder, _ALL & ~_EXECUTE) for folder in folders)]
    for path, access in allowed:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = ctypes.create_string_buffer(struct.pack("=Qi", access, descriptor), 12)
        if libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0):
            raise OSError(ctypes.get_errno(), f"allowing access to {path}")
        os.close(descriptor)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.syscall(_RESTRICT_SELF, ruleset, 0):
        raise OSError(ctypes.get_errno(), "confining this process")
    os.close(ruleset)
    return True
