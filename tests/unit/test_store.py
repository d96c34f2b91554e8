"""The run directory: written trial by trial, read back."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import synthetic
from reasons import of_agents
from stored import EXPERIMENT, record

from sixbench.bench.environment import GUEST, guest_from
from sixbench.model.errors import UsageError, WriteError
from sixbench.store import EmulatedMachine, Manifest, RunWriter, create_run, open_run, read_run
from sixbench.store.atomic import write_file
from sixbench.store.folder import Folder

SERIES = {"client": {"t_ns": [1, 2], "rtt_ns": [1.5, None], "transactions": [3, 4]}}


def test_a_run_is_read_back_as_it_was_written(tmp_path: Path, manifest: Manifest) -> None:
    writer = create_run(tmp_path / "run", manifest)
    second = record(
        "b001-c0002-ipv6",
        combination="c0002",
        path="ipv6",
        mechanism="native6",
        sequence=2,
        status="failed",
        reasons=of_agents("h1: peer-lost"),
    )
    writer.add_trial(second, {})
    writer.add_trial(record(), SERIES, {"h1-h2.pcap": b"\xa1\xb2"})
    writer.set_state("complete", 5)
    run = read_run(tmp_path / "run")
    assert run.manifest == replace(manifest, state="complete", ended_realtime_ns=5, accepted=run.manifest.accepted)
    assert list(run.manifest.accepted) == ["b001-c0002-ipv6", "b001-c0001-ipv4"]
    assert list(run.manifest.accepted["b001-c0001-ipv4"]) == ["h1-h2.pcap", "series.parquet", "trial.json"]
    assert run.manifest.experiment == manifest.experiment
    assert run.trials == [record(), second]
    assert run.by_key["b001-c0002-ipv6"].reasons == of_agents("h1: peer-lost")
    assert run.series("b001-c0001-ipv4") == {
        "client": {"rtt_ns:t_ns": [1], "rtt_ns": [1.5], "transactions:t_ns": [1, 2], "transactions": [3.0, 4.0]}
    }
    assert run.series("b001-c0002-ipv6") == {}
    assert (tmp_path / "run/trials/b001-c0001-ipv4/h1-h2.pcap").read_bytes() == b"\xa1\xb2"
    assert (tmp_path / "run/experiment.yaml").read_text() == EXPERIMENT


def test_the_clock_and_the_guest_are_read_back(tmp_path: Path, manifest: Manifest) -> None:
    variables = {
        GUEST: '{"kernel": "debian-6.1", "emulator": "qemu 7.2", "accelerator": "tcg", "instruction_ns": 1, "seed": 7}'
    }
    guest = guest_from(variables)
    assert guest == EmulatedMachine(
        kernel="debian-6.1", emulator="qemu 7.2", accelerator="tcg", instruction_ns=1, seed=7
    )
    virtual = replace(manifest.environment, clock="virtual", guest=guest)
    create_run(tmp_path / "run", replace(manifest, environment=virtual, guests={"debian-6.1": virtual}))
    read = read_run(tmp_path / "run").manifest
    assert read.environment == virtual
    assert read.guests == {"debian-6.1": virtual}


def test_a_machine_is_no_guest(manifest: Manifest) -> None:
    assert guest_from({}) is None
    assert manifest.environment.clock == "real"


def test_levels_keep_their_types(tmp_path: Path, manifest: Manifest) -> None:
    create_run(tmp_path / "run", manifest)
    for combination in read_run(tmp_path / "run").manifest.experiment.combinations:
        assert {name: type(value) for name, value in combination.levels.items()} == {
            "link_rate_bps": int,
            "lost_ratio": float,
            "message_bytes": int,
            "sack": bool,
        }


def test_an_interrupted_run_is_opened_without_what_was_half_written(tmp_path: Path, manifest: Manifest) -> None:
    create_run(tmp_path / "run", manifest).add_trial(record(), {})
    half = tmp_path / "run/trials/b001-c0002-ipv4.partial"
    half.mkdir()
    (half / "trial.json").write_text("{")
    assert [trial.key for trial in read_run(tmp_path / "run").trials] == ["b001-c0001-ipv4"]
    writer, run = open_run(tmp_path / "run")
    assert not half.exists()
    assert run.trials == [record()]
    writer.add_trial(record("b001-c0002-ipv4", combination="c0002", sequence=2), {})
    assert len(read_run(tmp_path / "run").trials) == 2


@pytest.mark.parametrize("where", ["renamed", "flushed"])
def test_an_interrupt_when_a_trial_is_in_its_place_does_not_disown_it(
    tmp_path: Path, manifest: Manifest, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    rename = os.rename

    def interrupted(*arguments: Any, **descriptors: int) -> None:
        if where == "renamed":
            rename(*arguments, **descriptors)
        raise KeyboardInterrupt

    writer = create_run(tmp_path / "run", manifest)
    writer.add_trial(record("b001-c0002-ipv4", combination="c0002", sequence=2), {})
    with monkeypatch.context() as patch:
        patch.setattr(*((os, "rename") if where == "renamed" else (RunWriter, "_note")), interrupted)
        with pytest.raises(KeyboardInterrupt):
            writer.add_trial(record(), {})
    writer.set_state("interrupted", 1)
    writer.close()
    run = read_run(tmp_path / "run")
    assert run.problems == ()
    assert sorted(trial.key for trial in run.trials) == ["b001-c0001-ipv4", "b001-c0002-ipv4"]
    assert sorted(run.manifest.accepted) == ["b001-c0001-ipv4", "b001-c0002-ipv4"]


def test_a_trial_is_written_once(tmp_path: Path, manifest: Manifest) -> None:
    writer = create_run(tmp_path / "run", manifest)
    writer.add_trial(record(), {})
    with pytest.raises(WriteError, match=r"writing .*b001-c0001-ipv4"):
        writer.add_trial(record(status="invalid"), {})
    assert read_run(tmp_path / "run").trials == [record()]
    assert [path.name for path in (tmp_path / "run/trials").iterdir()] == ["b001-c0001-ipv4"]


def test_a_trial_with_nan_leaves_nothing(tmp_path: Path, manifest: Manifest) -> None:
    writer = create_run(tmp_path / "run", manifest)
    with pytest.raises(ValueError, match="not JSON compliant"):
        writer.add_trial(record(metrics={"rtt_p50_ns": float("nan")}), {})
    assert list((tmp_path / "run/trials").iterdir()) == []


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(WriteError, match=r"writing .*d: No space left on device"):
            Folder.open(tmp_path).write_folder("d", {"one": b"1"})
    (tmp_path / "taken").mkdir()
    with pytest.raises(WriteError, match=r"writing .*taken: it is a directory"):
        write_file(tmp_path / "taken", "x")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_what_was_not_measured_is_absent(tmp_path: Path, manifest: Manifest) -> None:
    create_run(tmp_path / "run", manifest).add_trial(record(limited_by=None), {})
    data = json.loads((tmp_path / "run/trials/b001-c0001-ipv4/trial.json").read_text())
    assert "limited_by" not in data
    assert data["schema"] == "sixbench.trial/3"


def test_a_run_belongs_to_one_process_at_a_time(tmp_path: Path) -> None:
    run = synthetic.small().write(tmp_path / "run")
    writer, _ = open_run(run.directory)
    with pytest.raises(UsageError, match="another process is running"):
        open_run(run.directory)
    writer.close()
    open_run(run.directory)[0].close()


def test_a_run_is_unlocked_where_an_exception_ends_it_though_its_writer_is_still_known(
    tmp_path: Path, manifest: Manifest
) -> None:
    writer = create_run(tmp_path / "run", manifest)
    with pytest.raises(KeyError), writer:
        raise KeyError("no such thing")
    again, _ = open_run(tmp_path / "run")
    again.close()
    again.close()
    assert writer.directory == again.directory == tmp_path / "run"


def test_a_run_that_is_on_no_disk_has_no_series() -> None:
    run = synthetic.small().in_memory()
    assert run.series(run.trials[0].key) == {}


def test_a_trial_is_flushed_whole_before_it_has_its_name_and_its_name_before_it_is_acknowledged(
    tmp_path: Path, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = create_run(tmp_path / "run", manifest)
    done: list[str] = []

    def shown(descriptor: int) -> str:
        return os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}"))

    fsync, rename = os.fsync, os.rename

    def flushed(descriptor: int) -> None:
        done.append(shown(descriptor))
        fsync(descriptor)

    def renamed(*names: Any, **folders: Any) -> None:
        done.append("renamed")
        rename(*names, **folders)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(os, "rename", renamed)
    for number in (1, 2):
        done.clear()
        key = f"b001-c000{number}-ipv4"
        writer.add_files(key, {"one": b"1", "two": b"2"})
        journal = [] if number == 1 else ["accepted.jsonl"]
        assert sorted(done[: done.index("renamed")]) == sorted([*journal, f"{key}.partial", "one", "two"])
        assert done[done.index("renamed") + 1 :] == ["trials"]
    assert len((tmp_path / "run/accepted.jsonl").read_text().splitlines()) == 2
