"""Checks whether this process may make network namespaces, and the user namespace that lets anyone do so."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from ..model.errors import CapabilityError
from .own_program import own_command

INSIDE = "SIXBENCH_USER_NAMESPACE"
"""The variable that marks the environment of a run that has started itself again in a user namespace."""

USER_NAMESPACE = ["--user", "--map-root-user"]


def in_user_namespace() -> bool:
    """True if this process runs in a user namespace of its own making."""
    return os.environ.get(INSIDE) == "1"


def try_namespace(arguments: list[str]) -> str | None:
    """Tries to make namespaces with `unshare`. Returns why that is not allowed, or None where it is."""
    program = shutil.which("unshare")
    if program is None:
        return "the program unshare is missing (Debian package util-linux)"
    done = subprocess.run([program, *arguments, "true"], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else " ".join(done.stderr.split()) or f"unshare ended with {done.returncode}"


def enter_namespace_if_needed(arguments: list[str]) -> None:
    """Returns where network namespaces may be made; else runs sixbench with these arguments again in a user namespace.

    Raises `CapabilityError` where neither is allowed.
    """
    refused = try_namespace(["--net"])
    if refused is None:
        return
    if not in_user_namespace():
        refused_user = try_namespace([*USER_NAMESPACE, "--net"])
        if refused_user is None:
            program = shutil.which("unshare") or "unshare"
            os.environ[INSIDE] = "1"
            os.environ["SIXBENCH_OUTER_UID"] = str(os.getuid())
            sys.stdout.flush()
            sys.stderr.flush()
            os.execv(program, [program, *USER_NAMESPACE, "--", *own_command(*arguments)])
        refused = f"{refused}; in a user namespace: {refused_user}"
    raise CapabilityError(
        f"making a network namespace is not allowed here ({refused}); run as root, or let users make namespaces "
        "(sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0, "
        "user.max_user_namespaces over 0)"
    )
