"""The page's server without a socket to listen on, with a runner beside it."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import synthetic
from recorded_events import tell_all
from starlette.testclient import TestClient

from sixbench.store import EventLog
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


def write_runs(place: Path) -> Path:
    """Two runs, one with a log and a report, beside what is none of the page's business. Returns the directory."""
    run = synthetic.small()
    run.write(place / "small")
    with EventLog(place / "small.events.jsonl") as log:
        tell_all(log, run)
    shutil.copytree(place / "small", place / "plain")
    (place / "small" / "report.html").write_text("<!doctype html><title>Report</title>")
    (place.parent / "secret").mkdir(exist_ok=True)
    (place.parent / "secret" / "manifest.json").write_text("{}")
    (place / "link").symlink_to(place / "small")
    return place


def events_after(
    client: TestClient, run: str, last_id: str | None = None
) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """The events of a run's stream after the last one that is known, and its messages."""
    headers = {} if last_id is None else {"last-event-id": last_id}
    actual_messages = _messages(client.get(f"/api/runs/{run}/events", headers=headers).text)
    return [
        event
        for actual_message in actual_messages
        if actual_message["event"] == "run"
        for event in json.loads(actual_message["data"])
    ], actual_messages


def _messages(text: str) -> list[dict[str, str]]:
    return [
        dict(line.split(": ", 1) for line in word.splitlines())
        for word in text.split("\n\n")
        if word and not word.startswith(":")
    ]


def jobs_of(client: TestClient) -> list[tuple[str, str]]:
    """The state and the words of each job."""
    return [(job["state"], job["words"]) for job in client.get("/api/jobs").json()["jobs"]]
