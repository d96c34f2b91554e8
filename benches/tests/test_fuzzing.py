"""`make fuzz`: which targets there are, and what it says of them."""

from __future__ import annotations

import re
import threading
import tomllib
from pathlib import Path

import pytest
from endurance import fuzzing, nested_experiments, words_of_others

pytestmark = pytest.mark.computes

ROOT = Path(__file__).parents[2]

LIBFUZZER_OUTPUT = """\
INFO: Loaded 1 PC tables (385 PCs): 385 [0x55675f7e15f0,0x55675f7e2e00),
#36\tINITED cov: 85 ft: 119 corp: 20/1627b exec/s: 0 rss: 27Mb
#39\tNEW    cov: 87 ft: 121 corp: 22/1867b lim: 202 exec/s: 0 rss: 27Mb
stat::number_of_executed_units: 2695303
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A target that is made up: it ends as its file `code` says."""
    monkeypatch.setattr(fuzzing, "FUZZ", tmp_path / "fuzz")
    (tmp_path / "said").write_text(LIBFUZZER_OUTPUT)
    file = tmp_path / "layers"
    file.write_text('#!/bin/sh\ncd "${0%/*}"\necho "$@" > arguments\ncat said >&2\nexit "$(cat code)"\n')
    file.chmod(0o755)
    return file


def test_every_target_of_the_crate_is_built_and_has_a_corpus() -> None:
    crate = (ROOT / "crates" / "fuzz" / "src" / "lib.rs").read_text(encoding="utf-8")
    built = tomllib.loads((ROOT / "fuzz" / "Cargo.toml").read_text(encoding="utf-8"))["bin"]
    of_libfuzzer = [*fuzzing.OF_ANY_USER, *fuzzing.OF_ROOT]
    assert re.findall(r'\("(\w+)", ', crate) == [item["name"] for item in built] == of_libfuzzer
    for target in of_libfuzzer:
        assert any((ROOT / "fuzz" / "corpus" / target).iterdir())


def test_executions_and_edges_are_counted(program: Path) -> None:
    program.with_name("code").write_text("0")
    libfuzzer = fuzzing._libfuzzer(program, 86, 1)
    assert libfuzzer == {"executions": 2695303, "coverage": 87, "features": 121, "edges": 385}
    arguments = program.with_name("arguments").read_text()
    assert "-max_total_time=86 " in arguments
    assert "-timeout=60 " in arguments


def test_a_crash_is_told_and_is_wrong(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.with_name("code").write_text("77")
    result = fuzzing._outcome_of("layers", lambda: fuzzing._libfuzzer(program, 86, 1))
    assert capsys.readouterr().out.startswith(
        f"layers: 2,695,303 executions, 87 of 385 edges covered\n{LIBFUZZER_OUTPUT[:20]}"
    )
    [wrong] = fuzzing.wrong({"targets": {"layers": result}})
    assert wrong.startswith("layers: ")


def test_what_was_not_done_is_wrong_where_everything_is_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    fields = {"targets": {"bpf_encapsulate": {"not_done": "loading programs needs root"}}}
    monkeypatch.delenv("SIXBENCH_EXPECT_LAB", raising=False)
    assert fuzzing.wrong(fields) == []
    monkeypatch.setenv("SIXBENCH_EXPECT_LAB", "1")
    assert fuzzing.wrong(fields) == ["bpf_encapsulate: loading programs needs root"]


def test_changed_answers_are_read_or_refused() -> None:
    answers = fuzzing._answers(0.5, 1, threading.Event())
    assert "crash" not in answers
    assert 0 < answers["refused"] <= answers["executions"]


def test_changed_experiments_are_read_or_refused() -> None:
    try_experiments = nested_experiments.try_experiments(2, 1, threading.Event())
    assert "crash" not in try_experiments
    assert 0 < try_experiments["refused"] <= try_experiments["executions"]


def test_an_experiment_that_crashes_the_reader_is_told_with_what_repeats_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> bool:
        raise RecursionError("too deep")

    monkeypatch.setattr(nested_experiments, "try_one", crash)
    try_experiments = nested_experiments.try_experiments(2, 3, threading.Event())
    assert try_experiments["crash"] == "seed 3, input 0: RecursionError('too deep')"


@pytest.mark.parametrize("target", [fuzzing.WORKER_ANSWERS, fuzzing.HOST_ANSWERS, fuzzing.TERMINAL_NAMES])
def test_words_of_others_are_tried_and_a_crash_has_its_number(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    try_words = words_of_others.try_words(target, 1, 1, threading.Event())
    assert try_words["executions"] > 0
    assert "crash" not in try_words, try_words
    monkeypatch.setitem(words_of_others._TARGETS, target, lambda _: lambda _: 1 / 0)
    assert words_of_others.try_words(target, 1, 3, threading.Event())["crash"].startswith("seed 3, input 0: ZeroDivis")
