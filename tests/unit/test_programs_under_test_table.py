"""The table of what programs under test used: a row for each program and workload, over the valid trials."""

from __future__ import annotations

from dataclasses import replace

import pytest
from synthetic import standard

from sixbench.analysis import analyse
from sixbench.model.evidence.programs import ProgramUse
from sixbench.report.sections import SECTIONS, ReportData
from sixbench.store import Run

pytestmark = pytest.mark.computes

[SECTION] = [section for section in SECTIONS if section.name == "programs-under-test"]


def rows(run: Run) -> list[list[str]]:
    [*tables] = SECTION.filled(ReportData.of(run, analyse(run)))
    return [row for table in tables for row in table.rows]


def test_a_row_has_the_median_time_and_the_most_memory_of_each_workload() -> None:
    run = standard(2).in_memory()
    used = iter(range(1, 1000))
    trials = []
    for trial in run.trials:
        if trial.path != "ipv6" or trial.workload not in ("ping", "tcp-rr"):
            trials.append(trial)
            continue
        number = next(used)
        program = ProgramUse(
            cpu_ns=number * 10**6, peak_memory_bytes=number << 20, processes=1, listening=("udp [::]:53",)
        )
        evidence = replace(trial.evidence, programs={"r1": program})
        trials.append(replace(trial, status="ok", reasons=[], evidence=evidence, elapsed_ns=10**9))
    actual_rows = rows(replace(run, trials=trials))
    assert [(row[0], row[1]) for row in actual_rows] == [("ipv6", "r1")] * len(actual_rows)
    assert {row[2] for row in actual_rows} <= {"ping", "tcp-rr"}
    assert all(row[-1] == "udp [::]:53" for row in actual_rows)
    assert sum(int(row[3]) for row in actual_rows) == next(used) - 1


def test_without_programs_there_is_no_table() -> None:
    assert rows(standard(1).in_memory()) == []
