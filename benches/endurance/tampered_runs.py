"""Run directories that somebody has changed: every reader must take them, or refuse them in a sentence.

    python benches/endurance/tampered_runs.py --count 10000 --seed 1
    python benches/endurance/tampered_runs.py --seed 1 --only 4711

A case follows from the seed and its number. It fails if a reader raises anything but an error that is meant for users,
writes outside its folder, starts a program, opens a socket, shows what a link outside has, or takes too long.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

if __name__ == "__main__":
    # Within a case, a reader would take them for its own.
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    HERE = Path(__file__).resolve()
    sys.path[:0] = [str(HERE.parents[1]), str(HERE.parents[2] / "tests")]

from endurance.monitor_readers import read_it, readers
from endurance.parsed_once import ParsedOnce
from endurance.readers import READERS, read
from endurance.sandbox import Escape, Watch, confine
from endurance.stock import OCCURRENCE, stock
from endurance.tampered_directory import Tampered
from endurance.tampering import FINDINGS, tamper
from sixbench.model.errors import SixbenchError

SECRET = "a secret that nobody reads"
SECRET_FILE, SECRET_TEXT = "secret.json", f'{{"schema": "{SECRET}"}}'
LIMIT_S = 30
"""Limit of a case's CPU time. A case usually takes some milliseconds. One that takes this long is a failure too."""
HANG_S = 600
"""A case that waits for so long is one as well. Beside other work a case gets a small share of a processor."""
MEMORY_BYTES = 6 * 2**30
MOST_FAILURES = 100
STOPS = frozenset({signal.SIGINT, signal.SIGTERM})
"""They end the cases, and what was counted until then is told."""
TOLD_EVERY_S = 2
PARSED_EVERY = 8
"""In one of so many cases, records that nobody has changed are parsed as well."""
WHOLE_EVERY = 500
"""After so many cases, each byte of all directories is held against what it was at first: between two cases only what
the kernel says of a file is looked at."""


MONITOR_READERS: dict[str, Any] = {}


class TooSlow(BaseException):
    """A case took too long."""


@dataclass(kw_only=True)
class Tried:
    """Results of the cases.

    Attributes:
        cases: how many directories were changed and read.
        executions: how many readers ran.
        outcomes: how often each message was given, without what differs between cases; `read` where there was none.
        failures: the first of each kind in words, with what repeats it.
        stopped: whether a signal ended them.
    """

    cases: int = 0
    executions: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: dict[str, str] = field(default_factory=dict)
    stopped: bool = False


Tell = Callable[[Tried], None]


def try_many(count: int, seed: int, only: int | None = None, tell: Tell = lambda tried: None) -> Tried:
    """Tries so many cases in this process, which is confined for ever. `tell` hears now and then of what was tried."""
    place = Path(tempfile.mkdtemp(prefix="tampered-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    try:
        return _try_in(place, range(count) if only is None else range(only, only + 1), seed, tell)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _try_in(place: Path, numbers: range, seed: int, tell: Tell) -> Tried:
    runs, out, outside = place / "runs", place / "out", place / "outside"
    outside.mkdir()
    (outside / SECRET_FILE).write_text(SECRET_TEXT)
    runs_by_name = {name: Tampered(directory, outside) for name, directory in stock(runs).items()}
    MONITOR_READERS.update(readers(runs / OCCURRENCE))
    records = ParsedOnce(
        run.files[name] for run in runs_by_name.values() for name in run.files if name.endswith("/trial.json")
    )
    os.environ |= {"HOME": str(place / "home"), "XDG_STATE_HOME": str(place / "state"), "TMPDIR": str(out)}
    tempfile.tempdir = str(out)
    tried, told_s = Tried(), time.monotonic()
    _warm_up(runs_by_name["native"], out)
    _warm_up_monitor(runs_by_name["monitor"], out)
    if not confine(runs, out, outside):
        print("this kernel has no Landlock: only Python's audit events are watched", file=sys.stderr)
    watch = Watch(runs, out)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    signal.signal(signal.SIGALRM, _stop)
    signal.signal(signal.SIGPROF, _stop)
    for number in numbers:
        records.on = number % PARSED_EVERY != 0
        _try_one(number, seed, runs_by_name, out, watch, tried)
        tried.cases += 1
        if not _is_as_made(outside):
            tried.failures["outside"] = (
                f"--seed {seed} --only {number}: something was written outside: {sorted(os.listdir(outside))}"
            )
            break
        if number % WHOLE_EVERY == 0:
            _check(runs_by_name, records, number, tried)
        if time.monotonic() - told_s >= TOLD_EVERY_S:
            tell(tried)
            told_s = time.monotonic()
        if len(tried.failures) >= MOST_FAILURES:
            break
        tried.stopped = not STOPS.isdisjoint(signal.sigpending())
        if tried.stopped:
            break
    _check(runs_by_name, records, numbers[-1], tried)
    return tried


def _is_as_made(outside: Path) -> bool:
    """True if the folder to which links lead has its first content."""
    return os.listdir(outside) == [SECRET_FILE] and (outside / SECRET_FILE).read_text() == SECRET_TEXT


def _warm_up(run: Tampered, out: Path) -> None:
    """Makes what is made once and kept, before nothing can be written any more, such as matplotlib's list of fonts."""
    sys.dont_write_bytecode = True  # of what is imported later
    out.mkdir(exist_ok=True)
    content = read(run.directory)
    for name, (_, of_reader) in READERS.items():
        if name != "all figures":
            with contextlib.suppress(SixbenchError):
                of_reader(run.directory, content, out, random.Random(1))
    run.restore()
    _empty(out)
    gc.collect()
    gc.freeze()  # what there is by now stays, and need not be looked through again
    gc.set_threshold(100_000)  # of objects: some ten directories


def _warm_up_monitor(run: Tampered, out: Path) -> None:
    readings = read_it(run.directory)
    for _, of_reader in MONITOR_READERS.values():
        of_reader(run.directory, readings, out, random.Random(1))
        run.restore()
    _empty(out)


def _try_one(number: int, seed: int, built: dict[str, Tampered], out: Path, watch: Watch, tried: Tried) -> None:
    dice = random.Random(f"{seed}/{number}")
    name = dice.choice([*built])
    run = built[name]
    of_its_kind = MONITOR_READERS if run.is_monitor else READERS
    tamper(run, [item for item in built.values() if item is not run], dice)
    chosen = dice.choices([*of_its_kind], [weight for weight, _ in of_its_kind.values()])[0]
    if not run.is_monitor and any(change.startswith(FINDINGS) for change in run.done) and dice.random() < 0.8:
        chosen = "runs"  # nobody else reads it
    signal.alarm(HANG_S)
    signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
    watch.on = True
    doing = "read"
    try:
        tried.executions += 1
        content = read_it(run.directory) if run.is_monitor else read(run.directory)
        for problem in content.problems:
            tried.outcomes[_kind(problem)] += 1
        if not content.problems:
            tried.outcomes["read"] += 1
        if content.problems and dice.random() < 0.7:
            return
        doing = chosen
        tried.executions += 1
        of_its_kind[chosen][1](run.directory, content, out, dice)
    except SixbenchError as error:
        tried.outcomes[_kind(str(error))] += 1
        if SECRET in str(error) or not str(error).replace("\n", "").isprintable():
            tried.failures.setdefault(
                f"message: {_kind(str(error))}",
                _failure_report(number, seed, name, run, doing, f"its message is {error!r}"),
            )
    except (Exception, Escape, TooSlow) as error:  # noqa: BLE001, any error but those for users is a finding
        watch.on = False
        frame = traceback.extract_tb(error.__traceback__)[-1]
        kind = f"{type(error).__name__} {frame.filename}:{frame.lineno}"
        tried.failures.setdefault(kind, _failure_report(number, seed, name, run, doing, traceback.format_exc(limit=-9)))
    finally:
        watch.on = False
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        _empty(out)
        run.restore()


def _check(built: dict[str, Tampered], records: ParsedOnce, number: int, tried: Tried) -> None:
    """That every directory is what it was at first, or cases would not follow from their seed alone."""
    for name, run in built.items():
        changed = run.differs()
        if changed is not None:
            tried.failures.setdefault(f"stock {name}", f"{name}: {changed} was not restored, seen after case {number}")
    record = records.changed()
    if record is not None:
        tried.failures.setdefault("record", f"a reader changed the record {record.key}, seen after case {number}")


def _empty(folder: Path) -> None:
    for left in os.scandir(folder):
        shutil.rmtree(left.path) if left.is_dir() else os.unlink(left.path)


def _stop(number: int, frame: FrameType | None) -> None:
    raise TooSlow(f"it took more than {LIMIT_S} s of CPU time, or hung for {HANG_S} s")


def _failure_report(number: int, seed: int, name: str, run: Tampered, doing: str, words: str) -> str:
    changes = "; ".join(change.encode("unicode_escape").decode()[:400] for change in run.done)
    repeat = f"python benches/endurance/tampered_runs.py --seed {seed} --only {number}"
    return f"{repeat}\n  {name}, {doing}: {changes}\n{words[-4000:]}"


_DIFFERS = re.compile(r"/\S+|\"[^\"]*\"|'[^']*'|[-\w]*\d[\w.+-]*")


def _kind(message: str) -> str:
    """A message without names and numbers."""
    return _DIFFERS.sub("#", message.partition("\n")[0])[:160]


def kinds_of(tried: Tried) -> Iterator[str]:
    """The messages with their counts, most frequent first."""
    for message, count in tried.outcomes.most_common():
        yield f"{count:8} {message}".encode("unicode_escape").decode()


def main() -> int:
    """Tries them and tells what was found. The exit code is 1 where there are failures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, metavar="NUMBER", help="try this case only")
    parser.add_argument("--outcomes", action="store_true", help="print every kind of message")
    parser.add_argument("--json", action="store_true", help="the counts as JSON, and these words to standard error")
    chosen = parser.parse_args()
    started_s = time.process_time()

    def tell(tried: Tried) -> None:
        if chosen.json:
            counts = {"cases": tried.cases, "executions": tried.executions, "outcomes": len(tried.outcomes)}
            fields = {"failures": tried.failures, "cpu_s": round(time.process_time() - started_s)}
            print(json.dumps(counts | fields), flush=True)

    tried = try_many(chosen.count, chosen.seed, chosen.only, tell)
    cpu_s = time.process_time() - started_s
    stdout = sys.stderr if chosen.json else sys.stdout
    for failure in tried.failures.values():
        print(failure, file=stdout)
    if chosen.outcomes:
        print(*kinds_of(tried), sep="\n", file=stdout)
    print(
        f"{tried.cases} directories, {tried.executions} executions of readers, "
        f"{len(tried.outcomes)} kinds of outcomes, {len(tried.failures)} kinds of failures, {cpu_s:.0f} s of CPU time",
        file=stdout,
    )
    tell(tried)
    if tried.failures:
        return 1
    return 130 if tried.stopped else 0


if __name__ == "__main__":
    sys.exit(main())
