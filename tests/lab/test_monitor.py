"""A monitor of a real network: a link that becomes slower is found, and told by the exit code."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from lab.commands import SIXBENCH

EXPERIMENT = """
experiment: watched
topology: {{nodes: {{h1: host, h2: host}}, links: [{{endpoints: [h1, h2], rate: {rate}}}]}}
paths: {{ipv4: native4}}
workloads: [tcp-stream: {{duration: 300ms, warmup: 200ms}}]
blocks: 2
"""


def monitored(directory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    words = [*SIXBENCH, "monitor", "watch", *options, "--quiet", "--json", "--", "run", "watched.yaml"]
    return subprocess.run(words, cwd=directory, capture_output=True, text=True, check=False)


def test_a_slower_link_is_found(tmp_path: Path) -> None:
    file = tmp_path / "watched.yaml"
    file.write_text(EXPERIMENT.format(rate="20Mbit"))
    done = monitored(tmp_path, "--baseline", "3", "--false-alarms", "5%", "--every", "1s", "--times", "3")
    assert done.returncode == 0, done.stderr
    file.write_text(EXPERIMENT.format(rate="5Mbit"))
    done = monitored(tmp_path, "--fail-on-change")
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert [occurrence["state"] for occurrence in document["occurrences"]] == ["complete"] * 4
    assert document["new_conditions"]["4"] == ["experiment"]
    changed = {
        values["series"]["metric"]: values["changed"] for values in document["series"] if values["changed"] is not None
    }
    assert (changed["goodput"]["kind"], changed["goodput"]["direction"]) == ("sudden", "lower")
    assert (tmp_path / "watch" / "trials" / "000004.parquet").is_file()
    assert "lower, sudden" in (tmp_path / "watch" / "index.html").read_text()
