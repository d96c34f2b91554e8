"""Hands out the blocks of a run to workers, and writes what comes back: each trial once, each block whole.

A block is the unit: its pairs never span machines. It counts when all of its trials are in the run directory, where
they arrive together or not at all. What a rule decides about blocks up to one number is decided when all of these are
there, and no later block begins before it is. So the trials of a run do not depend on how many workers there are, nor
on which of them die.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import InitVar, dataclass, replace
from typing import Protocol

from ..analysis.looks import schedule
from ..analysis.stopping import rules_met
from ..bench.remaining import Remaining
from ..bench.scheduler import RunEnd
from ..model.errors import Bug, CapabilityError, Interrupted, StoreError, WriteError
from ..model.evidence import NO_EVIDENCE
from ..model.experiment import Blocks
from ..model.observer import Observer
from ..model.quoting import printable
from ..model.trial import TrialRecord
from ..plan.schedule import block_order
from ..store import Manifest, RunState, RunWriter, manifest_to_text
from .checking import checked, with_worker
from .messages import BlockJob, BrokenBlock, MeasuredBlock, RefusedBlock, Reply

MOST_ATTEMPTS = 5
"""Number of times that a block is handed out whose workers die. A block that kills each of its workers is no
accident."""

LOOK_S = 2.0
"""Interval of looks for workers that have come or gone, while nothing else happens."""

PATIENCE_S, PATIENCE = 60.0, 3.0
"""A block that takes more than this time, and more than so many times as long as the longest one so far, is handed to
another worker as well, if one has nothing to do."""


@dataclass(frozen=True, kw_only=True)
class JobOutcome:
    """The outcome of a job.

    Attributes:
        reply: of its worker; None where there is none.
        loss: why there is none, after "block 3 is measured once more, because ".
    """

    job: BlockJob
    reply: Reply | None
    loss: str = "its worker is gone"


class Workers(Protocol):
    """The machines that measure, as a sweep sees them. All calls raise `CapabilityError` where they cannot be reached
    any more."""

    def names(self) -> list[str]:
        """The workers that there are now."""

    def hand_out(self, job: BlockJob) -> None:
        """Gives a block to a worker that has none, or to the first that ends."""

    def next(self, timeout_s: float) -> JobOutcome | None:
        """The outcome of a job; None where nothing came in time. Raises `StoreError` for a reply that cannot be
        read."""


def sweep(
    writer: RunWriter,
    done: Sequence[TrialRecord],
    workers: Workers,
    observer: Observer,
    report: Callable[[str], None],
    resume: str,
) -> RunEnd:
    """Runs the blocks that are not done yet on workers.

    Args:
        resume: the command that goes on with the run.
        report: gets sentences on workers that died, and on replies that came late.

    Raises:
        Interrupted: on `KeyboardInterrupt`, with all that is done kept.
        StoreError: the run has part of a block, which no worker can complete.
        CapabilityError: the scheduler has gone, or a worker cannot measure, or what it sent cannot be used.
        WriteError: a block cannot be kept.
        Bug: sixbench itself went wrong on a worker.
    """
    experiment = writer.manifest.experiment
    observer.planned(experiment, str(writer.directory), len(done))
    run = _Sweep(writer, done, workers, observer, report, resume)
    try:
        run.run()
    except BaseException as error:
        with contextlib.suppress(WriteError):
            run.end("interrupted")
        if isinstance(error, KeyboardInterrupt):
            raise Interrupted(
                f"stopped after {run.trials} trials, which are kept in {writer.directory}; continue with: {resume}"
            ) from None
        raise
    run.end("complete" if not run.any_failed else "partial")
    return RunEnd(state=writer.manifest.state, trials=run.trials)


def horizon(blocks: Blocks, decided: int) -> int:
    """The last block that may begin when those up to `decided` are done and their rules were asked: the next one after
    which a rule may end a combination."""
    if blocks.until is not None:
        points: Iterable[int] = schedule(blocks)
    elif blocks.precision is not None or blocks.deviation is not None:
        points = range(blocks.minimum, blocks.maximum + 1)
    else:
        points = ()
    return next((point for point in points if point > decided), blocks.maximum)


@dataclass(frozen=True, kw_only=True)
class _Out:
    job: BlockJob
    since_s: float


@dataclass
class _Sweep:
    writer: RunWriter
    done: InitVar[Sequence[TrialRecord]]
    workers: Workers
    observer: Observer
    report: Callable[[str], None]
    resume: str

    def __post_init__(self, done: Sequence[TrialRecord]) -> None:
        self.experiment = self.writer.manifest.experiment
        self.fence = secrets.token_hex(4)
        self.text = manifest_to_text(_to_hand_out(self.writer.manifest))
        self.started_s = time.monotonic() - _longest_ns(done) / 1e9
        self.combinations = {combination.name: combination for combination in self.experiment.combinations}
        self.open = set(self.combinations)
        self.remaining = Remaining(self.experiment.combinations, done)
        self.records: dict[str, list[TrialRecord]] = {}
        self.blocks: dict[int, set[str]] = {}
        """The keys of the trials that each block has."""
        self.any_failed = False
        self.trials = 0
        for record in done:
            self._remember(record)
        self.decided = 0
        self.is_time_over = False
        self.out: list[_Out] = []
        self.attempts: dict[int, int] = {}
        self.longest_s = 0.0
        self.lab_build_ns: list[int] = []
        self.install_ns: dict[str, list[int]] = {}
        self.is_absence_reported = False

    def run(self) -> None:
        """Until no combination needs another block."""
        self._decide()
        while self.open and self.decided < self.experiment.blocks.maximum:
            self._hand_out()
            if not self.out:
                break  # the time is over; without a worker a block would still be handed out
            self._report()
            arrived = self._next()
            if arrived is not None:
                self._take(arrived)
            self._decide()
        if self.is_time_over:
            for name in sorted(self.open):
                self.observer.stopped(name, ["time"], self.decided)

    def end(self, state: RunState) -> None:
        before = self.writer.manifest
        self.writer.save_manifest(
            state=state,
            ended_realtime_ns=time.time_ns(),
            lab_build_ns=[*before.lab_build_ns, *self.lab_build_ns],
            install_ns=before.install_ns
            | {path: [*before.install_ns.get(path, []), *times] for path, times in self.install_ns.items()},
        )
        self.lab_build_ns, self.install_ns = [], {}
        self.observer.ended(state, self.trials)

    def _is_done(self, block: int) -> bool:
        """True if a block has the trials of all combinations that go on."""
        there = self.blocks.get(block)
        if there is None:
            return False
        order = block_order(self.experiment, block)
        missing = [
            planned_trial.key
            for planned_trial in order
            if planned_trial.combination in self.open and planned_trial.key not in there
        ]
        if missing:
            raise StoreError(
                f"{self.writer.directory} has {len(there)} trials of block {block} and lacks {missing[0]}; a block is "
                "measured whole by one worker, so that no worker can complete it"
            )
        return True

    def _decide(self) -> None:
        """Asks the rules about each block that is done with all before it."""
        while self.open and self._is_done(self.decided + 1):
            self.decided += 1
            self.observer.block_ended(self.decided)
            for name in sorted(self.open):
                so_far = [record for record in self.records.get(name, []) if record.block <= self.decided]
                rules = rules_met(self.experiment, self.combinations[name], so_far)
                if rules:
                    self.observer.stopped(name, rules, self.decided)
                    self.open.discard(name)
                    self.remaining.leaves(name)

    def _hand_out(self) -> None:
        free = len(self.workers.names()) - len(self.out)
        outstanding = {out.job.block for out in self.out}
        for block in range(self.decided + 1, horizon(self.experiment.blocks, self.decided) + 1):
            # One block is handed out even without a worker: the first worker that joins takes it.
            if free <= 0 and self.out:
                return
            if block in outstanding or block in self.blocks:
                continue
            self.is_time_over = self.is_time_over or self._would_end_late(block)
            if self.is_time_over:
                return
            self._give(block)
            free -= 1
        if free > 0:
            self._give_again(outstanding)

    def _give(self, block: int) -> None:
        self.attempts[block] = self.attempts.get(block, 0) + 1
        job = BlockJob(
            run=self.text,
            block=block,
            combinations=tuple(name for name in self.combinations if name in self.open),
            attempt=self.attempts[block],
            fence=self.fence,
        )
        self.out.append(_Out(job=job, since_s=time.monotonic()))
        self.workers.hand_out(job)

    def _give_again(self, outstanding: set[int]) -> None:
        """Hands out a block once more whose worker seems to hang."""
        now_s = time.monotonic()
        for out in self.out:
            is_late = now_s - out.since_s > max(PATIENCE_S, PATIENCE * self.longest_s)
            is_out_once = sum(other.job.block == out.job.block for other in self.out) == 1
            if self.longest_s and is_late and is_out_once and self.attempts[out.job.block] < MOST_ATTEMPTS:
                self.report(f"block {out.job.block} takes very long; another worker measures it as well")
                self._give(out.job.block)
                return

    def _would_end_late(self, block: int) -> bool:
        """True if a block would end after the time of the run. The minimum of blocks is run in any case."""
        blocks = self.experiment.blocks
        if blocks.time_ns is None or block <= blocks.minimum:
            return False
        trials = sum(self.remaining.trials_of_block(self.experiment).values())
        takes_ns = self.remaining.one_block_ns / max(1, self.remaining.combinations) * trials
        return (time.monotonic() - self.started_s) * 1e9 + takes_ns > blocks.time_ns

    def _next(self) -> JobOutcome | None:
        try:
            return self.workers.next(LOOK_S)
        except StoreError as error:
            raise CapabilityError(f"the message of a worker cannot be used: {error}") from error

    def _take(self, arrived: JobOutcome) -> None:
        """Accepts what came, if nothing of it was accepted before."""
        mine = next((out for out in self.out if out.job == arrived.job), None)
        if mine is not None:
            self.out.remove(mine)
        job, reply = arrived.job, arrived.reply
        if reply is None:
            self._lost(job, arrived.loss)
        elif isinstance(reply, BrokenBlock):
            raise Bug(directory=self.writer.directory, resume=self.resume, traceback=reply.traceback)
        elif isinstance(reply, RefusedBlock):
            raise CapabilityError(f"the worker {reply.worker} cannot measure block {job.block}: {reply.why}")
        else:
            if mine is not None:
                self.longest_s = max(self.longest_s, time.monotonic() - mine.since_s)
            self._accept(job, reply)

    def _lost(self, job: BlockJob, loss: str) -> None:
        if self._is_done(job.block):
            return
        if self.attempts[job.block] >= MOST_ATTEMPTS:
            raise CapabilityError(
                f"block {job.block} was handed out {MOST_ATTEMPTS} times, and its outcome never came, the last time "
                f"because {loss}; see the output of the workers"
            )
        self.report(f"block {job.block} is measured once more, because {loss}")

    def _accept(self, job: BlockJob, reply: MeasuredBlock) -> None:
        """Writes the trials of a block, which count from then on; or puts them apart where they are there already."""
        try:
            manifest = with_worker(self.writer.manifest, reply)
            records = checked(job, reply, manifest)
        except StoreError as error:
            raise CapabilityError(
                f"the message of the worker {printable(reply.worker)} cannot be used: {error}"
            ) from error
        if manifest.workers != self.writer.manifest.workers:
            self.writer.save_manifest(workers=manifest.workers, environment=manifest.environment)
        if not self.writer.add_block(job.name, reply.trials, is_late=job.fence != self.fence):
            self.report(
                f"block {job.block} came from {reply.worker} late or twice; it is kept apart and counts nowhere"
            )
            return
        self.lab_build_ns += reply.lab_build_ns
        for path, times in reply.install_ns.items():
            self.install_ns.setdefault(path, []).extend(times)
        for record in records:
            self._remember(record)
            self.remaining.ended(record, None)
            self.observer.trial_ended(record)

    def _remember(self, record: TrialRecord) -> None:
        kept = replace(record, histograms={}, evidence=NO_EVIDENCE, client={}, server={}, notes=[])
        self.records.setdefault(kept.combination, []).append(kept)
        self.blocks.setdefault(kept.block, set()).add(kept.key)
        self.any_failed |= kept.status == "failed"
        self.trials += 1

    def _report(self) -> None:
        names = self.workers.names()
        if not names and not self.is_absence_reported:
            self.report("there is no worker; the run goes on when one comes")
        self.is_absence_reported = not names
        blocks = self.experiment.blocks
        last = blocks.minimum if blocks.may_end_early else blocks.maximum
        last = max(last, horizon(blocks, self.decided) if not self.is_time_over else self.decided)
        left = last - self.decided - sum(self.decided < block <= last for block in self.blocks)
        trials = left * sum(self.remaining.trials_of_block(self.experiment).values())
        each_ns = self.remaining.one_block_ns / max(1, self.remaining.combinations)
        self.observer.progress(self.trials, self.trials + trials, int(trials * each_ns / max(1, len(names))))
        self.observer.blocks_out(sorted({out.job.block for out in self.out}), len(names))


def _to_hand_out(manifest: Manifest) -> Manifest:
    """The parts of a manifest that a worker needs: nothing of what was measured."""
    return replace(manifest, accepted={}, workers={}, bypass=(), lab_build_ns=[], install_ns={}, notes=[], command=[])


def _longest_ns(done: Iterable[TrialRecord]) -> int:
    """The longest measuring time of any worker."""
    by_worker: dict[str | None, int] = {}
    for record in done:
        by_worker[record.worker] = by_worker.get(record.worker, 0) + record.elapsed_ns
    return max(by_worker.values(), default=0)
