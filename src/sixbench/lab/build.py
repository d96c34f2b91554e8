"""Building a network: the scripts of `render`, run step by step in nodes that someone else holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Protocol

from ..model.errors import AgentError, LabError
from ..model.topology import Topology
from .render import NodeScript, fill_pids, render


@dataclass(frozen=True, kw_only=True)
class Completed:
    """A command that ran in a node: its exit code (or -signal) and what it printed."""

    argv: list[str]
    exit: int
    stdout: str
    stderr: str


class NodeHandle(Protocol):
    """A node whose namespace someone holds."""

    @property
    def pid(self) -> int:
        """The process in its namespace."""

    def execute(self, argv: list[str], stdin: str = "") -> Future[Completed]:
        """Starts a command in it."""

    def set_sysctl(self, values: Mapping[str, str]) -> Future[Any]:
        """Writes settings in it."""


def build(topology: Topology, nodes: Mapping[str, NodeHandle]) -> None:
    """Makes links, addresses, queues and routes. Raises `LabError` naming node, command and cause."""
    scripts = render(topology)
    pids = {name: str(node.pid) for name, node in nodes.items()}
    _step("setting", ((name, nodes[name].set_sysctl(script.sysctl)) for name, script in scripts.items()))
    _batches(nodes, scripts, pids, "ip", lambda script: script.links)
    _batches(nodes, scripts, pids, "ip", lambda script: script.devices)
    for arguments in zip_longest(*(script.ethtool for script in scripts.values())):
        _commands(
            [
                (name, nodes[name].execute(["ethtool", *words]))
                for name, words in zip(scripts, arguments, strict=True)
                if words is not None
            ]
        )
    _batches(nodes, scripts, pids, "tc", lambda script: script.queues)
    _batches(nodes, scripts, pids, "ip", lambda script: script.routes)


def _batches(
    nodes: Mapping[str, NodeHandle],
    scripts: Mapping[str, NodeScript],
    pids: Mapping[str, str],
    program: str,
    part: Callable[[NodeScript], list[str]],
) -> None:
    running = []
    for name, script in scripts.items():
        lines = part(script)
        if lines:
            text = fill_pids("\n".join(lines) + "\n", pids)
            running.append((name, text, nodes[name].execute([program, "-batch", "-"], text)))
    for name, text, future in running:
        done = _result(name, f"running {program} -batch", future)
        if done.exit != 0:
            raise LabError(
                f"building the network: {program} -batch in {name} ended with {done.exit}: "
                f"{_words(done)}{_line(text, done)}"
            )


def _commands(futures: list[tuple[str, Future[Completed]]]) -> None:
    for name, future in futures:
        done = _result(name, "running a command", future)
        if done.exit != 0:
            raise LabError(
                f"building the network: {' '.join(done.argv)} in {name} ended with {done.exit}: {_words(done)}"
            )


def _step(doing: str, futures: Iterable[tuple[str, Future[Any]]]) -> None:
    for name, future in list(futures):
        _result(name, doing, future)


def _result(name: str, doing: str, future: Future[Any]) -> Any:
    try:
        return future.result(timeout=60)
    except TimeoutError as error:
        raise LabError(f"building the network: {doing} in {name}: no answer after 60 s") from error
    except AgentError as error:
        raise LabError(f"building the network: {doing} in {name}: {error}") from error


def _words(done: Completed) -> str:
    return " ".join((done.stderr or done.stdout).split()) or "it said nothing"


def _line(text: str, done: Completed) -> str:
    """iproute2 says `Command failed -:3`: the line it means."""
    _, found, after = done.stderr.partition("Command failed -:")
    digits = after.split()[0] if found and after.split() else ""
    lines = text.splitlines()
    return f" (in: {lines[int(digits) - 1]})" if digits.isdigit() and 0 < int(digits) <= len(lines) else ""
