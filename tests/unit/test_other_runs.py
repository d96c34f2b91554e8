"""Runs that measure on this machine at once: each knows of the others, and a run can wait for them."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from synthetic import small

from sixbench.analysis import analyse
from sixbench.bench import announcements, other_runs
from sixbench.bench.other_runs import OtherRun, Presence, WatchingPage, announced_page, measuring, running
from sixbench.cli.running import begin_run
from sixbench.lab import registry
from sixbench.model.errors import UsageError, WriteError
from sixbench.model.record_json import record_from_json, record_to_json
from sixbench.store import Folder, create_new_run, create_run, new_directory, open_run, read_run
from sixbench.ui.look import Look

OURS = f"tested{os.getpid()}-"
"""The names of runs of this test begin with it: others may run on this machine."""
NAME = f"{OURS}run"
FIRST, SECOND = f"{OURS}first", f"{OURS}second"


@contextmanager
def announced(name: str = NAME, wait: bool = False, expected: list[str] | None = None) -> Iterator[Presence]:
    with measuring(name, wait=wait, report=[].append if expected is None else expected.append) as presence:
        yield presence


def during_trial(presence: Presence) -> list[str] | None:
    """The experiments of other runs that a trial's record would have now."""
    record = replace(small().trials[0], other_runs=None)
    return presence.noted(record, None).other_runs


def own_runs() -> list[str]:
    """The runs that this test announced."""
    return [other.name for other in running() or () if other.name.startswith(OURS)]


def begun_elsewhere(*words: str) -> subprocess.Popen[str]:
    """Another process that measures, until its input ends; `words` begin its command."""
    script = (
        "import sys\n"
        "from sixbench.bench.other_runs import measuring\n"
        f"with measuring({NAME + '-elsewhere'!r}, wait=False, report=lambda words: None):\n"
        "    print('begun', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    process = subprocess.Popen(
        [*words, sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    return process


def of_this_test(names: list[str] | None) -> list[str]:
    assert names is not None
    return [name for name in names if name.startswith(OURS)]


def test_a_run_is_announced_while_it_measures() -> None:
    assert own_runs() == []
    with announced():
        assert own_runs() == [NAME]
    assert own_runs() == []


def test_a_run_says_who_else_measures() -> None:
    collected: list[str] = []
    with announced(FIRST), announced(SECOND, expected=collected) as second:
        assert [other.name for other in second.others() or () if other.name.startswith(OURS)] == [FIRST]
    assert f"{FIRST} (process {os.getpid()})" in collected[0]
    assert "disturb each other" in collected[0]
    assert "--wait" in collected[0]


def test_a_run_that_was_killed_does_not_count() -> None:
    process = begun_elsewhere()
    try:
        assert own_runs() == [f"{NAME}-elsewhere"]
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert own_runs() == []


IN_NAMESPACE = ("unshare", "--user", "--map-root-user", "--net")


@pytest.fixture
def run_in_another_namespace() -> Iterator[subprocess.Popen[str]]:
    if subprocess.run([*IN_NAMESPACE, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this kernel lets this user make no network namespace")
    # By a shell, because children are agents of this run.
    process = begun_elsewhere("sh", "-c", '"$@"; true', "sh", *IN_NAMESPACE)
    yield process
    process.communicate()


def test_a_run_in_another_network_namespace_is_seen(run_in_another_namespace: subprocess.Popen[str]) -> None:
    elsewhere = f"{NAME}-elsewhere"
    assert own_runs() == [elsewhere]
    collected: list[str] = []
    with announced(expected=collected) as presence:
        assert elsewhere in collected[0]
        presence.next_trial()
        run_in_another_namespace.communicate()
        assert own_runs() == [NAME]
        assert of_this_test(during_trial(presence)) == [elsewhere]
        presence.next_trial()
        assert of_this_test(during_trial(presence)) == []


@pytest.mark.parametrize(("their_token", "goes_on"), [("0" * 16, False), ("f" * 16, True)])
def test_of_two_that_wait_and_begin_at_once_in_two_namespaces_one_goes_on(
    monkeypatch: pytest.MonkeyPatch, their_token: str, goes_on: bool
) -> None:
    first_other_run, other = (
        other_runs.OtherRun(name=name, pid=1, token=token) for name, token in ((FIRST, "7" * 16), (SECOND, their_token))
    )
    looks = iter([set(), {first_other_run, other}])
    monkeypatch.setattr(other_runs, "running", lambda: next(looks))
    here, others = other_runs._announced(first_other_run, only_alone=True)
    assert ((here is not None), others) == ((True, set()) if goes_on else (False, {other}))
    if here is not None:
        here.close()


def test_namespaces_of_the_agents_of_this_run_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[str] = []
    monkeypatch.setattr(announcements, "_of_namespace", lambda process, _: looked_at.append(process) or set())
    agent = begun_elsewhere()
    try:
        running()
    finally:
        agent.communicate()
    assert {"self", str(os.getpid())} <= set(looked_at)
    assert str(agent.pid) not in looked_at


def test_a_trial_knows_of_the_runs_beside_it() -> None:
    with announced(FIRST) as first:
        first.next_trial()
        assert of_this_test(during_trial(first)) == []
        with announced(SECOND) as second:
            assert of_this_test(during_trial(first)) == [SECOND]
            second.next_trial()
            assert of_this_test(during_trial(second)) == [FIRST]
            first.next_trial()
        assert of_this_test(during_trial(first)) == [SECOND]
        first.next_trial()
        assert of_this_test(during_trial(first)) == []


def test_a_run_that_began_and_ended_within_a_trial_is_known_too() -> None:
    with announced(FIRST) as first:
        first.next_trial()
        with announced(SECOND):
            pass
        assert own_runs() == [FIRST]
        assert of_this_test(during_trial(first)) == [SECOND]


def test_a_run_that_waits_begins_when_the_other_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    collected: list[str] = []
    other = ExitStack()
    other.enter_context(announced(FIRST))
    real, sleep = announcements.announcements, time.sleep

    def of_tests() -> set[announcements.Announcement]:
        return {item for item in real() or () if OURS in item.name}

    def later(seconds: float) -> None:
        if seconds == other_runs.POLL_S:
            assert own_runs() == [FIRST]
            other.close()
        else:  # another process of these tests announces a run just now
            sleep(seconds)

    monkeypatch.setattr(other_runs, "announcements", of_tests)
    monkeypatch.setattr(other_runs.time, "sleep", later)
    with announced(SECOND, wait=True, expected=collected) as second:
        assert own_runs() == [SECOND]
        assert second.others() == []
    assert collected == [f"waiting for another run of sixbench, {FIRST} (process {os.getpid()}), to end"]


def test_what_strangers_call_their_sockets_is_no_run() -> None:
    names = ["", "1/x/a", "1/0123456789abcdef/", "1/0123456789abcdef/-a", "1/0123456789abcdef/a\x1b[2J", "x" * 60]
    with ExitStack() as sockets, announced() as presence:
        presence.next_trial()
        for name in names:
            stranger = sockets.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
            stranger.bind(f"\0sixbench/run/{name}")
            these = next(other for other in running() or () if other.name == NAME)
            stranger.sendto(b"run/" + name.encode() or b"\xff", f"\0sixbench/{these.socket_suffix}")
        assert own_runs() == [NAME]
        assert of_this_test(during_trial(presence)) == []


STRANGER = """
import os, socket, sys
name, root = sys.argv[1:]
held = []
for told in (f"run/{os.getpid()}/{'0' * 16}/{name}-a", f"run/{root}/{'0' * 16}/{name}-b", f"lab/0/{name}", "turn"):
    held.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    held[-1].bind(f"\\0sixbench/{told}")
print("begun", flush=True)
for line in sys.stdin:
    held[0].sendto(f"run/{root}/{'0' * 16}/{name}-c".encode(), "\\0sixbench/" + line.strip())
    print("sent", flush=True)
"""


def test_messages_that_arrive_without_end_do_not_hold_up_a_run() -> None:
    page = WatchingPage(directory=(1, 2), token="0" * 16)

    class Flooded:
        messages = 0

        def recvmsg(self, *_: int) -> tuple[bytes, list[tuple[int, int, bytes]], int, None]:
            self.messages += 1
            assert self.messages < 100_000, "it reads without end"
            return page.socket_suffix.encode(), [], 0, None

    run = OtherRun(name=NAME, pid=os.getpid(), token="1" * 16)
    presence = Presence(run, Flooded())  # type: ignore[arg-type]
    assert presence.noted(replace(small().trials[0], watched=None), page.directory).watched is True


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user, too")
def test_names_that_another_user_takes_keep_root_from_nothing() -> None:
    """Sockets named as those of runs, of a lab and of a turn, and a message, by nobody."""
    words = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        shutil.which("python3", path="/usr/bin:/bin"),
    ]
    argv = [*map(str, words), "-I", "-c", STRANGER, NAME, str(os.getpid())]
    with subprocess.Popen(argv, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as stranger:
        assert stranger.stdin is not None
        assert stranger.stdout is not None
        assert stranger.stdout.readline() == "begun\n"
        assert {item.name for item in announcements.announcements() or () if NAME in item.name} >= {f"lab/0/{NAME}"}
        assert own_runs() == []
        registry.claim(NAME).close()
        collected: list[str] = []
        with announced(SECOND, expected=collected) as presence:
            assert not any(NAME in words for words in collected)
            presence.next_trial()
            these = next(other for other in running() or () if other.name == SECOND)
            print(these.socket_suffix, file=stranger.stdin, flush=True)
            assert stranger.stdout.readline() == "sent\n"
            assert of_this_test(during_trial(presence)) == []


def test_a_machine_that_does_not_tell_is_told_as_unknown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(announcements, "PROC", tmp_path / "none")
    with announced(wait=True) as presence:
        assert presence.others() is None
        assert during_trial(presence) is None


# Pages that look at a run

HERE, THERE = (8, os.getpid()), (9, os.getpid())


def is_watched(presence: Presence, directory: tuple[int, int] | None = HERE) -> bool | None:
    return presence.noted(small().trials[0], directory).watched


def looks_at(directory: tuple[int, int]) -> socket.socket:
    page = announced_page(directory)
    assert page is not None
    return page


def test_a_trial_knows_whether_a_page_looks_at_its_run() -> None:
    with announced() as presence:
        assert is_watched(presence) is False
        with looks_at(HERE):
            assert [is_watched(presence, directory) for directory in (HERE, THERE, None)] == [True, False, None]
            presence.next_trial()
        assert is_watched(presence) is True, "it looked as the trial began"
        presence.next_trial()
        assert is_watched(presence) is False
        assert of_this_test(during_trial(presence)) == [], "a page is no run"


def test_a_page_that_was_opened_and_closed_within_a_trial_is_known_too() -> None:
    with announced() as presence:
        looks_at(HERE).close()
        assert is_watched(presence) is True


def test_a_page_announces_itself_once_the_run_has_a_directory_and_until_its_stream_ends(tmp_path: Path) -> None:
    look = Look(lambda: Folder.open(tmp_path).folder("a"))
    look.announce()
    (tmp_path / "a").mkdir()
    with announced() as presence:
        directory = Folder.open(tmp_path / "a").identity
        assert is_watched(presence, directory) is False
        look.announce()
        (tmp_path / "a").rename(tmp_path / "b")
        presence.next_trial()
        assert is_watched(presence, directory) is True
        look.close()
        assert is_watched(presence, directory) is True, "it looked as the trial began"
        presence.next_trial()
        assert is_watched(presence, directory) is False


def test_whether_a_page_looks_is_unknown_where_the_machine_does_not_tell(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(announcements, "PROC", tmp_path / "none")
    with announced() as presence:
        assert is_watched(presence) is None


@pytest.mark.parametrize("message", [[None, False], [False, True], [None, None]])
def test_the_manifest_says_whether_a_page_looked_even_if_the_run_goes_on_later(
    message: list[bool | None], tmp_path: Path
) -> None:
    small_run = small()
    first, second = (replace(trial, watched=item) for trial, item in zip(small_run.trials, message, strict=False))
    expected = None if message == [None, None] else True in message
    with create_run(tmp_path / "a", small_run.manifest) as writer:
        writer.add_trial(first, {})
        writer.add_trial(second, {})
    writer, _ = open_run(tmp_path / "a")  # as after a crash: nothing was saved since
    with writer:
        writer.save_manifest()
    kept = read_run(tmp_path / "a")
    assert (kept.manifest.watched, [trial.watched for trial in kept.trials]) == (expected, message)


def test_the_report_says_during_how_many_trials_a_page_looked() -> None:
    small_run = small()
    run = replace(small_run.in_memory(), trials=[replace(small_run.trials[0], watched=True), *small_run.trials[1:]])
    words = f"A page of sixbench ui looked at this run during 1 of {len(small_run.trials)} trials"
    assert any(remark.startswith(words) for remark in analyse(run).remarks)
    assert not any("sixbench ui" in remark for remark in analyse(small_run.in_memory()).remarks)


# Records and reports


def test_the_report_says_during_how_many_trials_another_run_measured() -> None:
    small_run = small()
    trials = [replace(small_run.trials[0], other_runs=["quickstart"]), *small_run.trials[1:]]
    run = replace(small_run.in_memory(), trials=trials)
    words = f"Another run of sixbench (quickstart) measured on this machine during 1 of {len(trials)} trials."
    assert any(remark.startswith(words) for remark in analyse(run).remarks)
    assert not any("Another run" in remark for remark in analyse(small_run.in_memory()).remarks)


@pytest.mark.parametrize("names", [None, [], ["a", "b"]])
def test_a_record_keeps_the_other_runs(names: list[str] | None) -> None:
    record = replace(small().trials[0], other_runs=names)
    assert record_from_json(record_to_json(record)).other_runs == names


@pytest.mark.parametrize("spoiled", ["a", [1], {"a": 1}])
def test_a_record_with_other_runs_of_another_form_is_refused(spoiled: object) -> None:
    with pytest.raises(ValueError, match="other_runs"):
        record_from_json(record_to_json(small().trials[0]) | {"other_runs": spoiled})


# Names


def test_runs_that_begin_at_once_have_directories_of_their_own(tmp_path: Path) -> None:
    wanted, manifest = tmp_path / "runs" / "a-20261122-120000", small().manifest
    with ThreadPoolExecutor(8) as pool:
        writers = list(pool.map(lambda _: create_new_run(wanted, manifest), range(8)))
    places = sorted(writer.directory for writer in writers)
    assert places == sorted([wanted, *(wanted.with_name(f"{wanted.name}-{number}") for number in range(2, 9))])
    assert [read_run(place).manifest.run for place in places] == [place.name for place in places]


def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")
    with pytest.raises(WriteError, match="give a writable place with --out"):
        new_directory(tmp_path / "runs" / "a")


def test_nothing_is_left_of_a_run_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise WriteError("the disk is full")

    monkeypatch.setattr("sixbench.store.folder.Folder.write", full)
    with pytest.raises(WriteError, match="the disk is full"):
        create_new_run(tmp_path / "a", small().manifest)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_the_user_named_is_taken_or_refused_and_another_gets_a_number(tmp_path: Path) -> None:
    manifest = small().manifest
    begin_run(tmp_path / "a", manifest, is_named=True).close()
    with pytest.raises(UsageError, match="already holds a run"):
        begin_run(tmp_path / "a", manifest, is_named=True)
    assert begin_run(tmp_path / "a", manifest, is_named=False).directory == tmp_path / "a-2"


def test_only_one_of_two_labs_has_a_name() -> None:
    with registry.claim(NAME), pytest.raises(UsageError, match=f'a lab "{NAME}" is up already'):
        registry.claim(NAME)
    registry.claim(NAME).close()
