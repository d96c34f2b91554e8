"""docs/measurements/precision.md has the figures of the JSON file beside it, and results find their place there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pages import END
from precision import __main__ as command
from precision import document, shipped
from precision.parts import NAMES, PARTS
from synthetic import small

from sixbench.analysis import analyse

pytestmark = pytest.mark.computes


def test_the_page_has_the_figures_that_were_measured() -> None:
    data = json.loads(document.DATA.read_text(encoding="utf-8"))
    page = document.PAGE.read_text(encoding="utf-8")
    assert page.split(document.BEGIN)[1].split(END)[0] == document.figures(data)


def test_the_manual_names_every_part_and_the_command_names_them_too() -> None:
    page = (document.PAGE.parents[1] / "precision.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in page for name in PARTS)
    assert set(document._TITLES) == set(PARTS)
    assert (*PARTS, document.SHIPPED) == NAMES


RUN = {
    "date": "2026-11-22",
    "took_s": 60,
    "commit": "abc",
    "kernel": "6.18",
    "machine": "x86_64",
    "processors": 2,
    "memory_gib": 8,
    "python": "3.11",
}


def difference(half_width: float | None, right: int, excluding: int) -> dict[str, Any]:
    point = {"seconds": 6.0, "pairs": 5, "windows": 10, "apart": 2, "half_width": half_width, "right": right}
    point |= {"excluding": excluding, "declared": excluding, "contradicting": 0}
    return {"truth": 1.0, "direction": "none", "plain": 1.0, "ratio": 1.0, "pair_s": 1.2, "points": [point]}


def part(half_width: float | None = 0.0123, excluding: int = 1) -> dict[str, Any]:
    name = "0 % of rate"
    actual_difference = difference(half_width, 10 - excluding, excluding)
    return {
        "part": "rate",
        **RUN,
        "workload": "tcp-stream",
        "metric": "goodput",
        "duration_ms": 400.0,
        "warmup_ms": 100.0,
        "ours": {
            "blocks": 14,
            "trials": 70,
            "valid": 69,
            "reasons": {"cpu-limited": 1},
            "trial_s": 0.57,
            "differences": {name: actual_difference},
        },
        "careful": {
            "tool": "iperf3 3.12",
            "command": "iperf3",
            "rounds": 14,
            "failed": 0,
            "differences": {name: difference(0.05, 10, 0)},
        },
    }


def test_a_table_sets_before_and_after_and_the_tool_below_one_another() -> None:
    data: dict[str, Any] = {}
    document.take(data, "before", part())
    document.take(data, "after", part(half_width=0.004, excluding=0))
    text = document.figures(data)
    assert "| 0 % of rate | 0 | sixbench, before | ±1.2 %, 9 of 10 |" in text
    assert "| 0 % of rate | 0 | sixbench, after | ±0.40 %, 10 of 10 |" in text
    assert "| 0 % of rate | 0 | iperf3, before | ±5.0 %, 10 of 10 |" in text
    assert "| sixbench, before | 1 of 10, 1 excluded (2 apart) |" in text
    assert "70 trials of 400 ms after 100 ms, 69 of them valid (1 cpu-limited)" in text


def test_windows_without_an_interval_say_so() -> None:
    data: dict[str, Any] = {}
    document.take(data, "before", part(half_width=None))
    assert "| sixbench, before | no interval, 9 of 10 |" in document.figures(data)


def test_a_shipped_experiment_is_kept_beside_the_others() -> None:
    data: dict[str, Any] = {}
    fields = {"minutes": 2.0, "trials": 9, "valid": 8, **shipped.summary(analyse(small().in_memory()))}
    document.take(data, "before", {"part": "shipped", **RUN, "experiments": {"quickstart": fields}})
    document.take(data, "before", {"part": "shipped", **RUN, "experiments": {"mtu --quick": fields}})
    text = document.figures(data)
    assert "| `quickstart` | before | 2.0 | 9 (8) |" in text
    assert "| `mtu --quick` | before | 2.0 | 9 (8) |" in text
    assert "| `quickstart` | tcp-stream goodput | ±" in text
    assert "none made" in text


def test_the_command_writes_a_file_for_each_part_and_prints_the_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[object, ...]] = []

    def measured(name: str, scratch: Path, *rest: object) -> dict[str, Any]:
        asked.append((name, *rest))
        return {key: value for key, value in part().items() if key not in (*RUN, "part")}

    monkeypatch.setattr(command, "measure", measured)
    monkeypatch.setattr("sys.argv", ["precision", "--only", "rate", "--scale", "0.5", "--out", str(tmp_path)])
    assert command.main() == 0
    assert asked == [("rate", 0.5, None, list(shipped.CHOSEN))]
    assert json.loads((tmp_path / "rate.json").read_text())["ours"]["blocks"] == 14
    assert "| 0 % of rate | 0 | sixbench, now | ±1.2 %, 9 of 10 |" in capsys.readouterr().out


def test_a_part_that_is_not_there_is_told_with_those_that_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["precision", "--only", "rates"])
    with pytest.raises(SystemExit) as ended:
        command.main()
    assert ended.value.code == 2
    assert "there is no part 'rates'; there are rate, delay, header, hop, shipped" in capsys.readouterr().err
