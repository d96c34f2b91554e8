"""All commands that sixbench has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from sixbench.cli.main import app


def commands() -> Iterator[tuple[str, Any]]:
    """All commands by the words that call them."""

    def below(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        for name, value in getattr(command, "commands", {}).items():
            if hasattr(value, "commands"):
                yield from below(value, (*words, name))
            else:
                yield " ".join((*words, name)), value

    yield from below(typer.main.get_command(app), ())
