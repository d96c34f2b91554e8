"""The goodput lacks what late timers of a link lose, and no more. Needs a machine where nothing else runs: a sender
that does not get its processor loses goodput, too."""

from __future__ import annotations

from pathlib import Path

from sixbench.cli import main
from sixbench.store import read_run

EXPERIMENT = """
topology:
  nodes: {h1: host, r1: router, h2: host}
  links: [{endpoints: [h1, r1], rate: 200Mbit}, {endpoints: [r1, h2], rate: 100Mbit, burst: 1538B}]
paths: {ipv4: native4}
workloads: [tcp-stream: {duration: 300ms, warmup: 200ms}]
statistics: {margin: 0.01%}
blocks: 4
repeats: 0
"""


def test_the_goodput_lacks_what_late_timers_lost(tmp_path: Path) -> None:
    file = tmp_path / "experiment.yaml"
    file.write_text(EXPERIMENT)
    main(["run", str(file), "--out", str(tmp_path / "run"), "--quiet"])
    records = list(read_run(tmp_path / "run").trials)
    assert len(records) == 4
    missing, lost = 0.0, 0.0
    for trial in records:
        missing += 1 - trial.metrics["goodput_bps"] / trial.theory["goodput_bps"]
        lost += trial.evidence.timers["r1-h2"]["r1"].lost_ns / 500e6
    # The measured window is only a part of what was watched.
    assert 0.1 * lost < missing < lost + 0.04
