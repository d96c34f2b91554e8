"""What a reader must know of a run beside its findings: state, environment, method, how to do it again."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime

from ..analysis.clock import clock_of
from ..store import Environment, Run
from . import words
from .validity import Trials

STATES = {
    "running": "This run has not ended: what follows is what it has so far.",
    "interrupted": "This run was interrupted: what follows is what it had until then.",
    "partial": "Some trials of this run failed or could not be run.",
}

VERDICTS = {
    "higher": "the whole interval lies above no difference, and the p-value adjusted for many comparisons agrees",
    "lower": "the whole interval lies below no difference, and the p-value adjusted for many comparisons agrees",
    "equivalent": "a test of equivalence shows the difference to be within the margin: too small to matter",
    "inconclusive": "neither a difference nor equivalence is shown: more blocks may tell",
}
"""How to read a verdict; the rules are those of `analysis.findings`."""


def warnings(run: Run, trials: Trials) -> list[str]:
    """What stands before everything else."""
    manifest = run.manifest
    found = [*_virtual_clock(run)]
    if manifest.state in STATES:
        found.append(STATES[manifest.state])
    if manifest.quick:
        found.append(
            "The run was shortened by --quick: its numbers show that the experiment works, and are not for quoting."
        )
    if not trials.total:
        found.append("The run has no trials yet, so there is nothing to report.")
    elif not trials.ok:
        number = words.count(trials.total, "trial")
        found.append(f"None of {number} is valid, so nothing can be compared; the reasons are listed below.")
    elif len({trial.block for trial in run.trials if trial.status == "ok"}) == 1:
        found.append("There is one block only: there are no confidence intervals, and differences prove nothing.")
    return found


def _virtual_clock(run: Run) -> list[str]:
    """That no time of the run is one, where that is so."""
    clock = clock_of(run)
    if clock.kind == "real":
        return []
    rate = "" if clock.instruction_ns is None else f": an instruction is {clock.instruction_ns:g} virtual ns"
    return [
        f"All times of this run are of a virtual clock, which counts instructions of an emulated machine{rate}. They "
        "are the same on any machine, and are no durations: they compare with those of other virtual runs alone."
    ]


def run_facts(run: Run) -> list[tuple[str, str]]:
    """The run in name and value."""
    manifest, experiment = run.manifest, run.manifest.experiment
    facts = [
        ("Experiment", experiment.name),
        ("Run", manifest.run),
        ("State", manifest.state),
        ("Started", _time(manifest.started_realtime_ns)),
    ]
    if manifest.ended_realtime_ns is not None:
        facts.append(("Took", words.duration(manifest.ended_realtime_ns - manifest.started_realtime_ns)))
    if manifest.paper:
        facts.append(("Paper", manifest.paper))
    facts += [
        ("Baseline", experiment.baseline),
        ("Paths", ", ".join(path.name for path in experiment.paths)),
        ("Blocks", _blocks(run)),
        ("Seed", str(experiment.seed)),
    ]
    return facts


def environment_facts(run: Run) -> list[tuple[str, str]]:
    """The machine in name and value: system, versions, settings."""
    environment = run.manifest.environment
    return [
        ("Clock", str(clock_of(run)).removeprefix("a ").removesuffix(" clock")),
        *_kernels(run),
        ("Distribution", environment.distribution),
        ("Machine", environment.machine),
        ("CPU", f"{environment.cpu}, {words.count(environment.cores, 'core')}"),
        ("Memory", f"{environment.memory_bytes / 2**30:.3g} GiB"),
        ("Privileges", environment.privileges),
        *([("Hardware counters", counters)] if (counters := _hardware_counters(run)) else []),
        *((f"Version of {name}", version) for name, version in environment.versions.items()),
        *((name, " ".join(value.split())) for name, value in environment.sysctls.items()),
    ]


def _kernels(run: Run) -> list[tuple[str, str]]:
    """The machine's kernel, or those of the emulated machines."""
    manifest = run.manifest
    guests = manifest.guests or (
        {} if (guest := manifest.environment.guest) is None else {guest.kernel: manifest.environment}
    )
    if not guests:
        return [("Kernel", manifest.environment.kernel)]
    return [(f"Kernel {name}", f"{one.kernel}{_emulated(one)}") for name, one in guests.items()]


def _emulated(environment: Environment) -> str:
    guest = environment.guest
    if guest is None:
        return ""
    seed = "" if guest.seed is None else f", seed {guest.seed}"
    return f" ({guest.emulator}, {guest.accelerator}{seed})"


def method(run: Run) -> str:
    """The statistics in a paragraph."""
    experiment = run.manifest.experiment
    statistics = experiment.statistics
    trim = (
        f" It leaves out the {statistics.trim} lowest and the {statistics.trim} highest trials; intervals use all."
        if statistics.trim
        else ""
    )
    confidence, margin = f"{100 * statistics.confidence:g} %", f"{100 * statistics.margin:g} %"
    cost = packet_cost(run)
    return (
        "The trial is the statistical unit. Trials run in blocks; a block is one pass over all paths in random "
        "order, so that a drift of the machine meets all paths alike. A path is compared with its baseline by the "
        "ratio of the two trials of each block: a change is the geometric mean of these ratios, with its "
        f"{confidence} confidence interval over blocks (Student's t of the log ratios; from ten blocks on the "
        "symmetric studentised bootstrap). Quantities for which zero is ordinary, such as loss, are compared by "
        "their difference. Two paths count as equivalent only where two one-sided tests show the difference to be "
        f"within the margin of {margin}; differences are tested with Holm's adjustment over all findings of one "
        f"metric. A value of one path by itself is the mean of its valid trials.{trim} Invalid and failed trials "
        "are listed, and never enter a value."
    ) + (f" {cost}" if cost else "")


def packet_cost(run: Run) -> str | None:
    """By what the cost of a packet is known: hardware counters, or CPU time alone and why; None where the run was not
    asked for either, as one between two machines."""
    environment = run.manifest.environment
    if clock_of(run).kind == "virtual":
        return (
            "What a packet costs is counted in instructions: those that the emulated machine executed while it was not "
            "idle (/proc/stat), by its clock."
        )
    if environment.hardware_counters is None:
        return None
    if environment.hardware_counters:
        return (
            "What a packet costs is counted in cycles and instructions (perf events, of the whole machine) beside CPU "
            "time (/proc/stat); in CPU time alone where a sender spun for its due times."
        )
    return (
        "What a packet costs is known in CPU time (/proc/stat) alone, not in cycles and instructions: "
        f"{environment.no_hardware_counters}."
    )


def command(run: Run) -> str:
    """The command line that made the run, or one that makes its like."""
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
    done = len({trial.block for trial in run.trials})
    return planned if done == blocks.minimum == blocks.maximum else f"{done} (planned: {planned})"


def _time(realtime_ns: int) -> str:
    return datetime.fromtimestamp(realtime_ns // 10**9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
