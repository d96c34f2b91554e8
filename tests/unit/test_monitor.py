"""A monitor: what it repeats and records, what it removes, what it makes of a directory that others wrote in."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import synthetic

from sixbench.analysis.monitoring import error_of_look, follow
from sixbench.cli.monitor_units import unit_word, units
from sixbench.cli.repeating import Repeating, next_start_ns
from sixbench.model.errors import Interrupted, StoreError, UsageError
from sixbench.model.monitoring import YEAR_NS, FalseAlarms, FollowedSeries, Occurrence, SeriesValue, Settings
from sixbench.report.monitoring import document, page_of, render
from sixbench.store import Folder, MonitorWriter, make_room, read_monitor, used_bytes

RUN = synthetic.small(blocks=3)
SETTINGS = Settings(
    command=("run", "small"),
    baseline=3,
    false_alarms=FalseAlarms(per_look=0.05),
    keep_bytes=2**30,
    created_realtime_ns=10**18,
)
HOUR_NS = 3600 * 10**9
BULK = b"x" * 300_000

Command = Callable[..., Any]


def faster(factor: float) -> synthetic.Synthetic:
    trials = [
        replace(trial, metrics={name: value * factor for name, value in trial.metrics.items()}) for trial in RUN.trials
    ]
    return replace(RUN, trials=trials)


class Calls:
    """Stands for the command: it leaves a run whose values are multiplied, or ends badly."""

    def __init__(self, *ends: float | tuple[int, str]) -> None:
        self.ends = list(ends)
        self.words: list[list[str]] = []

    def __call__(self, words: list[str], quiet: bool) -> tuple[int, str]:
        self.words.append(words)
        end = self.ends.pop(0)
        if isinstance(end, tuple):
            if end[0] == 130:
                raise Interrupted(end[1])
            return end
        directory = Path(words[words.index("--out") + 1])
        faster(end).write(directory)
        [first, *_] = sorted((directory / "trials").iterdir())
        (first / "h1-r1.pcapng").write_bytes(BULK)
        return 0, ""


def repeated(directory: Path, *ends: float | tuple[int, str]) -> list[Occurrence]:
    calls = Calls(*ends)
    with MonitorWriter.open(directory) as writer:
        repeating = Repeating(writer, SETTINGS, quiet=True, call=calls)
        repeating.recover()
        begin_and_occurs = [repeating.begin_and_occur() for _ in ends]
        repeating.make_room()
    return begin_and_occurs


def test_each_occurrence_is_a_run_and_its_trials_are_one_data_set(tmp_path: Path) -> None:
    import pyarrow.dataset

    done = repeated(tmp_path / "m", 1.0, 1.001)
    assert [(item.number, item.state, item.reason) for item in done] == [(1, "complete", None), (2, "complete", None)]
    table = pyarrow.dataset.dataset(tmp_path / "m" / "trials").to_table()
    assert table.num_rows == 2 * len(RUN.trials)
    assert sorted(set(table["occurrence"].to_pylist())) == [1, 2]
    assert table["occurrence_started_realtime_ns"].to_pylist()[0] == done[0].started_realtime_ns
    assert set(table["run"].to_pylist()) == {"small"}
    assert {"key", "goodput_bps", "reasons", "status"} <= set(table.column_names)
    assert (tmp_path / "m" / "runs" / "000001" / "manifest.json").is_file()


def test_a_column_that_comes_later_is_a_column_of_all(tmp_path: Path) -> None:
    import pyarrow.dataset

    from sixbench.store.data_set import add_to_data_set

    folder = Folder.open(tmp_path)
    add_to_data_set(folder, 1, 5, RUN.trials, RUN.manifest)
    later = [replace(trial, metrics={**trial.metrics, "new_ns": 7.0}) for trial in RUN.trials]
    add_to_data_set(folder, 2, 6, later, RUN.manifest)
    table = pyarrow.dataset.dataset(tmp_path).to_table()
    assert table["new_ns"].null_count == len(RUN.trials)
    assert table.num_rows == 2 * len(RUN.trials)
    text = [replace(trial, levels={**trial.levels, "message_bytes": "many"}) for trial in RUN.trials]
    with pytest.raises(StoreError, match="do not fit its columns"):
        add_to_data_set(folder, 3, 7, text, RUN.manifest)


def test_a_change_is_found_and_told_everywhere(tmp_path: Path) -> None:
    repeated(tmp_path / "m", 1.0, 1.001, 0.999, 1.0, 0.5)
    monitor = read_monitor(tmp_path / "m")
    followed = follow(monitor.occurrences, monitor.settings)
    changed = [followed_series for followed_series in followed if followed_series.changed is not None]
    goodput, *_ = [item for item in changed if item.series.metric == "goodput" and item.series.path == "ipv4"]
    assert goodput.changed is not None
    assert (goodput.changed.kind, goodput.changed.direction) == ("sudden", "lower")
    assert [point.number for point in goodput.change_points] == [5]
    assert not any(item.series.against for item in changed), "both paths changed alike"
    assert "Changed: " in render("m", monitor, followed)
    actual_document = document("m", monitor, followed, {})
    assert actual_document["changed"] == len(changed)
    json.dumps(actual_document, allow_nan=False)
    page = page_of("m", monitor, [goodput], {5: ["kernel"]})
    assert "other than before: kernel" in page
    assert "lower, sudden" in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/", ""), "it needs nothing else"


def test_what_fails_is_recorded_and_ends_nothing(tmp_path: Path) -> None:
    done = repeated(tmp_path / "m", 1.0, (3, "no agent"), (70, ""), 1.0)
    assert [item.state for item in done] == ["complete", "failed", "failed", "complete"]
    assert done[1].reason == "no agent"
    assert done[2].reason == "it ended with 70 and printed no message"
    assert [item.number for item in read_monitor(tmp_path / "m").occurrences] == [1, 2, 3, 4]


def test_a_command_that_cannot_be_obeyed_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such thing"):
        repeated(tmp_path / "m", (2, "no such thing"))
    assert not (tmp_path / "m").exists()


def test_an_interrupt_and_a_kill_are_recorded(tmp_path: Path) -> None:
    repeated(tmp_path / "m", 1.0)
    with pytest.raises(Interrupted):
        repeated(tmp_path / "m", (130, "stopped"))
    RUN.write(tmp_path / "m" / "runs" / "000003")
    repeated(tmp_path / "m", 1.0)
    states = [(item.number, item.state) for item in read_monitor(tmp_path / "m").occurrences]
    assert states == [(1, "complete"), (2, "interrupted"), (3, "interrupted"), (4, "complete")]


def test_two_never_write_at_once(tmp_path: Path) -> None:
    with MonitorWriter.open(tmp_path / "m"), pytest.raises(UsageError, match="another process repeats"):
        MonitorWriter.open(tmp_path / "m")
    MonitorWriter.open(tmp_path / "m").close()


def test_a_directory_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(UsageError, match="is not empty and holds no monitor"):
        MonitorWriter.open(tmp_path)
    assert os.listdir(tmp_path) == ["mine"]


def room_of(directory: Path, most_bytes: int) -> tuple[list[tuple[int, str]], list[str], int]:
    with MonitorWriter.open(directory) as writer:
        room = make_room(writer, writer.read().occurrences, most_bytes, 10**18)
        return [(number, item.part) for number, item in room.removed], room.kept, room.used_bytes


def test_the_oldest_captures_go_first_then_the_oldest_runs_and_last_the_data_set(tmp_path: Path) -> None:
    place = tmp_path / "m"
    repeated(place, 1.0, 1.0, 1.0)
    reverse = next((place / "runs" / "000001" / "trials").iterdir()) / "packets-reverse.parquet"
    reverse.write_bytes(BULK)
    used = used_bytes(Folder.open(place))
    assert room_of(place, used) == ([], [], used)
    removed, kept, left = room_of(place, used - 200_000)
    assert (removed, kept) == ([(1, "captures")], [])
    assert not reverse.exists()
    assert abs(left - used_bytes(Folder.open(place))) < 20_000, "records grow by what they say"
    removed, _, _ = room_of(place, left - 2 * len(BULK) - 16_384)
    assert removed == [(2, "captures"), (3, "captures"), (1, "run")]
    assert not (place / "runs" / "000001").exists()
    assert (place / "trials" / "000001.parquet").exists()
    removed, _, _ = room_of(place, 0)
    assert removed == [(2, "run"), (3, "run"), (1, "table"), (2, "table"), (3, "table")]
    occurrences = read_monitor(place).occurrences
    assert [[item.part for item in occurrence.removed] for occurrence in occurrences] == [
        ["captures", "run", "table"]
    ] * 3
    assert all(occurrence.values for occurrence in occurrences), "the records stay"


def test_nothing_outside_is_removed(tmp_path: Path) -> None:
    place, outside = tmp_path / "m", tmp_path / "outside"
    repeated(place, 1.0, 1.0, 1.0)
    outside.mkdir()
    (outside / "trials").mkdir()
    (outside / "precious.pcapng").write_bytes(BULK)
    runs = place / "runs"
    shutil.rmtree(runs / "000001")
    (runs / "000001").symlink_to(outside)
    [trial, *_] = sorted((runs / "000002" / "trials").iterdir())
    (trial / "linked.pcapng").symlink_to(outside / "precious.pcapng")
    os.link(outside / "precious.pcapng", trial / "same.pcapng")
    shutil.rmtree(runs / "000003" / "trials")
    (runs / "000003" / "trials").symlink_to(outside)
    (runs / "kept").mkdir()
    (runs / "kept" / "mine").write_bytes(BULK)
    removed, kept, _ = room_of(place, 0)
    assert (outside / "precious.pcapng").read_bytes() == BULK
    assert (outside / "trials").is_dir()
    assert (runs / "kept" / "mine").is_file(), "the monitor did not make it"
    assert not (runs / "000001").is_symlink()
    assert not (runs / "000002").exists()
    assert (3, "run") in removed
    assert len(kept) == 1, "the captures of 3 are behind a link"


def test_directories_deeper_than_any_run_are_told_and_stay(tmp_path: Path) -> None:
    place = tmp_path / "m"
    repeated(place, 1.0)
    (place / "runs" / "000001" / Path(*["d"] * 40)).mkdir(parents=True)
    removed, kept, _ = room_of(place, 0)
    assert removed == [(1, "table")]
    assert len(kept) == 1
    assert "deeper than anything of a run" in kept[0]


def rewritten(file: Path, **changes: Any) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"number": 7}, "it says that it is occurrence 7"),
        ({"schema": "other/1"}, "its schema is not"),
        ({"started_realtime_ns": -1}, "a time is out of range"),
        ({"started_realtime_ns": 2**80}, "damaged"),
        ({"values": [{"series": {}, "value": "x"}]}, "damaged"),
        ({"state": "fine"}, "damaged"),
    ],
)
def test_a_damaged_record_is_told_and_left_out(
    tmp_path: Path, changes: dict[str, Any], words: str, sixbench: Command
) -> None:
    place = tmp_path / "m"
    repeated(place, 1.0, 1.0)
    rewritten(place / "occurrences" / "000001.json", **changes)
    monitor = read_monitor(place)
    assert [occurrence.number for occurrence in monitor.occurrences] == [2]
    assert len(monitor.problems) == 1
    assert words in monitor.problems[0]
    done = sixbench("monitor", place)
    assert done.exit == 2
    assert words in done.stderr


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"baseline": 1}, "a baseline of 1 occurrences"),
        ({"command": []}, "it has no command"),
        ({"false_alarms": {}}, "false alarms have one rate"),
        ({"false_alarms": {"per_look": 2}}, "out of range"),
        ({"schema": 5}, "its schema is not"),
    ],
)
def test_damaged_settings_are_an_error(tmp_path: Path, changes: dict[str, Any], words: str, sixbench: Command) -> None:
    place = tmp_path / "m"
    repeated(place, 1.0)
    rewritten(place / "monitor.json", **changes)
    done = sixbench("monitor", place)
    assert done.exit == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_link_in_place_of_a_record_is_not_followed(tmp_path: Path) -> None:
    place = tmp_path / "m"
    repeated(place, 1.0)
    record = place / "occurrences" / "000001.json"
    record.rename(tmp_path / "elsewhere.json")
    record.symlink_to(tmp_path / "elsewhere.json")
    assert len(read_monitor(place).problems) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("m", "--times", "2", "run", "x"), "--times needs --every; give both, or neither"),
        (
            ("m", "compare", "a"),
            "a monitor repeats run, measure or reach, not compare; write: sixbench monitor DIR -- run EXPERIMENT",
        ),
        (("m", "--", "run", "x", "--out=y"), "the monitor itself sets --out=y of the repeated command; leave it out"),
        (("m", "--every", "5", "run", "x"), "--every 5: give a time from 1s to 366d, such as 90s, 30min, 1h or 1d"),
        (
            ("m", "--every", "10ms", "run", "x"),
            "--every 10ms: give a time from 1s to 366d, such as 90s, 30min, 1h or 1d",
        ),
        (
            ("m", "--false-alarms", "many", "run", "x"),
            "--false-alarms many: give a rate such as 1/year or 2/month, or a share such as 0.1%",
        ),
        (
            ("m", "--every", "1h"),
            "there is nothing to repeat; name it after the options: sixbench monitor DIR --every 1h -- run EXPERIMENT",
        ),
        (("m", "--units", "u", "run", "x"), "--units needs --every; give the time from one occurrence to the next"),
        (("m",), "m is not the directory of a monitor: it has no monitor.json"),
    ],
)
def test_a_command_line_that_is_wrong(
    words: Sequence[str], message: str, sixbench: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = sixbench("monitor", *words)
    assert (done.exit, done.stdout) == (2, "")
    assert done.stderr == f"sixbench: {message}\n"
    assert os.listdir(tmp_path) == []


def test_what_was_fixed_beforehand_stays(tmp_path: Path, sixbench: Command) -> None:
    place = tmp_path / "m"
    repeated(place, 1.0)
    other = sixbench("monitor", place, "--", "run", "other")
    assert (other.exit, other.stderr) == (
        2,
        f"sixbench: {place} repeats another command: sixbench run small; repeat that, or name another DIR\n",
    )
    longer = sixbench("monitor", place, "--baseline", "9", "--", "run", "small")
    assert longer.exit == 2
    assert "fixed when it began" in longer.stderr
    rate = sixbench("monitor", place, "--false-alarms", "1/day", "--", "run", "small")
    assert "fixed when it began" in rate.stderr


def test_what_is_of_another_experiment_is_no_occurrence(tmp_path: Path) -> None:
    repeated(tmp_path / "m", 1.0)
    other = replace(RUN, manifest=replace(RUN.manifest, experiment=replace(RUN.manifest.experiment, name="other")))

    def call(words: list[str], quiet: bool) -> tuple[int, str]:
        other.write(Path(words[2]))
        return 0, ""

    with MonitorWriter.open(tmp_path / "m") as writer:
        begin_and_occur = Repeating(writer, SETTINGS, quiet=True, call=call).begin_and_occur()
    assert begin_and_occur.state == "failed"
    assert begin_and_occur.reason == "its experiment is other, and that of occurrence 1 is small"


def test_a_rate_by_the_year_is_shared_by_the_time_between_looks() -> None:
    assert error_of_look(FalseAlarms(per_look=0.01), 1) == 0.01
    assert error_of_look(FalseAlarms(per_year=2), YEAR_NS // 1000) == pytest.approx(0.002)
    assert error_of_look(FalseAlarms(per_year=2), YEAR_NS) == 0.05
    assert error_of_look(FalseAlarms(per_year=2), -5) == 0


def test_the_error_of_a_look_is_that_of_all_series_together() -> None:
    """Many series, each with a value as far out as one series alone would call a change."""

    def occurrence(number: int, values: Sequence[float]) -> Occurrence:
        series = [
            FollowedSeries(
                workload="ping", metric="rtt_p50", unit="ns", scale="difference", combination="c", path=str(path)
            )
            for path in range(len(values))
        ]
        return Occurrence(
            number=number,
            state="complete",
            started_realtime_ns=number * HOUR_NS,
            ended_realtime_ns=number * HOUR_NS,
            values=tuple(
                SeriesValue(series=values, value=value, n=1) for values, value in zip(series, values, strict=True)
            ),
        )

    def result(count: int) -> int:
        values = [100.0, 101.0, 99.0, 105.0]
        occurrences = [occurrence(number, [value] * count) for number, value in enumerate(values, start=1)]
        return sum(item.changed is not None for item in follow(occurrences, replace(SETTINGS, false_alarms=rate)))

    rate = FalseAlarms(per_look=0.2)
    assert result(1) == 1
    assert result(50) == 0


def test_a_page_without_any_occurrence() -> None:
    from sixbench.model.monitoring import Monitor

    empty = Monitor(settings=SETTINGS)
    assert "No occurrence has measured anything yet." in page_of("m", empty, [], {})
    assert "There was no occurrence yet." in render("m", empty, [])


def test_occurrences_begin_at_whole_multiples() -> None:
    assert next_start_ns(100, 10, 103) == (110, 0)
    assert next_start_ns(100, 10, 125) == (130, 2)
    assert next_start_ns(100, 10, 90) == (110, 0)


def test_units_say_what_is_repeated(tmp_path: Path, sixbench: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = sixbench(
        "monitor",
        "site a",
        "--every",
        "1h",
        "--keep",
        "2GiB",
        "--units",
        ".",
        "--",
        "run",
        "x 100%.yaml",
        "--set",
        "a=$b",
    )
    assert done.exit == 0
    names = done.stdout.split()
    assert names == ["sixbench-monitor-site-a.service", "sixbench-monitor-site-a.timer"]
    service, timer = ((tmp_path / name).read_text() for name in names)
    assert f'"{tmp_path}/site a" --keep 2GiB --quiet -- run "x 100%%.yaml" --set "a=$$b"\n' in service
    assert f"WorkingDirectory={tmp_path}\n" in service
    assert "OnUnitActiveSec=3600s\n" in timer
    assert "Unit=sixbench-monitor-site-a.service\n" in timer
    assert not os.path.exists(tmp_path / "site a")


def test_words_of_units() -> None:
    assert unit_word('a"b\\') == '"a\\"b\\\\"'
    assert unit_word("") == '""'
    with pytest.raises(UsageError, match="does not print"):
        unit_word("a\nExecStart=b")
    actual_units = units("NAME", ["SECONDS", "COMMAND"], Path("/FOLDER"), 10**9)
    assert "ExecStart=SECONDS COMMAND\n" in actual_units["sixbench-monitor-NAME.service"]


def test_systemd_takes_the_units(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze here")
    for name, text in units("a", ["/bin/true", "x y"], tmp_path, 60 * 10**9).items():
        (tmp_path / name).write_text(text)
    files = sorted(map(str, tmp_path.iterdir()))
    done = subprocess.run(["systemd-analyze", "verify", *files], capture_output=True, text=True, check=False)
    assert "sixbench-monitor" not in done.stderr, done.stderr


def test_problems_of_an_experiment_are_told_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="the experiment has these problems"):
        repeated(tmp_path / "m", (2, "x.yaml:2: foo: unknown key"))
    assert capfd.readouterr().err == "x.yaml:2: foo: unknown key\n"
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        ("value", "NaN", 'values.0.value is "NaN", which is not a number'),
        ("value", "1e999", 'values.0.value is "1e999", which is not a number'),
        ("value", True, "values.0.value is true, which is not a number"),
        ("n", -5, "a count of trials is out of range"),
        ("n", "3", 'values.0.n is "3", which is not a whole number'),
        ("series", [1], "values.0.series is a list, which is not an object"),
    ],
)
def test_a_value_that_no_measurement_has_is_left_out_in_plain_words(
    tmp_path: Path, place: str, value: object, words: str
) -> None:
    """The text "NaN" became a number, and then telling of it in JSON ended with a traceback."""
    repeated(tmp_path / "m", 1.0, 1.0)
    record = tmp_path / "m/occurrences/000002.json"
    data = json.loads(record.read_text())
    data["values"][0][place] = value
    record.write_text(json.dumps(data))
    monitor = read_monitor(tmp_path / "m")
    assert monitor.problems == (f"{record}: damaged: {words}",)
    actual_document = document("m", monitor, follow(monitor.occurrences, monitor.settings), {})
    json.dumps(actual_document, allow_nan=False)
    assert [occurrence.number for occurrence in monitor.occurrences] == [1]


def test_settings_are_read_as_they_are_written(tmp_path: Path) -> None:
    repeated(tmp_path / "m", 1.0)
    file = tmp_path / "m/monitor.json"
    file.write_text(file.read_text().replace('"keep_bytes": 1073741824', '"keep_bytes": "1073741824"'))
    with pytest.raises(StoreError, match='damaged: keep_bytes is "1073741824", which is not a whole number'):
        read_monitor(tmp_path / "m")
