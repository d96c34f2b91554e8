"""Programs of Rust tests as `make test-rust` runs them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("name", "threads"), [("pmtu-0123456789abcdef", "8"), ("serve-0123456789abcdef", "")])
def test_tests_that_wait_run_more_at_once(tmp_path: Path, name: str, threads: str) -> None:
    program = tmp_path / name
    program.symlink_to("/bin/sh")
    environment = {key: value for key, value in os.environ.items() if key != "RUST_TEST_THREADS"}
    command = [ROOT / "tools/run-rust-tests", program, "-c", 'echo "${RUST_TEST_THREADS-}"; exit 7']
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stdout) == (7, f"{threads}\n")


def test_the_tests_that_wait_are_there() -> None:
    assert (ROOT / "crates/agent/tests/pmtu.rs").exists()
