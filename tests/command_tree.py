"""All commands that sixbench has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from sixbench.cli.main import app


def commands() -> Iterator[tuple[str, Any]]:
    """All commands by the words that call them."""

    def below(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        for name, own in getattr(command, "commands", {}).items():
            if hasattr(own, "commands"):
                yield from below(own, (*words, name))
            else:
                yield " ".join((*words, name)), own

    yield from below(typer.main.get_command(app), ())
