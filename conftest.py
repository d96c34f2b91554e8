"""Settings and fixtures of all tests: hypothesis without deadlines (a busy machine is no bug), experiments from text,
the command."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from hypothesis import settings
from installed import Installed, install_in
from stored import EXPERIMENT, manifest_of

from sixbench.cli.main import main
from sixbench.mechanisms import MECHANISMS
from sixbench.model.errors import ExperimentError
from sixbench.model.experiment import Experiment
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.yaml_source import parse_yaml
from sixbench.store import Manifest

settings.register_profile("sixbench", deadline=None)
settings.load_profile("sixbench")

SMALL = """\
experiment: small
topology:
  nodes: {h1: host, r1: router, h2: host}
  links:
    - {endpoints: [h1, r1]}
    - {endpoints: [r1, h2]}
paths: {ipv4: native4, ipv6: native6}
workloads: [tcp-rr]
"""


@dataclass(frozen=True, kw_only=True)
class Done:
    """A command that ran in this process."""

    exit: int
    stdout: str
    stderr: str


@pytest.fixture(scope="session", autouse=True)
def default_signals() -> None:
    """Makes the processes that tests start interruptible, also where whoever started the tests ignores these signals,
    which children inherit: a shell does so for its background jobs, and `nohup`."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps this machine's state, such as a calibration, out of a test, and the test's out of the machine's."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.getbasetemp() / "state"))


@pytest.fixture(autouse=True)
def stays_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails a test whose command would start another program in place of this process, as a run of an ordinary user
    does to enter a user namespace: pytest would be gone without a word."""

    def refuse(program: str, *_: object) -> None:
        pytest.fail(f"this process would become {program}; run the command in a process of its own")

    for name in ("execv", "execve", "execvp", "execvpe"):
        monkeypatch.setattr(os, name, refuse)


@pytest.fixture(scope="session")
def small() -> str:
    """The text of an experiment with two hosts, a router and one workload."""
    return SMALL


@pytest.fixture(scope="session")
def read() -> Callable[[str], Experiment]:
    """Reads an experiment from text."""
    return lambda text: read_experiment(parse_yaml(text, "test.yaml"), MECHANISMS)


@pytest.fixture(scope="session")
def installed(read: Callable[[str], Experiment]) -> Installed:
    """Installs a path in a network."""
    return partial(install_in, read)


@pytest.fixture(scope="session")
def problems() -> Callable[[str], list[str]]:
    """Function for the problems of an experiment, one line a problem; empty if there are none."""

    def find(text: str) -> list[str]:
        try:
            read_experiment(parse_yaml(text, "test.yaml"), MECHANISMS)
        except ExperimentError as error:
            return str(error).splitlines()
        return []

    return find


@pytest.fixture
def sixbench(capfd: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Runs `sixbench` with these arguments in this process."""

    def run(*arguments: str | Path) -> Done:
        code = main([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        return Done(exit=code, stdout=captured.out, stderr=captured.err)

    return run


@pytest.fixture(scope="session")
def manifest(read: Callable[[str], Experiment]) -> Manifest:
    """That of a run which has only begun."""
    return manifest_of(read(EXPERIMENT))
