"""The run directory: written trial by trial, read back, damaged."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import synthetic

from sixbench.model.errors import StoreError, UsageError, WriteError
from sixbench.model.experiment import Experiment
from sixbench.model.trial import TrialRecord
from sixbench.run.environment import GUEST, guest_from
from sixbench.store import Environment, Guest, Manifest, create_run, open_run, read_run
from sixbench.store.atomic import write_directory, write_file

EXPERIMENT = """
experiment: store
factors: {sack: [true, false], lost: [0, 0.5%]}
topology:
  nodes: {h1: {kind: host, sysctl: {net.ipv4.tcp_sack: 1}}, h2: host}
  links: [{endpoints: [h1, h2], rate: [1Mbit, 10Mbit], loss: $lost, queue: 20ms}]
paths: {ipv4: native4, ipv6: native6}
aa: true
workloads: [{tcp-rr: {message: [64B, 1KiB], nodelay: $sack}}]
notes: [a note]
"""


@pytest.fixture(scope="module")
def manifest(read: Callable[[str], Experiment]) -> Manifest:
    return Manifest(
        run="r",
        experiment=read(EXPERIMENT),
        environment=Environment(
            kernel="6.1", machine="x86_64", cpu="a CPU", distribution="an OS", cores=2, memory_bytes=2**33, versions={}
        ),
        state="running",
        started_realtime_ns=1_760_000_000_000_000_001,
        command=["sixbench", "run", "é"],
    )


def record(key: str = "b001-c0001-ipv4", **changes: Any) -> TrialRecord:
    base = TrialRecord(
        key=key,
        sequence=1,
        block=1,
        combination="c0001",
        path="ipv4",
        mechanism="native4",
        engine="kernel",
        workload="tcp-rr",
        params={"message_bytes": 64, "nodelay": True, "congestion": "cubic"},
        levels={"link_loss_ratio": 0.005, "nodelay": True},
        status="ok",
        started_realtime_ns=1_760_000_000_000_000_001,
        elapsed_ns=10**18 + 1,
        metrics={"rtt_p50_ns": 0.1 + 0.2},
        histograms={"rtt": {"buckets": [[1, 2]]}},
        evidence={"max_ip_bytes": None},
    )
    return replace(base, **changes)


SERIES = {"client": {"t_ns": [1, 2], "rtt_ns": [1.5, None], "transactions": [3, 4]}}


def test_a_run_is_read_back_as_it_was_written(tmp_path: Path, manifest: Manifest) -> None:
    writer = create_run(tmp_path / "run", manifest)
    second = record("b001-c0002-ipv6", sequence=2, status="failed", reasons=["h1: peer-lost"])
    writer.add_trial(second, {})
    writer.add_trial(record(), SERIES, {"h1-h2.pcap": b"\xa1\xb2"})
    writer.set_state("complete", 5)
    run = read_run(tmp_path / "run")
    assert run.manifest == replace(manifest, state="complete", ended_realtime_ns=5)
    assert run.manifest.experiment == manifest.experiment
    assert run.trials == [record(), second]
    assert run.by_key["b001-c0002-ipv6"].reasons == ["h1: peer-lost"]
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
    assert guest == Guest(kernel="debian-6.1", emulator="qemu 7.2", accelerator="tcg", instruction_ns=1, seed=7)
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
    writer.add_trial(record("b001-c0002-ipv4", sequence=2), {})
    assert len(read_run(tmp_path / "run").trials) == 2


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


def test_a_run_never_overwrites(tmp_path: Path, manifest: Manifest) -> None:
    create_run(tmp_path / "run", manifest)
    with pytest.raises(
        UsageError, match=r"already holds a run; give another --out, or continue it with: sixbench resu"
    ):
        create_run(tmp_path / "run", manifest)
    (tmp_path / "other").mkdir()
    (tmp_path / "other/mine.txt").write_text("x")
    with pytest.raises(UsageError, match="exists and is not an empty directory; give another --out"):
        create_run(tmp_path / "other", manifest)
    with pytest.raises(UsageError, match="exists and is not an empty directory"):
        create_run(tmp_path / "other/mine.txt", manifest)
    (tmp_path / "empty").mkdir()
    create_run(tmp_path / "empty", manifest)


@pytest.mark.parametrize("place", ["file/run", "/proc/sixbench/run"])
def test_a_place_that_cannot_be_written(tmp_path: Path, manifest: Manifest, place: str) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(WriteError, match=r"making the run directory .*; give a writable place with --out"):
        create_run(tmp_path / place, manifest)


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    def fill(directory: Path) -> None:
        (directory / "one").write_text("1")
        raise OSError(28, "No space left on device")

    with pytest.raises(WriteError, match=r"writing .*d: No space left on device"):
        write_directory(tmp_path / "d", fill)
    (tmp_path / "taken").mkdir()
    with pytest.raises(WriteError, match=r"writing .*taken: Is a directory"):
        write_file(tmp_path / "taken", "x")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_what_is_no_run_directory(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere", Path("/dev/null")):
        with pytest.raises(StoreError, match=r"is not a run directory: it has no manifest\.json"):
            read_run(place)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[]", "not a JSON object"),
        (b"{}", "schema None is not sixbench.run/2: written by another version of sixbench?"),
        (b'{"schema": "sixbench.run/9"}', "schema 'sixbench.run/9' is not sixbench.run/2"),
        (b'{"schema": "sixbench.run/2"}', "damaged manifest"),
        (b"[" * 100_000, "not JSON"),
        (b'{"schema": NaN}', "not JSON: NaN is no number"),
    ],
)
def test_a_damaged_manifest(tmp_path: Path, manifest: Manifest, content: bytes, message: str) -> None:
    create_run(tmp_path / "run", manifest)
    (tmp_path / "run/manifest.json").write_bytes(content)
    with pytest.raises(StoreError, match=message) as caught:
        read_run(tmp_path / "run")
    assert "manifest.json" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "sixbench.trial/0"}, "schema 'sixbench.trial/0' is not sixbench.trial/1"),
        ({"sequence": "1"}, "sequence is no int: '1'"),
        ({"metrics": 5}, "metrics is no dict: 5"),
        ({"reasons": None}, "reasons is no list: None"),
        ({"status": "fine"}, "status 'fine' is not one of ok, invalid, failed"),
        ({"key": None}, "key is no str: None"),
        ({"block": True}, "block is no int: True"),
    ],
)
def test_a_damaged_trial(tmp_path: Path, manifest: Manifest, change: dict[str, Any], message: str) -> None:
    create_run(tmp_path / "run", manifest).add_trial(record(), {})
    path = tmp_path / "run/trials/b001-c0001-ipv4/trial.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(StoreError) as caught:
        read_run(tmp_path / "run")
    assert str(caught.value) == f"{path}: damaged trial record: {message}"


def test_a_trial_that_lacks_a_key(tmp_path: Path, manifest: Manifest) -> None:
    create_run(tmp_path / "run", manifest).add_trial(record(), {})
    path = tmp_path / "run/trials/b001-c0001-ipv4/trial.json"
    data = json.loads(path.read_text())
    del data["status"]
    path.write_text(json.dumps(data))
    with pytest.raises(StoreError, match="damaged trial record"):
        read_run(tmp_path / "run")


def test_what_a_later_version_adds_is_ignored(tmp_path: Path, manifest: Manifest) -> None:
    create_run(tmp_path / "run", manifest).add_trial(record(), {})
    for path in (tmp_path / "run/manifest.json", tmp_path / "run/trials/b001-c0001-ipv4/trial.json"):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"added_later": {"a": 1}}))
    run = read_run(tmp_path / "run")
    assert run.trials == [record()]
    assert run.manifest == manifest


def test_what_was_not_measured_is_absent(tmp_path: Path, manifest: Manifest) -> None:
    create_run(tmp_path / "run", manifest).add_trial(record(limited_by=None), {})
    data = json.loads((tmp_path / "run/trials/b001-c0001-ipv4/trial.json").read_text())
    assert "limited_by" not in data
    assert data["schema"] == "sixbench.trial/1"


def test_a_run_belongs_to_one_process_at_a_time(tmp_path: Path) -> None:
    run = synthetic.small().write(tmp_path / "run")
    writer, _ = open_run(run.directory)
    with pytest.raises(UsageError, match="another process is running"):
        open_run(run.directory)
    writer.close()
    open_run(run.directory)[0].close()
