"""Run directories that strangers send: nothing outside is read or written, and no command of theirs is run."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import synthetic

import sixbench
from sixbench.cli.bugs import tell
from sixbench.guest import image
from sixbench.lab.build import require_one_command_a_line
from sixbench.lab.own_program import own_command
from sixbench.model import path as model_path
from sixbench.model.errors import Bug, LabError, StoreError, WriteError
from sixbench.model.record_json import record_to_json
from sixbench.model.topology import Interface, Link, Node
from sixbench.model.workload import Workload
from sixbench.store import open_run, read_run, verify_run, write_derived
from sixbench.store.folder import Folder
from sixbench.store.ledger import Journal

Command = Callable[..., Any]

INJECTED = "h1\nlink add evil type veth\n"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return synthetic.small().write(tmp_path / "run").directory


def change_manifest(directory: Path, change: Callable[[dict[str, Any]], None]) -> None:
    path = directory / "manifest.json"
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def rename_an_end(data: dict[str, Any]) -> None:
    data["experiment"]["topologies"][0]["links"][0]["ends"][0]["name"] = INJECTED


def rename_a_node(data: dict[str, Any]) -> None:
    data["experiment"]["topologies"][0]["links"][0]["ends"][0]["node"] = INJECTED


def rename_a_link(data: dict[str, Any]) -> None:
    data["experiment"]["topologies"][0]["links"][0]["name"] = "../../outside"


def rename_a_path(data: dict[str, Any]) -> None:
    data["experiment"]["paths"][0]["name"] = "x/../../.."


def rename_a_combination(data: dict[str, Any]) -> None:
    data["experiment"]["combinations"][0]["name"] = "../c0001"


def set_another_setting(data: dict[str, Any]) -> None:
    next(iter(data["experiment"]["topologies"][0]["nodes"].values()))["sysctl"] = {"kernel.core_pattern": "|/bin/sh"}


@pytest.mark.parametrize(
    "change",
    [rename_an_end, rename_a_node, rename_a_link, rename_a_path, rename_a_combination, set_another_setting],
)
def test_names_of_a_manifest_pass_the_rules_of_experiments(
    directory: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    change_manifest(directory, change)
    with pytest.raises(StoreError, match=r"manifest\.json: damaged manifest: "):
        open_run(directory)


def test_names_hold_wherever_they_come_from() -> None:
    ends = synthetic.small().manifest.experiment.topologies[0].links[0].ends
    with pytest.raises(ValueError, match="cannot name an interface"):
        Interface(node="h1", name=INJECTED)
    with pytest.raises(ValueError, match="cannot name a node"):
        Node(name=INJECTED, kind="host")
    with pytest.raises(ValueError, match="cannot name a link"):
        Link(name="a b", ends=ends, mtu_bytes=1500)
    with pytest.raises(ValueError, match="cannot name a mechanism"):
        model_path.Path(name="ipv6", mechanism="native6\n", family=6)
    with pytest.raises(ValueError, match="cannot name a workload"):
        Workload(kind="ping\n", params={})


def test_a_line_of_a_batch_is_one_command() -> None:
    with pytest.raises(LabError, match=r"ip in h1: link set \\nevil is not one line"):
        require_one_command_a_line("ip", "h1", ["link set \nevil"])


@pytest.mark.parametrize("name", ["report.html", "findings.json", "trials.parquet", "report.html.partial"])
def test_links_in_a_run_directory_are_not_followed(directory: Path, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine")
    (directory / name).unlink(missing_ok=True)
    (directory / name).symlink_to(outside)
    write_derived(read_run(directory), {"report.html": "<p>", "findings.json": "{}"})
    assert outside.read_text() == "mine"
    assert (directory / "report.html").read_text() == "<p>"
    assert not (directory / "report.html").is_symlink()


def test_a_manifest_is_not_written_through_a_link(directory: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine")
    (directory / "manifest.json.partial").symlink_to(outside)
    writer, _ = open_run(directory)
    writer.save_manifest(state="running")
    assert outside.read_text() == "mine"


def test_what_is_read_must_be_a_regular_file_of_the_directory(directory: Path, tmp_path: Path) -> None:
    manifest = directory / "manifest.json"
    kept = manifest.read_bytes()
    manifest.unlink()
    os.mkfifo(manifest)
    with pytest.raises(StoreError, match=r"reading .*manifest\.json: it is not a regular file"):
        read_run(directory)
    manifest.unlink()
    manifest.symlink_to("/dev/zero")
    with pytest.raises(StoreError, match=r"reading .*manifest\.json: "):
        read_run(directory)
    manifest.unlink()
    manifest.write_bytes(kept)
    trial = next((directory / "trials").iterdir()) / "trial.json"
    trial.unlink()
    os.mkfifo(trial)
    assert read_run(directory).problems == (f"reading {trial}: it is not a regular file",)


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "/etc/passwd", "x\0y", "x" * 256])
def test_a_name_is_one_component(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError, match="is not the name of a file in a directory"):
        Folder.open(tmp_path).write(name, "x")
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_that_becomes_read_only_ends_with_one_sentence(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, run = open_run(directory)

    def refuse(*arguments: object, **options: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    for name in ("open", "rename", "unlink", "rmdir", "mkdir"):
        monkeypatch.setattr(f"sixbench.store.folder.os.{name}", refuse)
    with pytest.raises(WriteError, match=r"writing .*manifest\.json: Read-only file system") as caught:
        writer.save_manifest(state="running")
    assert caught.value.exit_code == 3
    with pytest.raises(WriteError, match="Read-only file system"):
        writer.add_trial(run.trials[0], {})


def test_a_run_directory_that_is_renamed_is_written_on(directory: Path) -> None:
    writer, run = open_run(directory)
    moved = directory.rename(directory.with_name("moved"))
    writer.save_manifest(state="interrupted")
    assert writer.directory == moved
    assert read_run(moved).manifest.state == "interrupted"
    assert not directory.exists()
    assert len(run.trials) == len(read_run(moved).trials)


def test_nothing_is_imported_from_where_the_user_stands(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    (tmp_path / "sixbench").mkdir()
    for file in ("sixbench/__main__.py", "sixbench/__init__.py", "typer.py", "json.py"):
        (tmp_path / file).write_text(f"open({str(ran)!r}, 'w')")
    done = subprocess.run(
        own_command("--version"),
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("sixbench ")
    assert not ran.exists()
    assert own_command()[0] == sys.executable


def strangers_modules(folder: Path) -> Path:
    """Files that Python would import in place of its own. Returns the file that would be there if one was."""
    ran = folder / "ran"
    for name in ("typer", "json", "signal", "compileall", "struct", "yaml", "sixbench"):
        (folder / f"{name}.py").write_text(f"open({str(ran)!r}, 'w')")
    return ran


def test_the_package_started_as_a_module_imports_nothing_from_where_the_user_stands(tmp_path: Path) -> None:
    ran = strangers_modules(tmp_path)
    (tmp_path / "sixbench.py").unlink()  # whom `-m` names is the user's to say
    command = [sys.executable, "-m", "sixbench", "--version"]
    path = {"PYTHONPATH": str(Path(sixbench.__file__).parents[1])}
    done = subprocess.run(command, cwd=tmp_path, env=os.environ | path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert not ran.exists()


def test_an_image_of_a_guest_is_compiled_by_python_s_own_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = strangers_modules(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(image, "make_filesystem", lambda tree, file: (file.parent / "compiled").mkdir())
    (tmp_path / "made").mkdir()
    image._make({}, tmp_path / "made")
    assert (tmp_path / "made" / "compiled").is_dir()
    assert not ran.exists()


@pytest.mark.parametrize("module", ["sixbench.report.figures", "sixbench.calibration.page"])
def test_figures_have_no_settings_from_where_the_user_stands(tmp_path: Path, module: str) -> None:
    os.mkfifo(tmp_path / "matplotlibrc")
    script = (
        f"import os, sys; here = os.getcwd(); import {module}; print('matplotlib' in sys.modules, os.getcwd() == here)"
    )
    path = {"PYTHONPATH": str(Path(sixbench.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        cwd=tmp_path,
        env=os.environ | path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("True True\n", "")


def test_a_command_starts_itself_in_a_directory_that_was_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert own_command("--version")[-1] == "--version"


@pytest.mark.parametrize("kind", ["link", "hard link", "FIFO", "directory"])
def test_nothing_is_added_to_what_is_not_a_file_of_the_directory_alone(
    directory: Path, tmp_path: Path, kind: str
) -> None:
    outside = tmp_path / "outside"
    outside.write_text("")
    for name in ("traceback.txt", "accepted.jsonl"):
        place = directory / name
        place.unlink(missing_ok=True)
        if kind == "link":
            place.symlink_to(outside)
        elif kind == "hard link":
            os.link(outside, place)
        else:
            os.mkfifo(place) if kind == "FIFO" else place.mkdir()
    assert tell(Bug(directory=directory, traceback="KeyError: 1\n")) == 70
    journal = Journal(Folder.open(directory))
    with pytest.raises(WriteError, match=r"writing .*/accepted\.jsonl: "):
        journal.note("b001-c0001-ipv4", {})
    assert outside.read_text() == ""


def change_a_trial(directory: Path, **changes: Any) -> Path:
    path = sorted((directory / "trials").iterdir())[0] / "trial.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metrics": {"goodput_bps": "x"}}, 'metrics.goodput_bps is "x", which is not a number'),
        ({"metrics": {"goodput_bps": None}}, "metrics.goodput_bps is nothing, which is not a number"),
        ({"metrics": {"goodput_bps": 10**40}}, "metrics.goodput_bps is 1"),
        ({"levels": {"message_bytes": [1]}}, "levels.message_bytes is "),
        ({"histograms": {"rtt": {"buckets": [["a", 1]]}}}, 'histograms.rtt.buckets.0.0 is "a", which is not a number'),
        ({"histograms": {"rtt": {"buckets": [[1, 2, 3]]}}}, "histograms.rtt.buckets.0 has 3 entries, which are too"),
        ({"histograms": {"rtt": 5}}, "histograms.rtt is 5, which is not an object"),
        ({"evidence": {"segments": [{"link": "x", "packets": 5}]}}, "evidence.segments.0.packets is 5, which is not"),
        ({"evidence": {"segments": [{}]}}, "evidence.segments.0.link is missing"),
        ({"evidence": {"emulation": {"a": {"emulator": "user", "forward": {"lost": -1}}}}}, "evidence.emulation.a."),
        ({"evidence": {"fragments": {"links": [{"link": "a"}]}}}, "evidence.fragments.links.0.sizes_bytes is missing"),
        ({"client": {"socket": {"mss_bytes": "x"}}}, 'client.socket.mss_bytes is "x", which is not a whole number'),
        ({"client": {"forward": {"tcp": 1}}}, "client.forward.tcp is 1, which is not an object"),
        ({"notes": ["x" * 20_000]}, "notes.0 is "),
        ({"elapsed_ns": 10**40}, "elapsed_ns is 1"),
        ({"path": "ipv6"}, "it is the record of "),
        ({"combination": "c0999"}, "it is the record of "),
        ({"workload": "ping"}, "its workload is "),
        ({"elapsed_ns": 1}, "it was changed after the run recorded it"),
    ],
)
def test_a_trial_that_was_changed_is_told_and_left_out(directory: Path, changes: dict[str, Any], message: str) -> None:
    before = read_run(directory)
    path = change_a_trial(directory, **changes)
    run = read_run(directory)
    assert len(run.trials) == len(before.trials) - 1
    [problem] = run.problems
    assert problem.startswith(f"{path}: damaged trial record: {message}")
    with pytest.raises(StoreError, match="a run can continue only if nothing that it recorded has changed"):
        open_run(directory)


def test_trials_that_are_missing_or_copied_are_told(directory: Path) -> None:
    before = read_run(directory)
    trials = directory / "trials"
    first, second = sorted(trials.iterdir())[:2]
    shutil.copytree(first, trials / "b099-c0001-ipv4")
    shutil.rmtree(second)
    run = read_run(directory)
    assert len(run.trials) == len(before.trials) - 1
    copied, missing = run.problems
    assert copied.startswith(f"{trials}/b099-c0001-ipv4/trial.json: damaged trial record: it is the record of ")
    assert missing == f"{second}: missing: the run recorded it"


def test_a_record_that_no_run_made_is_told(directory: Path) -> None:
    writer, run = open_run(directory)
    writer.set_state("complete", 1)
    writer.close()
    record = run.trials[0]
    forged = replace(record, block=99, key=record.key.replace(f"b{record.block:03d}", "b099"))
    place = directory / "trials" / forged.key
    place.mkdir()
    (place / "trial.json").write_text(json.dumps(record_to_json(forged)))
    [problem] = read_run(directory).problems
    assert problem == f"{place}/trial.json: damaged trial record: the run did not record it"


def test_names_that_command_a_terminal_are_told_escaped(directory: Path) -> None:
    writer, _ = open_run(directory)
    writer.set_state("complete", 1)
    writer.close()
    place = directory / "manifest.json"
    manifest = json.loads(place.read_text())
    trial = sorted(manifest["accepted"])[0]
    manifest["accepted"][trial]["a\n\x1b[2J"] = "0" * 64
    place.write_text(json.dumps(manifest))
    verification = verify_run(read_run(directory))
    assert verification == [f"{directory}/trials/{trial}/a\\n\\x1b[2J: missing: the run recorded it"]


def test_other_files_of_trials_are_verified(directory: Path) -> None:
    assert verify_run(read_run(directory)) == []
    trial = sorted((directory / "trials").iterdir())[0]
    (trial / "series.parquet").write_bytes(b"x")
    (trial / "more").touch()
    verification = verify_run(read_run(directory))
    assert f"{trial}/more: the run did not record it" in verification
    assert len(verification) == 2


def test_a_trial_that_a_crash_left_unnoted_is_of_the_run(directory: Path) -> None:
    writer, run = open_run(directory)
    writer.save_manifest(state="running")
    writer.close()
    lost = run.trials[-1].key
    change_manifest(directory, lambda data: data["accepted"].pop(lost))
    assert read_run(directory).problems == ()
    writer, again = open_run(directory)
    writer.set_state("complete", 1)
    assert len(again.trials) == len(run.trials)
    assert read_run(directory).problems == ()
    assert verify_run(read_run(directory)) == []


def test_damage_is_told_by_report_and_verify(sixbench: Command, directory: Path) -> None:
    done = sixbench("verify", directory)
    assert (done.exit, done.stderr) == (0, "")
    assert done.stdout == f"{directory}: {len(read_run(directory).trials)} trials, every file as it was recorded\n"
    path = change_a_trial(directory, elapsed_ns=1)
    done = sixbench("verify", directory)
    assert done.exit == 1
    assert f"{path}: damaged trial record: it was changed after the run recorded it\n" in done.stdout
    done = sixbench("report", directory)
    assert done.exit == 2
    assert "Goodput" in done.stdout
    assert done.stderr == (
        f"sixbench: {path}: damaged trial record: it was changed after the run recorded it\n"
        f"sixbench: 1 trial is not in this report; see: sixbench verify {directory}\n"
    )
