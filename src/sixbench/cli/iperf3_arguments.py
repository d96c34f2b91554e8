"""A command line with options of iperf3 that `sixbench measure` does not have."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

from ..model.errors import UsageError
from ..plan.iperf3_options import OTHER_BY_NAME
from .common import note


class MeasureCommand(TyperCommand):
    """Answers options of iperf3 with what to write instead. Those without which the same is measured are left out, and
    a line on standard error says so."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Takes the other options out, then parses what is ours. Raises `UsageError` for the others."""
        valued = {name for option in self.params for name in option.opts if not getattr(option, "is_flag", True)}
        return super().parse_args(ctx, without_others(args, valued))


def without_others(words: list[str], valued: set[str]) -> list[str]:
    """The words of a command line without the options of iperf3 that change nothing. Raises `UsageError` for an option
    that would change something.

    Args:
        valued: our options that take a value.
    """
    kept: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        if word == "--":
            return [*kept, word, *left]
        if word.startswith("--"):
            name, equals, _ = word.partition("=")
            if name in OTHER_BY_NAME:
                _answer(name)
                if OTHER_BY_NAME[name].takes_value and not equals:
                    left[:1] = []
                continue
            kept.append(word)
            if name in valued and not equals:
                kept += left[:1]
                left[:1] = []
        elif word.startswith("-") and len(word) > 1:
            _cluster(word, left, kept, valued)
        else:
            kept.append(word)
    return kept


def _cluster(word: str, left: list[str], kept: list[str], valued: set[str]) -> None:
    """Short options behind one dash, such as `-uVR` or `-fm`."""
    letters = ""
    for at, character in enumerate(word[1:], start=1):
        name, rest = f"-{character}", word[at + 1 :]
        if name in OTHER_BY_NAME:
            _answer(name)
            if OTHER_BY_NAME[name].takes_value:
                if not rest:
                    left[:1] = []
                break
        elif name in valued:
            kept.append(f"-{letters}{character}{rest}")
            if not rest:
                kept += left[:1]
                left[:1] = []
            return
        else:
            letters += character
    if letters:
        kept.append(f"-{letters}")


def _answer(name: str) -> None:
    option = OTHER_BY_NAME[name]
    if not option.is_harmless:
        raise UsageError(f"{name}: {option.instead}")
    note(f"sixbench: {name} is left out: {option.instead}")
