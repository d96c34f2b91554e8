"""CPU samples to metrics."""

from __future__ import annotations

from typing import Any

import pytest

from sixbench.bench.cpu import (
    ResourceSample,
    Span,
    agent_cores,
    busy_ns,
    clock_step_ns,
    core_shares,
    find_span,
    machine_cores,
    orchestrator_ns,
    spun_ns,
    throttled,
)
from sixbench.bench.witnesses.machine import machine_changes

pytestmark = pytest.mark.computes

KINDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


def sample(clock_ns: int, *cores: tuple[int, ...], realtime_ns: int | None = None, agent_ns: int = 0) -> ResourceSample:
    return {
        "clock_ns": clock_ns,
        "realtime_ns": 10**18 + clock_ns if realtime_ns is None else realtime_ns,
        "tick_ns": 10_000_000,
        "cores": [dict(zip(KINDS, core, strict=True)) for core in cores],
        "agent_user_ns": agent_ns,
        "agent_system_ns": 2 * agent_ns,
    }


NOTHING = (0,) * 8
SPAN: Span = {
    "from": sample(0, NOTHING, NOTHING),
    "to": sample(10**9, (10, 5, 20, 40, 5, 2, 8, 10), (100, 0, 0, 0, 0, 0, 0, 0), agent_ns=10**8),
}


def test_time_is_told_in_cores() -> None:
    assert machine_cores(SPAN) == pytest.approx(
        {"busy": 1.45, "user": 1.15, "system": 0.2, "softirq": 0.1, "steal": 0.1}
    )
    assert busy_ns(SPAN) == 1_450_000_000
    assert busy_ns(SPAN, are_kept_awake=True) == 1_400_000_000  # niced time is that of the threads that keep them awake
    assert agent_cores(SPAN) == pytest.approx(0.3)


def test_a_machine_that_says_when_it_is_idle_is_known_exactly() -> None:
    span: Span = {"from": sample(0, NOTHING) | {"idle_ns": 7}, "to": sample(10**9, (10,) * 8)}
    span["to"]["idle_ns"] = 600_000_007
    assert busy_ns(span) == 400_000_000
    assert machine_cores(span, spun_ns=100_000_000)["busy"] == pytest.approx(0.3)


def test_what_running_a_trial_takes_is_known_where_it_is_told() -> None:
    span: Span = {"from": SPAN["from"] | {"orchestrator_ns": 5}, "to": SPAN["to"] | {"orchestrator_ns": 12}}
    assert orchestrator_ns(span) == 7
    assert orchestrator_ns(SPAN) == 0


def test_what_heat_slowed_down_is_known_where_the_kernel_counts_it() -> None:
    assert throttled({"from": SPAN["from"] | {"throttled": 5}, "to": SPAN["to"] | {"throttled": 12}}) == 7
    assert throttled(SPAN) == 0


def test_how_busy_each_core_was() -> None:
    assert core_shares(SPAN) == pytest.approx([0.5, 1.0])  # of 90 ms: the hypervisor took 10
    assert core_shares(SPAN, are_kept_awake=True) == pytest.approx([0.4 / 0.9, 1.0])  # 5 are of what kept it awake


def test_what_cannot_be_known_is_absent() -> None:
    no_time = {"from": sample(5, NOTHING), "to": sample(5, NOTHING)}
    assert machine_cores(no_time) == {}
    assert core_shares(no_time) == []
    assert agent_cores(no_time) is None
    hotplug = {"from": sample(0, NOTHING), "to": sample(10**9, NOTHING, NOTHING)}
    assert machine_cores(hotplug) == {}
    assert busy_ns(hotplug) is None
    without = {"from": sample(0), "to": sample(10**9)}
    assert machine_cores(without) == {}
    assert busy_ns(without) is None


@pytest.mark.parametrize(("moved_ns", "step_ns"), [(0, 0), (3_600_000_000_000, 3_600_000_000_000), (-5, -5)])
def test_a_step_of_the_clock(moved_ns: int, step_ns: int) -> None:
    end = sample(10**9, NOTHING, realtime_ns=10**18 + 10**9 + moved_ns)
    assert clock_step_ns({"from": sample(0, NOTHING), "to": end}) == step_ns


@pytest.mark.parametrize(
    ("client", "server", "kinds"),
    [
        ((2, 2), (2, 2), []),
        ((2, 1), (2, 1), ["processors-changed"]),
        ((1, 2), (2, 2), ["processors-changed"]),
        ((0, 2), (2, 2), []),
    ],
)
def test_a_trial_does_not_count_in_which_the_processors_changed(
    client: tuple[int, int], server: tuple[int, int], kinds: list[str]
) -> None:
    sides = [
        {"cpu": {"from": sample(0, *[NOTHING] * before), "to": sample(10**9, *[NOTHING] * after)}}
        for before, after in (client, server)
    ]
    assert [reason.kind for reason in machine_changes(*sides)] == kinds


@pytest.mark.parametrize(
    ("result", "results"),
    [
        ({"cpu": SPAN}, True),
        ({"forward_receiver": {"cpu": SPAN}}, True),
        ({"a": 1, "b": {"cpu": 5}, "c": {"cpu": SPAN}}, True),
        ({}, False),
        ({"cpu": None, "strays": {"connections": 0}}, False),
        ({"deep": {"er": {"cpu": SPAN}}}, False),
    ],
)
def test_where_a_result_has_its_span(result: dict[str, Any], results: bool) -> None:
    assert (find_span(result) is SPAN) is results
    assert results or find_span(result) is None


def test_what_a_sender_spun_is_no_cost() -> None:
    client = {"waits": {"spin_ns": 50_000, "spun_ns": 100_000_000, "warmup_spun_ns": 7}}
    assert (spun_ns(client), spun_ns(client, with_warmup=True), spun_ns({})) == (100_000_000, 100_000_007, 0)
    assert spun_ns({"reverse_sender": client, "strays": {}}) == 100_000_000
    elapsed_ns = SPAN["to"]["clock_ns"] - SPAN["from"]["clock_ns"]
    spun = int(0.2 * elapsed_ns)
    assert machine_cores(SPAN, spun) == pytest.approx(
        {"busy": 1.25, "user": 0.95, "system": 0.2, "softirq": 0.1, "steal": 0.1}
    )
    assert agent_cores(SPAN, spun) == pytest.approx(0.1)
