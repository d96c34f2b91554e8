"""Parts of a bench, named on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection


def names_among(known: Collection[str]) -> Callable[[str], list[str]]:
    """The `type` of an argument that lists some of these names with commas. It refuses others."""

    def read(text: str) -> list[str]:
        names = text.split(",")
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"there is no part {name!r}; there are {', '.join(known)}")
        return names

    return read
