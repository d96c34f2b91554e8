"""The agent's part of `docs/adding.md`: its module is compiled in a copy of the crates, and both sides are run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from adding import ROOT, follow, sections

CRATE = "sixbench-traffic"


def test_both_sides_of_the_workload_of_the_page_are_compiled_without_a_warning_and_run(tmp_path: Path) -> None:
    for name in ("Cargo.toml", "Cargo.lock", "clippy.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("crates", "bpf", "src/sixbench/model/workloads"):
        shutil.copytree(ROOT / name, tmp_path / name)
    section = sections()["A workload"]
    follow(section, tmp_path)
    [module] = [Path(name).stem for name in section.files if name.endswith(".rs")]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target")}
    argv = ["cargo", "test", "--locked", "--package", CRATE, "--lib", f"workloads::{module}::"]
    done = subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "1 passed" in done.stdout
    assert "warning" not in done.stderr
