"""Facts about a run that a reader must know beside its findings: state, environment, method, how to repeat it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime

from ..analysis.clock import clock_of
from ..model.experiment import Experiment, Statistics
from ..model.finding import Finding
from ..model.reason import OF_MACHINE
from ..model.repeats import repeated
from ..store import Environment, Manifest, Run
from . import rfc, rows, words
from .conditions import node_properties, socket_properties
from .hosts import host_properties
from .processors import processor_properties
from .validity import Trials

STATES = {
    "running": "This run has not ended. The report shows the trials recorded so far.",
    "interrupted": "This run was interrupted. The report shows the trials recorded before that.",
    "partial": "Some trials of this run failed or could not be run.",
}


SEARCHED = (
    "The rates of the trials are chosen by MLRsearch (RFC 9971), one trial after the other. A trial in which the "
    "tester sent too few frames, or was late, is refused. After three attempts it counts neither for nor against the "
    "device, and the search continues at lower rates. All results are computed from the recorded trials."
)
"""The method of tests by an RFC."""


def warnings(run: Run, trials: Trials) -> list[str]:
    """Warnings that stand before everything else."""
    manifest = run.manifest
    names = [*_virtual_clock(run)]
    if manifest.state in STATES:
        names.append(STATES[manifest.state])
    if manifest.quick:
        names.append("The run was shortened by --quick. Its numbers show that the experiment works. Do not quote them.")
    if not trials.total:
        names.append("The run has no trials yet, so the report is empty.")
    elif not trials.ok:
        number = words.count(trials.total, "trial")
        names.append(f"None of {number} is valid, so no comparison is possible. The reasons are listed below.")
    elif manifest.procedure is None and len({trial.block for trial in run.trials if trial.status == "ok"}) == 1:
        names.append("With only one block there are no confidence intervals, so a difference is no evidence.")
    return names


def _virtual_clock(run: Run) -> list[str]:
    """A warning that the run's times are virtual, where they are."""
    clock = clock_of(run)
    if clock.kind == "real":
        return []
    rate = "" if clock.instruction_ns is None else f" An instruction takes {clock.instruction_ns:g} virtual ns."
    return [
        f"All times in this run come from a virtual clock, which counts instructions of an emulated machine.{rate} "
        "These times are the same on any machine. They are not durations. Compare them with other virtual runs only."
    ]


def run_properties(run: Run) -> list[tuple[str, str]]:
    """Properties of the run: name and value."""
    manifest, experiment = run.manifest, run.manifest.experiment
    properties = [
        ("Experiment", experiment.name),
        ("Run", manifest.run),
        ("State", manifest.state),
        ("Started", _time(manifest.started_realtime_ns)),
    ]
    if manifest.ended_realtime_ns is not None:
        properties.append(("Took", words.duration(manifest.ended_realtime_ns - manifest.started_realtime_ns)))
    if manifest.paper:
        properties.append(("Paper", manifest.paper))
    properties += [
        *([("Baseline", _baselines(experiment))] if manifest.procedure is None else []),
        ("Paths", ", ".join(_paths(manifest))),
        *_equipment(experiment),
        *([("Blocks", _blocks(run))] if manifest.procedure is None else rfc.properties(run)),
        *([("Repeats", _repeats(run))] if experiment.repeats else []),
        ("Seed", str(experiment.seed)),
    ]
    return properties


def _paths(manifest: Manifest) -> list[str]:
    """The paths but for those of a tester by itself."""
    testers = () if manifest.procedure is None else manifest.procedure.testers
    return [path.name for path in manifest.experiment.paths if path.name not in testers]


def _equipment(experiment: Experiment) -> list[tuple[str, str]]:
    """The equipment that is tested, and at which interfaces it stands."""
    for topology in experiment.topologies:
        for node in topology.nodes.values():
            if node.equipment is not None:
                ports = " and ".join(port.name for _, port in topology.ports)
                return [("Equipment", f"{node.equipment}, at {ports}")]
    return []


def _baselines(experiment: Experiment) -> str:
    """The baseline, and those of workloads that do not go over it."""
    others = {
        combination.workload.kind: experiment.baseline_of(combination)
        for combination in experiment.combinations
        if not combination.goes_over(experiment.baseline)
    }
    return "; ".join([experiment.baseline, *(f"of {workload}: {name}" for workload, name in others.items())])


def environment_properties(run: Run) -> list[tuple[str, str]]:
    """Properties of the machine: system, versions, settings; name and value. The systems of workers are in a table of
    their own."""
    clock = clock_of(run)
    return [
        ("Clock", f"{clock.kind} clock{clock.rate}" if clock.rate else clock.kind),
        *([] if run.manifest.workers else _machine(run)),
        *host_properties(run),
        *((f"Version of {name}", version) for name, version in _versions(run).items()),
        *processor_properties(run),
        *socket_properties(run),
        *node_properties(run),
    ]


def _versions(run: Run) -> dict[str, str]:
    """The versions that the machine had, or that all workers had."""
    workers = [worker.environment.versions for worker in run.manifest.workers.values()]
    versions = run.manifest.environment.versions
    return {
        name: version for name, version in versions.items() if all(worker.get(name) == version for worker in workers)
    }


def _machine(run: Run) -> list[tuple[str, str]]:
    environment = run.manifest.environment
    return [
        *_kernels(run),
        ("Distribution", environment.distribution),
        ("Machine", environment.machine),
        ("CPU", f"{environment.cpu}, {words.count(environment.cores, 'core')}"),
        ("Memory", f"{environment.memory_bytes / 2**30:.3g} GiB"),
        ("Privileges", environment.privileges),
        *([("Hardware counters", counters)] if (counters := _hardware_counters(run)) else []),
    ]


def _kernels(run: Run) -> list[tuple[str, str]]:
    """The machine's kernel, or those of the emulated machines."""
    manifest = run.manifest
    guests = manifest.guests or (
        {} if (guest := manifest.environment.guest) is None else {guest.kernel: manifest.environment}
    )
    if not guests:
        return [("Kernel", manifest.environment.kernel)]
    return [(f"Kernel {name}", f"{environment.kernel}{_emulated(environment)}") for name, environment in guests.items()]


def _emulated(environment: Environment) -> str:
    guest = environment.guest
    if guest is None:
        return ""
    seed = "" if guest.seed is None else f", seed {guest.seed}"
    return f" ({guest.emulator}, {guest.accelerator}{seed})"


def method(run: Run, findings: Sequence[Finding] = ()) -> str:
    """The statistics in a paragraph, and the meaning of the marks beside the theory of these findings."""
    experiment = run.manifest.experiment
    if run.manifest.procedure is not None:
        return SEARCHED
    statistics = experiment.statistics
    trim = (
        f" It leaves out the {statistics.trim} lowest and the {statistics.trim} highest trials. Intervals use all."
        if statistics.trim
        else ""
    )
    confidence, margin = words.percent(statistics.confidence), words.all_margins(statistics)
    further = [text for text in (packet_cost(run), rows.theory_words(findings)) if text]
    return (
        "The trial is the statistical unit. Trials run in blocks. A block is one pass over all paths in random order, "
        "so that a drift of the machine affects all paths alike. A path is compared with its baseline by the ratio of "
        f"the two trials of each block. {_change_words(statistics.estimator, confidence)} Both values of a comparison "
        "come from its pairs, with the same weights, so they agree with the change. A baseline may therefore have "
        "slightly different values in two comparisons. Quantities for which zero is ordinary, such as loss, are "
        "compared by their difference. Two paths count as equivalent only where two one-sided tests show that the "
        f"difference is within the margin of {margin}. Differences are tested with Holm's adjustment over all findings "
        "of one metric. A difference no larger than the A/A comparison allows is not reported as one. "
        f"{_own_words(statistics)}{trim} Invalid and failed trials are listed and never enter a "
        f"value.{_pool_words(statistics)}{_repeat_words(experiment)}{_looks_words(experiment)}"
    ) + "".join(f" {text}" for text in further)


def _own_words(statistics: Statistics) -> str:
    """Words on the estimator of a path's own value."""
    if statistics.trim or statistics.estimator == "mean":
        return "A value of one path by itself is the mean of its valid trials."
    return (
        "A value of one path by itself is the biweight of the logarithms of its valid trials, or their geometric mean "
        "where there are fewer than five, and the mean where zero is ordinary."
    )


def _change_words(estimator: str, confidence: str) -> str:
    """Words on the estimator of a change and on its interval."""
    if estimator == "mean":
        return (
            f"The change is the geometric mean of these ratios, with its {confidence} confidence interval over blocks "
            "(Student's t of the log ratios, and from ten blocks on the symmetric studentised bootstrap)."
        )
    return (
        f"From five blocks on, the change is Tukey's biweight of the log ratios, with its {confidence} confidence "
        "interval over blocks (the biweight's t). An outlying block, such as one with a disturbed trial, has little or "
        "no weight in it. With fewer blocks outliers cannot be recognised, and the change is the geometric mean of the "
        "ratios, with Student's t interval."
    )


def _pool_words(statistics: Statistics) -> str:
    """Words on the factor whose comparisons are pooled."""
    if statistics.pool is None:
        return ""
    return (
        f" The changes at the levels of {words.factor(statistics.pool)} are pooled by random effects: the variance "
        "between them by Paule and Mandel, the interval of their mean by Hartung, Knapp, Sidik and Jonkman with the "
        "modification of Knapp and Hartung, and the weights from variances that are moderated (Smyth)."
    )


def _repeat_words(experiment: Experiment) -> str:
    """Trials that were repeated."""
    if not experiment.repeats:
        return ""
    kinds = ", ".join(sorted(kind.value for kind in OF_MACHINE))
    return (
        f" A trial is repeated at once, at most {words.count(experiment.repeats, 'time')}, if all of its reasons are "
        f"disturbances of the machine ({kinds}). The rule was fixed before the run and reads no metric. Every attempt "
        "is recorded, and at most the last one counts."
    )


def _looks_words(experiment: Experiment) -> str:
    """Effect of looks before the end on intervals and tests."""
    if experiment.blocks.until is None:
        return ""
    return (
        " Each combination was repeated until its answers were decided. Intervals and p-values allow for all interim "
        "looks at the data (group-sequential, by error spending)."
    )


def packet_cost(run: Run) -> str | None:
    """Source of the cost of a packet: hardware counters, or CPU time only. None where the run recorded neither, as
    between two machines. The properties of the machine say why there are no counters."""
    environment = run.manifest.environment
    if clock_of(run).kind == "virtual":
        return (
            "The cost of a packet is counted in instructions: those that the emulated machine executed while it was "
            "not idle (/proc/stat), by its own clock."
        )
    if environment.hardware_counters is None:
        return None
    if environment.hardware_counters:
        return (
            "The cost of a packet is counted in CPU time (/proc/stat) and in cycles and instructions (perf events of "
            "the whole machine). Where a sender spun to keep its schedule, it is counted in CPU time only."
        )
    return "The cost of a packet is measured in CPU time (/proc/stat) only: there are no hardware counters here."


def command(run: Run) -> str:
    """The command line that made the run, or one that repeats it."""
    manifest = run.manifest
    if manifest.command:
        return shlex.join(manifest.command)
    return shlex.join(["sixbench", "run", manifest.experiment.file, "--seed", str(manifest.experiment.seed)])


def _hardware_counters(run: Run) -> str | None:
    environment = run.manifest.environment
    if environment.hardware_counters is None:
        return None
    return "yes" if environment.hardware_counters else f"no: {environment.no_hardware_counters}"


def _blocks(run: Run) -> str:
    blocks = run.manifest.experiment.blocks
    planned = str(blocks.minimum) if blocks.minimum == blocks.maximum else f"{blocks.minimum} to {blocks.maximum}"
    planned += "" if blocks.until is None else ", until answers are decided"
    planned += "" if blocks.time_ns is None else f", for at most {words.duration(blocks.time_ns)}"
    done = len({trial.block for trial in run.trials})
    return planned if done == blocks.minimum == blocks.maximum else f"{done} (planned: {planned})"


def _repeats(run: Run) -> str:
    most, result = run.manifest.experiment.repeats, repeated(run.trials)
    if not result.repeats:
        return "none"
    return f"{result.repeats}, of which {result.valid} valid (at most {most} of a trial that the machine disturbed)"


def _time(realtime_ns: int) -> str:
    return datetime.fromtimestamp(realtime_ns // 10**9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
