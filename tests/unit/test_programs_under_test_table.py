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

[SECTION] = [one for one in SECTIONS if one.name == "programs-under-test"]


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
    found = rows(replace(run, trials=trials))
    assert [(row[0], row[1]) for row in found] == [("ipv6", "r1")] * len(found)
    assert {row[2] for row in found} <= {"ping", "tcp-rr"}
    assert all(row[-1] == "udp [::]:53" for row in found)
    assert sum(int(row[3]) for row in found) == next(used) - 1


def test_without_programs_there_is_no_table() -> None:
    assert rows(standard(1).in_memory()) == []
