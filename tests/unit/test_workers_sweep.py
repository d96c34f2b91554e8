"""Blocks by workers: whatever dies, comes late or comes twice, each trial is there once, and each block whole."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import synthetic

from sixbench.model.errors import Bug, CapabilityError, Interrupted, SixbenchError, StoreError
from sixbench.model.experiment import Blocks, PlannedTrial
from sixbench.model.observer import Observer
from sixbench.model.reason import Reason, ReasonKind
from sixbench.model.repeats import attempts
from sixbench.plan.schedule import all_trials, block_order, numbered
from sixbench.store import Manifest, Run, WorkerMachine, create_run, open_run, read_run, trial_files, verify_run
from sixbench.workers.messages import (
    BlockJob,
    BrokenBlock,
    MeasuredBlock,
    RefusedBlock,
    Reply,
    job_from_wire,
    job_to_wire,
    reply_from_wire,
    reply_to_wire,
)
from sixbench.workers.sweep import MOST_ATTEMPTS, JobOutcome, horizon, sweep

pytestmark = pytest.mark.computes

BLOCKS = 6
ALL_MEASURED = synthetic.small(BLOCKS)
SMALL_EXPERIMENT = replace(
    ALL_MEASURED.manifest.experiment, combinations=ALL_MEASURED.manifest.experiment.combinations[:1]
)
MEASURED = replace(
    synthetic.replace_run(ALL_MEASURED, experiment=SMALL_EXPERIMENT),
    trials=[trial for trial in ALL_MEASURED.trials if trial.combination == SMALL_EXPERIMENT.combinations[0].name],
)
"""One combination: a block is a trial of each path."""

RECORDS = {trial.key: trial for trial in MEASURED.trials}
RESUME = "sixbench resume it --workers there"

Change = Callable[[MeasuredBlock], Reply | None]


def manifest() -> Manifest:
    return replace(MEASURED.manifest, state="running", ended_realtime_ns=None)


def measured(job: BlockJob, worker: str) -> MeasuredBlock:
    """Answer of a worker about a block."""
    order = block_order(MEASURED.manifest.experiment, job.block)
    trials = {}
    for sequence, planned in enumerate(order, start=(job.block - 1) * len(order) + 1):
        if planned.combination in job.combinations:
            record = replace(RECORDS[planned.key], sequence=sequence, worker=worker, attempt=job.attempt)
            trials[record.key] = trial_files(record, {})
    machine = WorkerMachine(environment=synthetic.environment())
    return MeasuredBlock(worker=worker, machine=machine, lab_build_ns=[1], install_ns={}, trials=trials)


class Pretended:
    """Workers that answer at once, in an order of chance. `becomes` says what becomes of each answer."""

    def __init__(self, seed: int = 0, workers: int = 3, becomes: Change = lambda answer: answer) -> None:
        self.dice = random.Random(seed)
        self.workers = [f"worker{number}" for number in range(workers)]
        self.becomes = becomes
        self.handed_out: list[BlockJob] = []
        self.waiting: list[JobOutcome] = []

    def names(self) -> list[str]:
        return self.workers

    def hand_out(self, job: BlockJob) -> None:
        read, _ = job_from_wire(job_to_wire(job))
        assert read == job
        self.handed_out.append(job)
        answer = self.becomes(measured(job, self.dice.choice(self.workers)))
        self.waiting.append(JobOutcome(job=job, reply=answer))

    def next(self, timeout_s: float) -> JobOutcome | None:
        pop = self.waiting.pop(self.dice.randrange(len(self.waiting)))
        return pop if pop.reply is None else replace(pop, reply=reply_from_wire(reply_to_wire(pop.reply)))


def run(directory: Path, workers: Any) -> Run:
    """A run on workers, from its beginning."""
    with create_run(directory, manifest()) as writer:
        sweep(writer, [], workers, Observer(), lambda _: None, RESUME)
    return read_run(directory)


def keys(result: Run) -> list[str]:
    assert result.problems == ()
    assert verify_run(result) == []
    return sorted(trial.key for trial in result.trials)


ALL = sorted(trial.key for trial in all_trials(MEASURED.manifest.experiment))


@pytest.mark.parametrize("seed", range(4))
def test_the_trials_do_not_depend_on_which_workers_die(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    workers = Pretended(seed, workers=1 + seed % 4, becomes=lambda answer: None if dice.random() < 0.25 else answer)
    done = run(tmp_path / "run", workers)
    assert keys(done) == ALL
    by_block: dict[int, set[tuple[str | None, int | None]]] = {}
    for trial in done.trials:
        by_block.setdefault(trial.block, set()).add((trial.worker, trial.attempt))
    assert all(len(measured_by) == 1 for measured_by in by_block.values())
    assert [trial.sequence for trial in done.trials] == list(range(1, len(ALL) + 1))
    assert done.manifest.apart == 0
    assert set(done.manifest.workers) == {trial.worker for trial in done.trials}


def test_no_more_blocks_are_out_than_there_are_workers(tmp_path: Path) -> None:
    workers = Pretended(workers=2)
    most = 0

    def next_one(timeout_s: float) -> JobOutcome | None:
        nonlocal most
        most = max(most, len(workers.waiting))
        return Pretended.next(workers, timeout_s)

    workers.next = next_one  # type: ignore[method-assign]
    run(tmp_path / "run", workers)
    assert most == 2


def test_what_comes_twice_is_kept_apart_and_counted(tmp_path: Path) -> None:
    workers = Pretended()

    def twice(job: BlockJob) -> None:
        Pretended.hand_out(workers, job)
        workers.waiting.append(JobOutcome(job=job, reply=measured(job, "worker0")))

    workers.hand_out = twice  # type: ignore[method-assign]
    done = run(tmp_path / "run", workers)
    assert keys(done) == ALL
    apart = [trial for block in (tmp_path / "run" / "apart").iterdir() for trial in block.iterdir()]
    assert done.manifest.apart == len(apart) > 0


def test_what_another_orchestrator_asked_for_counts_nowhere(tmp_path: Path) -> None:
    workers = Pretended()

    def strange(job: BlockJob) -> None:
        Pretended.hand_out(workers, job)
        if job.block == 2:
            old = replace(job, fence="0ld")
            workers.waiting.insert(0, JobOutcome(job=old, reply=measured(old, "worker0")))

    workers.hand_out = strange  # type: ignore[method-assign]
    done = run(tmp_path / "run", workers)
    assert keys(done) == ALL
    assert done.manifest.apart == len(block_order(MEASURED.manifest.experiment, 2))


class Stopped(Pretended):
    """Workers of a run that is interrupted after some blocks."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.left = after

    def next(self, timeout_s: float) -> JobOutcome | None:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        return super().next(timeout_s)


def test_an_interrupted_run_is_continued_where_it_was(tmp_path: Path) -> None:
    with create_run(tmp_path / "run", manifest()) as writer, pytest.raises(Interrupted, match=RESUME):
        sweep(writer, [], Stopped(after=3), Observer(), lambda _: None, RESUME)
    writer, so_far = open_run(tmp_path / "run")
    with writer:
        assert len({trial.block for trial in so_far.trials}) == 3
        workers = Pretended()
        sweep(writer, so_far.trials, workers, Observer(), lambda _: None, RESUME)
    assert len(workers.handed_out) == BLOCKS - 3
    assert keys(read_run(tmp_path / "run")) == ALL


def job_of(block: int) -> BlockJob:
    names = tuple(combination.name for combination in MEASURED.manifest.experiment.combinations)
    return BlockJob(run="", block=block, combinations=names, attempt=1, fence="f")


@pytest.mark.parametrize("moved", [0, 1, 3])
def test_a_block_that_had_arrived_when_the_orchestrator_died_is_whole(moved: int, tmp_path: Path) -> None:
    directory, job = tmp_path / "run", job_of(2)
    reply = measured(job, "worker0")
    with create_run(directory, manifest()) as writer:
        writer.save_manifest(workers={"worker0": reply.machine})
        assert writer.add_block(job.name, reply.trials)
    # As it is when the process dies before or while the trials get their places.
    arrived = directory / "arrived" / job.name
    arrived.mkdir()
    for key in sorted(reply.trials)[moved:]:
        (directory / "trials" / key).rename(arrived / key)
    (directory / "accepted.jsonl").unlink()
    (directory / "arrived" / "b003-a1-f.partial").mkdir()
    writer, run_so_far = open_run(directory)
    with writer:
        writer.save_manifest()
    assert sorted(reply.trials) == keys(run_so_far) == keys(read_run(directory))
    assert list((directory / "arrived").iterdir()) == []


def wrong(change: Callable[[dict[str, dict[str, bytes]]], Any]) -> Change:
    def becomes(answer: MeasuredBlock) -> Reply:
        trials = {key: dict(files) for key, files in answer.trials.items()}
        change(trials)
        return replace(answer, trials=trials)

    return becomes


@pytest.mark.parametrize(
    ("becomes", "message"),
    [
        (wrong(lambda trials: trials.popitem()), "asked for"),
        (wrong(lambda trials: trials.update(strange={})), "asked for"),
        (wrong(lambda trials: next(iter(trials.values())).clear()), "no trial record"),
        (wrong(lambda trials: next(iter(trials.values())).update({"trial.json": b"{"})), "not JSON"),
        (wrong(lambda trials: next(iter(trials.values())).update({"../../x": b""})), "not the name of a file"),
        (
            wrong(lambda trials: next(iter(trials.values())).update({f"{number}": b"" for number in range(1000)})),
            "it has 1,0.. files, and a trial has at most 1,000",
        ),
        (lambda answer: replace(answer, worker="worker-x"), "has no worker|another worker"),
        (lambda answer: replace(answer, worker="../x"), "cannot name a worker"),
        (
            lambda answer: RefusedBlock(worker=answer.worker, why="there is no room"),
            "cannot measure block . there is no room",
        ),
    ],
)
def test_what_a_worker_should_not_send_ends_the_run_and_is_not_written(
    becomes: Change, message: str, tmp_path: Path
) -> None:
    with pytest.raises(CapabilityError, match=message.replace(" . ", " [0-9]+: ")):
        run(tmp_path / "run", Pretended(workers=1, becomes=becomes))
    actual_run = read_run(tmp_path / "run")
    assert (actual_run.trials, actual_run.problems, actual_run.manifest.state) == ([], (), "interrupted")


def test_a_bug_on_a_worker_is_a_bug_and_no_failed_trial(tmp_path: Path) -> None:
    with pytest.raises(Bug) as error:
        run(
            tmp_path / "run",
            Pretended(becomes=lambda answer: BrokenBlock(worker=answer.worker, traceback="KeyError: 'x'")),
        )
    assert (error.value.traceback, error.value.resume) == ("KeyError: 'x'", RESUME)


def test_a_block_that_kills_every_worker_is_given_up(tmp_path: Path) -> None:
    workers = Pretended(workers=1, becomes=lambda answer: None)
    with pytest.raises(CapabilityError, match=f"block 1 was handed out {MOST_ATTEMPTS} times"):
        run(tmp_path / "run", workers)
    assert [job.attempt for job in workers.handed_out] == list(range(1, MOST_ATTEMPTS + 1))


def test_a_block_of_which_some_trials_are_there_cannot_go_on(tmp_path: Path) -> None:
    reply = measured(job_of(1), "worker0")
    key, files = sorted(reply.trials.items())[0]
    with create_run(tmp_path / "run", manifest()) as writer:
        writer.save_manifest(workers={"worker0": reply.machine})
        writer.add_files(key, files)
    writer, so_far = open_run(tmp_path / "run")
    with writer, pytest.raises(StoreError, match="measured whole by one worker"):
        sweep(writer, so_far.trials, Pretended(), Observer(), lambda _: None, RESUME)


def test_a_worker_that_is_another_machine_than_before_is_refused(tmp_path: Path) -> None:
    kernels = deque(["6.18.0", "6.19.0"])

    def becomes(answer: MeasuredBlock) -> Reply:
        environment = replace(answer.machine.environment, kernel=kernels.popleft())
        return replace(answer, machine=replace(answer.machine, environment=environment))

    with pytest.raises(CapabilityError, match="another one than before"):
        run(tmp_path / "run", Pretended(workers=1, becomes=becomes))


@pytest.mark.parametrize(
    ("blocks", "decided", "last"),
    [
        (Blocks(minimum=5, maximum=20), 0, 20),
        (Blocks(minimum=5, maximum=20, precision=0.01), 0, 5),
        (Blocks(minimum=5, maximum=20, precision=0.01), 5, 6),
        (Blocks(minimum=8, maximum=40, until="decided"), 0, 8),
        (Blocks(minimum=8, maximum=40, until="decided"), 8, 10),
        (Blocks(minimum=8, maximum=40, until="decided"), 40, 40),
    ],
)
def test_no_block_begins_beyond_the_next_decision(blocks: Blocks, decided: int, last: int) -> None:
    assert horizon(blocks, decided) == last


def test_a_rule_ends_a_run_at_the_same_block_however_many_workers_there_are(tmp_path: Path) -> None:
    experiment = MEASURED.manifest.experiment
    ruled = replace(experiment, blocks=Blocks(minimum=3, maximum=BLOCKS, precision=0.5))
    collected = []
    for number in (1, 2, 5):
        directory = tmp_path / str(number)
        with create_run(directory, replace(manifest(), experiment=ruled)) as writer:
            sweep(writer, [], Pretended(number, workers=number), Observer(), lambda _: None, RESUME)
        collected.append(keys(read_run(directory)))
    assert collected[0] == collected[1] == collected[2]
    assert len(collected[0]) < len(ALL)


REPEATED = replace(MEASURED.manifest.experiment, repeats=2)
LATE = Reason(kind=ReasonKind.LATE_TIMERS, text="late timers kept r1 from sending")


def measured_again(
    job: BlockJob, worker: str, disturbed: Callable[[PlannedTrial], bool], most: int = 2
) -> MeasuredBlock:
    """Answer of a worker about a block, whose disturbed trials it repeats."""
    trials = {}
    for planned, sequence in numbered(REPEATED, job.block):
        for attempt in attempts(planned, most):
            is_hit = disturbed(attempt)
            record = replace(
                RECORDS[planned.key],
                key=attempt.key,
                repeat=attempt.repeat,
                sequence=sequence + (attempt.repeat or 0),
                worker=worker,
                attempt=job.attempt,
                status="invalid" if is_hit else "ok",
                reasons=[LATE] if is_hit else [],
            )
            trials[record.key] = trial_files(record, {})
            if not is_hit:
                break
    machine = WorkerMachine(environment=synthetic.environment())
    return MeasuredBlock(worker=worker, machine=machine, lab_build_ns=[], install_ns={}, trials=trials)


def run_again(directory: Path, disturbed: Callable[[PlannedTrial], bool], most: int = 2) -> Run:
    workers = Pretended()

    def hand_out(job: BlockJob) -> None:
        answer = measured_again(job, workers.dice.choice(workers.workers), disturbed, most)
        workers.waiting.append(JobOutcome(job=job, reply=answer))

    workers.hand_out = hand_out  # type: ignore[method-assign]
    with create_run(directory, replace(manifest(), experiment=REPEATED)) as writer:
        sweep(writer, [], workers, Observer(), lambda _: None, RESUME)
    return read_run(directory)


def test_a_block_comes_with_its_repeats(tmp_path: Path) -> None:
    hit = {ALL[0], ALL[3], f"{ALL[3]}+1"}
    again = run_again(tmp_path / "run", lambda attempt: attempt.key in hit)
    assert keys(again) == sorted([*ALL, f"{ALL[0]}+1", f"{ALL[3]}+1", f"{ALL[3]}+2"])
    sequences = [trial.sequence for trial in again.trials]
    assert len(set(sequences)) == len(sequences)
    assert again.manifest.state == "complete"


def test_a_worker_that_does_not_repeat_what_is_to_be_repeated_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(CapabilityError, match=r"it has no b001-c0001-ipv[46]\+1, though the trial before it is to be"):
        run_again(tmp_path / "run", lambda attempt: attempt.block == 1, most=0)


def test_a_worker_that_repeats_what_was_valid_ends_the_run(tmp_path: Path) -> None:
    def becomes(answer: MeasuredBlock) -> MeasuredBlock:
        key = next(iter(answer.trials))
        record = replace(RECORDS[key], key=f"{key}+1", repeat=1, worker=answer.worker, attempt=1)
        [sequence] = [first for planned, first in numbered(REPEATED, record.block) if planned.key == key]
        more = trial_files(replace(record, sequence=sequence + 1), {})
        return replace(answer, trials={**answer.trials, f"{key}+1": more})

    workers = Pretended(workers=1)

    def hand_out(job: BlockJob) -> None:
        workers.waiting.append(JobOutcome(job=job, reply=becomes(measured_again(job, "worker0", lambda _: False))))

    workers.hand_out = hand_out  # type: ignore[method-assign]
    with (
        create_run(tmp_path / "run", replace(manifest(), experiment=REPEATED)) as writer,
        pytest.raises(CapabilityError, match="which no disturbance of the machine made invalid"),
    ):
        sweep(writer, [], workers, Observer(), lambda _: None, RESUME)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"schema": "sixbench.worker-job/1"}',
        job_to_wire(replace(job_of(1), run="{}")),
        job_to_wire(replace(job_of(99), run="")),
    ],
)
def test_a_job_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(SixbenchError, match="a block that the scheduler handed out"):
        job_from_wire(text)
