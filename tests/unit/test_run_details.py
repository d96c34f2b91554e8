"""Runs of very many trials: what of their records is in memory, and how often their files are read."""

from __future__ import annotations

from pathlib import Path

import pytest
import synthetic

from sixbench.analysis import analyse
from sixbench.model.errors import StoreError
from sixbench.model.record_json import record_to_json
from sixbench.model.trial import TrialRecord
from sixbench.report import FORMATS
from sixbench.store import Run, adopt_trials, create_run, details, read_run

pytestmark = pytest.mark.computes

KEPT_BYTES = 15_000
"""Room for the details of five records."""


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """The details of few trials are kept."""
    monkeypatch.setattr(details, "MOST_KEPT_BYTES", KEPT_BYTES)


def details_of(run: Run) -> details.Details:
    """Details of a run's trials."""
    [detail] = {trial._details for trial in run.trials if isinstance(trial, details.LightRecord)}
    return detail


@pytest.mark.usefixtures("few")
def test_a_long_run_keeps_the_details_of_few_trials_and_gives_those_of_all(tmp_path: Path) -> None:
    small_run = synthetic.small()
    run = small_run.write(tmp_path / "run")
    sizes = [len(file.read_bytes()) for file in sorted((tmp_path / "run" / "trials").glob("*/trial.json"))]
    assert sum(sizes) > 4 * KEPT_BYTES
    assert run.trials == small_run.trials
    assert [record_to_json(trial) for trial in run.trials] == [record_to_json(trial) for trial in small_run.trials]
    kept = details_of(run)._kept
    assert kept
    assert sum(sizes[: len(kept)]) <= KEPT_BYTES


@pytest.mark.usefixtures("few")
def test_what_trials_share_is_in_memory_once(tmp_path: Path) -> None:
    """However many blocks: as many parameters, levels and theories as combinations and paths have."""

    def objects(blocks: int) -> int:
        trials = synthetic.small(blocks).write(tmp_path / str(blocks)).trials
        return len({id(item) for trial in trials for item in (trial.params, trial.levels, trial.theory)})

    assert objects(2) == objects(6)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("form", ["json", "html", "terminal", "md"])
def test_a_report_reads_each_record_a_few_times_however_many_there_are(tmp_path: Path, form: str) -> None:
    """Once for the evidence, for the sockets, for the processors and for figures; a second form reads no more."""
    run = synthetic.small(8).write(tmp_path / "run")
    known = details_of(run)
    before = known.reads
    analysis = analyse(run)
    assert known.reads == before
    FORMATS[form].render(run, analysis)
    assert known.reads <= 4 * len(run.trials)
    so_far = known.reads
    FORMATS["json"].render(run, analysis)
    assert known.reads <= max(so_far, 3 * len(run.trials))


@pytest.mark.usefixtures("few")
def test_what_is_kept_is_not_read_again_and_the_rest_once_for_all_its_parts(tmp_path: Path) -> None:
    run = synthetic.small().write(tmp_path / "run")
    known = details_of(run)
    for _ in range(2):
        before = known.reads
        assert [(trial.evidence, trial.histograms) for trial in run.trials]
        assert known.reads - before == len(run.trials) - len(known._kept)


def test_a_run_of_thousands_of_small_records_is_read_once(tmp_path: Path) -> None:
    """A report of 5,000 trials of 2.7 KB reads no record again."""
    run = synthetic.small().write(tmp_path / "run")
    assert details.MOST_KEPT_BYTES >= 5000 * 2700
    FORMATS["md"].render(run, analyse(run))
    assert details_of(run).reads == 0


@pytest.mark.usefixtures("few")
def test_a_record_that_changes_while_the_run_is_read_is_told(tmp_path: Path) -> None:
    run = synthetic.small().write(tmp_path / "run")
    first = max(run.trials, key=lambda trial: trial.key)  # those that are read first are kept
    file = tmp_path / "run" / "trials" / first.key / "trial.json"
    file.write_text(file.read_text().replace('"captured', '"Captured'))
    with pytest.raises(StoreError, match=rf"{first.key}/trial.json: it was changed while the run was read"):
        _ = first.evidence


@pytest.mark.usefixtures("few")
def test_a_run_that_is_continued_takes_over_records_whole(tmp_path: Path) -> None:
    small_run = synthetic.small()
    run = small_run.write(tmp_path / "from")
    adopt_trials(create_run(tmp_path / "to", small_run.manifest), run, after=0)

    def whole(trials: list[TrialRecord]) -> list[object]:
        return [(trial.key, trial.evidence, trial.histograms) for trial in trials]

    assert whole(read_run(tmp_path / "to").trials) == whole(small_run.trials)
