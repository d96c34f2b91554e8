"""The peer itself: commands and their outcome, time limits, and nothing left behind."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from kernel_peer import PeerError, UmlPeer
from waiting import PATIENCE_S

from sixbench.agent import Agent


@pytest.fixture(scope="module")
def peer(router: Agent) -> Iterator[UmlPeer]:
    with UmlPeer.boot(router.pid, ["tap0"], ["sit", "sch_netem", "sch_fq", "sch_tbf"]) as peer:
        yield peer


def processes_of(marker: str) -> list[str]:
    """Processes whose command line names the marker."""
    processes = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if marker in line:
            processes.append(f"{folder.name} {line}")
    return processes


def test_a_command_gives_its_exit_code_and_both_outputs_unchanged(peer: UmlPeer) -> None:
    done = peer.run("printf 'a\\tb\\\\n\\n'; echo 'to \"stderr\"' >&2\nexit 7", check=False)
    assert (done.exit, done.stdout, done.stderr) == (7, "a\tb\\n\n", 'to "stderr"\n')
    with pytest.raises(PeerError, match=r"peer: 'ls /nowhere' ended with 1: .*No such file"):
        peer.run("ls /nowhere")


def test_long_commands_and_outputs_arrive_whole(peer: UmlPeer) -> None:
    word = "x" * 2900
    assert peer.run(f"echo {word}").stdout == word + "\n"
    assert peer.run("seq 1 50000").stdout == "".join(f"{n}\n" for n in range(1, 50001))
    with pytest.raises(PeerError, match="longer than"):
        peer.run(word * 2)


def test_a_command_that_does_not_end_is_killed_and_the_next_one_is_answered(peer: UmlPeer) -> None:
    with pytest.raises(PeerError, match="did not end within 1 s"):
        peer.run("echo begun; sleep 1000; echo never", timeout_s=1)
    assert peer.run("echo after").stdout == "after\n"
    assert "sleep 1000" not in peer.run("ps").stdout


def test_a_job_runs_beside_commands(peer: UmlPeer) -> None:
    peer.run("mkfifo /run/go")
    job = peer.start("read -r line </run/go; echo got $line; exit 3")
    peer.run("echo word >/run/go")
    done = job.wait(check=False)
    assert (done.exit, done.stdout) == (3, "got word\n")


def test_modules_are_loaded_with_what_they_need(peer: UmlPeer) -> None:
    loaded = {line.split()[0] for line in peer.run("lsmod").stdout.splitlines()}
    assert {"ipv6", "sit", "ip_tunnel", "tunnel4"} <= loaded
    with pytest.raises(PeerError, match="no_such is not among the modules"):
        peer.load("no_such")


def test_it_permits_more_threads_than_it_starts_while_it_boots(peer: UmlPeer) -> None:
    # It has started as many as the number of the next one says.
    started = int(peer.run("sh -c 'echo $$'").stdout)
    permitted = int(peer.run("sysctl -n kernel.threads-max").stdout)
    assert 100 < started < permitted


def test_a_panic_is_told_at_once_with_what_came_before_it(router: Agent) -> None:
    # Past the time limit it would be "has not answered in time".
    panicked = pytest.raises(PeerError, match=r"(?s)panicked: 'echo c .*Trigger a crash.*Kernel panic")
    with UmlPeer.boot(router.pid, []) as peer, panicked:
        peer.run("echo c >/proc/sysrq-trigger", timeout_s=600)


def test_nothing_is_left_when_it_is_closed(router: Agent) -> None:
    before = set(os.listdir("/proc/self/fd"))
    peer = UmlPeer.boot(router.pid, ["tap-close"])
    assert processes_of("ifname=tap-close")
    peer.close()
    assert processes_of("ifname=tap-close") == []
    assert set(os.listdir("/proc/self/fd")) == before
    peer.close()


def test_nothing_is_left_when_its_owner_is_killed(router: Agent, tmp_path: Path) -> None:
    script = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); from kernel_peer import UmlPeer; "
        f"UmlPeer.boot({router.pid}, ['tap-kill']); print('up', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"up\n"
        marker = "ifname=tap-kill"
        processes = [os.pidfd_open(int(line.split()[0])) for line in processes_of(marker)]
        assert len(processes) > 2
        owner.kill()
    for process in processes:
        assert select.select([process], [], [], PATIENCE_S)[0], "it has not ended"
        os.close(process)
    assert processes_of(marker) == []


def test_what_netem_and_fq_do_in_it(peer: UmlPeer) -> None:
    peer.run("tc qdisc add dev lo root netem delay 20ms")
    stdout = peer.run("ping -n -c 3 -i 0.2 127.0.0.1").stdout
    times = [float(line.rpartition("time=")[2].split()[0]) for line in stdout.splitlines() if "time=" in line]
    assert len(times) == 3
    assert all(it >= 40 for it in times), stdout  # 20 ms each way: never less, however busy the machine is
    peer.run("tc qdisc replace dev lo root fq maxrate 1mbit && tc qdisc show dev lo | grep -q 'fq.*maxrate 1Mbit'")
    peer.run("tc qdisc del dev lo root")
