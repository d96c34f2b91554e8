"""Started as a file by isolated Python: opens what a program may not open itself, and becomes that program.

    python -I -S start_opened.py [["copy", "/a"], ["read", "/b"], ["append", "/c"], ["tap", "sixtap0"]] PROGRAM ...

The program has these descriptors, from `FIRST` on. A copy is in memory, where the program may open it once more by its
descriptor. A tap is an interface of this network namespace.
"""

from __future__ import annotations

import fcntl
import json
import os
import struct
import sys

FIRST = 100
"""Higher than what this process opens before."""

_TUNSETIFF = 0x400454CA
_IFF_TAP, _IFF_NO_PI, _IFF_VNET_HDR = 0x0002, 0x1000, 0x4000
"""Numbers of linux/if_tun.h."""


def opened(kind: str, name: str) -> int:
    """Opens one of them. Raises `OSError`."""
    if kind == "tap":
        tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(tap, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TAP | _IFF_NO_PI | _IFF_VNET_HDR))
        return tap
    if kind == "append":
        return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    file = os.open(name, os.O_RDONLY)
    if kind == "read":
        return file
    copy = os.memfd_create(os.path.basename(name)[:200])
    with open(file, "rb") as source, os.fdopen(os.dup(copy), "wb") as target:
        while chunk := source.read(2**20):
            target.write(chunk)
    return copy


def main() -> None:
    """Opens all of them and starts the program."""
    for number, (kind, name) in enumerate(json.loads(sys.argv[1]), start=FIRST):
        try:
            os.dup2(opened(kind, name), number, inheritable=True)
        except OSError as error:
            sys.exit(f"opening {name}: {error.strerror}")
    os.execv(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
