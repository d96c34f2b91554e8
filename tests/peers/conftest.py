"""Tunnels and links against the Linux kernel's own, in user-mode Linux: skipped where that is not installed (with the
reason), failed there if `SIXBENCH_EXPECT_PEERS=1`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from kernel_peer import missing_programs

from sixbench.agent import Agent, AgentHub, find_agent
from sixbench.lab.privileges import try_namespace
from sixbench.model.errors import SixbenchError


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test of this folder is a `peers` test."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("peers")


def _lacking() -> str | None:
    missing = missing_programs()
    if missing is not None:
        return missing
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "/dev/net/tun cannot be opened"
    refused = try_namespace(["--net", "--pid", "--fork", "--mount-proc"])
    if refused is not None:
        return f"namespaces cannot be made: {refused}"
    try:
        find_agent()
    except SixbenchError as error:
        return str(error)
    return None


@pytest.fixture(scope="session", autouse=True)
def peers_possible() -> None:
    """Skips or fails where something is missing that all tests here need."""
    reason = _lacking()
    if reason is None:
        return
    if os.environ.get("SIXBENCH_EXPECT_PEERS") == "1":
        pytest.fail(f"SIXBENCH_EXPECT_PEERS is set, but {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="module")
def hub() -> Iterator[AgentHub]:
    """Hub that starts our nodes."""
    with AgentHub(find_agent()) as hub:
        yield hub


@pytest.fixture(scope="module")
def router(hub: AgentHub) -> Agent:
    """A node of ours, held by the agent."""
    return hub.start(["router"])["router"]
