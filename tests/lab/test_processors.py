"""Runs that put nodes on processors and keep these awake."""

from __future__ import annotations

import html
import os
import select
import signal
from pathlib import Path
from typing import Any

import pytest
from processes import children

from sixbench.analysis import analyse
from sixbench.bench import trial
from sixbench.bench.kernels import KernelProcessors
from sixbench.bench.setting import TrialSetting
from sixbench.bench.workloads import performer
from sixbench.cli import main
from sixbench.report import FORMATS
from sixbench.store import read_run

EXPERIMENT = """
topology: {nodes: {h1: host, r1: router, h2: host}, links: [{endpoints: [h1, r1]}, {endpoints: [r1, h2]}]}
paths: {ipv4: native4}
workloads: [tcp-rr: {duration: 50ms, warmup: 10ms}]
"""

PROCESSORS = sorted(os.sched_getaffinity(0))


def run(directory: Path, *settings: str, blocks: int = 1) -> Path:
    file = directory / "experiment.yaml"
    file.write_text("\n".join([EXPERIMENT, f"blocks: {blocks}", *settings]) + "\n")
    assert main(["run", str(file), "--out", str(directory / "run"), "--quiet"]) == 0
    return directory / "run"


def allowed(pid: int) -> list[set[int]]:
    """The processors that each thread of a process may use."""
    return [os.sched_getaffinity(int(thread)) for thread in os.listdir(f"/proc/{pid}/task")]


@pytest.mark.skipif(len(PROCESSORS) < 2, reason="needs two processors")
def test_nodes_are_where_the_evidence_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collected: dict[str, list[set[int]]] = {}
    perform = trial.perform

    def watched(setting: TrialSetting, *others: Any, **named: Any) -> Any:
        performance = perform(setting, *others, **named)
        collected.update({name: allowed(agent.pid) for name, agent in setting.watched.items()})
        collected["sixbench"] = allowed(os.getpid())
        return performance

    monkeypatch.setattr(trial, "perform", watched)
    directory = run(tmp_path)
    [record] = read_run(directory).trials
    processors = {node: set(processor) for node, processor in record.evidence.processors.items()}
    assert processors.keys() == {"h1", "r1", "h2"}
    assert len({frozenset(processor) for processor in processors.values()}) == 1
    for node, processor in processors.items():
        assert len(processor) == 1
        assert all(threads == processor for threads in collected[node]), node
        assert all(threads.isdisjoint(processor) for threads in collected["sixbench"])
    assert sorted(os.sched_getaffinity(0)) == PROCESSORS
    [processor] = processors["h1"]
    assert 0 <= record.metrics["core_slowdown_ratio"] < 10
    assert f"all nodes on processor {processor}" in html.unescape((directory / "report.html").read_text())


def test_processors_are_kept_awake_and_watched(tmp_path: Path) -> None:
    read = read_run(run(tmp_path, "keep-awake: true"))
    use = read.manifest.environment.processors
    assert use is not None
    assert list(use.kept_awake) == list(use.usable) == PROCESSORS
    assert use.not_kept_awake is None
    [record] = read.trials
    assert (record.status, record.kept_awake) == ("ok", True)
    # No upper limit: other programs on this machine cost processor time, too.
    assert record.metrics["cpu_per_packet_ns"] > 0


def test_processors_may_sleep(tmp_path: Path) -> None:
    read = read_run(run(tmp_path, "keep-awake: false"))
    assert [record.kept_awake for record in read.trials] == [None]
    use = read.manifest.environment.processors
    assert use is not None
    assert (use.kept_awake, use.latency_ns) == ((), None)


def test_the_scheduler_decides_where_it_is_asked_to(tmp_path: Path) -> None:
    [record] = read_run(run(tmp_path, "placement: free")).trials
    assert record.evidence.processors == dict.fromkeys(["h1", "r1", "h2"], tuple(PROCESSORS))
    # No processor is theirs whose slowdown could be told, unless there is but one.
    assert ("core_slowdown_ratio" in record.metrics) == (len(PROCESSORS) == 1)


def kill_and_wait(pid: int) -> None:
    """Kills a process, and waits until all its threads have ended: those of the idle class end when they next run."""
    process = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(process, signal.SIGKILL)
        select.select([process], [], [])
    finally:
        os.close(process)


@pytest.mark.parametrize(
    ("whom", "reason"), [("agent", "killed by signal 9"), ("its process", "keeps processors awake has ended")]
)
def test_a_run_outlives_what_keeps_processors_awake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whom: str, reason: str
) -> None:
    run_parts, ask = performer.run_parts, KernelProcessors.ask
    agents: list[int] = []

    def remembered(self: KernelProcessors) -> Any:
        if self._agent is not None and self._agent.pid is not None:
            agents.append(self._agent.pid)
        return ask(self)

    def without_it(*arguments: Any) -> Any:
        [spinning] = children(agents[-1])
        kill_and_wait(agents[-1] if whom == "agent" else spinning)
        monkeypatch.setattr(performer, "run_parts", run_parts)
        return run_parts(*arguments)

    monkeypatch.setattr(KernelProcessors, "ask", remembered)
    monkeypatch.setattr(performer, "run_parts", without_it)
    directory = run(tmp_path, "keep-awake: true", blocks=3)
    read = read_run(directory)
    assert [record.status for record in read.trials] == ["ok", "ok", "ok"]
    assert [record.kept_awake for record in read.trials] == [False, True, True]
    [note] = [note for note in read.trials[0].notes if note.startswith("processors were not kept awake throughout")]
    assert reason in note
    use = read.manifest.environment.processors
    assert use is not None
    assert list(use.kept_awake) == PROCESSORS
    assert use.not_kept_awake is not None
    assert reason in use.not_kept_awake
    page = html.unescape((directory / "report.html").read_text())
    assert "kept each of them awake throughout 2 of 3 trials" in page
    for text in (page, FORMATS["terminal"].render(read, analyse(read))):
        assert "Processors could sleep in 1 of 3 trials" in " ".join(text.split())


def test_what_keeps_processors_awake_leaves_them_to_other_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spinners: list[tuple[int, int, str]] = []
    output = KernelProcessors.busy_times

    def looked_at(kernel: KernelProcessors, asked: Any) -> Any:
        assert kernel._agent is not None
        assert kernel._agent.pid is not None
        assert os.getsid(kernel._agent.pid) == os.getsid(0)  # it answers as soon as any of ours
        [spinner] = children(kernel._agent.pid)
        share = Path(f"/proc/{spinner}/autogroup")
        spinners.append((spinner, os.getsid(spinner), share.read_text() if share.exists() else ""))
        return output(kernel, asked)

    monkeypatch.setattr(KernelProcessors, "busy_times", looked_at)
    run(tmp_path, "keep-awake: true")
    assert spinners
    for spinner, session, share in spinners:
        # A session of its own with the least share: in ours the idle threads had as much of a processor as we have.
        assert session == spinner
        assert not share or share.endswith("nice 19\n")
        assert not Path(f"/proc/{spinner}").exists()
