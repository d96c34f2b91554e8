"""Cycles and instructions: from the agent's answers to metrics and words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
import synthetic
from synthetic_analysis import plain_analysis

from sixbench.agent import Agent
from sixbench.agent.requests.request import Answered, Request
from sixbench.bench.hardware_counters import Counted, HardwareCounters, ask, hardware_metrics, hardware_notes
from sixbench.cli.doctor_command import counters_capability
from sixbench.model.errors import AgentError
from sixbench.model.observation import PerfAnswer
from sixbench.report import FORMATS, html
from sixbench.report.terminal import render as render_terminal

pytestmark = pytest.mark.computes

COUNTS = {"cycles": 9_000, "instructions": 4_500, "cpus": 2, "enabled_ns": 2_000, "running_ns": 2_000}
REFUSED = AgentError("system", "h1: counting cycles and instructions on CPU 0: perf_event_open failed")


perf = PerfAnswer.model_validate


class Scripted:
    """An agent that answers so to each operation, and remembers what it was asked."""

    def __init__(self, **answers: dict[str, Any] | AgentError) -> None:
        self.name = "h1"
        self.answers = answers
        self.asked: list[str] = []

    def answer(self, request: Request[Answered], **_: Any) -> Answered:
        self.asked.append(request.op)
        answer = self.answers[request.op.removeprefix("perf-")]
        if isinstance(answer, AgentError):
            raise answer
        return request.read(answer)


def counted(agent: Scripted) -> Counted:
    counters = HardwareCounters(cast(Agent, agent))
    counters.start()
    counters.stop()
    counters.stop()
    return counters.counted


def test_what_was_counted_is_kept_once() -> None:
    agent = Scripted(start={}, stop=COUNTS)
    assert counted(agent) == Counted(counts=perf(COUNTS))
    assert agent.asked == ["perf-start", "perf-stop"]


def test_a_kernel_that_refuses_is_asked_nothing_more_and_its_reason_is_known() -> None:
    agent = Scripted(start=REFUSED)
    actual_counted = counted(agent)
    assert (actual_counted.counts, actual_counted.lost, agent.asked) == (None, None, ["perf-start"])
    assert actual_counted.refused is not None
    assert "perf_event_open failed" in actual_counted.refused
    assert hardware_notes(actual_counted) == [], "it is told once, of the run"
    assert ask(cast(Agent, Scripted(start=REFUSED))) == actual_counted.refused.removeprefix("h1: ")
    assert ask(cast(Agent, Scripted(start={}, stop=COUNTS))) is None


def test_counters_that_never_ran_are_told_of_the_trial() -> None:
    lost = AgentError("system", "reading the counters: they never ran")
    actual_counted = counted(Scripted(start={}, stop=lost))
    assert actual_counted.counts is None
    assert "they never ran" in hardware_notes(actual_counted)[0]
    assert "they never ran" in (ask(cast(Agent, Scripted(start={}, stop=lost))) or "")


@pytest.mark.parametrize("where", ["start", "stop"])
def test_an_agent_in_trouble_is_no_refusal(where: str) -> None:
    answers: dict[str, Any] = {"start": {}, "stop": COUNTS} | {where: AgentError("agent-died", "it is gone")}
    with pytest.raises(AgentError, match="it is gone"):
        counted(Scripted(**answers))


def test_counts_are_told_by_packet_and_by_cycle() -> None:
    assert hardware_metrics(perf(COUNTS), 3) == {
        "cycles_per_packet": 3_000,
        "instructions_per_packet": 1_500,
        "instructions_per_cycle": 0.5,
    }


@pytest.mark.parametrize(
    ("counts", "packets", "known"),
    [
        (COUNTS, 0, {"instructions_per_cycle"}),
        (COUNTS | {"cycles": 0}, 3, set()),
        (COUNTS | {"instructions": 0}, 3, set()),
    ],
)
def test_what_is_not_known_is_absent(counts: dict[str, int], packets: int, known: set[str]) -> None:
    assert set(hardware_metrics(perf(counts), packets)) == known


def test_scaled_counts_say_so() -> None:
    assert hardware_notes(Counted(counts=perf(COUNTS))) == []
    (note,) = hardware_notes(Counted(counts=perf(COUNTS | {"running_ns": 500})))
    assert "the counters ran for only 25 % of the time" in note


def test_doctor_says_why_there_are_none() -> None:
    assert (counters_capability(None).answer, counters_capability(None).required) == ("yes", False)
    without = counters_capability("no such file")
    assert (without.answer, without.reason) == ("no", "no such file")


def report(form: str, **changes: Any) -> str:
    small = synthetic.standard(blocks=2)
    environment = replace(small.manifest.environment, **changes)
    run = synthetic.replace_run(small, environment=environment).in_memory()
    analysis = plain_analysis(run)
    if form == "everything":
        return render_terminal(run, analysis, everything=True, width=500)
    return FORMATS[form].render(run, analysis)


@pytest.mark.parametrize("form", ["html", "md", "everything"])
def test_reports_say_by_what_the_cost_of_a_packet_is_known(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "drawings", lambda run, analysis: [])  # figures need a run that is on a disk
    assert "The cost of a packet" not in report(form)
    without = report(form, hardware_counters=False, no_hardware_counters="none were to be had")
    assert "in CPU time (/proc/stat) only: there are no hardware counters here" in without
    # Among the properties of the machine, which a terminal's report leaves out, and nowhere else.
    assert without.count("none were to be had") == (form != "everything")
    assert "in cycles and instructions (perf events" in report(form, hardware_counters=True)
