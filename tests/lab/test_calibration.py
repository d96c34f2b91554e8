"""A small calibration on real networks: exact lists, which no busy machine can spoil."""

import json

from sixbench.store import read_calibration

RUN = """\
experiment: after
topology:
  nodes: {h1: host, h2: host}
  links: [{endpoints: [h1, h2]}]
paths: {ipv4: native4}
workloads: [{udp-stream: {datagram: 100B, packet-rate: 1000pps, count: 50}}]
blocks: 1
"""


def test_lists_come_back_exactly_and_later_runs_quote_the_calibration(sixbench, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    out = tmp_path / "calibration"
    arguments = ("calibrate", "--only", "lists", "--quick", "--blocks", 1, "--out", out)
    done = sixbench(*arguments, "--json", "-q")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [(result["metric"], result["path"]) for result in document["results"]] == [
        ("lists", path) for path in ("ipv4", "ipv6", "6in4")
    ]
    for over in document["results"]:
        for at_truth in over["at"]:
            assert not [
                reason
                for reason in at_truth["unusable"]
                if not reason.startswith(("the sender sent ", "the emulator of "))
            ]
            assert at_truth["covered"] == at_truth["judged"], (
                f"{over['metric']} over {over['path']} at {at_truth['truth']}"
            )
    assert (out / "report.html").exists()
    kept = read_calibration(document["machine"], document["kernel"])
    assert kept is not None
    assert {each_range.metric for each_range in kept.ranges} <= {"lists"}

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))
    again = sixbench(*arguments, "-q")
    assert again.returncode == 0, again.stderr
    assert "Exact lists" in again.stdout
    assert not (tmp_path / "elsewhere").exists(), "what is only shown again is not kept anew"

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    experiment = tmp_path / "after.yaml"
    experiment.write_text(RUN)
    later = sixbench("run", experiment, "--out", tmp_path / "later", "--json", "-q")
    assert later.returncode == 0, later.stderr
    assert json.loads(later.stdout)["calibration"]["realtime_ns"] == kept.realtime_ns


def test_a_directory_of_another_run_and_an_unknown_quantity_are_refused(sixbench, tmp_path):
    experiment = tmp_path / "after.yaml"
    experiment.write_text(RUN)
    assert sixbench("run", experiment, "--out", tmp_path / "run", "-q").returncode == 0
    refused = sixbench("calibrate", "--out", tmp_path / "run", "-q")
    assert refused.returncode == 2
    assert "holds a run that is not a calibration; give another --out" in refused.stderr
    unknown = sixbench("calibrate", "--only", "weight")
    assert unknown.returncode == 2
    assert "no quantity 'weight' is calibrated; there are tcp-goodput, udp-goodput," in unknown.stderr
