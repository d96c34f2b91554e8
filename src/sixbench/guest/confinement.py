"""The rights that QEMU has: as few as there can be, since a guest may mean harm and break out into it.

Where sixbench is root, QEMU is a user of its own, whom nobody else is. It has no capabilities, gets none by any program
(`no_new_privs`), and starts no program (seccomp, where QEMU is built with it). What it opens that this user may not, it
is given open. Where sixbench is not root, QEMU has the rights of its caller, but for the capabilities.
"""

from __future__ import annotations

import os
import random
import stat
import subprocess
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from ..model.errors import CapabilityError
from .programs import find_program

SANDBOX = ("-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny")
"""QEMU's filters of system calls: none that are obsolete, change users, start programs or change priorities."""

ANSWER_S = 10.0
"""Longest time that QEMU may take to say whether it knows them."""

FIRST_UID, UIDS = 1_900_000_000, 2**24
"""Users whom no registry of users gives to anybody (systemd's UIDS-GIDS: unused), and how many of them are taken."""

_USER_NAMESPACE = Path("/proc/self/uid_map")


def confined(groups: Iterable[int] = ()) -> list[str]:
    """The words before QEMU's command line that take its rights away, and end it with whoever starts it. Raises
    `CapabilityError` where there is no setpriv.

    Args:
        groups: groups whose rights it keeps.
    """
    words = [str(find_program("setpriv", "util-linux")), "--pdeathsig", "KILL", "--no-new-privs"]
    if os.geteuid() == 0:
        words += ["--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all"]
    user = _user()
    if user is not None:
        kept = ",".join(map(str, groups))
        words += [f"--reuid={user}", f"--regid={user}", f"--groups={kept}" if kept else "--clear-groups"]
    return words


def group_that_opens(device: Path) -> int | None:
    """The group besides root's that may read and write a device; None: there is none."""
    about = os.stat(device)
    may = stat.S_IRGRP | stat.S_IWGRP
    return about.st_gid if about.st_gid != 0 and about.st_mode & may == may else None


def anybody_opens(device: Path) -> bool:
    """True if every user may read and write a device."""
    may = stat.S_IROTH | stat.S_IWOTH
    return os.stat(device).st_mode & may == may


def is_another_user() -> bool:
    """True if QEMU is not who this process is."""
    return _user() is not None


def _user() -> int | None:
    """A user whom nobody else is. None: this process is not root, or it is root of a user namespace alone, in which
    there is nobody else."""
    if os.geteuid() != 0:
        return None
    user = FIRST_UID + random.SystemRandom().randrange(UIDS)
    ranges = [tuple(map(int, line.split())) for line in _USER_NAMESPACE.read_text().splitlines()]
    return user if any(first <= user < first + count for first, _, count in ranges) else None


@lru_cache(maxsize=4)
def sandbox(qemu: Path) -> tuple[str, ...]:
    """The option that filters QEMU's system calls; nothing where it is built without. Raises `CapabilityError` where
    QEMU does not tell."""
    try:
        done = subprocess.run([qemu, *SANDBOX, "-version"], capture_output=True, timeout=ANSWER_S, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise CapabilityError(f"asking {qemu} whether it filters its system calls: {error}") from error
    return SANDBOX if done.returncode == 0 else ()
