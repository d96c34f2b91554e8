"""Timers of links' rates that run late: what the kernel tells of them is what the goodput lacks."""

from __future__ import annotations

from pathlib import Path

from sixbench.cli import main
from sixbench.model.trial import TrialRecord
from sixbench.store import read_run

EXPERIMENT = """
topology:
  nodes: {{h1: host, r1: router, h2: host}}
  links: [{{endpoints: [h1, r1], rate: 200Mbit}}, {{endpoints: [r1, h2], rate: 100Mbit{burst}}}]
paths: {{ipv4: native4}}
workloads: [tcp-stream: {{duration: 300ms, warmup: 200ms}}]
statistics: {{margin: {margin}}}
blocks: 2
"""


def trials(directory: Path, burst: str = "", margin: str = "1%") -> list[TrialRecord]:
    file = directory / "experiment.yaml"
    file.write_text(EXPERIMENT.format(burst=burst, margin=margin))
    main(["run", str(file), "--out", str(directory / "run"), "--quiet"])
    return list(read_run(directory / "run").trials)


def test_the_timers_of_the_link_that_is_the_limit_are_seen(tmp_path: Path) -> None:
    for trial in trials(tmp_path):
        timers = trial.evidence.timers["r1-h2"]["r1"]
        # A packet of 1538 bytes on the wire each 123 us, for 500 ms: most of them waited for a timer.
        assert timers.expired > 1000
        assert timers.worst_ns > 0


def test_a_bucket_without_room_loses_what_its_timer_is_late_for(tmp_path: Path) -> None:
    # With room for one frame, nearly all lateness is lost. What is missing is never more than that, but the measured
    # window is only a part of what was watched.
    missing, lost = 0.0, 0.0
    for trial in trials(tmp_path, burst=", burst: 1538B", margin="0.01%"):
        timers = trial.evidence.timers["r1-h2"]["r1"]
        assert timers.slack_ns == 24 * 80
        assert timers.late > 0.1 * timers.expired
        assert trial.status == "invalid"
        assert "late-timers" in [reason.kind for reason in trial.reasons]
        missing += 1 - trial.metrics["goodput_bps"] / trial.theory["goodput_bps"]
        lost += timers.lost_ns / 500e6
    assert 0.1 * lost < missing < lost + 0.02
