"""Whole runs: measured, proved, interrupted, killed, resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from lab.commands import WITHOUT_FIGURES
from lab.experiments import TESTERS
from lab.unprivileged import run_as_nobody
from processes import children
from waiting import wait_for

from sixbench.bench.kernels import AWAKE
from sixbench.lab.registry import start_ticks
from sixbench.mechanisms import MECHANISMS
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.schedule import block_order
from sixbench.plan.yaml_source import read_yaml

SMALL = """
experiment: small
topology:
  nodes: {h1: host, r1: router, h2: host}
  links:
    - {endpoints: [h1, r1], rate: 100Mbit}
    - {endpoints: [r1, h2], rate: 100Mbit}
paths: {ipv4: native4, ipv6: native6}
workloads:
  - tcp-stream: {message: 64KiB, duration: 300ms, warmup: 100ms}
  - tcp-rr: {message: [64B, 4KiB], duration: 100ms, warmup: 0s}
  - udp-stream: {datagram: 1000B, rate: 20Mbit, duration: 200ms, warmup: 0s}
  - udp-rr: {message: 64B, duration: 100ms, warmup: 0s}
  - tcp-connect: {duration: 100ms, warmup: 0s}
  - tcp-crr: {duration: 100ms, warmup: 0s}
  - ping: {interval: 5ms, duration: 100ms, warmup: 0s}
blocks: 2
repeats: 0
"""


def write(directory: Path, text: str) -> Path:
    file = directory / "experiment.yaml"
    file.write_text(text)
    return file


def records(run: Path) -> list[dict[str, Any]]:
    whole = [path for path in run.glob("trials/*/trial.json") if path.parent.suffix != ".partial"]
    return sorted((json.loads(path.read_text()) for path in whole), key=lambda record: record["sequence"])


def test_every_workload_runs_over_both_families_and_is_proved(sixbench: Any, tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = sixbench("run", write(tmp_path, SMALL), "--out", run, "--json", figures=False)
    assert done.returncode == 0, done.stderr
    trials = records(run)
    assert len(trials) == 32
    # A sender or a link that a busy machine kept from its rate says so, and is no fault of the bench.
    wrong = [
        (record["key"], record["status"], record["reasons"])
        for record in trials
        if record["status"] != "ok" and not all(reason["kind"] in TESTERS for reason in record["reasons"])
    ]
    assert wrong == []
    for record in trials:
        family = "ipv4" if record["path"] == "ipv4" else "ipv6"
        for segment in record["evidence"]["segments"]:
            assert set(segment["stacks"]) == {family}
            assert segment["max_ip_bytes"] <= 1500
        assert record["metrics"]["cpu_busy_cores"] >= 0
    metrics = {record["workload"]: record["metrics"] for record in trials}
    assert {"goodput_bps", "tcp_rtt_mean_ns"} <= metrics["tcp-stream"].keys()
    assert {"loss_ratio", "one_way_delay_p50_ns", "ipdv_mean_ns", "pdv_p99_ns", "jitter_rfc3550_ns"} <= metrics[
        "udp-stream"
    ].keys()
    assert metrics["udp-stream"]["loss_ratio"] == 0
    assert {"rtt_p50_ns", "transactions_rate_per_s"} <= metrics["tcp-rr"].keys()
    assert {"connect_p50_ns", "transactions_rate_per_s"} <= metrics["tcp-crr"].keys()
    findings = json.loads(done.stdout)["findings"]
    assert {finding["workload"] for finding in findings} == set(metrics)
    for finding in findings:
        assert finding["baseline"] == "ipv4"
        assert finding["path"] == "ipv6"
        assert finding["n"] + finding["invalid"] >= 2


def test_the_captured_headers_are_what_tshark_reads(sixbench: Any, tmp_path: Path) -> None:
    run = tmp_path / "run"
    text = SMALL.split("  - tcp-rr", maxsplit=1)[0] + "blocks: 1\n"
    assert sixbench("run", write(tmp_path, text), "--out", run, "--quiet", figures=False).returncode == 0
    seen = {}
    for capture in run.glob("trials/*/*.pcapng"):
        done = subprocess.run(
            ["tshark", "-r", capture, "-T", "fields", "-e", "frame.protocols"],
            capture_output=True,
            text=True,
            check=True,
        )
        stacks = {":".join(line.split(":")[:4]) for line in done.stdout.splitlines()}
        seen[capture.parent.name.split("-")[-1]] = stacks
    assert seen == {"ipv4": {"eth:ethertype:ip:tcp"}, "ipv6": {"eth:ethertype:ipv6:tcp"}}


LONGER = """
topology:
  nodes: {h1: host, r1: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, h2]}]
paths: {ipv4: native4, ipv6: native6}
workloads: [{tcp-rr: {duration: 200ms, warmup: 0s, message: [64B, 1KiB]}}, {tcp-stream: {duration: 600ms, warmup: 0s}}]
blocks: 3
"""


@contextmanager
def started_run(directory: Path, text: str) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A run that is going on, with at least one trial done."""
    run = directory / "run"
    process = subprocess.Popen(
        [*WITHOUT_FIGURES, "run", write(directory, text), "--out", run, "--quiet"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_for(lambda: process.poll() is not None or len(records(run)) >= 2)
        assert process.poll() is None, process.communicate()
        yield process, run
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def agents_of(pid: int) -> list[int]:
    """The agents that hold nodes."""
    commands = {child: Path(f"/proc/{child}/cmdline").read_text().split("\0") for child in children(pid)}
    return [child for child, words in commands.items() if "node" in words and AWAKE not in words]


def test_kill_9_leaves_nothing_and_resume_completes_with_every_trial_once(sixbench: Any, tmp_path: Path) -> None:
    interfaces = {path.name for path in Path("/sys/class/net").iterdir()}
    with started_run(tmp_path, LONGER) as (process, run):
        agents = agents_of(process.pid)
        assert len(agents) == 3
        process.kill()
        process.wait()
        wait_for(lambda: all(start_ticks(pid) is None for pid in agents))
    assert {path.name for path in Path("/sys/class/net").iterdir()} == interfaces
    before = {record["key"]: record["started_realtime_ns"] for record in records(run)}
    assert 0 < len(before) < 18
    done = sixbench("resume", run, "--json", figures=False)
    assert done.returncode == 0, done.stderr
    after = records(run)
    assert len(after) == 18
    assert len({record["sequence"] for record in after}) == 18
    for record in after:
        assert before.get(record["key"], record["started_realtime_ns"]) == record["started_realtime_ns"]
    assert all(finding["n"] == 3 for finding in json.loads(done.stdout)["findings"])
    assert json.loads((run / "manifest.json").read_text())["state"] == "complete"
    again = sixbench("resume", run, "--json", figures=False)
    assert again.returncode == 0
    assert len(records(run)) == 18


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_cleanly_with_what_is_done_kept(tmp_path: Path, number: int) -> None:
    with started_run(tmp_path, LONGER) as (process, run):
        agents = agents_of(process.pid)
        process.send_signal(number)
        _stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "sixbench resume" in stderr
    assert "Traceback" not in stderr
    assert [pid for pid in agents if start_ticks(pid) is not None] == []
    assert json.loads((run / "manifest.json").read_text())["state"] == "interrupted"
    assert not list(run.glob("trials/*.partial"))


def wait_for_a_trial(pid: int) -> None:
    """Returns in the midst of one: more packets pass a node than ever do between trials."""

    def passed() -> int:
        lines = Path(f"/proc/{pid}/net/dev").read_text().splitlines()[2:]
        return sum(int(line.partition(":")[2].split()[1]) for line in lines)

    before = passed()
    wait_for(lambda: passed() >= before + 100)


def test_an_agent_that_dies_fails_its_trial_and_the_run_goes_on(tmp_path: Path) -> None:
    # One that dies between trials fails none of them: its network is built again.
    with started_run(tmp_path, LONGER.replace("200ms", "1s").replace("blocks: 3", "blocks: 1")) as (process, run):
        victim = agents_of(process.pid)[-1]
        wait_for_a_trial(victim)
        os.kill(victim, signal.SIGKILL)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 4, stderr
    trials = records(run)
    assert len(trials) == 6
    failed = [record for record in trials if record["status"] == "failed"]
    assert 1 <= len(failed) <= 2
    assert "killed by signal 9" in failed[0]["reasons"][0]["text"]
    assert "Traceback" not in stderr


def test_an_agent_that_hangs_fails_its_trial_in_time_and_the_run_goes_on(tmp_path: Path) -> None:
    with started_run(tmp_path, LONGER) as (process, run):
        os.kill(agents_of(process.pid)[-1], signal.SIGSTOP)
        _, stderr = process.communicate(timeout=90)
    assert process.returncode == 4, stderr
    trials = records(run)
    assert len(trials) == 18
    failed = [record for record in trials if record["status"] == "failed"]
    assert 1 <= len(failed) <= 2
    assert "Traceback" not in stderr


DEAF = LONGER.replace("r1: router", "r1: {kind: router, sysctl: {net.ipv6.conf.all.forwarding: 0}}")


def test_a_run_whose_only_path_reaches_nothing_ends_before_any_trial_and_says_so(sixbench: Any, tmp_path: Path) -> None:
    text = DEAF.replace("{ipv4: native4, ipv6: native6}", "{ipv6: native6}")
    done = sixbench("run", write(tmp_path, text), "--out", tmp_path / "run", "--quiet")
    assert done.returncode == 3
    assert "h1" in done.stderr
    assert "IPv6" in done.stderr
    assert "Traceback" not in done.stderr
    assert records(tmp_path / "run") == []


def test_a_path_that_reaches_nothing_fails_by_itself_and_the_others_go_on(sixbench: Any, tmp_path: Path) -> None:
    workload, rest = DEAF.index("workloads"), "workloads: [{ping: {count: 3, interval: 1ms}}]\nblocks: 1\nseed: SEED\n"
    for seed in range(20):  # in which IPv4 is first
        file = write(tmp_path, DEAF[:workload] + rest.replace("SEED", str(seed)))
        if block_order(read_experiment(read_yaml(file), MECHANISMS), 1)[0].path == "ipv4":
            break
    done = sixbench("run", file, "--out", tmp_path / "run", "--quiet", figures=False)
    assert done.returncode == 4, done.stderr
    status = {record["path"]: record for record in records(tmp_path / "run")}
    assert status["ipv4"]["status"] == "ok"
    assert status["ipv6"]["status"] == "failed"
    assert "h1" in status["ipv6"]["reasons"][0]["text"]
    assert "IPv6" in status["ipv6"]["reasons"][0]["text"]


def test_an_unwritable_directory_and_one_that_is_taken_are_refused(sixbench: Any, tmp_path: Path) -> None:
    file = write(tmp_path, LONGER)
    done = sixbench("run", file, "--out", "/proc/nowhere")
    assert done.returncode == 3
    assert "/proc/nowhere" in done.stderr
    assert "Traceback" not in done.stderr
    done = sixbench("run", file, "--out", tmp_path)
    assert done.returncode == 2
    assert "not an empty directory" in done.stderr


def test_a_full_disk_is_said_and_what_is_done_is_kept(sixbench: Any, tmp_path: Path) -> None:
    file = write(tmp_path, LONGER)
    small = tmp_path / "small"
    small.mkdir()
    command = [sys.executable, "-m", "sixbench", "run", str(file), "--out", str(small / "run"), "--quiet"]
    done = subprocess.run(
        [
            "unshare",
            "--mount",
            "sh",
            "-c",
            'mount -t tmpfs -o size=80k none "$1" && shift && "$@"; code=$?; ls -R "$0" >&2; exit $code',
            str(small),
            str(small),
            *command,
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert ".partial" not in done.stderr


def test_without_root_a_run_takes_a_user_namespace(nobodys_directory: Path) -> None:
    file = write(nobodys_directory, LONGER.replace("blocks: 3", "blocks: 1"))
    run = nobodys_directory / "run"
    done = run_as_nobody(nobodys_directory, "run", file, "--out", run, "--quiet")
    assert done.returncode == 0, done.stderr
    assert [record["status"] for record in records(run)] == ["ok"] * 6
    assert json.loads((run / "manifest.json").read_text())["environment"]["privileges"] == "user-namespace"


def test_full_queues_are_empty_before_the_next_trial_and_nothing_of_the_last_one_is_in_its_captures(
    sixbench: Any, tmp_path: Path
) -> None:
    """The receiver resets its connection while 300 ms of segments wait in the queue. A reset answers each."""
    file, out = tmp_path / "deep.yaml", tmp_path / "run"
    file.write_text(
        "topology: {chain: 3, rate: 10Mbit, burst: 32KiB, queue: 300ms}\n"  # which timers may be 25 ms late for
        "paths: {ipv4: native4, ipv6: native6}\nblocks: 4\n"
        "workloads: [{tcp-stream: {duration: 600ms, warmup: 300ms}}, {udp-rr: {duration: 30ms, warmup: 0s}}]\n"
    )
    done = sixbench("run", file, "--out", out, "--quiet", "--capture", figures=False)
    assert done.returncode == 0, done.stderr
    trials = [json.loads(path.read_text()) for path in sorted(out.glob("trials/*/trial.json"))]
    assert len(trials) == 16
    for trial in trials:
        assert (trial["status"], trial["reasons"]) == ("ok", [])
        assert [segment["leftovers"] for segment in trial["evidence"]["segments"]] == [{}, {}]
        protocol = "tcp" if "tcp" in trial["workload"] else "udp"
        for segment in trial["evidence"]["segments"]:
            stacks = [name for packet in segment["packets"] for name in (layer["kind"] for layer in packet["layers"])]
            assert {"tcp", "udp"} & set(stacks) == {protocol}
