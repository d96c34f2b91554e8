"""The run directory: written trial by trial, read back, damaged."""

from __future__ import annotations

import errno
import io
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import synthetic
from reasons import kinds, of_agents, texts

from sixbench.model.errors import StoreError, UsageError, WriteError
from sixbench.model.evidence import Evidence
from sixbench.model.evidence.packets import Segment
from sixbench.model.experiment import Experiment
from sixbench.model.reason import Reason, ReasonKind
from sixbench.model.trial import TrialRecord
from sixbench.run.environment import GUEST, guest_from
from sixbench.store import Environment, Guest, Manifest, RunWriter, create_run, open_run, read_run
from sixbench.store.atomic import write_file
from sixbench.store.folder import Folder
from sixbench.store.table import trials_parquet

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
        histograms={"rtt": {"buckets": [[1, 2]], "unit": "ns"}},
        evidence=Evidence(segments=(Segment(link="h1-h2"),)),
    )
    return replace(base, **changes)


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


@pytest.mark.parametrize(
    "left",
    [
        {"trials/": ""},
        {"trials/": "", "experiment.yaml.partial": "topo"},
        {"trials/": "", "experiment.yaml": EXPERIMENT},
        {"trials/": "", "experiment.yaml": EXPERIMENT, "manifest.json.partial": "{"},
    ],
    ids=" ".join,
)
def test_a_run_that_was_killed_before_it_had_a_manifest_can_begin_again(
    tmp_path: Path, manifest: Manifest, left: dict[str, str]
) -> None:
    lay(tmp_path / "run", left)
    create_run(tmp_path / "run", manifest).add_trial(record(), {})
    assert read_run(tmp_path / "run").trials == [record()]
    assert sorted(path.name for path in (tmp_path / "run").glob("*.partial")) == []


@pytest.mark.parametrize(
    "mine",
    [
        {"experiment.yaml": EXPERIMENT},
        {"trials/": "", "experiment.yaml": "# mine"},
        {"trials/": "", "trials/mine.txt": "x"},
        {"trials": "x"},
        {"trials/": "", "mine.txt": "x"},
    ],
    ids=" ".join,
)
def test_a_run_does_not_begin_where_something_else_is(tmp_path: Path, manifest: Manifest, mine: dict[str, str]) -> None:
    lay(tmp_path / "run", mine)
    with pytest.raises((UsageError, StoreError)):
        create_run(tmp_path / "run", manifest)
    assert all((tmp_path / "run" / name).read_text() == text for name, text in mine.items() if not name.endswith("/"))


def lay(directory: Path, files: dict[str, str]) -> None:
    directory.mkdir()
    for name, text in files.items():
        (directory / name).mkdir() if name.endswith("/") else (directory / name).write_text(text)


def test_an_interrupt_while_a_run_is_made_leaves_no_directory(
    tmp_path: Path, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object, **changes: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(RunWriter, "save_manifest", interrupted)
    with pytest.raises(KeyboardInterrupt):
        create_run(tmp_path / "run", manifest)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["file/run", "/proc/sixbench/run"])
def test_a_place_that_cannot_be_written(tmp_path: Path, manifest: Manifest, place: str) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(WriteError, match=r"making the run directory .*; give a writable place with --out"):
        create_run(tmp_path / place, manifest)


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(WriteError, match=r"writing .*d: No space left on device"):
            Folder.open(tmp_path).write_folder("d", {"one": b"1"})
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
        (b"{}", "schema nothing is not sixbench.run/2: written by another version of sixbench?"),
        (b'{"schema": "sixbench.run/9"}', 'schema "sixbench.run/9" is not sixbench.run/2'),
        (b'{"schema": "sixbench.run/2"}', "damaged manifest"),
        (b"[" * 100_000, "not JSON"),
        (b'{"schema": NaN}', "not JSON: NaN is not a number"),
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
        ({"schema": "sixbench.trial/0"}, 'its schema is "sixbench.trial/0", and this sixbench reads sixbench.trial/2'),
        ({"sequence": "1"}, 'sequence is "1", which is not a whole number'),
        ({"metrics": 5}, "metrics is 5, which is not an object"),
        ({"reasons": None}, "reasons is nothing, which is not a list"),
        ({"status": "fine"}, 'status is "fine", which is not ok, invalid or failed'),
        ({"key": None}, "key is nothing, which is not text"),
        ({"block": True}, "block is true, which is not a whole number"),
    ],
)
def test_a_damaged_trial(tmp_path: Path, manifest: Manifest, change: dict[str, Any], message: str) -> None:
    create_run(tmp_path / "run", manifest).add_trial(record(), {})
    path = tmp_path / "run/trials/b001-c0001-ipv4/trial.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    run = read_run(tmp_path / "run")
    assert run.problems == (f"{path}: damaged trial record: {message}",)
    assert run.trials == []


def test_a_trial_that_lacks_a_key(tmp_path: Path, manifest: Manifest) -> None:
    create_run(tmp_path / "run", manifest).add_trial(record(), {})
    path = tmp_path / "run/trials/b001-c0001-ipv4/trial.json"
    data = json.loads(path.read_text())
    del data["status"]
    path.write_text(json.dumps(data))
    [problem] = read_run(tmp_path / "run").problems
    assert problem.startswith(f"{path}: damaged trial record: ")


def test_what_a_later_version_adds_is_ignored(tmp_path: Path, manifest: Manifest) -> None:
    create_run(tmp_path / "run", manifest).add_trial(record(), {})
    for path in (tmp_path / "run/manifest.json", tmp_path / "run/trials/b001-c0001-ipv4/trial.json"):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"added_later": {"a": 1}}))
    (tmp_path / "run/accepted.jsonl").unlink()
    run = read_run(tmp_path / "run")
    assert run.trials == [record()]
    assert run.manifest == manifest


def test_what_was_not_measured_is_absent(tmp_path: Path, manifest: Manifest) -> None:
    create_run(tmp_path / "run", manifest).add_trial(record(limited_by=None), {})
    data = json.loads((tmp_path / "run/trials/b001-c0001-ipv4/trial.json").read_text())
    assert "limited_by" not in data
    assert data["schema"] == "sixbench.trial/2"


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


def test_a_record_whose_reasons_are_texts_is_still_read(tmp_path: Path, manifest: Manifest) -> None:
    """As `sixbench.trial/1` wrote them."""
    create_run(tmp_path / "run", manifest).add_trial(record(status="failed"), {})
    path = tmp_path / "run/trials/b001-c0001-ipv4/trial.json"
    old = {"schema": "sixbench.trial/1", "reasons": ["h1: peer-lost", "tester-limited: sent 5"]}
    path.write_text(json.dumps(json.loads(path.read_text()) | old))
    (tmp_path / "run/accepted.jsonl").unlink()
    [trial] = read_run(tmp_path / "run").trials
    assert texts(trial.reasons) == ["h1: peer-lost", "tester-limited: sent 5"]
    assert kinds(trial.reasons) == [ReasonKind.UNTYPED, ReasonKind.UNTYPED]
    assert trial.to_json()["reasons"][0] == {"kind": "untyped", "text": "h1: peer-lost"}


@pytest.mark.parametrize("reasons", [["h1: peer-lost"], [{"kind": "nonsense", "text": "x"}], [{"text": "x"}]])
def test_reasons_of_another_form_are_damage(tmp_path: Path, manifest: Manifest, reasons: list[Any]) -> None:
    create_run(tmp_path / "run", manifest).add_trial(record(), {})
    path = tmp_path / "run/trials/b001-c0001-ipv4/trial.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"reasons": reasons}))
    [problem] = read_run(tmp_path / "run").problems
    assert problem.startswith(f"{path}: damaged trial record: ")


def test_the_table_of_trials_tells_reasons_and_their_kinds(manifest: Manifest) -> None:
    import pyarrow.parquet as pq

    wrong = [Reason(kind=ReasonKind.LEDGER, text="a"), Reason(kind=ReasonKind.CLOCK_STEP, text="b")]
    content = trials_parquet([record(), record(status="invalid", reasons=wrong)], manifest)
    table = pq.read_table(io.BytesIO(content))
    assert table["reasons"].to_pylist() == [None, "a; b"]
    assert table["reason_kinds"].to_pylist() == [None, "ledger clock-step"]


def test_the_table_of_trials_names_the_runs_that_measured_meanwhile(manifest: Manifest) -> None:
    import pyarrow.parquet as pq

    trials = [record(other_runs=others) for others in (None, [], ["quickstart"], ["a", "b"])]
    table = pq.read_table(io.BytesIO(trials_parquet(trials, manifest)))
    assert table["other_runs"].to_pylist() == [None, "", "quickstart", "a b"]


def test_columns_that_some_trials_lack_are_null_there(manifest: Manifest) -> None:
    import pyarrow.parquet as pq

    given: list[dict[str, float]] = [{}, {"goodput_bps": 1.0}, {"rtt_p50_ns": 2.0}, {}]
    table = pq.read_table(io.BytesIO(trials_parquet([record(metrics=one) for one in given], manifest)))
    assert table["goodput_bps"].to_pylist() == [None, 1.0, None, None]
    assert table["rtt_p50_ns"].to_pylist() == [None, None, 2.0, None]


def test_a_run_that_is_on_no_disk_has_no_series() -> None:
    run = synthetic.small().in_memory()
    assert run.series(run.trials[0].key) == {}


def test_the_table_of_trials_says_what_it_is_and_the_units_of_its_columns(manifest: Manifest) -> None:
    import pyarrow.parquet as pq

    trial = replace(
        record(),
        params={"message_bytes": 64, "rate_bps": 10**6},
        levels={"link_mtu_bytes": 1500, "clamp": "yes"},
        metrics={"goodput_bps": 1e6, "loss_ratio": 0.5, "rtt_p50_ns": 1e6},
        theory={"goodput_bps": 1e6},
    )
    schema = pq.read_schema(io.BytesIO(trials_parquet([trial], manifest)))
    about = {key.decode(): value.decode() for key, value in schema.metadata.items() if key.startswith(b"sixbench.")}
    assert about["sixbench.schema"] == "sixbench.trials/1"
    assert about["sixbench.run"] == manifest.run
    assert about["sixbench.experiment"] == manifest.experiment.name
    assert about["sixbench.seed"] == str(manifest.experiment.seed)
    assert about["sixbench.clock"] == "real"
    units = {field.name: field.metadata[b"unit"].decode() for field in schema if field.metadata}
    assert units == {
        "started_realtime_ns": "ns",
        "elapsed_ns": "ns",
        "param_message_bytes": "B",
        "param_rate_bps": "bit/s",
        "level_link_mtu_bytes": "B",
        "goodput_bps": "bit/s",
        "loss_ratio": "1",
        "rtt_p50_ns": "ns",
        "theory_goodput_bps": "bit/s",
    }


def test_units_of_a_virtual_clock_say_so(manifest: Manifest) -> None:
    import pyarrow.parquet as pq

    virtual = replace(manifest, environment=replace(manifest.environment, clock="virtual"))
    trial = replace(record(), metrics={"rtt_p50_ns": 1e6, "loss_ratio": 0.0})
    schema = pq.read_schema(io.BytesIO(trials_parquet([trial], virtual)))
    assert schema.field("rtt_p50_ns").metadata[b"unit"] == b"virtual ns"
    assert schema.field("loss_ratio").metadata[b"unit"] == b"1"


def test_a_trial_is_flushed_whole_before_it_has_its_name_and_its_name_before_it_is_acknowledged(
    tmp_path: Path, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = create_run(tmp_path / "run", manifest)
    done: list[str] = []

    def place(descriptor: int) -> str:
        return os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}"))

    fsync, rename = os.fsync, os.rename

    def flushed(descriptor: int) -> None:
        done.append(place(descriptor))
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
