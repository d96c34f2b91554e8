"""Reports on processors, and the processors that a manifest can have."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from stored import record

from sixbench.model.errors import StoreError
from sixbench.model.evidence import NO_EVIDENCE
from sixbench.report.processors import processor_properties
from sixbench.store import HostFacts, Manifest, ProcessorUse, Run, create_run, read_run

pytestmark = pytest.mark.computes

AWAKE = ProcessorUse(usable=(0, 1), kept_awake=(0, 1), latency_ns=0)


def of_hosts(manifest: Manifest, **uses: ProcessorUse) -> Manifest:
    """Manifest with hosts that are one kernel in truth but for the last one."""
    last = list(uses)[-1]
    facts = {
        name: HostFacts(kernel="6.18", machine="x86_64", boot_id="b2" if name == last else "b1", processors=use)
        for name, use in uses.items()
    }
    use = ProcessorUse(usable=(0,))
    return replace(manifest, environment=replace(manifest.environment, processors=use, hosts=facts))


def placed(manifest: Manifest, **on: str) -> Manifest:
    """Manifest with nodes on these hosts."""
    [topology, *_] = manifest.experiment.topologies
    nodes = {name: replace(node, on=on.get(name)) for name, node in topology.nodes.items()}
    experiment = replace(manifest.experiment, topologies=(replace(topology, nodes=nodes),))
    return replace(manifest, experiment=experiment)


def test_each_host_is_told_and_those_that_are_one_machine(manifest: Manifest) -> None:
    refused = replace(AWAKE, kept_awake=(), not_kept_awake="lab3: no", latency_ns=None)
    once = replace(AWAKE, not_kept_awake="it went with the connection")
    run = Run(directory=Path(), manifest=of_hosts(manifest, lab1=AWAKE, lab2=once, lab3=refused), trials=[])
    awake = "processors 0 and 1 could be used; a thread of the idle class kept processors 0 and 1 awake"
    assert dict(processor_properties(run)) == {
        "Processors of the run's own machine": "processor 0 could be used; they might sleep",
        "Processors of lab1": f"{awake}; /dev/cpu_dma_latency was 0 µs",
        "Processors of lab2": (
            f"{awake}; for a time it did not (it went with the connection); /dev/cpu_dma_latency was 0 µs; "
            "it is one machine with lab1"
        ),
        "Processors of lab3": "processors 0 and 1 could be used; they could not be kept awake (lab3: no)",
    }


def test_of_how_many_trials_processors_were_kept_awake(manifest: Manifest) -> None:
    use = ProcessorUse(usable=(0, 1), not_kept_awake="it was killed by signal 9")
    ours = replace(manifest, environment=replace(manifest.environment, processors=use))

    def words(*kept: bool | None) -> str:
        trials = [replace(record(), kept_awake=item) for item in kept]
        return dict(processor_properties(Run(directory=Path(), manifest=ours, trials=trials)))["Processors"]

    six = words(*[True] * 6, *[False] * 10)
    assert "kept each of them awake throughout 6 of 16 trials (for a time it did not: it was killed by signal 9)" in six
    assert "they could not be kept awake (it was killed by signal 9)" in words(False, False)


def test_processors_of_nodes_are_named_with_their_hosts(manifest: Manifest) -> None:
    nodes = list(manifest.experiment.topologies[0].nodes)
    item, *others = nodes
    manifest = placed(of_hosts(manifest, lab1=AWAKE, lab2=AWAKE), **dict.fromkeys(others, "lab2"), **{item: "lab1"})
    evidence = replace(NO_EVIDENCE, processors=dict.fromkeys(nodes, (1,)))
    run = Run(directory=Path(), manifest=manifest, trials=[replace(record(), evidence=evidence)])
    [words] = [value for name, value in processor_properties(run) if name.startswith("Placement of ")]
    assert words.startswith(f"{item} on processor 1 of lab1; ")
    assert words.endswith("on processor 1 of lab2")


def test_the_processors_of_hosts_are_read_back(tmp_path: Path, manifest: Manifest) -> None:
    stored = of_hosts(manifest, lab1=AWAKE, lab2=AWAKE)
    create_run(tmp_path / "run", stored)
    assert read_run(tmp_path / "run").manifest.environment == stored.environment


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (ProcessorUse(usable=(0, -1)), "there is a processor -1"),
        (ProcessorUse(kept_awake=(-2,)), "there is a processor -2"),
        (ProcessorUse(latency_ns=-1), "processors wake within -1 ns"),
    ],
)
def test_processors_that_no_machine_has_are_refused(
    tmp_path: Path, manifest: Manifest, use: ProcessorUse, words: str
) -> None:
    create_run(tmp_path / "run", of_hosts(manifest, lab1=AWAKE, lab2=use))
    with pytest.raises(StoreError, match=words):
        read_run(tmp_path / "run")
