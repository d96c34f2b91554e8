"""Changes of links in the middle of a trial, and how they are undone. And how nodes forget what they learned."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace

from ..agent.requests import ForgetPathMtu
from ..lab.taking import taking_lines
from ..model.direction import LinkDirection
from ..model.errors import LabError
from ..model.evidence.events import LinkEvent
from ..model.experiment import LinkChange, Taken
from ..model.json_object import JsonObject
from ..model.network import Network
from .asking import ask_all, wait_all
from .laboratory import Laboratory
from .link_change import change_link, run_lines


class Events(AbstractContextManager["Events"]):
    """The events of one trial: begun with its traffic, carried out by a thread, undone after it.

    Use as a context manager around the traffic: leaving it ends the thread and undoes what was done.
    """

    def __init__(self, laboratory: Laboratory, changes: Sequence[LinkChange], networks: Sequence[Network] = ()) -> None:
        """Prepares the events. Nothing is changed yet.

        Args:
            networks: the path's own, and what remains of it after each change that takes something; empty: none does.
        """
        self._laboratory = laboratory
        self._networks = networks
        self._restoring: list[tuple[str, Sequence[str]]] = []
        """Nodes that lost something, and the lines that give it back."""
        self._first = {link.name: link for link in laboratory.topology.wires}
        self._now = dict(self._first)
        self._changes = changes
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._started_ns = 0
        self._mistake: Exception | None = None
        self.done: list[LinkEvent] = []
        """The events that have happened."""

    def __exit__(self, *_: object) -> None:
        self.undo()

    def start(self) -> None:
        """Begins the events. To be called when the traffic begins, because times count from here."""
        self._started_ns = time.monotonic_ns()
        if self._changes:
            self._thread = threading.Thread(target=self._carry_out, name="events", daemon=True)
            self._thread.start()

    def wait(self) -> None:
        """Waits until all events have happened, or `undo` was called elsewhere."""
        if self._thread is not None:
            self._thread.join()

    def undo(self) -> None:
        """Ends the thread, restores every link, and makes the nodes forget the path MTUs that they learned.

        Raises `LabError` where that could not be: then the network is not what it was. Raises, too, what only a mistake
        of ours makes the thread raise.
        """
        self._over.set()
        self.wait()
        self._thread = None
        while self._restoring:
            node, lines = self._restoring.pop()
            wrong = run_lines(self._laboratory, node, lines)
            if wrong is not None:
                self._laboratory.spoil(f"{node} did not get back what an event took: {wrong}")
                raise LabError(f"giving {node} back what the event took: {wrong}")
        for name in dict.fromkeys(done.link for done in self.done if done.takes is None):
            wrong = change_link(self._laboratory, self._now[name], self._first[name])
            if wrong is not None:
                raise LabError(f"making {name} what it was before the event: {wrong}")
            self._now[name] = self._first[name]
        if any(done.mtu_bytes is not None for done in self.done):
            forget_path_mtu(self._laboratory, self._laboratory.agents)
        if self._mistake is not None:
            raise self._mistake

    def _carry_out(self) -> None:
        try:
            self._change_in_time()
        except Exception as mistake:  # noqa: BLE001, raised again by `undo`
            self._mistake = mistake

    def _change_in_time(self) -> None:
        for change in self._changes:
            wait_ns = self._started_ns + change.at_ns - time.monotonic_ns()
            if self._over.wait(max(0, wait_ns) / 1e9):
                return
            if change.takes is not None:
                self.done.append(self._take(change, change.takes))
                continue
            before = self._now[change.link]
            after = replace(before, mtu_bytes=change.mtu_bytes, directions=change.directions)
            # Recorded before the attempt, so that a partial change is undone too.
            self._now[change.link] = after
            wrong = change_link(self._laboratory, before, after)
            forward, reverse = map(_changed, before.directions, after.directions)
            self.done.append(
                LinkEvent(
                    link=change.link,
                    due_ns=change.at_ns,
                    done_ns=time.monotonic_ns() - self._started_ns,
                    mtu_bytes=after.mtu_bytes if after.mtu_bytes != before.mtu_bytes else None,
                    forward=forward,
                    reverse=reverse,
                    failed=wrong,
                )
            )

    def _take(self, change: LinkChange, takes: Taken) -> LinkEvent:
        number = len(self._restoring)
        before, after = self._networks[number : number + 2]
        client, _ = before.between
        lines = taking_lines(before, after, client, change.link, takes)
        # Recorded before the attempt, so that a partial loss is made good too.
        self._restoring.append((client, lines.restore))
        wrong = run_lines(self._laboratory, client, lines.take)
        return LinkEvent(
            link=change.link,
            due_ns=change.at_ns,
            done_ns=time.monotonic_ns() - self._started_ns,
            takes=takes,
            failed=wrong,
        )


def _changed(before: LinkDirection, after: LinkDirection) -> JsonObject | None:
    """The properties of a direction that changed, with their new values. None: none did."""
    entry, other = asdict(before), asdict(after)
    return {name: value for name, value in other.items() if value != entry[name]} or None


def forget_path_mtu(laboratory: Laboratory, nodes: Iterable[str]) -> None:
    """Makes nodes forget the path MTUs that they learned from ICMP. Otherwise a trial would begin with what the one
    before it learned, for as long as `net.ipv4.route.mtu_expires` (10 min). Of equipment nobody can ask that. Raises
    `AgentError`."""
    held = {node: laboratory.agents[node] for node in nodes if node in laboratory.agents}
    wait_all(ask_all(held, ForgetPathMtu()))
