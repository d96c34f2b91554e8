"""Debian's Chromium, without a window."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextlib.contextmanager
def chromium(wrapper: Path | None = None) -> Iterator[Browser]:
    """The browser. Skips where there is none (with the reason), and fails where it is expected.

    Args:
        wrapper: a program that starts it in its own way.
    """
    program = shutil.which("chromium")
    if program is None:
        reason = "there is no chromium in PATH; install it with: apt-get install chromium"
        if os.environ.get("SIXBENCH_EXPECT_LAB") == "1":
            pytest.fail(f"SIXBENCH_EXPECT_LAB is set, but {reason}")
        pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=wrapper or program, args=_ARGUMENTS)
        yield browser
        browser.close()
