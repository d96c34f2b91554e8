"""Experiments that are large: planning takes time in proportion to their size, and a limit is told with its line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from types import FrameType
from typing import Any

import pytest
from synthetic import small

from sixbench.bench.estimate import estimate
from sixbench.bench.remaining import Remaining
from sixbench.cli.plan_summary import summary_of
from sixbench.mechanisms import MECHANISMS
from sixbench.model.errors import ExperimentError
from sixbench.model.experiment import Experiment
from sixbench.plan.combinations import MAX_NODES_IN_ALL
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.overrides import apply_quick
from sixbench.plan.schedule import all_trials
from sixbench.plan.yaml_source import parse_yaml

pytestmark = pytest.mark.computes

NETWORK = "topology: {nodes: {h1: host, h2: host}, links: [{endpoints: [h1, h2]}]}\n"
PATHS = "paths: {ipv4: native4, ipv6: native6}\n"


def of_workloads(number: int) -> str:
    entries = "".join(f"  - tcp-rr: {{message: {size}B, response: 1B}}\n" for size in range(1, number + 1))
    return f"{NETWORK}{PATHS}workloads:\n{entries}blocks: 1\n"


def of_links(number: int) -> str:
    return f"topology: {{chain: {number + 1}, rate: 1Gbit}}\n{PATHS}workloads: [ping]\nblocks: 1\n"


def of_networks(number: int) -> str:
    mtus = ", ".join(str(1280 + step) for step in range(number))
    return f"topology: {{chain: 3, mtu: [{mtus}]}}\n{PATHS}workloads: [ping]\nblocks: 1\n"


def of_levels(number: int) -> str:
    sizes = ", ".join(f"{size}B" for size in range(1, number + 1))
    return f"{NETWORK}{PATHS}workloads: [tcp-rr: {{message: [{sizes}]}}]\nblocks: 1\n"


def read(text: str, quick: bool = False) -> Experiment:
    source = parse_yaml(text, "large.yaml")
    return read_experiment(apply_quick(source) if quick else source, MECHANISMS)


def plan(text: str, quick: bool) -> None:
    """All that `sixbench plan --trials` does with a file."""
    experiment = read(text, quick)
    summary_of(experiment, estimate(experiment), "large.yaml", list_trials=True)


def steps(work: Callable[[], None]) -> int:
    """Number of lines of sixbench's own code that the work executes: a measure of time that no other program
    disturbs."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if "sixbench" not in frame.f_code.co_filename:
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("text", [of_workloads, of_levels, of_networks, of_links])
def test_twice_the_size_takes_at_most_about_twice_the_steps(text: Callable[[int], str], quick: bool) -> None:
    plan(text(2), quick)
    small, large = (steps(lambda number=number: plan(text(number), quick)) for number in (60, 120))
    # What is done once for every experiment makes the ratio smaller than 2. Work for each pair would bring it to 4.
    assert large <= 2.2 * small


def test_a_long_list_of_workloads_is_planned() -> None:
    experiment = read(of_workloads(4000))
    assert len(experiment.combinations) == 4000
    assert len({trial.key for trial in all_trials(experiment)}) == 8000


def test_too_many_combinations_are_told_with_their_line() -> None:
    sizes = ", ".join(f"{size}B" for size in range(1, 22))
    with pytest.raises(ExperimentError) as caught:
        read(of_levels(1000).replace("message:", f"response: [{sizes}], message:"))
    assert str(caught.value) == (
        "large.yaml:3: workloads.0.tcp-rr: 21000 combinations of levels are more than 20000; sweep less at once"
    )


def test_too_many_trials_are_told_with_their_line() -> None:
    with pytest.raises(ExperimentError, match=r"large.yaml:\d+: blocks: 220000 trials are more than 200000"):
        read(of_levels(1000).replace("blocks: 1\n", "blocks: 110\n"))


def test_networks_that_are_too_large_in_all_their_forms_are_told_with_their_line() -> None:
    rates = ", ".join(f"{rate}Mbit" for rate in range(1, 102))
    text = of_networks(500).replace("chain: 3", f"chain: 2, rate: [{rates}]")
    assert MAX_NODES_IN_ALL < 500 * 101 * 2
    with pytest.raises(ExperimentError) as caught:
        read(text)
    assert str(caught.value) == (
        "large.yaml:1: topology: 50500 forms of a network of 2 nodes are 101000 nodes in all, more than 100000; "
        "sweep less of the network at once, or make it smaller"
    )


def test_the_time_that_is_left_is_kept_up_to_date_without_a_look_at_all_combinations() -> None:
    small_run = small(blocks=1)
    combinations = small_run.manifest.experiment.combinations
    remaining = Remaining(combinations, small_run.trials)
    before_ns, number = remaining.one_block_ns, remaining.combinations
    slow = replace(small_run.trials[0], elapsed_ns=small_run.trials[0].elapsed_ns + 10**10)
    assert steps(lambda: remaining.ended(slow, slow.elapsed_ns)) < 40
    assert remaining.one_block_ns > before_ns
    for combination in combinations:
        remaining.leaves(combination.name)
    assert (number, remaining.combinations, remaining.one_block_ns) == (len(combinations), 0, 0)
