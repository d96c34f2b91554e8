"""A real run on the page: started, watched, stopped and gone on with by keyboard alone, while servers come and go.

A run of the page waits for others that it finds in its own network. So server and browser have one to themselves.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import chromium
from playwright.sync_api import Browser, Locator, Page, expect
from waiting import wait_for

EXPERIMENT = """\
experiment: paged
topology: {nodes: {h1: host, h2: host}, links: [{endpoints: [h1, h2]}]}
paths: {ipv4: native4, ipv6: native6}
workloads: [tcp-stream: {duration: 200ms, warmup: 0s}]
blocks: 200
"""
PATIENCE_MS = 600_000
"""Everything takes long where the machine is busy."""
IS_ROOT = os.geteuid() == 0


@pytest.fixture
def network() -> Iterator[list[str]]:
    """The words before a command that runs it in a network where nothing else is."""
    as_user = [] if IS_ROOT else ["--user", "--map-root-user"]
    holding = ["unshare", *as_user, "--net", "sh", "-c", "ip link set lo up && echo up && exec cat"]
    with subprocess.Popen(holding, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "up\n"
        yield ["nsenter", "--target", str(holder.pid), *([] if IS_ROOT else ["--user"]), "--net", "--"]


class Servers:
    """`sixbench ui` over one directory, one after the other, in a network."""

    def __init__(self, directory: Path, network: list[str]) -> None:
        self.directory = directory
        self.network = network
        self.running: subprocess.Popen[str] | None = None

    def start(self) -> str:
        """Starts one and returns its address."""
        command = [*self.network, sys.executable, "-m", "sixbench", "ui", str(self.directory), "--port", "0"]
        self.running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.running.stderr is not None
        return self.running.stderr.readline().rpartition(" ")[2].strip()

    def kill(self) -> None:
        """Ends it as nobody would."""
        if self.running is not None:
            self.running.kill()
            self.running.communicate()
            self.running = None


@pytest.fixture
def servers(tmp_path: Path, network: list[str]) -> Iterator[Servers]:
    servers = Servers(tmp_path / "runs", network)
    yield servers
    servers.kill()
    for log in (tmp_path / "runs").glob("*.events.jsonl"):
        end(tmp_path / "runs" / log.name.removesuffix(".events.jsonl"))


@pytest.fixture
def browser(tmp_path: Path, network: list[str]) -> Iterator[Browser]:
    wrapper = tmp_path / "chromium"
    wrapper.write_text(f'#!/bin/sh\nexec {shlex.join(network)} chromium "$@"\n')
    wrapper.chmod(0o755)
    with chromium(wrapper) as started:
        yield started


def end(run: Path) -> None:
    """Interrupts whoever runs a run, as Ctrl-C does."""
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if str(run).encode() in words:
                os.kill(int(process.name), signal.SIGINT)


def tab_to(page: Page, wanted: Locator) -> None:
    """Goes on by Tab until that has the focus."""
    handle = wanted.element_handle()
    for _ in range(80):
        if handle.evaluate("one => one === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError("Tab does not lead there")


def trials(run: Path) -> list[dict[str, Any]]:
    return [
        json.loads(file.read_text()) for file in sorted(run.glob("trials/*/trial.json")) if "partial" not in str(file)
    ]


def state(run: Path) -> str:
    return str(json.loads((run / "manifest.json").read_text())["state"])


def test_a_run_is_started_watched_stopped_and_gone_on_with_by_keyboard_alone(
    servers: Servers, browser: Browser
) -> None:
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_MS)
    expect.set_options(timeout=PATIENCE_MS)
    page.goto(servers.start())
    tab_to(page, page.get_by_role("link", name="New"))
    page.keyboard.press("Enter")
    editor = page.get_by_label("Experiment (YAML)")
    expect(editor).not_to_have_value("")
    tab_to(page, editor)
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(EXPERIMENT)
    expect(page.locator(".said")).to_contain_text("sixbench run experiment.yaml --quick")
    start = page.get_by_role("button", name="Start", exact=True)
    expect(start).to_be_enabled()
    quick = page.get_by_label("quick: fewer blocks, shorter trials")
    tab_to(page, quick)
    page.keyboard.press("Space")
    expect(page.locator(".said")).to_contain_text("400 trials")
    expect(start).to_be_enabled()
    tab_to(page, start)
    page.keyboard.press("Enter")

    expect(page.locator("td.ok").nth(2)).to_be_attached()
    expect(page.get_by_role("img", name="What arrives over time")).to_be_attached()
    expect(page.get_by_role("img", name="Congestion window over time")).to_be_attached()
    [log] = servers.directory.glob("*.events.jsonl")
    run = servers.directory / log.name.removesuffix(".events.jsonl")
    stop = page.get_by_role("button", name="Stop")
    expect(stop).to_be_visible()
    tab_to(page, stop)
    page.keyboard.press("Enter")
    go_on = page.get_by_role("button", name="Resume")
    expect(go_on).to_be_visible()
    done = len(trials(run))
    assert state(run) == "interrupted"
    assert any(trial["watched"] for trial in trials(run))
    assert json.loads((run / "manifest.json").read_text())["watched"] is True

    tab_to(page, go_on)
    page.keyboard.press("Enter")
    wait_for(lambda: len(trials(run)) > done)
    servers.kill()
    done = len(trials(run))
    wait_for(lambda: len(trials(run)) > done + 1)
    assert state(run) == "running", "a run does not need the page"
    page.goto(servers.start())
    page.goto(f"{page.url.partition('#')[0]}#/live/{run.name}")
    expect(page.locator("td.ok").nth(done)).to_be_attached()
    expect(stop).to_be_visible()
    tab_to(page, stop)  # another server than this one has started it
    page.keyboard.press("Enter")
    expect(page.locator(".badge.interrupted")).to_be_visible()
    assert state(run) == "interrupted"
