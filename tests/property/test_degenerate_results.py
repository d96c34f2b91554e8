"""Trials in which next to nothing happened, such as one datagram in no time. Each is judged and printed."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from workload_results import GOOD

from sixbench.agent.results import check_result
from sixbench.analysis import analyse
from sixbench.bench.measure_trials import assess
from sixbench.model.errors import AgentError
from sixbench.model.evidence import Evidence
from sixbench.model.trial import TrialRecord
from sixbench.model.workload import Side, Workload
from sixbench.model.workloads import WORKLOADS
from sixbench.plan.measure_experiment import as_experiment
from sixbench.report import FORMATS, measure_json, measure_text
from sixbench.store import Environment, Manifest, Run

pytestmark = pytest.mark.computes

FEW = st.sampled_from([0, 0, 1, 1, 2, 10**9])
TEXTS = ("terminal", "md", "csv", "json")


@st.composite
def few_of(draw: st.DrawFn, result: Any) -> Any:
    """The result with some of its numbers replaced by few or none, and with short series."""
    if isinstance(result, dict):
        changed = {key: draw(few_of(value)) for key, value in result.items()}
        if "count" in changed and "buckets" in changed:
            return draw(st.sampled_from([result, {"unit": "ns", "count": 0, "buckets": []}]))
        return changed
    if isinstance(result, bool) or not isinstance(result, int):
        return result
    return draw(FEW) if draw(st.integers(0, 2)) == 0 else result


@st.composite
def series(draw: st.DrawFn) -> dict[str, list[int | None]]:
    """The series of a receiver, whose last interval may have no length."""
    ends = draw(st.lists(FEW, max_size=3).map(sorted))
    column = st.lists(st.one_of(st.none(), FEW), min_size=len(ends), max_size=len(ends))
    return {"t_ns": ends, **{name: draw(column) for name in ("bytes", "datagrams", "transactions", "rtt_mean_ns")}}


def is_right(name: str, params: dict[str, Any], results: dict[Side, Any]) -> bool:
    """True if agents may answer so."""
    kind = WORKLOADS[name]
    parts = {None: (kind.served_by, kind.agent_params(params))}
    if kind.parts is not None:
        parts = {part.name: (part.workload, part.params) for part in kind.parts(params)}  # type: ignore[dict-item]
    try:
        for side, result in results.items():
            for part, (workload, asked) in parts.items():
                of_part = result if part is None else result["parts"][part]
                for repetition in of_part.get("repetitions", [{"probe": of_part}]):
                    check_result(workload, side, asked, repetition["probe"], "a trial")
    except AgentError:
        return False
    return True


@pytest.mark.parametrize("name", GOOD)
@settings(
    max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, phases=[Phase.generate]
)
@given(data=st.data())
def test_a_trial_in_which_next_to_nothing_happened_is_judged_and_printed(name: str, data: st.DataObject) -> None:
    params, client, server = copy.deepcopy(GOOD[name])
    results: dict[Side, Any] = {"client": data.draw(few_of(client)), "server": data.draw(few_of(server))}
    for end in (results["client"], *(end for end in results["client"].values() if isinstance(end, dict))):
        if "series" in end:
            end["series"] = data.draw(series())
    assume(is_right(name, params, results))
    experiment = as_experiment(Workload(kind=name, params=params), "there", (4, 6), 2, "# test\n")
    trials, of_trials = [], {}
    for sequence, (block, path) in enumerate([(1, "ipv4"), (1, "ipv6"), (2, "ipv6"), (2, "ipv4")], start=1):
        verdict = assess(WORKLOADS[name], params, results["client"], results["server"])
        measured = verdict.measured
        record = TrialRecord(
            key=f"b{block:03d}-c0001-{path}",
            sequence=sequence,
            block=block,
            combination="c0001",
            path=path,
            mechanism=f"native{path[-1]}",
            engine="kernel",
            workload=name,
            params=params,
            levels={},
            status=verdict.status,
            reasons=verdict.reasons,
            notes=measured.notes,
            started_realtime_ns=0,
            elapsed_ns=1,
            metrics=measured.metrics,
            histograms=measured.histograms,
            evidence=Evidence(proved=False),
            client=results["client"],
            server=results["server"],
        )
        trials.append(record)
        of_trials[record.key] = measured.series | {"forward_receiver": data.draw(series())}
        assert measure_text.summary(record)
        assert measure_text.one_line(record, sequence, 4)
        measure_text.intervals(record, of_trials[record.key])
    run = Run(directory=Path(), manifest=manifest(experiment), trials=trials)
    analysis = analyse(run)
    assert measure_text.conclusion(experiment, trials, analysis)
    addresses = {"ipv4": ("192.0.2.1", "192.0.2.2"), "ipv6": ("2001:db8::1", "2001:db8::2")}
    text = measure_json.render(run, analysis, port=1, remote={}, addresses=addresses, series=of_trials)
    json.loads(text, parse_constant=pytest.fail)
    for each in TEXTS:
        assert FORMATS[each].render(run, analysis)


def manifest(experiment: Any) -> Manifest:
    environment = Environment(
        kernel="6.18", machine="x", cpu="x", distribution="x", cores=2, memory_bytes=1, versions={}
    )
    return Manifest(
        run="measure", experiment=experiment, environment=environment, state="complete", started_realtime_ns=1
    )
