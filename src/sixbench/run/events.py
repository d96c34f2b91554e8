"""What changes in the midst of a trial, and how it is undone; and what nodes have learned, forgotten."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from typing import Any

from ..model.errors import AgentError, LabError
from ..model.experiment import LinkChange
from ..model.topology import Link
from .laboratory import Laboratory

TIMEOUT_S = 10.0


class Events:
    """The events of one trial: begun with its traffic, carried out by a thread, undone after it.

    Use as a context manager around the traffic: leaving it ends the thread and undoes what was done.
    """

    def __init__(self, laboratory: Laboratory, changes: Sequence[LinkChange]) -> None:
        """Does nothing yet."""
        self._laboratory = laboratory
        self._links = {link.name: link for link in laboratory.topology.wires}
        self._changes = changes
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._started_ns = 0
        self.done: list[dict[str, Any]] = []
        """What has happened, for the evidence: link, MTU, when it was due, when it was done (ns after the start), and
        what went wrong where it could not be."""

    def __enter__(self) -> Events:
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()

    def start(self) -> None:
        """To be called where the traffic begins: times count from here."""
        self._started_ns = time.monotonic_ns()
        if self._changes:
            self._thread = threading.Thread(target=self._carry_out, name="events", daemon=True)
            self._thread.start()

    def wait(self) -> None:
        """Until all of them have happened, or `undo` was called elsewhere."""
        if self._thread is not None:
            self._thread.join()

    def undo(self) -> None:
        """Ends the thread, gives every link its MTU back, and has the nodes forget the path MTU that they learned.

        Raises `LabError` where a link could not be given its MTU back: then the network is not what it was.
        """
        self._over.set()
        self.wait()
        self._thread = None
        changed = dict.fromkeys(done["link"] for done in self.done)
        for name in changed:
            link = self._links[name]
            wrong = _set_mtu(self._laboratory, link, link.mtu_bytes)
            if wrong is not None:
                raise LabError(f"giving {name} its MTU of {link.mtu_bytes} back: {wrong}")
        if changed:
            forget_path_mtu(self._laboratory, self._laboratory.agents)

    def _carry_out(self) -> None:
        for change in self._changes:
            wait_ns = self._started_ns + change.at_ns - time.monotonic_ns()
            if self._over.wait(max(0, wait_ns) / 1e9):
                return
            wrong = _set_mtu(self._laboratory, self._links[change.link], change.mtu_bytes)
            done = {
                "link": change.link,
                "mtu_bytes": change.mtu_bytes,
                "due_ns": change.at_ns,
                "done_ns": time.monotonic_ns() - self._started_ns,
            }
            self.done.append(done if wrong is None else done | {"failed": wrong})


def forget_path_mtu(laboratory: Laboratory, nodes: Iterable[str]) -> None:
    """Has nodes forget the path MTU that they learned from ICMP: else a trial begins with what the one before it
    learned, for as long as `net.ipv4.route.mtu_expires` (10 min). Raises `AgentError`, `LabError`."""
    futures = [
        (node, family, laboratory.agents[node].submit("exec", argv=["ip", family, "route", "flush", "cache"]))
        for node in nodes
        for family in ("-4", "-6")
    ]
    for node, family, future in futures:
        done = laboratory.agents[node].wait(future, "exec", TIMEOUT_S)
        if done["exit"] != 0:
            words = " ".join(done["stderr"].split())
            raise LabError(f"having {node} forget path MTUs (ip {family} route flush cache): {words}")


def _set_mtu(laboratory: Laboratory, link: Link, mtu_bytes: int) -> str | None:
    """Sets the MTU of both ends at once; what went wrong, as words."""
    futures: list[tuple[str, Future[dict[str, Any]]]] = []
    wrong: list[str] = []
    for end in link.ends:
        argv = ["ip", "link", "set", "dev", end.name, "mtu", str(mtu_bytes)]
        futures.append((end.node, laboratory.agents[end.node].submit("exec", argv=argv)))
    for node, future in futures:
        try:
            done = laboratory.agents[node].wait(future, "exec", TIMEOUT_S)
        except AgentError as error:
            wrong.append(str(error))
            continue
        if done["exit"] != 0:
            wrong.append(f"{node}: {' '.join(done['stderr'].split())}")
    return "; ".join(wrong) or None
