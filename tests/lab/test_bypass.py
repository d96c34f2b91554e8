"""The bypass run before an experiment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lab.experiments import TESTERS


def test_what_the_tester_can_do_is_measured_once_a_run_and_beside_each_trial(sixbench: Any, tmp_path: Path) -> None:
    file = tmp_path / "bypass.yaml"
    file.write_text(
        """
topology:
  nodes: {h1: host, r1: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, h2], rate: 10Mbit}]
between: [h1, h2]
paths: {ipv4: native4, ipv6: native6}
baseline: ipv4
workloads:
  - tcp-stream: {duration: 800ms, warmup: 100ms}
  - udp-stream: {datagram: 200B, rate: 1Mbit, duration: 100ms, warmup: 0s}
blocks: 1
"""
    )
    done = sixbench("run", file, "--out", tmp_path / "run", figures=False)
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / "run/manifest.json").read_text())
    assert [(item["workload"], item["family"], item["offload"]) for item in manifest["bypass"]] == [
        ("tcp-stream", 4, False),
        ("tcp-stream", 6, False),
    ]
    assert all("failed" not in item for item in manifest["bypass"]), manifest["bypass"]
    for trial in (json.loads(path.read_text()) for path in (tmp_path / "run").glob("trials/*/trial.json")):
        assert trial["status"] == "ok" or trial["reasons"][0]["kind"] in TESTERS, trial["reasons"]
        if trial["workload"] == "udp-stream":
            assert trial["bypass"] == {}
            continue
        # 10 Mbit/s are no limit for the tester.
        assert trial["bypass"]["goodput_bps"] > trial["metrics"]["goodput_bps"]
        assert trial.get("limited_by") != "tester"
