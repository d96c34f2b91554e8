"""The runner: it starts, resumes and stops runs for the page's server, which has no right to do so.

The server asks over a pair of sockets that nobody else has, one JSON object a line. Each question has one answer with
its number: `{"number": 7, "answer": ...}`, or `{"number": 7, "refused": KIND, "words": ...}` (`KINDS`). The number is
null where the question has none.

    {"number": 7, "ask": "start", "experiment": {"name": "quickstart", "quick": true}}    or one with a "text"
    {"number": 8, "ask": "measure", "measurement": {"host": ..., "port": ..., "key": ..., "options": ...}}
    {"number": 9, "ask": "resume", "run": NAME}
    {"number": 10, "ask": "stop", "run": NAME}
    {"number": 11, "ask": "jobs"}
    {"number": 12, "ask": "doctor"}

There are no other questions. The runner does not trust the server: experiments and measurements are read by the readers
of the commands, and a run is a directory directly below that of the page.
"""

from __future__ import annotations

import json
import selectors
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..model.errors import CapabilityError, ExperimentError, SixbenchError, StoreError, UsageError
from ..model.quoting import shown
from ..store import interrupt_run
from . import check, two_machines
from .bounded_json import read_json
from .commands import Commands
from .doctor import Doctor
from .events import rest_of
from .jobs import Jobs, RequestedRun
from .runs import Runs

LONGEST_QUESTION_BYTES = 2**21
"""The largest request of the page (`guard.MOST_BODY_BYTES`), with each byte escaped in JSON."""

KINDS: dict[str, type[SixbenchError]] = {"usage": UsageError, "store": StoreError, "cannot": CapabilityError}
"""Reasons to refuse a question: it is wrong, there is no such run, or this machine cannot do it."""


def run_for(server: socket.socket, directory: Path) -> None:
    """Answers until the server closes its end. Runs that have not ended by then continue.

    Args:
        directory: the page's, which holds the runs.
    """
    with selectors.DefaultSelector() as selector:
        runner = _Runner(directory, Commands(selector))
        heard = b""

        def hear() -> None:
            nonlocal heard
            part = server.recv(2**16)
            *questions, heard = (heard + part).split(b"\n")
            for question in questions:
                server.sendall(runner.answer(question) + b"\n")
            if not part or len(heard) > LONGEST_QUESTION_BYTES:
                selector.unregister(server)

        selector.register(server, selectors.EVENT_READ, hear)
        try:
            while server in selector.get_map():
                for key, _ in selector.select():
                    key.data()
        except (BrokenPipeError, ConnectionResetError):
            pass
        finally:
            runner.close()


class _Runner:
    def __init__(self, directory: Path, commands: Commands) -> None:
        self._runs = Runs(directory)
        self._jobs = Jobs(directory, commands)
        self._doctor = Doctor(commands)
        self._asked: dict[str, Callable[[dict[str, Any]], Any]] = {
            "start": self._start,
            "measure": self._measure,
            "resume": self._resume,
            "stop": self._stop,
            "jobs": lambda _: self._jobs.summaries(),
            "doctor": lambda _: self._doctor.sentence(),
        }

    def close(self) -> None:
        self._doctor.close()

    def answer(self, question: bytes) -> bytes:
        """The answer to a line."""
        number = None
        try:
            asked = _question(question)
            number = asked.get("number")
            answer = {"answer": self._answer(asked)}
        except SixbenchError as error:
            of_usage = isinstance(error, (UsageError, ExperimentError))
            kind = "usage" if of_usage else "store" if isinstance(error, StoreError) else "cannot"
            answer = {"refused": kind, "words": str(error)}
        return json.dumps({"number": number, **answer}).encode()

    def _answer(self, asked: dict[str, Any]) -> Any:
        kind = asked.get("ask")
        if not isinstance(kind, str) or kind not in self._asked:
            raise UsageError(f"{shown(kind)} is not a question to the runner")
        return self._asked[kind](asked)

    def _start(self, asked: dict[str, Any]) -> dict[str, Any]:
        return self._queued(self._jobs.start(check.checked(asked.get("experiment"))))

    def _measure(self, asked: dict[str, Any]) -> dict[str, Any]:
        return self._queued(self._jobs.measure(two_machines.read_measurement(asked.get("measurement"))))

    def _resume(self, asked: dict[str, Any]) -> dict[str, Any]:
        name = _name(asked)
        if self._jobs.is_under_way(name):
            raise UsageError(f"{name} has not ended yet")
        run = self._runs.read(name)
        if rest_of(self._runs, name) != "interrupted":
            raise UsageError(f"{name} is not interrupted, so it cannot be resumed")
        experiment = run.manifest.experiment
        return self._queued(self._jobs.resume(name, run.directory, experiment.title or experiment.name))

    def _stop(self, asked: dict[str, Any]) -> None:
        name = _name(asked)
        if self._jobs.is_under_way(name):
            self._jobs.stop(name)
        else:
            interrupt_run(self._runs.folder(name))

    def _queued(self, job: RequestedRun) -> dict[str, Any]:
        return job.summary() | {"waits": job.state == "waiting"}


def _question(line: bytes) -> dict[str, Any]:
    asked = read_json(line)
    if not isinstance(asked, dict):
        raise UsageError(f"{shown(asked)} is not a question to the runner")
    return asked


def _name(asked: dict[str, Any]) -> str:
    name = asked.get("run")
    if not isinstance(name, str):
        raise UsageError("the question names no run; a run is named by its directory")
    return name
