"""Directories of programs."""

from __future__ import annotations

import os

USUAL_PLACES = ("/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/local/bin", "/usr/bin", "/bin")


def with_usual_places(path: str) -> str:
    """A PATH with the folders at its end in which distributions have ip, tc, nft and mke2fs. The login of ordinary
    users on Debian gives them a PATH without some of these."""
    given = [place for place in path.split(os.pathsep) if place]
    return os.pathsep.join([*given, *(place for place in USUAL_PLACES if place not in given)])
