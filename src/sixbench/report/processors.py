"""Use of the machine's processors by a run: those that were kept awake, and the placement of nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..store import ProcessorUse, Run
from . import words
from .evidence import by_path
from .evidence.processors import ProcessorSum
from .once import once_a_run


@once_a_run
def processor_properties(run: Run) -> list[tuple[str, str]]:
    """Name and value; nothing of a run that did not record it. Those of workers stand in their own table."""
    environment = run.manifest.environment
    use = None if run.manifest.workers else environment.processors
    by_trial = [] if environment.hosts else [trial.kept_awake for trial in run.trials if trial.kept_awake is not None]
    name = "Processors of the run's own machine" if environment.hosts else "Processors"
    pairs = [] if use is None else [(name, _use_words(use, by_trial))]
    kernels: dict[str | None, str] = {}
    for host, facts in environment.hosts.items():
        same = kernels.setdefault(facts.boot_id, host) if facts.boot_id is not None else host
        if facts.processors is not None:
            text = "" if same == host else f"; it is one machine with {same}"
            pairs.append((f"Processors of {host}", _use_words(facts.processors) + text))
    placed: dict[str, dict[str, None]] = {}
    on = {node.name: node.on for topology in run.manifest.experiment.topologies for node in topology.nodes.values()}
    placements = (placement for sums in by_path(run) for placement in sums.of(ProcessorSum).placements)
    for placement in sorted(placements, key=lambda placement: placement.sequence):
        placed.setdefault(placement.workload, {})[_placement_words(placement.processors, on)] = None
    return pairs + [(f"Placement of {workload}", "; or ".join(places)) for workload, places in placed.items()]


def _use_words(use: ProcessorUse, by_trial: Sequence[bool] = ()) -> str:
    """Use of the processors of a machine.

    Args:
        by_trial: whether they were kept awake throughout each trial, where records tell it of this machine alone.
    """
    words_of = [f"{_listed(use.usable)} could be used"]
    if any(by_trial) and use.not_kept_awake is not None:
        of_trials = f"{sum(by_trial)} of {words.count(len(by_trial), 'trial')}"
        words_of.append(
            f"a thread of the idle class kept each of them awake throughout {of_trials} "
            f"(for a time it did not: {use.not_kept_awake})"
        )
    elif use.kept_awake:
        words_of.append(f"a thread of the idle class kept {_listed(use.kept_awake)} awake")
        if use.not_kept_awake is not None:
            words_of.append(f"for a time it did not ({use.not_kept_awake})")
    elif use.not_kept_awake is not None:
        words_of.append(f"they could not be kept awake ({use.not_kept_awake})")
    else:
        words_of.append("they might sleep")
    if use.latency_ns is not None:
        words_of.append(f"/dev/cpu_dma_latency was {use.latency_ns / 1000:g} \N{MICRO SIGN}s")
    if use.governors:
        words_of.append(f"their frequency was governed by {words.listing(use.governors)}")
    return "; ".join(words_of)


def _placement_words(processors: Mapping[str, Sequence[int]], on: Mapping[str, str | None]) -> str:
    """Such as `client, router, server on 1`, or `client on processor 1 of lab1`."""
    nodes: dict[tuple[tuple[int, ...], str | None], list[str]] = {}
    for node, numbers in processors.items():
        nodes.setdefault((tuple(numbers), on.get(node)), []).append(node)
    if len(nodes) == 1:
        [(numbers, host)] = nodes
        return f"all nodes on {_listed(numbers)}{_of_host(host)}"
    return "; ".join(
        f"{words.listing(names)} on {_listed(processors)}{_of_host(host)}"
        for (processors, host), names in nodes.items()
    )


def _of_host(host: str | None) -> str:
    return "" if host is None else f" of {host}"


def _listed(processors: Sequence[int]) -> str:
    name = "processor" if len(processors) == 1 else "processors"
    return f"{name} {words.listing([str(processor) for processor in processors])}"
