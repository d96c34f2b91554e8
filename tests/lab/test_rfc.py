"""`sixbench rfc` in real namespaces: a wire of known rate has that throughput, and a run that goes on is one run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from sixbench.cli.main import main

WIRE = """
experiment: wire
topology:
  nodes: {h1: host, r1: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, h2], rate: 1Mbit, queue: 16KiB}]
between: [h1, h2]
paths: {ipv4: native4}
workloads: [ping]
"""


def test_a_wire_of_known_rate_has_that_throughput_and_its_search_can_be_continued(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wire.yaml").write_text(WIRE)
    whole = ["rfc", "wire.yaml", "--quick", "--profile", "2544", "--frame", "1518B", "--out", "run", "--json"]
    assert main(whole) == 0
    found = json.loads(capsys.readouterr().out)
    wire = next(one for one in found["rfc"]["throughput"] if one["path"] == "ipv4")
    line_pps = 1_000_000 / (8 * (1518 + 20))
    assert wire["line_pps"] == pytest.approx(line_pps)
    assert int(line_pps) * 0.97 <= wire["lower_pps"] <= line_pps
    assert {one["state"] for one in found["rfc"]["conformance"]} == {"met", "not met", "not applicable"}
    assert main(["verify", "run"]) == 0
    capsys.readouterr()

    _forget_the_last_trial(tmp_path / "run")
    assert main(["resume", "run", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert _rates(again) == _rates(found)


def _rates(found: dict[str, Any]) -> list[tuple[str, float]]:
    """The throughputs of devices."""
    return [(one["path"], one["lower_pps"]) for one in found["rfc"]["throughput"] if not one["is_tester"]]


def _forget_the_last_trial(run: Path) -> None:
    """Leaves a run as a crash does that happens before its last trial of the device was recorded."""
    manifest = json.loads((run / "manifest.json").read_text())
    last = max(key for key in manifest["accepted"] if key.endswith("-c0001-ipv4"))
    del manifest["accepted"][last]
    shutil.rmtree(run / "trials" / last)
    (run / "manifest.json").write_text(json.dumps(manifest | {"state": "interrupted"}))
