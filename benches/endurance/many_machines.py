"""kill -9 of whatever runs a sweep on many machines: orchestrator, scheduler, workers, agents, and what serves SSH.

A sweep is a run of a thousand short trials, by `--workers` or by `--hosts`, on namespaces that play machines
(tests/lab/worker_machines.py, host_machines.py). It is hit again and again until it has ended. Who was killed is begun
again, as a machine's owner would do it, and the orchestrator by `resume`.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from sixbench.store import read_run, verify_run

from . import host
from .keeping import STOPS, Keep, PartResults
from .machine_sweeps import Hosts, Workers
from .runs import TRACEBACK, acknowledged, created, differing_keys, has_ended, is_begun, planned_keys, recorded

KILLS = 200
TRIALS = 1000
LEAST_TRIALS = 40
SHARES = {
    "workers": {"orchestrator": 30, "scheduler": 40, "worker": 40, "agent": 20},
    "hosts": {"orchestrator": 20, "agent": 20, "sshd": 30},
}
"""Share of the kills that each victim gets, of all shares."""

PAUSE_S = 3.0
"""The longest time from one kill to the next, once there is a trial more."""
IMPATIENT = 0.15
"""Share of the kills that do not wait for a trial: they come while things are begun again."""
PATIENCE_S = 180.0
"""A sweep without a new trial for so long hangs. A cut connection is noticed after some 11 s, twice."""
_DONE = (0, 4)
_IN_ORDER = 3
"""Exit code of a run that no longer reaches a host or the scheduler: `resume` goes on with it."""


class Sweep(Protocol):
    """A way to share a run among machines."""

    def begin(self, directory: Path, experiment: Path) -> None:
        """Starts the run."""

    def resume(self, directory: Path) -> None:
        """Goes on with it."""

    def code(self) -> int | None:
        """Exit code of the command; None while it goes on."""

    def kill(self, victim: str, dice: random.Random) -> bool:
        """Kills it, and begins it again but for the orchestrator; whether there was one."""

    def output(self) -> str:
        """Output of all processes since the last call."""

    def places(self) -> dict[str, str]:
        """Interfaces of each machine with their names and addresses, and its files in /run."""

    def end(self) -> None:
        """Ends all but the machines."""


WAYS: dict[str, Callable[[ExitStack, Path], Sweep]] = {"workers": Workers, "hosts": Hosts}


@dataclass(kw_only=True)
class Tally:
    """Results of the kills in runs of one kind, on workers or on hosts.

    Attributes:
        kills: by victim.
        acknowledged: trials that were recorded when something was killed, once for each kill.
        not_home: interfaces that did not come home with their names and addresses.
        refused: how often the run ended in order without all trials, because something was not there.
    """

    asked: int
    kills: Counter[str] = field(default_factory=Counter)
    sweeps: int = 0
    trials: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    lost: int = 0
    twice: int = 0
    half: int = 0
    left_over: int = 0
    not_home: int = 0
    sets_that_differ: int = 0
    tracebacks: int = 0
    hung: int = 0
    other_codes: int = 0
    refused: int = 0
    undisturbed_s: float = 0.0
    details: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {**self.__dict__, "kills": dict(self.kills), "trials": dict(self.trials)}

    def count(self, name: str, result: list[str], place: str) -> None:
        if result:
            setattr(self, name, getattr(self, name) + len(result))
            self.details.append(f"{place}: {name}: {'; '.join(result)[-1500:]}")
            print(self.details[-1], file=sys.stderr, flush=True)


def shares(count: int) -> dict[str, dict[str, int]]:
    """Number of hits for each victim, by kind of run, of `count` in all; each has at least one."""
    whole = sum(sum(of_way.values()) for of_way in SHARES.values())
    return {
        method: {victim: max(1, round(count * share / whole)) for victim, share in of_way.items()}
        for method, of_way in SHARES.items()
    }


def kill_on_machines(scratch: Path, scale: float, seed: int, only: list[str], keep: Keep) -> PartResults:
    """Kills by each way. `only` has the ways."""
    ways: dict[str, Any] = {}
    trials = max(LEAST_TRIALS, round(TRIALS * min(1.0, scale)))
    fields: PartResults = {"ways": ways, "seed": seed, "trials_in_a_sweep": trials}
    for method, victims in shares(round(KILLS * scale)).items():
        if only and method not in only:
            continue
        tally = Tally(asked=sum(victims.values()))

        def output(method: str = method, tally: Tally = tally) -> None:
            ways[method] = tally.to_json()
            keep(fields)

        try:
            _by(method, victims, created(scratch / method), trials, random.Random(f"{seed}/{method}"), tally, output)
        except STOPS:  # what was counted until then counts
            print(f"{method}: stopped", flush=True)
            return fields | {"stopped": True, "ways": ways | {method: tally.to_json()}}
        ways[method] = tally.to_json()
    return fields


def wrong(result: PartResults) -> list[str]:
    """Promises that were broken, and kills that were not done, in words."""
    problems = []
    for method, tally in result["ways"].items():
        done = sum(tally["kills"].values())
        if done < tally["asked"] and not result.get("stopped"):
            problems.append(f"{method}: {done} of {tally['asked']} kills")
        problems += [f"{method}: {tally[name]} {name.replace('_', ' ')}" for name in MUST_BE_ZERO if tally[name]]
    return problems


MUST_BE_ZERO = (
    *("lost", "twice", "half", "left_over", "not_home"),
    *("sets_that_differ", "tracebacks", "hung", "other_codes"),
)


def _by(
    method: str,
    victims: dict[str, int],
    scratch: Path,
    trials: int,
    dice: random.Random,
    tally: Tally,
    expected: Callable[[], None],
) -> None:
    with ExitStack() as stack:
        sweep = WAYS[method](stack, scratch)
        experiment = sweep.experiment(trials)  # type: ignore[attr-defined]
        at_home, before = sweep.places(), host.inventory(created(scratch / "tmp"))
        started_s = time.monotonic()
        undisturbed = scratch / "undisturbed"
        sweep.begin(undisturbed, experiment)
        _wait(lambda: sweep.code() is not None, undisturbed)
        if sweep.code() not in _DONE:
            raise SystemExit(f"the undisturbed run ended with {sweep.code()}: {sweep.output()}")
        tally.undisturbed_s = round(time.monotonic() - started_s, 1)
        planned = planned_keys(undisturbed)
        print(f"{method}: {len(planned)} trials in {tally.undisturbed_s} s undisturbed", flush=True)
        left = [victim for victim, times in victims.items() for _ in range(times)]
        dice.shuffle(left)
        while left:
            tally.sweeps += 1
            place = f"{method}, sweep {tally.sweeps}"
            directory = scratch / f"sweep-{tally.sweeps}"
            _sweep(sweep, directory, experiment, left, dice, tally, place, expected)
            sweep.end()
            tally.count("not_home", _not_home(sweep, at_home), place)
            tally.count("left_over", host.left_over(before, scratch / "tmp"), place)
            tally.count("tracebacks", [output] if TRACEBACK in (output := sweep.output()) else [], place)
            _check(directory, planned, tally, place)
            expected()
            print(f"{place}: {_line(tally)}", flush=True)


def _sweep(
    sweep: Sweep,
    directory: Path,
    experiment: Path,
    left: list[str],
    dice: random.Random,
    tally: Tally,
    place: str,
    expected: Callable[[], None],
) -> None:
    """One run from its beginning to its end, hit until it ends or nobody is left to be hit."""
    sweep.begin(directory, experiment)
    known: dict[str, str] = {}
    while True:
        if left and _pause(sweep, directory, dice):
            victim = left[-1]
            tally.count("lost", _lost(directory, known), place)
            known = acknowledged(directory)
            if sweep.kill(victim, dice):
                left.pop()
                tally.kills[victim] += 1
                tally.acknowledged += len(known)
                expected()
                print(f"{place}: {victim} after {len(known)} trials", flush=True)
                if victim == "orchestrator":
                    _again(sweep, directory, experiment)
            continue
        if not _wait(lambda: sweep.code() is not None, directory):
            tally.count("hung", [sweep.output()[-1500:]], place)
            return
        tally.count("lost", _lost(directory, known), place)
        code = sweep.code()
        if code in _DONE and has_ended(directory):
            return
        if code == _IN_ORDER:
            tally.refused += 1
            tally.details.append(f"{place}: ended with 3: {sweep.output()[-300:]}")
        else:
            tally.count("other_codes", [f"ended with {code}: {sweep.output()[-800:]}"], place)
        if tally.refused + tally.other_codes > tally.asked:
            return
        _again(sweep, directory, experiment)


def _again(sweep: Sweep, directory: Path, experiment: Path) -> None:
    """Goes on with a run, or begins again with one that had not begun."""
    if is_begun(directory):
        sweep.resume(directory)
    else:
        sweep.begin(directory, experiment)


def _pause(sweep: Sweep, directory: Path, dice: random.Random) -> bool:
    """Waits until the next kill; whether the run still goes on then."""
    there = recorded(directory)
    if dice.random() >= IMPATIENT:
        _wait(lambda: sweep.code() is not None or recorded(directory) != there, directory)
    until_s = time.monotonic() + dice.uniform(0, PAUSE_S)
    while time.monotonic() < until_s and sweep.code() is None:
        time.sleep(0.01)
    return sweep.code() is None


def _wait(condition: Callable[[], bool], directory: Path) -> bool:
    """Waits for it as long as there are new trials now and then; whether it came."""
    there, since_s = recorded(directory), time.monotonic()
    while not condition():
        now = recorded(directory)
        if now != there:
            there, since_s = now, time.monotonic()
        if time.monotonic() - since_s > PATIENCE_S:
            return False
        time.sleep(0.02)
    return True


def _lost(directory: Path, known: dict[str, str]) -> list[str]:
    now = acknowledged(directory)
    return [key for key, digest in known.items() if now.get(key) != digest]


def _not_home(sweep: Sweep, at_home: dict[str, str]) -> list[str]:
    """The machines whose interfaces, names, addresses or files are not what they were. What ends when its connection
    is cut ends on its own."""
    until_s = time.monotonic() + 60
    while True:
        now = sweep.places()
        differ = [f"{name}: {now[name]!r}, before {was!r}" for name, was in at_home.items() if now[name] != was]
        if not differ or time.monotonic() > until_s:
            return differ
        time.sleep(0.2)


def _check(directory: Path, planned: set[str], tally: Tally, place: str) -> None:
    """Counts in the tally what is wrong with a run that has ended."""
    run = read_run(directory)
    arrived = directory / "arrived"
    rest = [*directory.rglob("*.partial"), *(arrived.iterdir() if arrived.is_dir() else ())]
    tally.count("half", [*verify_run(run), *map(str, rest)], place)
    keys = Counter(trial.key for trial in run.trials)
    sequences = Counter(trial.sequence for trial in run.trials)
    twice = [
        f"{what} {times} times" for what, times in (keys + Counter(map(str, sequences.elements()))).items() if times > 1
    ]
    by_block: dict[int, set[tuple[str | None, int | None]]] = {}
    for trial in run.trials:
        by_block.setdefault(trial.block, set()).add((trial.worker, trial.attempt))
    if run.manifest.workers:  # a block is whole on one worker
        twice += [f"block {block} by {sorted(map(str, by))}" for block, by in by_block.items() if len(by) > 1]
    tally.count("twice", twice, place)
    tally.count("sets_that_differ", differing_keys(run, planned), place)
    tally.trials.update(trial.status for trial in run.trials)


def _line(tally: Tally) -> str:
    rest = ", ".join(f"{getattr(tally, name)} {name.replace('_', ' ')}" for name in MUST_BE_ZERO)
    return f"{sum(tally.kills.values())} of {tally.asked} kills, {rest}"
