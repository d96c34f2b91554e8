"""Disks, clocks, memory, processors and routes that misbehave in the midst of a run: nothing false may be reported."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import random
import shutil
import struct
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sixbench.store import read_run

from . import host
from .keeping import Keep
from .runs import (
    TRACEBACK,
    Running,
    acknowledged,
    created,
    differing_keys,
    has_ended,
    planned_keys,
    sixbench,
    unfinished,
    wrong_with,
)

EXPERIMENT = """
topology:
  nodes: {h1: host, r1: router, h2: host}
  links:
    - {endpoints: [h1, r1], rate: 20Mbit, burst: 25kB}
    - {endpoints: [r1, h2], rate: 20Mbit, burst: 25kB}
between: [h1, h2]
paths: {ipv4: native4, ipv6: native6}
baseline: ipv4
workloads:
  - {tcp-stream: {duration: 200ms, warmup: 100ms}}
  - {ping: {count: 5, interval: 1ms}}
blocks: 3
"""
"""Links with a rate, so that theory says what a goodput has to be, and with a bucket that outlasts other
programs."""

TOLERANCE = 0.02
"""Share by which the goodput of a valid trial of 200 ms may differ from theory: 4 ms of it, on a machine that is
busy."""

SHIM = Path(__file__).with_name("shim.c")
CPU1 = Path("/sys/devices/system/cpu/cpu1/online")
MEMORY_GROUPS = Path("/sys/fs/cgroup/memory")

OFTEN, SELDOM = 10, 3


class NotHere(Exception):
    """This machine cannot have the fault; the message says why."""


@dataclass(kw_only=True)
class Harm:
    """A run under a fault.

    Attributes:
        place: where the run directory goes.
        environment: what the command gets.
        ready: what is done when the run directory is there, before the run.
        now: what is done at the random moment.
        mend: ends the fault, before the run is resumed.
        prefix: the command that starts sixbench.
    """

    place: Path
    environment: dict[str, str] = field(default_factory=dict)
    ready: Callable[[], None] = lambda: None
    now: Callable[[], None] = lambda: None
    mend: Callable[[], None] = lambda: None
    prefix: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A kind of harm: what `sixbench run` may end with under it, and how often it is done."""

    begin: Callable[[Path, random.Random], contextlib.AbstractContextManager[Harm]]
    codes: frozenset[int]
    count: int = OFTEN


@contextmanager
def _mounted(place: Path, options: str) -> Iterator[Path]:
    created(place)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", place], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


@contextmanager
def _disk_full(scratch: Path, choice: random.Random) -> Iterator[Harm]:
    with _mounted(scratch / "disk", "size=64m") as disk:

        def resize(bytes_: int) -> None:
            subprocess.run(["mount", "-o", f"remount,size={bytes_}", disk], check=True)

        def shrink() -> None:  # to what there is, and room for some of the trials
            statvfs = os.statvfs(disk)
            resize((statvfs.f_blocks - statvfs.f_bfree) * statvfs.f_frsize + choice.randrange(0, 300_000, 4096))

        yield Harm(place=disk / "run", ready=shrink, mend=lambda: resize(2**26))


@contextmanager
def _read_only(scratch: Path, choice: random.Random) -> Iterator[Harm]:
    with _mounted(scratch / "disk", "size=64m") as disk:

        def now() -> None:
            give_up_s = time.monotonic() + 30
            while time.monotonic() < give_up_s:  # busy while a file is open for writing
                done = subprocess.run(["mount", "-o", "remount,ro", disk], capture_output=True, check=False)
                if done.returncode == 0:
                    return
                time.sleep(choice.uniform(0, 0.02))
            raise SystemExit("the file system was never idle")

        yield Harm(
            place=disk / "run",
            now=now,
            mend=lambda: subprocess.run(["mount", "-o", "remount,rw", disk], check=True) and None,
        )


def _shim(scratch: Path) -> Path:
    library = scratch / "shim.so"
    if not library.exists():
        compiler = shutil.which("cc") or shutil.which("clang")
        if compiler is None:
            raise NotHere("there is no C compiler")
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, SHIM, "-ldl"], check=True)
    return library


@contextmanager
def _slow_disk(scratch: Path, choice: random.Random) -> Iterator[Harm]:
    slow = {"LD_PRELOAD": str(_shim(scratch)), "ENDURANCE_SLOW_US": str(choice.randrange(5_000, 60_000))}
    yield Harm(place=scratch / "run", environment=slow)


def _clock(forward: bool) -> Callable[[Path, random.Random], contextlib.AbstractContextManager[Harm]]:
    @contextmanager
    def begin(scratch: Path, choice: random.Random) -> Iterator[Harm]:
        clock = scratch / "clock"
        clock.write_bytes(struct.pack("=q", 0))
        step_s = choice.choice([1, 60, 3600, 86_400]) * (1 if forward else -1)

        def now() -> None:
            with clock.open("r+b") as file:  # in place: it is mapped
                file.write(struct.pack("=q", step_s))

        preloaded = {"LD_PRELOAD": str(_shim(scratch)), "ENDURANCE_CLOCK": str(clock)}
        yield Harm(place=scratch / "run", environment=preloaded, now=now)

    return begin


@contextmanager
def _memory(scratch: Path, choice: random.Random) -> Iterator[Harm]:
    group = MEMORY_GROUPS / "sixbench-endurance"
    try:
        group.mkdir(exist_ok=True)
        (group / "memory.limit_in_bytes").write_text(str(choice.randrange(30, 140) << 20))
    except OSError as error:
        raise NotHere(f"there is no memory cgroup of version 1 to write in ({error.strerror})") from error
    enter = f'echo $$ > {group}/cgroup.procs && exec "$0" "$@"'
    try:
        yield Harm(place=scratch / "run", prefix=("sh", "-c", enter))
    finally:
        for _ in range(500):
            try:
                group.rmdir()
                break
            except OSError as error:
                if error.errno != errno.EBUSY:
                    raise
                time.sleep(0.01)


@contextmanager
def _processor(scratch: Path, choice: random.Random) -> Iterator[Harm]:
    if not CPU1.exists():
        raise NotHere("no second processor can be taken offline")
    try:
        yield Harm(place=scratch / "run", now=lambda: _set(CPU1, "0"), mend=lambda: _set(CPU1, "1"))
    finally:
        _set(CPU1, "1")


def _set(file: Path, value: str) -> None:
    file.write_text(value)


@contextmanager
def _route(scratch: Path, choice: random.Random) -> Iterator[Harm]:
    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True)

    for name, address in (("up0", "192.0.2.1/24"), ("up1", "198.51.100.1/24")):
        ip("link", "add", name, "type", "veth", "peer", "name", f"{name}b")
        ip("address", "add", address, "dev", name)
        ip("link", "set", name, "up")
    ip("route", "add", "default", "via", "192.0.2.2")

    def now() -> None:
        ip("route", "replace", "default", "via", "198.51.100.2")
        ip("link", "delete", "up0")

    try:
        yield Harm(place=scratch / "run", now=now)
    finally:
        for name in ("up0", "up1"):
            subprocess.run(["ip", "link", "delete", name], capture_output=True, check=False)


_DONE = frozenset({0, 4})
FAULTS = {
    "disk full": Fault(begin=_disk_full, codes=frozenset({0, 3, 4})),
    "remounted read-only": Fault(begin=_read_only, codes=frozenset({3})),
    "slow disk": Fault(begin=_slow_disk, codes=_DONE),
    "clock stepped forward": Fault(begin=_clock(forward=True), codes=_DONE),
    "clock stepped back": Fault(begin=_clock(forward=False), codes=_DONE),
    "memory limit": Fault(begin=_memory, codes=frozenset({0, 3, 4, -9})),
    "processor taken offline": Fault(begin=_processor, codes=_DONE, count=SELDOM),
    "default route changed": Fault(begin=_route, codes=_DONE),
}


@dataclass(kw_only=True)
class Tally:
    """Results of the runs with one fault."""

    runs: int = 0
    valid: int = 0
    not_valid: Counter[str] = field(default_factory=Counter)
    ended_with: Counter[str] = field(default_factory=Counter)
    false: int = 0
    lost: int = 0
    left_over: int = 0
    tracebacks: int = 0
    other_codes: int = 0
    details: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {**self.__dict__, "ended_with": dict(self.ended_with), "not_valid": dict(self.not_valid)}

    def count(self, name: str, result: list[str], place: str) -> None:
        if result:
            setattr(self, name, getattr(self, name) + len(result))
            self.details.append(f"{place}: {name}: {'; '.join(result)[-1500:]}")
            print(self.details[-1], flush=True)


@dataclass(frozen=True, kw_only=True)
class Undisturbed:
    """A run without harm: its directory before the first trial, its trials, and how long it takes."""

    fresh: Path
    planned: set[str]
    length_s: float


def do_harm(scratch: Path, scale: float, seed: int, only: list[str], keep: Keep) -> dict[str, Any]:
    """Does every kind of harm; returns what came of each."""
    experiment = scratch / "experiment.yaml"
    experiment.write_text(EXPERIMENT)
    whole, fresh = scratch / "undisturbed", scratch / "fresh"
    done = sixbench("run", str(experiment), "--out", str(whole), "--quiet", scratch=scratch)
    if done.code not in _DONE:
        raise SystemExit(f"the undisturbed run ended with {done.code}: {done.output}")
    unfinished(experiment, fresh, scratch)
    shutil.copytree(fresh, scratch / "timed")
    started_s = time.monotonic()
    sixbench("resume", str(scratch / "timed"), "--no-report", "--quiet", scratch=scratch)
    undisturbed = Undisturbed(fresh=fresh, planned=planned_keys(whole), length_s=time.monotonic() - started_s)
    collected: dict[str, Any] = {}
    for name, fault in FAULTS.items():
        if only and name not in only:
            continue
        tally, choice = Tally(), random.Random(f"{seed}/{name}")
        try:
            for _ in range(max(1, round(fault.count * scale))):
                _once(name, fault, scratch, choice, tally, undisturbed)
                keep({"faults": collected | {name: tally.to_json()}, "seed": seed})
        except NotHere as reason:
            collected[name] = {"not_done": str(reason)}
            continue
        except KeyboardInterrupt:  # what was counted until then counts
            print(f"{name}: stopped", flush=True)
        collected[name] = tally.to_json()
        shown = {key: value for key, value in collected[name].items() if key != "details"}
        print(f"{name}: {shown}", flush=True)
    return {"faults": collected, "seed": seed}


def _once(
    name: str, fault: Fault, scratch: Path, choice: random.Random, tally: Tally, undisturbed: Undisturbed
) -> None:
    fresh, planned = undisturbed.fresh, undisturbed.planned
    with fault.begin(scratch, choice) as harm:
        before = host.inventory(created(scratch / "tmp"))
        shutil.rmtree(harm.place, ignore_errors=True)
        shutil.copytree(fresh, harm.place)
        harm.ready()
        running = Running(
            "resume",
            str(harm.place),
            "--no-report",
            "--quiet",
            scratch=scratch,
            environment=harm.environment,
            prefix=harm.prefix,
        )
        is_running = running.wait_until(choice.uniform(0.3, 1.0) * undisturbed.length_s)
        if is_running:
            harm.now()
        ended = running.end()
        known = acknowledged(harm.place)
        is_done = not is_running or has_ended(harm.place)  # the harm may come after the last write
        harm.mend()
        place = f"{name}, run {tally.runs + 1}"
        tally.runs += 1
        tally.ended_with[str(ended.code)] += 1
        expected = fault.codes | (_DONE if is_done else frozenset())
        tally.count("other_codes", [] if ended.code in expected else [f"{ended.code}: {ended.output}"], place)
        tally.count("tracebacks", [ended.output] if TRACEBACK in ended.output else [], place)
        tally.count("left_over", host.left_over(before, scratch / "tmp"), place)
        tally.count("false", _false_in(harm.place, planned, scratch), place)
        again = sixbench("resume", str(harm.place), "--no-report", "--quiet", scratch=scratch)
        tally.count("other_codes", [] if again.code in _DONE else [f"resume: {again.code}: {again.output}"], place)
        wrong = wrong_with(harm.place, planned, known)
        tally.count("lost", [item for kind in wrong.values() for item in kind], place)
        tally.count("false", _false_in(harm.place, planned, scratch), f"{place}, resumed")
        for trial in read_run(harm.place).trials:
            if trial.status == "ok":
                tally.valid += 1
            else:
                tally.not_valid[f"{trial.status}: {trial.reasons[0].kind}"] += 1


def _false_in(directory: Path, planned: set[str], scratch: Path) -> list[str]:
    """False statements in a report of this run: valid trials with a wrong number, another count of trials than there
    are, or a run that is called complete and is not."""
    run = read_run(directory)
    texts = [f"{trial.key}: {words}" for trial in run.trials if trial.status == "ok" for words in _wrong_numbers(trial)]
    done = sixbench("report", str(directory), "--format", "json", scratch=scratch)
    if done.code != 0:
        return [*texts, f"report ended with {done.code}: {done.output}"] if run.trials else texts
    report = json.loads(done.output[done.output.index("{") :])
    trials = report["trials"]
    counts = Counter(trial.status for trial in run.trials)
    fields = {"ok": trials["ok"], "invalid": trials["invalid"], "failed": trials["failed"]}
    if fields != {name: counts[name] for name in fields}:
        texts.append(f"the report has {fields}, the directory {dict(counts)}")
    if report["state"] == "complete" and differing_keys(run, planned):
        texts.append("called complete")
    return texts


def _wrong_numbers(trial: Any) -> Iterator[str]:
    goodput, theory = trial.metrics.get("goodput_bps"), trial.theory.get("goodput_bps")
    if goodput is not None and theory is not None and abs(goodput / theory - 1) > TOLERANCE:
        yield f"goodput {goodput:.0f} bit/s, in theory {theory:.0f}"
    for name, value in trial.metrics.items():
        if name.startswith("rtt_") and name.endswith("_ns") and not 0 <= value < 1e9:
            yield f"{name} {value:.0f}"
