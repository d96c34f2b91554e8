"""The parts of `make endurance`: a new one is a line here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import builds, fuzzing, others, soak
from .faults import do_harm
from .interruptions import KILLS, SIGNALS, interrupt
from .keeping import Keep, PartResults

TESTS = Path(__file__).parents[2] / "tests"
"""It has the namespaces that play machines."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part.

    Attributes:
        run: takes a folder for temporary files, the share of its full count, a seed, what it is limited to and what
            keeps what it has found so far; returns what goes into its JSON file. Where it is stopped, it may let
            `keeping.STOPS` out: then what was kept last goes there.
        wrong: what of that breaks a promise, in words.
        needs_host: whether it runs in a throw-away host.
    """

    run: Callable[[Path, float, int, list[str], Keep], PartResults]
    wrong: Callable[[PartResults], list[str]]
    needs_host: bool = True


_MUST_BE_ZERO = ("lost", "half", "left_over", "sets_that_differ", "tracebacks", "hung", "other_codes")


def _kills(scratch: Path, scale: float, seed: int, only: list[str], keep: Keep) -> PartResults:
    return interrupt(KILLS, round(200 * scale), scratch, seed, only, keep)


def _signals(scratch: Path, scale: float, seed: int, only: list[str], keep: Keep) -> PartResults:
    return interrupt(SIGNALS, round(100 * scale), scratch, seed, only, keep)


def _machines(scratch: Path, scale: float, seed: int, only: list[str], keep: Keep) -> PartResults:
    sys.path.append(str(TESTS))
    from .many_machines import kill_on_machines

    return kill_on_machines(scratch, scale, seed, only, keep)


def _wrong_on_machines(result: PartResults) -> list[str]:
    sys.path.append(str(TESTS))
    from .many_machines import wrong

    return wrong(result)


def _wrong_with_interruptions(result: PartResults) -> list[str]:
    fewer = [
        f"{victim}: {tally['interruptions']} of {tally['asked']} times"
        for victim, tally in result["victims"].items()
        if tally.get("interruptions", 0) < tally.get("asked", 0)
    ]
    return fewer + [
        f"{victim}: {tally[name]} {name.replace('_', ' ')}"
        for victim, tally in result["victims"].items()
        for name in _MUST_BE_ZERO
        if tally.get(name)
    ]


def _wrong_with_faults(result: PartResults) -> list[str]:
    return [
        f"{fault}: {tally[name]} {name.replace('_', ' ')}"
        for fault, tally in result["faults"].items()
        for name in ("false", "lost", "left_over", "tracebacks", "other_codes")
        if tally.get(name)
    ]


PARTS: dict[str, Part] = {
    "kills": Part(run=_kills, wrong=_wrong_with_interruptions),
    "signals": Part(run=_signals, wrong=_wrong_with_interruptions),
    "faults": Part(run=do_harm, wrong=_wrong_with_faults),
    "machines": Part(run=_machines, wrong=_wrong_on_machines),
    "soak": Part(run=soak.soak, wrong=soak.wrong),
    "builds": Part(run=builds.build, wrong=builds.wrong, needs_host=False),
    "fuzz": Part(run=fuzzing.fuzz, wrong=fuzzing.wrong, needs_host=False),
    "flood": Part(run=others.flood, wrong=others.wrong, needs_host=False),
    "tampered": Part(run=others.tampered, wrong=others.wrong, needs_host=False),
}
