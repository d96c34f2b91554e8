"""The page's server without a socket to listen on, with a runner beside it."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

from starlette.testclient import TestClient

from sixbench.ui.app import application
from sixbench.ui.asking import RunnerConnection
from sixbench.ui.runner import run_for
from sixbench.ui.site import Site

TOKEN = "a-token"
SITE = Site(names=("127.0.0.1",), port=8066)
BASE = SITE.address.rstrip("/")
OWN_ORIGIN = {"origin": BASE}
BEARER = {"authorization": f"Bearer {TOKEN}"}


@contextlib.contextmanager
def stranger_to(directory: Path, site: Site = SITE) -> Iterator[TestClient]:
    """A client that has not shown the token."""
    here, there = socket.socketpair()
    runner = threading.Thread(target=run_for, args=(there, directory))
    runner.start()
    try:
        app = application(directory, TOKEN, site, RunnerConnection(here))
        with TestClient(app, base_url=site.address, follow_redirects=False) as client:
            yield client
    finally:
        here.close()
        runner.join()
        there.close()


@contextlib.contextmanager
def served(directory: Path) -> Iterator[TestClient]:
    """A client that is served."""
    with stranger_to(directory) as client:
        client.headers.update(BEARER)
        yield client
