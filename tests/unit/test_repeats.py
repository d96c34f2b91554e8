"""Trials that are repeated because the machine was disturbed: the rule, the loop, what is stored, what is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import synthetic
from pretended_trials import TEXT, TRIAL_NS, Machine, run_on

from sixbench.analysis import analyse
from sixbench.analysis.noise import repeat_remarks
from sixbench.model.experiment import Experiment, PlannedTrial
from sixbench.model.reason import Reason, ReasonKind
from sixbench.model.record_json import record_from_json, record_to_json
from sixbench.model.repeats import next_attempt, repeated, undue_repeats
from sixbench.model.run_events import check_event, trial_ended_event
from sixbench.model.trial import TrialRecord
from sixbench.plan.schedule import all_trials, block_order
from sixbench.report import FORMATS, validity
from sixbench.report.run_description import method, run_properties
from sixbench.store import Run, create_run, open_run, read_run, verify_run, write_derived

pytestmark = pytest.mark.computes

LATE, STEP, CPU = ReasonKind.LATE_TIMERS, ReasonKind.CLOCK_STEP, ReasonKind.CPU_LIMITED
MACHINE = (LATE, STEP, ReasonKind.PROCESSORS_CHANGED, ReasonKind.EMULATOR_LATE)

Read = Callable[[str], Experiment]
Runner = Callable[..., list[TrialRecord]]

FIRST = PlannedTrial(block=1, combination="c0001", path="ipv6")


def trial(*kinds: ReasonKind, planned: PlannedTrial = FIRST, status: str | None = None) -> TrialRecord:
    """A trial with these reasons, as it is recorded."""
    [some, *_] = [
        trial for trial in synthetic.small().trials if trial.path == planned.path and trial.combination == "c0001"
    ]
    return replace(
        some,
        key=planned.key,
        block=planned.block,
        repeat=planned.repeat,
        status=status or ("invalid" if kinds else "ok"),  # type: ignore[arg-type]
        reasons=[Reason(kind=kind, text=f"it is {kind}") for kind in kinds],
    )


# The rule


def test_the_kinds_that_speak_of_the_machine_alone() -> None:
    assert {kind for kind in ReasonKind if Reason(kind=kind, text="").is_of_machine} == set(MACHINE)


@pytest.mark.parametrize(
    ("record", "is_disturbed"),
    [
        (trial(), False),
        (trial(LATE), True),
        (trial(LATE, STEP), True),
        (trial(LATE, CPU), False),
        (trial(ReasonKind.NOTHING_ARRIVED), False),
        (trial(status="invalid"), False),
        (trial(LATE, status="failed"), False),
    ],
)
def test_a_trial_is_repeated_if_each_of_its_reasons_is_of_the_machine(record: TrialRecord, is_disturbed: bool) -> None:
    assert record.is_disturbed is is_disturbed


def test_the_rule_reads_no_metric() -> None:
    assert replace(trial(LATE), metrics={}).is_disturbed is True
    assert replace(trial(CPU), metrics={}).is_disturbed is False


def test_which_attempt_is_next() -> None:
    repeats = [replace(FIRST, repeat=number) for number in (1, 2)]
    recorded: dict[str, TrialRecord] = {}
    for attempt in (FIRST, *repeats):
        assert next_attempt(FIRST, recorded, 2) == attempt
        assert next_attempt(FIRST, recorded, 2) == attempt, "asking changes nothing"
        recorded[attempt.key] = trial(LATE, planned=attempt)
    assert next_attempt(FIRST, recorded, 2) is None
    assert next_attempt(FIRST, {FIRST.key: trial(LATE)}, 0) is None
    recorded[repeats[0].key] = trial(planned=repeats[0])
    assert next_attempt(FIRST, recorded, 2) is None


def test_no_path_is_called_like_a_repeat(read: Read) -> None:
    assert replace(FIRST, repeat=1).key == "b001-c0001-ipv6+1"
    with pytest.raises(Exception, match="cannot name a path"):
        read(TEXT.replace("ipv6: native6", '"ipv6+1": native6'))


# The loop


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Runner:
    def _run(experiment: Experiment, machine: Machine, done: list[TrialRecord] | None = None) -> list[TrialRecord]:
        return run_on(machine, monkeypatch, experiment, done or [])

    return _run


def disturbed(*hits: str, kind: ReasonKind = LATE) -> Callable[[PlannedTrial], list[ReasonKind]]:
    """Attempts of these keys are disturbed."""
    return lambda planned: [kind] if planned.key in hits else []


def test_a_repeat_follows_at_once(read: Read, run: Runner) -> None:
    experiment = read(TEXT + "blocks: 2\n")
    assert experiment.repeats == 2
    order = [all_trial.key for all_trial in all_trials(experiment)]
    hit = order[2]
    machine = Machine(wrong=disturbed(hit, f"{hit}+1"))
    records = run(experiment, machine)
    wanted = [*order[:3], f"{hit}+1", f"{hit}+2", *order[3:]]
    assert machine.began == [record.key for record in machine.records] == wanted
    assert [record.sequence for record in machine.records] == list(range(1, len(wanted) + 1))
    assert [record.status for record in machine.records if record.key.startswith(hit)] == ["invalid", "invalid", "ok"]
    assert repeated(records).valid == 1


def test_a_trial_is_repeated_no_more_often_than_allowed(read: Read, run: Runner) -> None:
    def wrong(planned: PlannedTrial) -> list[ReasonKind]:
        return [LATE]

    for most in (0, 1, 3):
        machine = Machine(wrong=wrong)
        assert len(run(read(TEXT + f"blocks: 1\nrepeats: {most}\n"), machine)) == 4 * (1 + most)


@pytest.mark.parametrize("kind", [CPU, ReasonKind.NOTHING_ARRIVED, ReasonKind.STRAYS, ReasonKind.TESTER_LIMITED])
def test_what_is_no_matter_of_the_machine_is_not_repeated(kind: ReasonKind, read: Read, run: Runner) -> None:
    assert len(run(read(TEXT + "blocks: 1\n"), Machine(wrong=lambda planned: [LATE, kind]))) == 4


def every_third(planned: PlannedTrial) -> list[ReasonKind]:
    """Reasons of an attempt: a disturbance in about every third one, and in the same ones whenever they are made."""
    return [LATE] if sum(map(ord, planned.key)) % 3 == 0 else []


@pytest.mark.parametrize("kind", ["first", "repeat"])
def test_a_run_that_was_killed_between_two_attempts_goes_on_with_the_second(kind: str, read: Read, run: Runner) -> None:
    experiment = read(TEXT + "blocks: 3\n")
    whole = run(experiment, Machine(wrong=every_third))
    keys = [item.key for item in whole]
    repeats = [number for number, key in enumerate(keys, 1) if "+" in key]
    assert len(repeats) > 2
    for number in repeats if kind == "repeat" else set(range(1, len(keys) + 1)) - set(repeats):
        machine = Machine(wrong=every_third, ends_before=number)
        with pytest.raises(KeyboardInterrupt):
            run(experiment, machine)
        again = Machine(wrong=every_third)
        assert [item.key for item in run(experiment, again, machine.records)] == keys
        assert again.began[0] == keys[number - 1]


def test_a_repeat_does_not_begin_that_would_end_too_late(read: Read, run: Runner) -> None:
    experiment = read(TEXT + "blocks: {min: 1, max: 50, time: 12s}\n")
    machine = Machine(wrong=lambda planned: [LATE] if planned.block > 1 else [])
    records = run(experiment, machine)
    assert machine.now_ns <= 12 * TRIAL_NS
    assert max(record.block for record in records) == 2


def test_the_time_that_is_left_has_as_many_repeats_as_there_were(read: Read, run: Runner) -> None:
    machine = Machine(wrong=lambda planned: [] if planned.repeat else [LATE])
    run(read(TEXT + "blocks: 10\n"), machine)
    done, expected, remaining_ns, _ = machine.progress_calls[40]
    planned_left = expected - done
    assert planned_left == 20
    assert remaining_ns == pytest.approx(2 * planned_left * TRIAL_NS, rel=0.1)


# What is stored


def stored(directory: Path, *records: TrialRecord, repeats: int = 2) -> Run:
    base = synthetic.small()
    experiment = replace(base.manifest.experiment, repeats=repeats)
    with create_run(directory, replace(base.manifest, experiment=experiment, state="running")) as writer:
        for number, record in enumerate(records, 1):
            writer.add_trial(replace(record, sequence=number), {})
        writer.save_manifest(state="complete")
    return read_run(directory)


AGAIN, THIRD = replace(FIRST, repeat=1), replace(FIRST, repeat=2)


def test_every_attempt_is_a_record_and_the_manifest_vouches_for_each(tmp_path: Path) -> None:
    actual_stored = stored(tmp_path / "run", trial(LATE), trial(LATE, planned=AGAIN), trial(planned=THIRD))
    assert [(trial.key, trial.repeat, trial.status) for trial in actual_stored.trials] == [
        ("b001-c0001-ipv6", None, "invalid"),
        ("b001-c0001-ipv6+1", 1, "invalid"),
        ("b001-c0001-ipv6+2", 2, "ok"),
    ]
    assert verify_run(actual_stored) == []
    assert actual_stored.manifest.accepted.keys() == {trial.key for trial in actual_stored.trials}
    assert actual_stored.manifest.experiment.repeats == 2
    (tmp_path / "run" / "trials" / AGAIN.key / "trial.json").write_bytes(b"{}")
    assert any(AGAIN.key in problem for problem in verify_run(read_run(tmp_path / "run")))
    writer, _ = open_run(stored(tmp_path / "sound", trial(LATE), trial(planned=AGAIN)).directory)
    writer.close()


@pytest.mark.parametrize(
    ("records", "repeats", "message", "left"),
    [
        (
            [trial(), trial(planned=AGAIN)],
            2,
            "b001-c0001-ipv6, which no disturbance of the machine made invalid",
            [None],
        ),
        ([trial(CPU), trial(planned=AGAIN)], 2, "which no disturbance of the machine made invalid", [None]),
        ([trial(planned=AGAIN)], 2, "what it repeats is not there", []),
        ([trial(LATE), trial(planned=THIRD)], 2, "what it repeats is not there", [None]),
        ([trial(LATE), trial(planned=AGAIN)], 0, "it is repeat 1 of a trial, and the experiment allows 0", [None]),
    ],
)
def test_a_repeat_that_the_rule_does_not_allow_is_no_trial(
    records: list[TrialRecord], repeats: int, message: str, left: list[int | None], tmp_path: Path
) -> None:
    actual_stored = stored(tmp_path / "run", *records, repeats=repeats)
    [problem] = actual_stored.problems
    assert message in problem
    assert "trial.json: damaged trial record" in problem
    assert [trial.repeat for trial in actual_stored.trials] == left


def test_what_repeats_an_undue_repeat_is_undue() -> None:
    records = [trial(), trial(LATE, planned=AGAIN), trial(planned=THIRD)]
    assert [record.repeat for record, _ in undue_repeats(records, 2)] == [1, 2]


def test_runs_of_earlier_versions_have_no_rule() -> None:
    written = json.loads(json.dumps(record_to_json(trial())))
    assert "repeat" not in written
    assert record_from_json(written).repeat is None
    with pytest.raises(ValueError, match="repeat"):
        record_from_json(written | {"repeat": 0})
    assert synthetic.small().manifest.experiment.repeats == 0


# What is told


@pytest.fixture
def run_with_repeats() -> Run:
    """A run whose first trial over IPv6 was disturbed twice, and is valid the third time."""
    return synthetic.disturb(synthetic.small(), FIRST.key, 2).in_memory()


def test_the_repeat_takes_the_place_of_its_trial_in_the_findings(run_with_repeats: Run) -> None:
    undisturbed = synthetic.replace_run(synthetic.small(), experiment=run_with_repeats.manifest.experiment).in_memory()
    ours, theirs = analyse(run_with_repeats), analyse(undisturbed)
    assert [(finding.n, finding.ratio, finding.ci_low) for finding in ours.findings] == [
        (finding.n, finding.ratio, finding.ci_low) for finding in theirs.findings
    ]
    assert [estimate.value for estimate in ours.estimates] == [estimate.value for estimate in theirs.estimates]


def test_what_the_report_says(run_with_repeats: Run) -> None:
    before = validity.trials(synthetic.small().in_memory())
    counted = validity.trials(run_with_repeats)
    assert (counted.repeats, counted.repeats_valid) == (2, 1)
    assert (counted.total, counted.ok) == (before.total + 2, before.ok)
    assert counted.summary.startswith(f"{before.total + 2} trials (2 of them repeats): {before.ok} ok, ")
    assert ("Repeats", "2, of which 1 valid (at most 2 of a trial that the machine disturbed)") in run_properties(
        run_with_repeats
    )
    assert (
        "A trial is repeated at once, at most 2 times, if all of its reasons are disturbances of the machine "
        "(clock-step, emulator-late, late-timers, processors-changed)."
    ) in method(run_with_repeats)
    assert repeat_remarks(run_with_repeats.trials, 2) == [
        "1 trial was repeated within the block because the machine was disturbed (late-timers in 2), by a rule that "
        "was fixed before the run and does not depend on metrics: at most 2 times each. 2 repeats gave 1 valid trial. "
        "The repeated trials are invalid, and are listed."
    ]
    text = FORMATS["terminal"].render(run_with_repeats, analyse(run_with_repeats))
    assert "1 trial was repeated within the block" in " ".join(str(text).split())
    markdown = str(FORMATS["md"].render(run_with_repeats, analyse(run_with_repeats)))
    assert markdown.index("1 trial was repeated") > markdown.index("## Trials that do not count")


def test_a_run_that_repeated_nothing_says_so() -> None:
    small = synthetic.small()
    experiment = replace(small.manifest.experiment, repeats=2)
    assert ("Repeats", "none") in run_properties(synthetic.replace_run(small, experiment=experiment).in_memory())


def test_a_run_without_the_rule_says_nothing_of_it() -> None:
    run = synthetic.small().in_memory()
    assert "repeated" not in method(run)
    assert "Repeats" not in dict(run_properties(run))
    assert repeat_remarks(run.trials, 0) == []


def test_the_table_of_trials_says_which_are_repeats(run_with_repeats: Run, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    write_derived(replace(run_with_repeats, directory=tmp_path / "run"), {})
    column = pq.read_table(tmp_path / "run" / "trials.parquet").column("repeat")
    assert str(column.type) == "int64"
    assert [item for item in column.to_pylist() if item is not None] == [1, 2]


def test_events_say_which_repeat_a_trial_is() -> None:
    event = trial_ended_event(trial(planned=AGAIN), 1)
    assert check_event(event)["repeat"] == 1
    assert "repeat" not in trial_ended_event(trial(), 1)


# The experiment


@pytest.mark.parametrize(
    ("given", "message"),
    [("11", "repeats must be from 0 to 10, not 11"), ("-1", "from 0 to 10"), ("yes", 'a whole number, not "yes"')],
)
def test_a_number_of_repeats_that_is_none(given: str, message: str, problems: Any) -> None:
    [problem] = problems(TEXT + f"repeats: {given}\n")
    assert message in problem


def test_a_plan_has_no_repeats(read: Read) -> None:
    assert all(item.repeat is None for item in block_order(read(TEXT), 1))
