"""Folders of runs for the tests of the page's server, and clients that it serves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from served import served, write_runs
from starlette.testclient import TestClient


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs of `write_runs`, for all tests of a file."""
    return write_runs(tmp_path_factory.mktemp("runs"))


@pytest.fixture
def client(directory: Path) -> Iterator[TestClient]:
    """A client of a server over `directory`."""
    with served(directory) as served_page:
        yield served_page


@pytest.fixture
def new_client(tmp_path: Path) -> Iterator[TestClient]:
    """A client of a server whose folder, `tmp_path`, has no run yet."""
    with served(tmp_path) as served_page:
        yield served_page
