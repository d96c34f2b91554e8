"""kill -9 of a part of a run, and signals to the whole, each at a random moment."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import host
from .keeping import Keep
from .runs import (
    EXPERIMENT,
    GUEST_EXPERIMENT,
    TRACEBACK,
    Running,
    acknowledged,
    created,
    has_ended,
    is_begun,
    planned_keys,
    sixbench,
    unfinished,
    wrong_with,
)

GUEST_KERNEL = "debian-6.1"
_EMULATOR = "(links)"


@dataclass(frozen=True, kw_only=True)
class Victim:
    """Process that is hit by a signal.

    Attributes:
        share: how many of the interruptions of a part it gets, of all shares.
        find: its process, of those below the orchestrator; None where there is none at the moment.
        codes: what the disturbed command may end with.
        in_guest: whether the run takes place in an emulated machine.
    """

    name: str
    share: int
    signal: signal.Signals
    find: Callable[[Running, random.Random], int | None]
    codes: frozenset[int]
    in_guest: bool = False


@dataclass(kw_only=True)
class Tally:
    """Results of the interruptions of one kind of victim."""

    interruptions: int = 0
    acknowledged: int = 0
    lost: int = 0
    half: int = 0
    left_over: int = 0
    sets_that_differ: int = 0
    tracebacks: int = 0
    hung: int = 0
    other_codes: int = 0
    ended_with: Counter[str] = field(default_factory=Counter)
    trials: Counter[str] = field(default_factory=Counter)
    details: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {**self.__dict__, "ended_with": dict(self.ended_with), "trials": dict(self.trials)}


def _orchestrator(running: Running, choice: random.Random) -> int | None:
    return running.process.pid if running.process.poll() is None else None


def _agent(is_emulator: bool) -> Callable[[Running, random.Random], int | None]:
    def find(running: Running, choice: random.Random) -> int | None:
        names = {pid: _words(pid) for pid, name in host.processes() if name.startswith("sixbench-agent")}
        pids = [pid for pid, words in sorted(names.items()) if words and (_EMULATOR in words) == is_emulator]
        return choice.choice(pids) if pids else None

    return find


def _guest(running: Running, choice: random.Random) -> int | None:
    return next((pid for pid, name in host.processes() if name.startswith("qemu")), None)


def _words(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
    except OSError:
        return []


_KILLED = frozenset({-signal.SIGKILL})
_WITHOUT_AN_AGENT = frozenset({0, 3, 4})
_STOPPED = frozenset({130})

KILLS = (
    Victim(name="orchestrator", share=90, signal=signal.SIGKILL, find=_orchestrator, codes=_KILLED),
    Victim(name="agent", share=60, signal=signal.SIGKILL, find=_agent(False), codes=_WITHOUT_AN_AGENT),
    Victim(name="emulator", share=40, signal=signal.SIGKILL, find=_agent(True), codes=_WITHOUT_AN_AGENT),
    Victim(name="guest", share=10, signal=signal.SIGKILL, find=_guest, codes=_WITHOUT_AN_AGENT, in_guest=True),
)
SIGNALS = (
    Victim(name="SIGINT", share=50, signal=signal.SIGINT, find=_orchestrator, codes=_STOPPED),
    Victim(name="SIGTERM", share=50, signal=signal.SIGTERM, find=_orchestrator, codes=_STOPPED),
)


def interrupt(
    victims: tuple[Victim, ...], count: int, scratch: Path, seed: int, only: list[str], keep: Keep
) -> dict[str, Any]:
    """Interrupts `count` runs, each at a random moment, resumes them, and counts what is wrong. Where only some victims
    are asked for, each gets what it gets among all, so that parts of a whole can be done apart."""
    chosen = [victim for victim in victims if not only or victim.name in only]
    asked = times(victims, count)
    objects = host.bpf_objects()
    results: dict[str, Any] = {}
    fields: dict[str, Any] = {"victims": results, "bpf_before": objects, "seed": seed}
    for victim in chosen:
        if victim.in_guest and not _has_guest():
            results[victim.name] = {"not_done": f"the kernel {GUEST_KERNEL} was not fetched (sixbench kernels add)"}
            continue
        work = _Work(victim, created(scratch / victim.name), random.Random(f"{seed}/{victim.name}"))
        try:
            for _ in range(asked[victim.name]):
                work.once()
                results[victim.name] = work.tally.to_json() | {"asked": asked[victim.name]}
                keep(fields)
                print(f"{victim.name}: {_line(work.tally)}", flush=True)
        except KeyboardInterrupt:  # what was counted until then counts
            print(f"{victim.name}: stopped", flush=True)
        results[victim.name] = work.tally.to_json() | {"asked": asked[victim.name]}
    return fields | {"bpf_after": host.bpf_objects()}


def times(victims: tuple[Victim, ...], count: int) -> dict[str, int]:
    """Number of hits for each victim, of `count` in all; each has at least one."""
    shares = sum(victim.share for victim in victims)
    return {victim.name: max(1, round(count * victim.share / shares)) for victim in victims}


def _has_guest() -> bool:
    from sixbench.guest import find_kernel
    from sixbench.model.errors import SixbenchError

    try:
        find_kernel(GUEST_KERNEL)
    except SixbenchError:
        return False
    return True


@dataclass(frozen=True, kw_only=True)
class _Hit:
    """State of a run when it was hit.

    Attributes:
        known: the trials that it had recorded.
        had_ended: whether it had ended and its process had not. A command keeps its exit code then.
    """

    known: dict[str, str]
    had_ended: bool


class _Work:
    """Interruptions of one victim."""

    def __init__(self, victim: Victim, scratch: Path, choice: random.Random) -> None:
        self.victim, self.scratch, self.choice = victim, scratch, choice
        self.tally = Tally()
        self.options = ["--kernel", GUEST_KERNEL] if victim.in_guest else []
        self.experiment = scratch / "experiment.yaml"
        self.experiment.write_text(GUEST_EXPERIMENT if victim.in_guest else EXPERIMENT)
        whole = scratch / "undisturbed"
        started_s = time.time()
        done = sixbench("run", str(self.experiment), "--out", str(whole), "--quiet", *self.options, scratch=scratch)
        if done.code not in (0, 4):
            raise SystemExit(f"the undisturbed run ended with {done.code}: {done.output}")
        self.planned = planned_keys(whole)
        recorded_s = sorted((whole / "trials" / key).stat().st_mtime - started_s for key in self.planned)
        self.first_s, self.trial_s = recorded_s[0], (recorded_s[-1] - recorded_s[0]) / max(1, len(recorded_s) - 1)
        """Until the first trial was recorded, and from one to the next."""
        self.fresh = scratch / "fresh"
        if not victim.in_guest:
            unfinished(self.experiment, self.fresh, scratch)

    def once(self) -> None:
        """One interruption, and all that is looked at after it."""
        victim, tally = self.victim, self.tally
        directory = self.scratch / "run"
        shutil.rmtree(directory, ignore_errors=True)
        before = host.inventory(created(self.scratch / "tmp"))
        # Most runs are resumed without a report, so that more of the moments are among their trials.
        resumes = not victim.in_guest and tally.interruptions % 4 != 0
        if resumes:
            shutil.copytree(self.fresh, directory)
        arguments = ["resume", str(directory), "--no-report", "--quiet"]
        if not resumes:
            arguments = ["run", str(self.experiment), "--out", str(directory), "--quiet", *self.options]
        hit: _Hit | None = None
        while hit is None:
            running = Running(*arguments, scratch=self.scratch)
            # A moment counts in trials, so that it is among them however busy the machine is meanwhile. Those of a
            # guest arrive together when it ends.
            moment = self.choice.uniform(0, 1 if victim.in_guest else len(self.planned) + 1)
            hit = self._hit(running, moment, directory)
            ended = running.end()
            if hit is None:  # the process had ended
                shutil.rmtree(directory, ignore_errors=True)
                if resumes:
                    shutil.copytree(self.fresh, directory)
        tally.interruptions += 1
        tally.acknowledged += len(hit.known)
        tally.ended_with[str(ended.code)] += 1
        place = f"{victim.name} after {moment:.2f} trials of {'resume' if resumes else 'run'}"
        tally.hung += ended.code is None
        codes = victim.codes | {0} if hit.had_ended else victim.codes
        self._count("other_codes", [] if ended.code in codes else [f"ended with {ended.code}: {ended.output}"], place)
        self._count("tracebacks", [ended.output] if TRACEBACK in ended.output else [], place)
        # What a guest or a killed command leaves in the folder for temporary files counts too.
        self._count("left_over", host.left_over(before, self.scratch / "tmp"), place)
        self._resume(directory, hit.known, place)

    def _hit(self, running: Running, moment: float, directory: Path) -> _Hit | None:
        """Hits the victim when so many trials were recorded, or as soon as it is there; None where the process had
        ended. A part of a trial is that part of the time that one takes in an undisturbed run."""
        count = int(moment)
        part_s = (moment - count) * (self.trial_s if count else self.first_s)
        is_running = running.wait_for_trials(directory, count)
        is_running = is_running and running.wait_for(part_s)
        while is_running:
            process = self.victim.find(running, self.choice)
            if process is not None:
                hit = _Hit(known=acknowledged(directory), had_ended=has_ended(directory))
                try:
                    os.kill(process, self.victim.signal)
                except ProcessLookupError:
                    process = None
                else:
                    return hit
            is_running = running.process.poll() is None
            time.sleep(0.002)
        return None

    def _resume(self, directory: Path, known: dict[str, str], place: str) -> None:
        begins = not is_begun(directory)
        if begins:
            arguments = ["run", str(self.experiment), "--out", str(directory), "--quiet", *self.options]
        else:
            arguments = ["resume", str(directory), "--no-report", "--quiet"]
        if begins and known:
            self._count("lost", list(known), place)
        before = host.inventory(self.scratch / "tmp")
        ended = sixbench(*arguments, scratch=self.scratch)
        if ended.code not in (0, 4):
            self._count("other_codes", [f"{arguments[0]} again ended with {ended.code}: {ended.output}"], place)
        self._count("left_over", host.left_over(before, self.scratch / "tmp"), f"{place}, then {arguments[0]}")
        wrong = wrong_with(directory, self.planned, known)
        self._count("lost", wrong.get("lost", []) + wrong.get("unreadable", []), place)
        self._count("half", wrong.get("half", []), place)
        self._count("sets_that_differ", wrong.get("set", []), place)
        if "unreadable" not in wrong:
            from sixbench.store import read_run

            self.tally.trials.update(trial.status for trial in read_run(directory).trials)

    def _count(self, name: str, result: list[str], place: str) -> None:
        if result:
            setattr(self.tally, name, getattr(self.tally, name) + len(result))
            self.tally.details.append(f"{place}: {name}: {'; '.join(result)[-1500:]}")
            print(self.tally.details[-1], file=sys.stderr, flush=True)


def _line(tally: Tally) -> str:
    return (
        f"{tally.interruptions} interrupted, {tally.acknowledged} trials acknowledged before, {tally.lost} lost, "
        f"{tally.half} half, {tally.left_over} left over, {tally.sets_that_differ} sets that differ, "
        f"{tally.tracebacks} tracebacks, {tally.hung} hung, {tally.other_codes} other exit codes"
    )
