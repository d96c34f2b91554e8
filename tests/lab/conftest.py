"""Tests on real namespaces: skipped where the machine cannot (with the reason), failed where it is expected to."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lab.commands import SIXBENCH, WITHOUT_FIGURES, Doctor
from lab.unprivileged import NOBODY

from sixbench.agent import AgentHub, find_agent
from sixbench.lab.privileges import try_namespace
from sixbench.model.errors import SixbenchError

SixbenchCommand = Callable[..., subprocess.CompletedProcess[str]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test of this folder is a `lab` test."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("lab")


def unable(reason: str) -> None:
    """Skips, or fails where the lab is expected to work."""
    if os.environ.get("SIXBENCH_EXPECT_LAB") == "1":
        pytest.fail(f"SIXBENCH_EXPECT_LAB is set, but {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session", autouse=True)
def lab_possible() -> None:
    """Namespaces and the agent."""
    refused = try_namespace(["--net"])
    if refused is not None:
        unable(f"network namespaces cannot be made: {refused}")
    try:
        find_agent()
    except SixbenchError as error:
        unable(str(error))


@pytest.fixture
def hub() -> Iterator[AgentHub]:
    """A hub whose agents are gone after the test."""
    with AgentHub(find_agent()) as hub:
        yield hub


@pytest.fixture
def nobodys_directory() -> Iterator[Path]:
    """A directory that is nobody's. `tmp_path` will not do: every other pytest that starts takes the way to it away."""
    with tempfile.TemporaryDirectory(prefix="sixbench-test-") as name:
        directory = Path(name)
        directory.chmod(0o755)
        if os.geteuid() == 0:
            os.chown(directory, NOBODY, NOBODY)
        yield directory


@pytest.fixture(scope="session")
def sixbench() -> SixbenchCommand:
    """Runs the command as a user would, and returns what it did. With `figures=False` its report has none."""

    def run(
        *arguments: str | Path, timeout: float = 120, figures: bool = True, **options: object
    ) -> subprocess.CompletedProcess[str]:
        words = [*(SIXBENCH if figures else WITHOUT_FIGURES), *map(str, arguments)]
        return subprocess.run(words, capture_output=True, text=True, timeout=timeout, check=False, **options)  # type: ignore[call-overload]

    return run


@pytest.fixture(scope="session")
def doctor(sixbench: SixbenchCommand) -> Doctor:
    """Output of `sixbench doctor` here, which tries every mechanism with every engine."""
    interfaces = set(os.listdir("/sys/class/net"))
    shown, data = sixbench("doctor"), sixbench("doctor", "--json")
    left = set(os.listdir("/sys/class/net")) - interfaces
    return Doctor(shown=shown, data=data, left_interfaces=left)
