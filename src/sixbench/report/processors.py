"""What a run did with the machine's processors: which were kept awake, and where nodes ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..store import ProcessorUse, Run
from . import words
from .once import once_a_run


@once_a_run
def processor_properties(run: Run) -> list[tuple[str, str]]:
    """Name and value; nothing of a run that did not record it. Those of cells stand in their own table."""
    use = None if run.manifest.cells else run.manifest.environment.processors
    found = [] if use is None else [("Processors", _use_words(use))]
    placed: dict[str, dict[str, None]] = {}
    for trial in run.trials:
        processors = trial.evidence.processors
        if trial.status == "ok" and processors:
            placed.setdefault(trial.workload, {})[_placement_words(processors)] = None
    return found + [(f"Placement of {workload}", "; or ".join(places)) for workload, places in placed.items()]


def _use_words(use: ProcessorUse) -> str:
    words_of = [f"{_listed(use.usable)} could be used"]
    if use.kept_awake:
        words_of.append(f"a thread of the idle class kept {_listed(use.kept_awake)} awake")
    elif use.not_kept_awake is not None:
        words_of.append(f"they could not be kept awake ({use.not_kept_awake})")
    else:
        words_of.append("they might sleep")
    if use.latency_ns is not None:
        words_of.append(f"/dev/cpu_dma_latency was {use.latency_ns / 1000:g} \N{MICRO SIGN}s")
    if use.governors:
        words_of.append(f"their frequency was governed by {words.listing(use.governors)}")
    return "; ".join(words_of)


def _placement_words(processors: Mapping[str, Sequence[int]]) -> str:
    """Such as `client, router, server on 1`."""
    nodes: dict[tuple[int, ...], list[str]] = {}
    for node, own in processors.items():
        nodes.setdefault(tuple(own), []).append(node)
    if len(nodes) == 1:
        [own] = nodes
        return f"all nodes on {_listed(own)}"
    return "; ".join(f"{words.listing(names)} on {_listed(own)}" for own, names in nodes.items())


def _listed(processors: Sequence[int]) -> str:
    name = "processor" if len(processors) == 1 else "processors"
    return f"{name} {words.listing([str(one) for one in processors])}"
