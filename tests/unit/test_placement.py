"""Where nodes run, and what the threads that keep processors awake see."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from sixbench.bench.cpu import ResourceSample, Span, busy_ns, watched_ns
from sixbench.bench.environment import GUEST
from sixbench.bench.kernels import is_virtual
from sixbench.lab.placement import pin, processors_of
from sixbench.model.observation import AwakeAnswer
from sixbench.model.workloads import WORKLOADS

NODES = ["client", "router", "server"]


def machine(folder: Path, cores: dict[int, tuple[str, int]]) -> Path:
    """The kernel's description of processors, by number: the siblings, and the socket."""
    for number, (shared, socket) in cores.items():
        topology = folder / f"cpu{number}" / "topology"
        topology.mkdir(parents=True)
        (topology / "thread_siblings_list").write_text(f"{shared}\n")
        (topology / "physical_package_id").write_text(f"{socket}\n")
    return folder


def test_together_is_on_the_best_processor() -> None:
    assert processors_of("together", NODES, (3, 1, 0)) == {"client": (3,), "router": (3,), "server": (3,)}


def test_nodes_keep_off_the_emulators_processor() -> None:
    assert processors_of("together", NODES, (3, 1), emulator=3) == dict.fromkeys(NODES, (1,))
    assert processors_of("apart", NODES, (3, 1), emulator=3) == dict.fromkeys(NODES, (1, 3))


@pytest.mark.parametrize("policy", ["together", "apart", "free"])
def test_one_processor_is_for_all(policy: str) -> None:
    assert processors_of(policy, NODES, (0,)) == dict.fromkeys(NODES, (0,))  # type: ignore[arg-type]


def test_apart_shares_the_socket_and_not_the_core(tmp_path: Path) -> None:
    folder = machine(
        tmp_path, {0: ("0,2", 0), 1: ("1,3", 1), 2: ("0,2", 0), 3: ("1,3", 1), 4: ("4-5", 0), 5: ("4-5", 0)}
    )
    assert processors_of("apart", NODES, (0, 1, 2, 3, 4, 5), folder=folder)["server"] == (4,)
    assert processors_of("apart", NODES, (0, 2, 1), folder=folder)["server"] == (1,)
    assert processors_of("apart", NODES, (0, 2), folder=folder) == {"client": (0,), "router": (0,), "server": (2,)}


@pytest.mark.parametrize("policy", ["together", "apart"])
def test_who_is_alone_on_a_machine_is_on_its_best_processor(policy: str) -> None:
    for node, has_server in (("client", False), ("server", True)):
        assert processors_of(policy, [node], (3, 1, 0), has_server=has_server) == {node: (3,)}  # type: ignore[arg-type]
    assert processors_of("free", ["client"], (3, 1, 0), has_server=False) == {"client": (0, 1, 3)}


def test_where_the_server_is_elsewhere_all_are_on_one_processor() -> None:
    assert processors_of("apart", ["client", "r1"], (3, 1), has_server=False) == {"client": (3,), "r1": (3,)}


def test_free_is_everywhere() -> None:
    assert processors_of("free", NODES, (3, 1, 0)) == dict.fromkeys(NODES, (0, 1, 3))


def test_every_thread_is_pinned() -> None:
    before = os.sched_getaffinity(0)
    smallest = min(before)
    seen: list[set[int]] = []
    begun, pinned = threading.Event(), threading.Event()

    def look() -> None:
        begun.set()
        pinned.wait(10)
        seen.append(os.sched_getaffinity(0))

    thread = threading.Thread(target=look)
    thread.start()
    begun.wait(10)
    try:
        assert pin(os.getpid(), {smallest})
        assert os.sched_getaffinity(0) == {smallest}
    finally:
        pinned.set()
        thread.join()
        pin(os.getpid(), before)
    assert seen == [{smallest}]


def test_a_processor_that_is_not_there_is_refused() -> None:
    before = os.sched_getaffinity(0)
    assert not pin(os.getpid(), {max(before) + 1000})
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize(
    ("workload", "params", "policy"),
    [
        ("tcp-rr", {}, "together"),
        ("tcp-rr", {"busy_poll": True}, "apart"),
        ("tcp-stream", {}, "together"),
        ("udp-stream", {"rate_bps": 1}, "apart"),
    ],
)
def test_workloads_have_a_policy(workload: str, params: dict[str, bool], policy: str) -> None:
    assert WORKLOADS[workload].placement(params) == policy


def watched(**busy_ns: int) -> ResourceSample:
    output = [{"processor": int(name[1:]), "busy_ns": ns} for name, ns in busy_ns.items()]
    return {"watched": AwakeAnswer.model_validate({"clock_ns": 0, "processors": output})}


def test_the_busy_time_of_the_nodes_processors_is_told() -> None:
    span: Span = {"from": watched(p0=5, p1=7), "to": watched(p0=9, p1=100)}
    assert watched_ns(span, {1}) == 93
    assert watched_ns(span, {0, 1}) == 97
    assert watched_ns(span, {0, 2}) is None
    assert watched_ns(span, set()) is None
    assert watched_ns({"from": {}, "to": {}}, {0}) is None


def test_the_whole_machine_is_known_exactly_where_all_of_it_is_watched() -> None:
    cores = [dict.fromkeys(("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"), 0)] * 2
    known = {"clock_ns": 0, "tick_ns": 10_000_000, "cores": cores}
    span: Span = {"from": known | watched(p0=1, p1=7), "to": known | watched(p0=5, p1=100)}
    assert busy_ns(span, are_kept_awake=True) == watched_ns(span) == 97
    half: Span = {"from": known | watched(p1=7), "to": known | watched(p1=100)}
    assert watched_ns(half) is None
    assert busy_ns(half, are_kept_awake=True) == 0


def test_a_virtual_machine_is_known_by_its_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cpuinfo, vendor = tmp_path / "cpuinfo", tmp_path / "vendor"
    vendor.write_text("QEMU\n")
    assert is_virtual(cpuinfo, vendor)
    cpuinfo.write_text("flags\t\t: fpu hypervisor sse\n")
    assert is_virtual(cpuinfo, tmp_path / "none")
    cpuinfo.write_text("flags\t\t: fpu sse\n")
    assert not is_virtual(cpuinfo, vendor)
    monkeypatch.setenv(GUEST, "{}")
    assert not is_virtual(tmp_path / "none", vendor)
