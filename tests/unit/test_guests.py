"""Experiments on kernels: planned, sent to guests, taken over; the guests are made up here."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import synthetic

from sixbench.bench import guests
from sixbench.cli.changes import chosen_kernels
from sixbench.cli.guest_runs import check_clock, run_in_guests
from sixbench.cli.run_requests import RunOutput, RunRequest
from sixbench.guest import GuestKernel, GuestResult, GuestTask
from sixbench.model.errors import CapabilityError, ExperimentError, Interrupted, UsageError
from sixbench.model.experiment import Experiment
from sixbench.model.trial import TrialRecord
from sixbench.plan.setting_problems import problems_of_settings
from sixbench.plan.yaml_source import parse_yaml
from sixbench.store import Manifest, RunWriter, create_run, open_run, read_run

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]
Problems = Callable[[str], list[str]]

TEXT = """
kernels: [debian-5.10, debian-6.1]
topology: {nodes: {h1: host, h2: host}, links: [{endpoints: [h1, h2]}]}
paths: {ipv4: native4, ipv6: native6}
workloads: [{tcp-rr: {message: [64B, 1KiB], duration: 1s}}]
blocks: 2
"""


@pytest.fixture
def writer(read: Read, tmp_path: Path) -> RunWriter:
    experiment = read(TEXT)
    manifest = Manifest(
        run="run",
        experiment=experiment,
        environment=replace(synthetic.environment(), clock="virtual"),
        state="running",
        started_realtime_ns=1,
    )
    return create_run(tmp_path / "run", manifest)


def in_guest(kernel: GuestKernel, command: GuestTask, exit_code: int = 0) -> GuestResult:
    """Result of a guest that ran every trial of its job."""
    import tempfile

    with tempfile.TemporaryDirectory() as scratch:
        for name, content in command.files.items():
            (Path(scratch) / name).write_bytes(content)
        job, run = open_run(Path(scratch))
        sequence = 0
        for block in (1, 2):
            for combination in run.manifest.experiment.combinations:
                for path in run.manifest.experiment.paths:
                    sequence += 1
                    job.add_trial(trial(block, combination.name, path.name, sequence), {}, {"h1-h2.pcapng": b"packets"})
        paths = tuple(replace(path, engine="kernel") for path in run.manifest.experiment.paths)
        there = replace(run.manifest.environment, kernel=f"Linux of {kernel.name}")
        job.save_manifest(state="complete", environment=there, experiment=replace(run.manifest.experiment, paths=paths))
        job.close()
        contents = {str(p.relative_to(scratch)): p.read_bytes() for p in Path(scratch).rglob("*") if p.is_file()}
    return GuestResult(exit=exit_code, stdout="", stderr_lines=["sixbench: last words"], files=contents)


def trial(block: int, combination: str, path: str, sequence: int) -> TrialRecord:
    return TrialRecord(
        key=f"b{block:03d}-{combination}-{path}",
        sequence=sequence,
        block=block,
        combination=combination,
        path=path,
        mechanism=f"native{path[-1]}",
        engine="kernel",
        workload="tcp-rr",
        params={},
        levels={},
        status="ok",
        started_realtime_ns=1,
        elapsed_ns=1,
    )


@pytest.fixture
def boots(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels that guests were started with."""
    started: list[str] = []

    def boot(
        kernel: GuestKernel, command: GuestTask, expected: Any, stop: threading.Event | None = None
    ) -> GuestResult:
        started.append(kernel.name)
        expected("1 of 4 trials")
        return in_guest(kernel, command)

    monkeypatch.setattr(guests, "find_qemu", lambda: Path("qemu"))  # the machine of this test may have none
    monkeypatch.setattr(guests, "boot", boot)
    monkeypatch.setattr(guests, "find_kernel", lambda name: GuestKernel(name=name, release="6", origin="", sha256=""))
    return started


def nobody(kernel: str, line: str) -> None:
    """Hears nothing."""


def test_kernels_are_a_factor_of_every_combination(read: Read) -> None:
    experiment = read(TEXT)
    assert experiment.kernels == ("debian-5.10", "debian-6.1")
    levels = [(c.name, c.levels["message_bytes"], c.levels["kernel"]) for c in experiment.combinations]
    assert levels == [
        ("c0001", 64, "debian-5.10"),
        ("c0002", 64, "debian-6.1"),
        ("c0003", 1024, "debian-5.10"),
        ("c0004", 1024, "debian-6.1"),
    ]


def test_one_kernel_is_no_factor(read: Read) -> None:
    experiment = read(TEXT.replace("[debian-5.10, debian-6.1]", "debian-6.1"))
    assert experiment.kernels == ("debian-6.1",)
    assert all("kernel" not in combination.levels for combination in experiment.combinations)


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        (
            "[debian-5]",
            'kernels.0: "debian-5" is not a kernel; known are debian-5.10, debian-6.1, debian-6.12, host, and',
        ),
        ("[host, host]", 'kernels.1: the kernel "host" is given twice; keep one'),
        ("{a: b}", "kernels: kernels must be a list, not a mapping"),
        ("7", "kernels: kernels must be a list, not 7"),
    ],
)
def test_what_is_no_kernel_is_refused_with_its_line(problems: Problems, written: str, problem: str) -> None:
    actual_problems = problems(TEXT.replace("[debian-5.10, debian-6.1]", written))
    assert [line for line in actual_problems if line.startswith(f"test.yaml:2: {problem}")], actual_problems


def test_a_guest_runs_what_is_of_its_kernel(read: Read) -> None:
    on_kernel = guests.on_kernel(read(TEXT), "debian-6.1")
    assert [c.name for c in on_kernel.combinations] == ["c0002", "c0004"]
    assert on_kernel.kernels == ()


def test_a_guest_has_time_for_all_its_trials(read: Read) -> None:
    on_kernel = guests.on_kernel(read(TEXT), "debian-6.1")
    trials = 2 * 2 * 2
    assert guests.limit_s(on_kernel) > trials * 1
    assert guests.silence_s(on_kernel) > guests.REAL_PER_VIRTUAL * 1


def test_the_trials_of_all_kernels_come_into_one_directory(writer: RunWriter, boots: list[str]) -> None:
    heard: list[tuple[str, str]] = []
    state = guests.run_on_kernels(
        writer.manifest.experiment, writer, Path("agent"), "virtual", lambda kernel, line: heard.append((kernel, line))
    )
    assert state == "complete"
    assert sorted(boots) == ["debian-5.10", "debian-6.1"]
    assert ("debian-6.1", "1 of 4 trials") in heard
    run = read_run(writer.directory)
    assert len(run.trials) == 16
    # Behind the first kernel's 8 trials there is room for two repeats of each.
    assert [t.sequence for t in run.trials] == [*range(1, 9), *range(25, 33)]
    assert {t.combination for t in run.trials[:8]} == {"c0001", "c0003"}
    assert (writer.directory / "trials/b001-c0004-ipv6/h1-h2.pcapng").read_bytes() == b"packets"
    assert list(run.manifest.guests) == ["debian-5.10", "debian-6.1"]
    assert run.manifest.environment.kernel == "Linux of debian-5.10"
    assert {path.engine for path in run.manifest.experiment.paths} == {"kernel"}
    assert run.manifest.experiment.kernels == ("debian-5.10", "debian-6.1")


def test_kernels_that_are_done_are_not_run_again(writer: RunWriter, boots: list[str]) -> None:
    experiment = writer.manifest.experiment
    changed = replace(experiment, kernels=("debian-6.1",))
    guests.run_on_kernels(changed, writer, Path("agent"), "virtual", nobody)
    guests.run_on_kernels(experiment, writer, Path("agent"), "virtual", nobody)
    assert boots == ["debian-6.1", "debian-5.10"]


def test_a_run_that_is_refused_in_the_guest_says_where_and_why(
    writer: RunWriter, boots: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = GuestResult(exit=3, stdout="", stderr_lines=["sixbench: no module sit"], files={})
    monkeypatch.setattr(guests, "boot", lambda *arguments: refused)
    with pytest.raises(CapabilityError, match=r"^on debian-(5\.10|6\.1): no module sit$"):
        guests.run_on_kernels(writer.manifest.experiment, writer, Path("agent"), "virtual", nobody)
    assert read_run(writer.directory).trials == []


@pytest.mark.parametrize("names", [("a", "a/b"), ("x" * 300,), ("a\0b",)])
def test_files_of_a_guest_that_no_directory_can_have_are_told(
    writer: RunWriter, boots: list[str], monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]
) -> None:
    strange = GuestResult(exit=0, stdout="", stderr_lines=[], files=dict.fromkeys(names, b""))
    monkeypatch.setattr(guests, "boot", lambda *arguments: strange)
    with pytest.raises(CapabilityError, match=r"^on debian-(5\.10|6\.1): writing its results into /"):
        guests.run_on_kernels(writer.manifest.experiment, writer, Path("agent"), "virtual", nobody)


WITH_SETTINGS = """
kernels: debian-6.1
topology:
  nodes:
    h1: {kind: host, sysctl: {net.ipv4.nosuch: 1}}
    h2: {kind: host, sysctl: {net.ipv4.tcp_sack: 0, net.ipv4.tcp_ecn: 77}}
  links: [{endpoints: [h1, h2]}]
paths: {ipv4: native4, ipv6: native6}
workloads: [{tcp-rr: {duration: 1s}}]
blocks: 2
"""
REFUSED = {
    ("h1", "net.ipv4.nosuch"): "has no setting net.ipv4.nosuch; see: sysctl -a --pattern ^net",
    ("h2", "net.ipv4.tcp_ecn"): 'refuses "77" for net.ipv4.tcp_ecn: Invalid argument',
}


def quiet_request(directory: Path) -> RunRequest:
    """A run below that directory, without progress."""
    return RunRequest(experiment="quickstart", out=directory / "run", output=RunOutput(quiet=True))


def test_settings_that_a_guests_kernel_refuses_are_told_at_their_places_and_nothing_is_left(
    read: Read, boots: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def boot(kernel: GuestKernel, command: GuestTask, *others: object) -> GuestResult:
        text = command.files[guests.FILE].decode()
        lines = str(problems_of_settings(parse_yaml(text, guests.FILE), REFUSED)).splitlines()
        return GuestResult(exit=2, stdout="", stderr_lines=["booted", *lines], files=dict(command.files))

    monkeypatch.setattr(guests, "boot", boot)
    experiment = read(WITH_SETTINGS)
    with pytest.raises(ExperimentError) as caught:
        run_in_guests(quiet_request(tmp_path), experiment, "virtual")
    lines = WITH_SETTINGS.splitlines()
    assert str(caught.value).splitlines() == [
        f"{experiment.file}:{[setting in line for line in lines].index(True) + 1}: "
        f"topology.nodes.{node}.sysctl.{setting}: with the kernel debian-6.1: in {node} the kernel {what}"
        for (node, setting), what in REFUSED.items()
    ]
    assert caught.value.exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_came_to_nothing_leaves_no_directory(writer: RunWriter) -> None:
    writer.discard()
    assert not writer.directory.exists()


def test_a_directory_with_other_things_in_it_stays(writer: RunWriter) -> None:
    (writer.directory / "mine.txt").touch()
    writer.discard()
    assert [path.name for path in writer.directory.iterdir()] == ["mine.txt"]


def test_kernels_of_the_command_line() -> None:
    assert chosen_kernels(None, None) is None
    assert chosen_kernels("debian-6.1", None) == ("debian-6.1",)
    assert chosen_kernels(None, "debian-5.10, debian-6.1") == ("debian-5.10", "debian-6.1")
    with pytest.raises(UsageError, match="both given"):
        chosen_kernels("a", "b")
    with pytest.raises(CapabilityError, match="there is no kernel debian-9; there are debian"):
        chosen_kernels("debian-9", None)
    with pytest.raises(UsageError, match="write it as a,b"):
        chosen_kernels(None, "a,,b")


def test_a_virtual_clock_needs_a_kernel(read: Read) -> None:
    on_kernels = read(TEXT)
    assert check_clock(None, on_kernels) == "virtual"
    assert check_clock("real", on_kernels) == "real"
    with pytest.raises(UsageError, match="name a kernel too"):
        check_clock("virtual", replace(on_kernels, kernels=()))
    with pytest.raises(UsageError, match="give virtual or real"):
        check_clock("atomic", on_kernels)


def test_a_plan_names_the_kernels_of_the_command_line(sixbench: Callable[..., Any]) -> None:
    planned = json.loads(sixbench("plan", "quickstart", "--kernels", "debian-5.10,debian-6.1", "--json").stdout)
    kernels = [combination["levels"]["kernel"] for combination in planned["combinations"]]
    assert set(kernels) == {"debian-5.10", "debian-6.1"}
    assert planned["estimate"]["clock"] == "virtual"
    refused = sixbench("plan", "quickstart", "--kernels", "debian-5")
    assert (refused.exit, refused.stdout) == (3, "")


def test_a_run_in_guests_that_is_stopped_says_that_no_trials_are_kept(
    read: Read, boots: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def boot(kernel: GuestKernel, command: GuestTask, *others: object) -> GuestResult:
        raise KeyboardInterrupt

    monkeypatch.setattr(guests, "boot", boot)
    experiment = read(WITH_SETTINGS)
    with pytest.raises(Interrupted) as caught:
        run_in_guests(quiet_request(tmp_path), experiment, "virtual")
    assert "none are kept" in str(caught.value)
    assert not (tmp_path / "run").exists()
