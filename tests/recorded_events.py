"""Events of runs that never took place, as their observers get them."""

from __future__ import annotations

from collections.abc import Iterable

import synthetic

from sixbench.model.experiment import PlannedTrial
from sixbench.model.observer import Arrived, Observer, SenderSample
from sixbench.model.trial import TrialRecord


def tell_all(log: Observer, run: synthetic.Synthetic) -> None:
    """Each kind of event, and every trial."""
    experiment = run.manifest.experiment
    [combination, *_] = experiment.combinations
    log.planned(experiment, "runs/small", 0)
    log.progress(0, 24, 5 * 10**9, 1)
    log.trial_begins(experiment, combination, PlannedTrial(block=1, combination=combination.name, path="ipv6"))
    log.built("ipv6", 0, 10**8)
    log.arrived(Arrived(key="b001-c0001-ipv6", flow="", direction="forward", from_ns=0, to_ns=10**8, received_bytes=7))
    log.sampled(
        SenderSample(
            key="b001-c0001-ipv6",
            flow="",
            direction="forward",
            t_ns=10**8,
            rtt_ns=5,
            cwnd_packets=1.5,
            retransmits=None,
        )
    )
    for record in run.trials:
        log.trial_ended(record)
    log.block_ended(1)
    log.stopped(combination.name, ["precision"], 1)
    log.ended("partial", len(run.trials))
    log.report_written("runs/small/report.html")


def tell_until(log: Observer, run: synthetic.Synthetic, trials: Iterable[TrialRecord], under_way: TrialRecord) -> None:
    """A run in the midst of a trial."""
    experiment = run.manifest.experiment
    combinations = {combination.name: combination for combination in experiment.combinations}
    log.planned(experiment, "runs/live", 0)
    done = 0
    for record in trials:
        log.trial_ended(record)
        done += 1
    log.progress(done, len(run.trials), 95 * 10**9)
    planned = PlannedTrial(block=under_way.block, combination=under_way.combination, path=under_way.path)
    log.trial_begins(experiment, combinations[under_way.combination], planned)
    tell_within(log, under_way)


def tell_within(log: Observer, under_way: TrialRecord) -> None:
    """Tells what both ends see in 1.2 s of a trial of TCP, or of UDP, of which nothing comes between 0.5 and 0.6 s."""
    for number in range(12):
        if under_way.workload == "udp-stream":
            comes = number != 5
            log.arrived(
                Arrived(
                    key=under_way.key,
                    flow="",
                    direction="forward",
                    from_ns=number * 10**8,
                    to_ns=(number + 1) * 10**8,
                    received_bytes=850 * 1460 * comes,
                    datagrams=850 * comes,
                    lost_middle=number % 3,
                    jitter_rfc3550_ns=(210 + 20 * (number % 4)) * 1e3 if comes else None,
                )
            )
            continue
        received = 1_100_000 + 40_000 * (number % 3)
        log.sampled(
            SenderSample(
                key=under_way.key,
                flow="",
                direction="forward",
                t_ns=number * 10**8,
                rtt_ns=(8 + number % 4) * 10**6,
                cwnd_packets=60.0 + 8 * number,
                retransmits=number // 5,
            )
        )
        log.arrived(
            Arrived(
                key=under_way.key,
                flow="",
                direction="forward",
                from_ns=number * 10**8,
                to_ns=(number + 1) * 10**8,
                received_bytes=received,
            )
        )
