"""Words that a shell offers after Tab."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sixbench.cli import completions
from sixbench.cli.main import main

Offered = Callable[..., list[str]]


@pytest.fixture
def offered(tmp_path: Path) -> Offered:
    """Function for the words that bash offers after these words, of which the last is the one at the cursor."""

    def ask(*words: str) -> list[str]:
        environment = os.environ | {
            "_SIXBENCH_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(["sixbench", *words]),
            "COMP_CWORD": str(len(words)),
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        done = subprocess.run(
            [sys.executable, "-m", "sixbench"],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == ""
        return done.stdout.split()

    return ask


@pytest.fixture
def offered_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Offered:
    """The same, asked in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("_SIXBENCH_COMPLETE", "complete_bash")

    def ask(*words: str) -> list[str]:
        monkeypatch.setenv("COMP_WORDS", " ".join(["sixbench", *words]))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        with pytest.raises(SystemExit) as ended:
            main([])
        captured = capfd.readouterr()
        assert (ended.value.code, captured.err) == (0, "")
        return captured.out.split()

    return ask


def test_a_shell_is_offered_names_of_experiments(offered: Offered, tmp_path: Path) -> None:
    (tmp_path / "quick-look.yaml").write_text("experiment: x\n")
    assert offered("run", "quick") == ["quickstart", "quick-look.yaml"]


def test_commands(offered_here: Offered) -> None:
    assert "calibrate" in offered_here("ca")


def test_papers_formats_and_kernels(offered_here: Offered) -> None:
    assert offered_here("papers", "her") == ["herrera-6to4-tunnel"]
    assert set(offered_here("report", "--format", "")) >= {"terminal", "html", "md", "latex", "csv", "json"}
    assert "debian-6.1" in offered_here("run", "quickstart", "--kernel", "debian-6")
    assert offered_here("run", "quickstart", "--kernels", "debian-6.1,debian-5") == ["debian-6.1,debian-5.10"]


def test_run_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("runs/a", "runs/b", "other/c"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "manifest.json").write_text(json.dumps({}))
    (tmp_path / "runs" / "empty").mkdir()
    words = [word for word, what in completions.run_directories("") if what == "a run"]
    assert words == ["runs/a", "runs/b"]
    assert completions.run_directories("other/") == [("other/c", "a run")]


def test_every_completion_offers_only_what_goes_on_from_the_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in ("experiments", "papers", "profiles", "kernels", "formats", "metrics", "workloads", "mechanisms"):
        complete = getattr(completions, name)
        everything = complete("")
        assert everything, name
        first, _ = everything[0]
        assert first in [word for word, _ in complete(first[:2])]
        assert complete("zzz") == []


def test_the_help_says_how_to_install_it(sixbench: Callable[..., object]) -> None:
    assert "--install-completion" in sixbench("--help").stdout  # type: ignore[attr-defined]
