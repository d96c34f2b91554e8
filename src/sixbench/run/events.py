"""What changes in the midst of a trial, and how it is undone; and what nodes have learned, forgotten."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

from ..model.emulation import WAYS
from ..model.errors import LabError
from ..model.experiment import LinkChange
from ..model.topology import Link
from .laboratory import Laboratory
from .link_change import change_link

TIMEOUT_S = 10.0


class Events:
    """The events of one trial: begun with its traffic, carried out by a thread, undone after it.

    Use as a context manager around the traffic: leaving it ends the thread and undoes what was done.
    """

    def __init__(self, laboratory: Laboratory, changes: Sequence[LinkChange]) -> None:
        """Does nothing yet."""
        self._laboratory = laboratory
        self._first = {link.name: link for link in laboratory.topology.wires}
        self._now = dict(self._first)
        self._changes = changes
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._started_ns = 0
        self.done: list[dict[str, Any]] = []
        """What has happened, for the evidence: link, what was changed (`mtu_bytes`, and what differs `forward` and
        `reverse`), when it was due and when it was done (ns after the start), and what went wrong if it did."""

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
        """Ends the thread, makes every link what it was, and has the nodes forget the path MTU that they learned.

        Raises `LabError` where that could not be: then the network is not what it was.
        """
        self._over.set()
        self.wait()
        self._thread = None
        for name in dict.fromkeys(done["link"] for done in self.done):
            wrong = change_link(self._laboratory, self._now[name], self._first[name])
            if wrong is not None:
                raise LabError(f"making {name} what it was before the event: {wrong}")
            self._now[name] = self._first[name]
        if any("mtu_bytes" in done for done in self.done):
            forget_path_mtu(self._laboratory, self._laboratory.agents)

    def _carry_out(self) -> None:
        for change in self._changes:
            wait_ns = self._started_ns + change.at_ns - time.monotonic_ns()
            if self._over.wait(max(0, wait_ns) / 1e9):
                return
            before = self._now[change.link]
            after = replace(before, mtu_bytes=change.mtu_bytes, directions=change.directions)
            # Before it is tried: what was done in part is undone too.
            self._now[change.link] = after
            wrong = change_link(self._laboratory, before, after)
            done = {
                "link": change.link,
                **_differences(before, after),
                "due_ns": change.at_ns,
                "done_ns": time.monotonic_ns() - self._started_ns,
            }
            self.done.append(done if wrong is None else done | {"failed": wrong})


def _differences(before: Link, after: Link) -> dict[str, Any]:
    """What another state of a link differs by, as the evidence has it."""
    found: dict[str, Any] = {"mtu_bytes": after.mtu_bytes} if after.mtu_bytes != before.mtu_bytes else {}
    for way, old, new in zip(WAYS, before.directions, after.directions, strict=True):
        one, other = asdict(old), asdict(new)
        changed = {key: other[key] for key in other if other[key] != one[key]}
        if changed:
            found[way] = changed
    return found


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
