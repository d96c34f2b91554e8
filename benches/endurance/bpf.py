"""Number of BPF objects that the kernel has, by the system call bpf(2)."""

from __future__ import annotations

import ctypes
import errno
import os
import platform

PROGRAMS, MAPS, LINKS = 11, 12, 31
"""BPF_PROG_GET_NEXT_ID, BPF_MAP_GET_NEXT_ID (Linux 4.13) and BPF_LINK_GET_NEXT_ID (Linux 5.8) of linux/bpf.h."""

_SYS_BPF = {"x86_64": 321, "aarch64": 280}


class _GetId(ctypes.Structure):
    """The part of `union bpf_attr` that these commands use."""

    _fields_ = [("start_id", ctypes.c_uint32), ("next_id", ctypes.c_uint32), ("open_flags", ctypes.c_uint32)]


def count(command: int) -> int:
    """The number of objects of a kind. Raises `OSError` where this process may not ask (it needs CAP_SYS_ADMIN)."""
    libc = ctypes.CDLL(None, use_errno=True)
    attributes = _GetId()
    number = 0
    while libc.syscall(_SYS_BPF[platform.machine()], command, ctypes.byref(attributes), ctypes.sizeof(attributes)) == 0:
        attributes.start_id = attributes.next_id
        number += 1
    if ctypes.get_errno() != errno.ENOENT:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return number
