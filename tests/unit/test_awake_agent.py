"""The agents that keep processors awake: what is made of their answers, of their death, and of hosts that are one
kernel."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sixbench.agent.requests.request import Request
from sixbench.bench.kernels import BOOT_ID, CPUINFO, KernelProcessors, is_virtual
from sixbench.bench.on_host import files_in, kernel_of
from sixbench.bench.processors import Processors
from sixbench.model.errors import AgentError, CapabilityError
from sixbench.model.observation import AwakeStarted
from sixbench.store import HostFacts

pytestmark = pytest.mark.computes


class FakeAgent:
    """One that starts, and fails when it is asked how long processors were busy."""

    def __init__(self, error: AgentError, ended: AgentError | None, host: str | None = None) -> None:
        self.error, self.ended, self.host = error, ended, host
        self.spinning: list[int] = []

    def answer(self, request: Any, **_: Any) -> AwakeStarted:
        assert request.op == "awake-start"
        self.spinning = request.processors
        return AwakeStarted(latency_ns=0)

    def ask(self, request: Request[Any]) -> Future[Any]:
        failed: Future[Any] = Future()
        failed.set_exception(self.error)
        return failed

    def wait(self, future: Future[Any], *_: Any) -> Any:
        return future.result()


class FakeHub:
    """Starts such agents, and refuses hosts."""

    def __init__(self, agent: FakeAgent | None = None, refused: tuple[str, ...] = ()) -> None:
        self.agent = agent
        self.refused = refused
        self.started: list[tuple[str | None, FakeAgent]] = []

    def start(self, names: list[str], seats: Any) -> dict[str, FakeAgent]:
        [(name, seat)] = seats.items()
        assert names == [name]
        if seat.on in self.refused:
            raise CapabilityError(f"{seat.on}: no")
        agent = self.agent or FakeAgent(AgentError("busy", "no"), None)
        self.started.append((seat.on, agent))
        return {name: agent}

    def stop(self, agents: list[FakeAgent]) -> None:
        pass


def kept_awake(error: AgentError, ended: AgentError | None) -> tuple[KernelProcessors, Any]:
    hub: Any = FakeHub(FakeAgent(error, None))
    kernel = KernelProcessors((0, 1))
    kernel.keep_awake(hub, None, True)
    hub.agent.ended = ended
    return kernel, hub


def test_processors_whose_agent_died_may_sleep_and_the_manifest_says_why() -> None:
    died = AgentError("agent-died", "it was killed by signal 9")
    kernel, hub = kept_awake(died, ended=died)
    assert kernel.use.kept_awake == (0, 1)
    assert kernel.busy_times(kernel.ask()) is None
    assert (kernel.use.kept_awake, kernel.use.latency_ns) == ((), None)
    assert kernel.use.not_kept_awake == "it was killed by signal 9"
    assert kernel.busy_times(kernel.ask()) is None
    # A connection that was lost comes back; that they could sleep meanwhile is told.
    hub.agent = None
    kernel.keep_awake(hub, None, True)
    assert kernel.use.kept_awake == (0, 1)
    assert kernel.use.not_kept_awake == "it was killed by signal 9"


def test_an_answer_of_another_form_is_no_death() -> None:
    kernel, _ = kept_awake(AgentError("agent-broken", "awake was answered without clock_ns"), ended=None)
    with pytest.raises(AgentError, match="without clock_ns"):
        kernel.busy_times(kernel.ask())
    assert kernel.use.kept_awake
    assert kernel.use.not_kept_awake is None


MACHINE = """/proc/self/status:Cpus_allowed_list:\t{allowed}
/proc/sys/kernel/random/boot_id:{boot_id}
/sys/devices/system/cpu/cpu0/topology/thread_siblings_list:0
/proc/cpuinfo:flags\t\t: fpu {flag}
/proc/interrupts:           CPU0       CPU1       CPU2
/proc/interrupts: 24:          7          0          3  device
"""


class FakeNode:
    """A node of a host, whose files say what they are given."""

    def __init__(self, host: str, boot_id: str, allowed: str = "0-1", flag: str = "hypervisor") -> None:
        self.host = host
        self._answers = MACHINE.format(allowed=allowed, boot_id=boot_id, flag=flag)

    def answer(self, request: Any) -> Any:
        assert request.op == "exec"
        return SimpleNamespace(stdout=self._answers)


def node(*expected: str, **more: str) -> Any:
    return FakeNode(*expected, **more)


def joined(hub: Any, *nodes: Any, keep_awake: bool | None = None) -> Processors:
    processors = Processors(hub)
    processors._wanted = keep_awake
    processors.join({str(number): node for number, node in enumerate(nodes)})
    return processors


def test_files_of_a_host_are_read_as_those_of_this_machine() -> None:
    kernel = kernel_of(node("lab1", "b1", "0-2"))
    assert kernel.usable == (1, 2, 0)
    assert kernel.boot_id == "b1"
    assert is_virtual(read=kernel.read)
    assert not is_virtual(read=kernel_of(node("lab1", "b1", flag="sse")).read)
    assert files_in("a:1\na: 2\nb:c:d\n") == {Path("a"): "1\n 2", Path("b"): "c:d"}
    with pytest.raises(AgentError, match="lab1: its processors cannot be read in /proc/self/status"):
        kernel_of(node("lab1", "b1", allowed=""))


def test_each_host_has_its_own_and_one_kernel_is_kept_awake_once() -> None:
    hub: Any = FakeHub()
    processors = joined(hub, node("lab1", "b1"), node("lab2", "b2"), node("lab3", "b1"))
    assert [(on, agent.spinning) for on, agent in hub.started] == [("lab1", [0, 1]), ("lab2", [0, 1])]
    assert processors.of("lab3") is processors.of("lab1")
    assert processors.of("lab2") is not processors.of("lab1")
    facts = processors.with_use({name: HostFacts(kernel="", machine="") for name in ("lab1", "lab2", "lab4")})
    assert [fact.boot_id for fact in facts.values()] == ["b1", "b2", None]
    assert [fact.processors and fact.processors.kept_awake for fact in facts.values()] == [(0, 1), (0, 1), None]


def test_containers_of_one_kernel_keep_each_processor_awake_once() -> None:
    hub: Any = FakeHub()
    joined(hub, node("lab1", "b1", "0-1"), node("lab2", "b1", "1-2"))
    assert [(on, agent.spinning) for on, agent in hub.started] == [("lab1", [0, 1]), ("lab2", [2])]


def test_processors_of_hosts_sleep_where_they_are_real_or_are_to() -> None:
    hub: Any = FakeHub()
    use = joined(hub, node("lab1", "b1", flag="sse")).of("lab1").use
    assert (use.kept_awake, use.not_kept_awake, use.latency_ns) == ((), None, 0)
    assert joined(hub, node("lab1", "b1"), keep_awake=False).of("lab1").use.latency_ns is None
    assert len(hub.started) == 1


def test_a_host_that_refuses_is_told_and_not_asked_again() -> None:
    hub: Any = FakeHub(refused=("lab1",))
    nodes = (node("lab1", "b1"), node("lab2", "b2"))
    processors = joined(hub, *nodes)
    processors.join({"n": nodes[0]})
    assert processors.of("lab1").use.not_kept_awake == "lab1: no"
    assert processors.of("lab2").use.not_kept_awake is None
    assert [on for on, _ in hub.started] == ["lab2"]


def test_nodes_are_placed_by_the_kernel_that_they_are_on() -> None:
    nodes = {"client": node("lab1", "b1"), "r1": node("lab2", "b2"), "server": node("lab3", "b1")}
    processors = joined(FakeHub(), *nodes.values())
    placed = processors.placement("apart", nodes)
    assert placed.by_node == {"client": (1,), "r1": (1,), "server": (0,)}
    assert placed.by_kernel == {processors.of("lab1"): {0, 1}, processors.of("lab2"): {1}}
    # Those of this machine are another kernel's.
    assert processors.is_off(placed)


def test_the_files_that_are_read_are_known() -> None:
    assert CPUINFO.exists()
    assert BOOT_ID.read_text().strip() == KernelProcessors(()).boot_id
