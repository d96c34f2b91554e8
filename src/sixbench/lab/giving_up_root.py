"""Giving up root's rights for good, in a process that needs none of them."""

from __future__ import annotations

import ctypes
import os
import pwd
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..model.errors import CapabilityError
from ..model.quoting import listed

NOBODY = 65534
"""The user whose rights nobody means to have (Debian's base-passwd; the kernel's `overflowuid`)."""

_PR_SET_KEEPCAPS = 8
_PR_SET_NO_NEW_PRIVS = 38
_CAPABILITY_VERSION_3 = 0x20080522
_CAP_DAC_READ_SEARCH = 2
"""Numbers of linux/prctl.h and linux/capability.h."""


@dataclass(frozen=True, kw_only=True)
class User:
    """User whose rights a process has."""

    name: str
    uid: int
    gid: int
    home: str


def ordinary_user() -> User | None:
    """The user who takes root's place: the one who called sudo (sudo(8)), or None where root itself is logged in. None:
    this process is not root, or it is root only of a user namespace in which there is nobody else."""
    if os.geteuid() != 0 or not _is_mapped(NOBODY):
        return None
    asked = os.environ.get("SUDO_UID", "")
    uid = int(asked) if asked.isdecimal() and 0 < int(asked) < 2**32 - 1 else NOBODY
    try:
        struct_passwd = pwd.getpwuid(uid)
    except KeyError:
        return User(name=str(uid), uid=uid, gid=NOBODY, home="/nonexistent")
    return User(name=struct_passwd.pw_name, uid=uid, gid=struct_passwd.pw_gid, home=struct_passwd.pw_dir)


def _is_mapped(uid: int) -> bool:
    """True if there is such a user in this user namespace (user_namespaces(7))."""
    ranges = [tuple(map(int, line.split())) for line in Path("/proc/self/uid_map").read_text().splitlines()]
    return any(first <= uid < first + count for first, _, count in ranges)


def become(user: User, directories: Sequence[Path]) -> list[Path]:
    """Makes this process that user's for good: it gets no rights back, nor does any program that it starts. `HOME` is
    the user's, too.

    Returns those of the directories that the user may not read. If there are any, the process keeps one right of
    root's: to read files (`CAP_DAC_READ_SEARCH`, capabilities(7)).

    Raises `CapabilityError` where the kernel refuses.
    """
    closed: list[Path] = []
    try:
        _prctl(_PR_SET_KEEPCAPS, 1)
        os.setgroups(os.getgrouplist(user.name, user.gid))
        os.setresgid(user.gid, user.gid, user.gid)
        os.setresuid(user.uid, user.uid, user.uid)
        closed = [directory for directory in directories if not os.access(directory, os.R_OK | os.X_OK)]
        _set_capabilities(1 << _CAP_DAC_READ_SEARCH if closed else 0)
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    except OSError as error:
        unread = f", who may not read {listed(map(str, closed))}" if closed else ""
        raise CapabilityError(
            f"giving up root's rights for those of {user.name}{unread}: {error.strerror}; start it as a user who is "
            "not root"
        ) from error
    os.environ["HOME"] = user.home
    return closed


def _prctl(option: int, value: int) -> None:
    _done(_LIBC.prctl(option, ctypes.c_ulong(value), *[ctypes.c_ulong(0)] * 3))


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Data(ctypes.Structure):
    """32 capabilities; the first of a pair has the lower ones."""

    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def _set_capabilities(mask: int) -> None:
    header = _Header(_CAPABILITY_VERSION_3, 0)
    data = (_Data * 2)(_Data(mask, mask, 0), _Data(0, 0, 0))
    _done(_LIBC.capset(ctypes.byref(header), ctypes.byref(data)))


_LIBC = ctypes.CDLL(None, use_errno=True)


def _done(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
