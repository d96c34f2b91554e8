"""Building a network: the scripts of `render`, run step by step in nodes that someone else holds."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Protocol

from ..model.errors import AgentError, LabError, MissingRouteError
from ..model.leg import Address
from ..model.network import Blueprint
from ..model.quoting import printable
from ..model.stage import AnswerField, NodeRequest, Program, Stage
from ..model.topology import Topology
from .netem import tc_command
from .node_script import NodeScript
from .render import fill_pids, render, render_path

STEP_S = 60.0
"""Longest time that a step may take."""

_NO_ROUTE = "No route to host"
"""ip's message about a route through an address to which the kernel has no route. All routes are the network's own, so
it has not added that of an interface's address. A worker of the kernel makes room for the counts of each processor
("percpu: allocation failed" in its log), and may come too late for 1,000 nodes at once."""

_MAX_VERSION = 200
"""Characters of what a program says of its version."""


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

    def start(self, argv: list[str], stdin: str = "") -> Future[Completed]:
        """Starts a program in it that runs as long as the node is held."""

    def set_sysctl(self, values: Mapping[str, str]) -> Future[Any]:
        """Writes settings in it."""

    def request(self, op: str, fields: Mapping[str, Any]) -> Future[dict[str, Any]]:
        """Sends a request to the node's agent, for what no command can do."""


@dataclass(frozen=True, kw_only=True)
class Undo:
    """A request that a node gets when the network is taken down."""

    node: str
    op: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Running:
    """A program that a stage started in a node.

    Attributes:
        completed: is done when it has ended, which it should not.
        version: what it says of its version; None where it is not asked.
    """

    node: str
    program: Program
    completed: Future[Completed]
    version: str | None

    @property
    def failure(self) -> str | None:
        """The reason why it does not run any more; None if it does."""
        if not self.completed.done():
            return None
        what = f"{self.program.name or shlex.join(self.program.argv)} in {self.node}"
        error = self.completed.exception()
        if error is not None:
            return f"{what}: {error}"
        done = self.completed.result()
        return f"{what} ended with {done.exit}: {_words(done)}"


@dataclass(frozen=True, kw_only=True)
class Installed:
    """Things that installing a path has left.

    Attributes:
        install_ns: how long it took.
        undo: the requests to send before the network is taken down.
        programs: those that run as long as the network is up.
        learned: the addresses that requests have told, each by the one that stands for it in the description.
        answers: of nodes to the requests of stages, by node and request.
    """

    install_ns: int
    undo: list[Undo]
    programs: list[Running]
    learned: Mapping[Address, Address]
    answers: Mapping[tuple[str, str], Mapping[str, Any]]


def build(topology: Topology, nodes: Mapping[str, NodeHandle]) -> None:
    """Makes links, addresses, queues and routes. Raises `LabError` naming node, command and cause."""
    _build_wires(render(topology), nodes)


def build_path(network: Blueprint, engine: str, nodes: Mapping[str, NodeHandle]) -> Installed:
    """Makes a network with a path installed. Raises `LabError` naming node, command and cause."""
    scripts = render_path(network, engine)
    _build_wires(scripts, nodes)
    started_ns = time.monotonic_ns()
    answers: dict[tuple[str, str], Mapping[str, Any]] = {}
    undo: list[Undo] = []
    learned: dict[Address, Address] = {}
    programs: list[Running] = []
    _start_guests(scripts, nodes)
    for results in zip_longest(*(script.first_devices for script in scripts.values()), fillvalue=Stage()):
        programs += _stage(dict(zip(scripts, results, strict=True)), nodes, answers, undo, learned)
    _batches(nodes, {name: script.made_addresses for name, script in scripts.items()}, {}, "ip")
    for stages in zip(*(script.stages for script in scripts.values()), strict=True):
        programs += _stage(dict(zip(scripts, stages, strict=True)), nodes, answers, undo, learned)
    _batches(nodes, {name: script.made_routes for name, script in scripts.items()}, {}, "ip")
    return Installed(
        install_ns=time.monotonic_ns() - started_ns,
        undo=undo[::-1],
        programs=programs,
        learned=learned,
        answers=answers,
    )


def _start_guests(scripts: Mapping[str, NodeScript], nodes: Mapping[str, NodeHandle]) -> None:
    """Starts the machines that are nodes, side by side, and waits until they are ready."""
    asked = [
        (name, start, nodes[name].request(start.op, start.fields))
        for name, script in scripts.items()
        for start in script.starts
    ]
    for name, request, future in asked:
        _result(name, request.op, future, timeout_s=request.fields["ready_timeout_ns"] / 1e9 + STEP_S)


def _stage(
    stages: Mapping[str, Stage],
    nodes: Mapping[str, NodeHandle],
    answers: dict[tuple[str, str], Mapping[str, Any]],
    undo: list[Undo],
    learned: dict[Address, Address],
) -> list[Running]:
    """Does what a stage says, and gives the programs that it started."""
    for requests in zip_longest(*(stage.requests for stage in stages.values())):
        asked = [(name, element) for name, element in zip(stages, requests, strict=True) if element is not None]
        futures = [
            (name, element, nodes[name].request(element.op, _filled(element.fields, answers)))
            for name, element in asked
        ]
        for name, item, future in futures:
            answer = _result(name, item.op, future)
            answers[name, item.op] = answer
            if item.undo is not None:
                undo.append(Undo(node=name, op=item.undo.op, fields=_filled(item.undo.fields, answers)))
            wrong = item.check(answer)
            if wrong is not None:
                raise LabError(f"building the network: {item.op} in {name}: {wrong}")
            learned.update(item.learns(answer))
    _step("setting", [(name, nodes[name].set_sysctl(stage.sysctl)) for name, stage in stages.items() if stage.sysctl])
    _batches(nodes, {name: list(stage.ip) for name, stage in stages.items()}, {}, "ip")
    _rulesets(nodes, {name: stage.nft for name, stage in stages.items()})
    return [
        Running(
            node=name,
            program=program,
            completed=nodes[name].start([*program.argv], program.stdin),
            version=_version(name, program, nodes[name]),
        )
        for name, stage in stages.items()
        for program in stage.programs
    ]


def _version(name: str, program: Program, node: NodeHandle) -> str | None:
    if not program.version:
        return None
    done: Completed = _result(name, shlex.join(program.version), node.execute([*program.version]))
    first = next(iter(done.stdout.splitlines()), "")
    if done.exit != 0 or not first:
        command = shlex.join(program.version)
        raise LabError(f"building the network: {command} in {name} ended with {done.exit}: {_words(done)}")
    return printable(first)[:_MAX_VERSION]


def _filled(fields: Mapping[str, Any], answers: Mapping[tuple[str, str], Mapping[str, Any]]) -> dict[str, Any]:
    return {name: _with_answers(value, answers) for name, value in fields.items()}


def _with_answers(value: Any, answers: Mapping[tuple[str, str], Mapping[str, Any]]) -> Any:
    if isinstance(value, AnswerField):
        return answers[value.node, value.op][value.field]
    if isinstance(value, dict):
        return {name: _with_answers(item, answers) for name, item in value.items()}
    return [_with_answers(item, answers) for item in value] if isinstance(value, list) else value


def _build_wires(scripts: Mapping[str, NodeScript], nodes: Mapping[str, NodeHandle]) -> None:
    pids = {name: str(node.pid) for name, node in nodes.items()}
    _step("setting", ((name, nodes[name].set_sysctl(script.sysctl)) for name, script in scripts.items()))
    _batches(nodes, {name: script.links for name, script in scripts.items()}, pids, "ip")
    _requests(nodes, [(name, request) for name, script in scripts.items() for request in script.vlans])
    _batches(nodes, {name: [*script.devices, *script.routes] for name, script in scripts.items()}, pids, "ip")
    for arguments in zip_longest(*(script.ethtool for script in scripts.values())):
        _commands(
            [
                (name, nodes[name].execute(["ethtool", *words]))
                for name, words in zip(scripts, arguments, strict=True)
                if words is not None
            ]
        )
    _batches(nodes, {name: script.queues for name, script in scripts.items()}, pids, "tc")
    for name, script in scripts.items():
        _requests(nodes, [(name, request) for request in script.emulation])
    _rulesets(nodes, {name: script.nft for name, script in scripts.items()})


def _requests(nodes: Mapping[str, NodeHandle], requests: Iterable[tuple[str, NodeRequest]]) -> None:
    futures = [(name, request.op, nodes[name].request(request.op, request.fields)) for name, request in requests]
    for name, op, future in futures:
        _result(name, op, future)


def _batches(
    nodes: Mapping[str, NodeHandle],
    parts: Mapping[str, Sequence[str]],
    pids: Mapping[str, str],
    program: str,
) -> None:
    running = []
    for name, lines in parts.items():
        if lines:
            require_one_command_a_line(program, name, lines)
            text = fill_pids("\n".join(lines) + "\n", pids)
            command = tc_command(text) if program == "tc" else (program,)
            running.append((name, text, nodes[name].execute([*command, "-batch", "-"], text)))
    for name, text, future in running:
        done = _result(name, f"running {program} -batch", future)
        if done.exit != 0:
            kind = MissingRouteError if program == "ip" and _NO_ROUTE in done.stderr else LabError
            raise kind(
                f"building the network: {program} -batch in {name} ended with {done.exit}: "
                f"{_words(done)}{_line(text, done)}"
            )


def require_one_command_a_line(program: str, node: str, lines: Iterable[str]) -> None:
    """Raises `LabError` where a value in a line contains a line end, which would begin another command."""
    for line in lines:
        if not line.isprintable():
            raise LabError(f"building the network: {program} in {node}: {printable(line)[:200]} is not one line")


def _rulesets(nodes: Mapping[str, NodeHandle], texts: Mapping[str, str]) -> None:
    _commands([(name, nodes[name].execute(["nft", "-f", "-"], text)) for name, text in texts.items() if text])


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


def _result(name: str, doing: str, future: Future[Any], timeout_s: float = STEP_S) -> Any:
    try:
        return future.result(timeout=timeout_s)
    except TimeoutError as error:
        raise LabError(f"building the network: {doing} in {name}: no answer after {timeout_s:.0f} s") from error
    except AgentError as error:
        raise LabError(f"building the network: {doing} in {name}: {error}") from error


def _words(done: Completed) -> str:
    return " ".join((done.stderr or done.stdout).split()) or "it printed no message"


def _line(text: str, done: Completed) -> str:
    """The line that iproute2 means by `Command failed -:3`."""
    _, result, after = done.stderr.partition("Command failed -:")
    digits = after.split()[0] if result and after.split() else ""
    lines = text.splitlines()
    return f" (in: {lines[int(digits) - 1]})" if digits.isdigit() and 0 < int(digits) <= len(lines) else ""
