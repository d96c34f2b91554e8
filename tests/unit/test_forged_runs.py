"""Run directories that somebody forged with care: every hash matches, and what is said cannot be."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import synthetic

from sixbench.analysis import analyse
from sixbench.model.errors import StoreError
from sixbench.report import FORMATS
from sixbench.store import open_run, read_run, verify_run, write_derived

pytestmark = pytest.mark.computes

Command = Callable[..., Any]
Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run directory that nobody forged."""
    directory = synthetic.small(blocks=2).write(tmp_path_factory.mktemp("whole") / "run").directory
    writer, _ = open_run(directory)
    writer.set_state("complete", synthetic.STARTED_NS + 1)
    writer.close()
    return directory


@pytest.fixture
def directory(whole: Path, tmp_path: Path) -> Path:
    return shutil.copytree(whole, tmp_path / "run")


def forge(directory: Path, change: Change) -> Path:
    """Changes the first record, and its hash in the manifest."""
    path = sorted((directory / "trials").iterdir())[0] / "trial.json"
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    change_manifest(
        directory,
        lambda manifest: manifest["accepted"][path.parent.name].update(
            {"trial.json": hashlib.sha256(path.read_bytes()).hexdigest()}
        ),
    )
    return path


def change_manifest(directory: Path, change: Change) -> None:
    path = directory / "manifest.json"
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def deep(levels: int) -> list[Any]:
    collected: list[Any] = []
    for _ in range(levels):
        collected = [collected]
    return collected


FORGERIES: list[tuple[Change, str]] = [
    (lambda data: data["evidence"]["segments"][0].update(packets=5), "evidence.segments.0.packets is 5, which is not"),
    (lambda data: data["params"].update(duration_ns="x"), 'params.duration_ns is "x", which is not a number'),
    (lambda data: data["params"].update(rate_pps="1k"), 'params.rate_pps is "1k", which is not a number'),
    (lambda data: data["evidence"]["segments"][0].pop("link"), "evidence.segments.0.link is missing"),
    (lambda data: data["evidence"].update(middle="x"), 'evidence.middle is "x", which is not a whole number'),
    (lambda data: data["evidence"].update(tunnels={"r1": {"a": {}}}), "evidence.tunnels.r1.a.encapsulated is missing"),
    (lambda data: data["evidence"].update(losses={"located": 1}), "evidence.losses.located is 1, which is not a list"),
    (lambda data: data["evidence"].update(emulation={"a": {}}), "evidence.emulation.a.emulator is missing"),
    (lambda data: data["evidence"].update(events=[{"link": "a"}]), "evidence.events.0.due_ns is missing"),
    (
        lambda data: data["evidence"].update(fragments={"links": [{"link": "a"}]}),
        "evidence.fragments.links.0.sizes_bytes is missing",
    ),
    (
        lambda data: data["histograms"].update(rtt={"buckets": [[1]]}),
        "histograms.rtt.buckets.0 has 1 entries, which are too few",
    ),
    (lambda data: data.update(histograms={"rtt": 5}), "histograms.rtt is 5, which is not an object"),
    (lambda data: data.update(client={"socket": {"mss_bytes": "x"}}), 'client.socket.mss_bytes is "x", which is not a'),
    (lambda data: data.update(client={"forward": {"tcp": 1}}), "client.forward.tcp is 1, which is not an object"),
    (
        lambda data: data.update(client={"last_page": {"begun_ns": 1, "first_byte_ns": [2], "ended_ns": [3]}}),
        "client.last_page.begun_ns is 1, which is not a list",
    ),
    (
        lambda data: data.update(client={"last_page": {"begun_ns": [], "first_byte_ns": [2], "ended_ns": [3]}}),
        "client.last_page: the times of a page's objects are not equally many",
    ),
    (lambda data: data["metrics"].update(goodput_bps=True), "metrics.goodput_bps is true, which is not a number"),
    (lambda data: data["metrics"].update(goodput_bps=10**400), "metrics.goodput_bps is 1"),
    (lambda data: data.update(elapsed_ns=-1), "elapsed_ns is -1, which is not a number that a trial can have"),
    (lambda data: data["params"].update(warmup_ns=2**64), "params.warmup_ns is 18446744073709551616, which is not a"),
    (lambda data: data.update(notes=["x" * 20_000]), "notes.0 is "),
    (lambda data: data.update(reasons=[{"kind": [], "text": "x"}]), "a reason is of the kind a list, which this"),
]


@pytest.mark.parametrize(("change", "message"), FORGERIES, ids=[message for _, message in FORGERIES])
def test_a_forged_record_is_refused_by_its_form(directory: Path, change: Change, message: str) -> None:
    before = read_run(directory)
    assert (before.problems, verify_run(before)) == ((), [])
    path = forge(directory, change)
    run = read_run(directory)
    [problem] = run.problems
    assert problem.startswith(f"{path}: damaged trial record: {message}")
    assert len(run.trials) == len(before.trials) - 1
    assert FORMATS["md"].render(run, analyse(run, None))


def test_what_is_forged_is_named_and_the_rest_reported(sixbench: Command, directory: Path) -> None:
    path = forge(directory, FORGERIES[0][0])
    done = sixbench("report", directory)
    assert done.exit == 2
    assert "Goodput" in done.stdout
    assert f"{path}: damaged trial record: evidence.segments.0.packets is 5, which is not a list\n" in done.stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data["experiment"].update(baseline="ipv9"), 'the experiment has no path "ipv9"'),
        (lambda data: data["experiment"]["paths"][1].update(aa_of="x"), 'the experiment has no path "x"'),
        (lambda data: data["experiment"]["combinations"][0].update(topology=7), "c0001: it has the network 7"),
        (
            lambda data: data["experiment"]["combinations"][0]["workload"].update(kind="x"),
            "c0001: there is no",
        ),
        (lambda data: data["experiment"].update(between=["h1", "h9"]), 'topologies.0: there is no node "h9"'),
        (lambda data: data["experiment"]["statistics"].update(confidence="nan"), "statistics.confidence is nan"),
        (lambda data: data["experiment"]["statistics"].update(confidence=1), "statistics.confidence is 1.0"),
        (lambda data: data["experiment"]["blocks"].update(maximum=10**9), "the experiment has 2 to 1000000000 blocks"),
        (lambda data: data.update(started_realtime_ns=10**20), "its start or its end is not a valid time"),
        (lambda data: data["environment"].update(memory_bytes=10**40), "environment.memory_bytes is 1"),
        (
            lambda data: data["environment"].update(versions=[]),
            "environment.versions is a list, which is not an",
        ),
        (lambda data: data.update(paper="../../etc"), 'paper is "../../etc", which cannot name one'),
    ],
)
def test_a_forged_manifest_is_refused(directory: Path, change: Change, message: str) -> None:
    change_manifest(directory, change)
    with pytest.raises(StoreError) as caught:
        read_run(directory)
    assert str(caught.value).startswith(f"{directory}/manifest.json: damaged manifest: {message}")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"engine": "x\nlink add evil type veth"}, r'"x\nlink add evil type veth" is not an engine of 6in4'),
        ({"nodes": []}, "6in4 is installed on 0 nodes"),
        ({"family": 4}, "6in4 with its options is not of IPv4"),
        ({"options": {"tos": "x"}}, 'tos: "x" is not a whole number'),
        ({"options": {"ttl": 256}}, "ttl: 256 is too large: at most 255"),
        ({"options": {"mtu": 10**15}}, "mtu: 1000000000000000 is too large"),
        ({"options": {"mtu": True}}, "mtu: true is not a number"),
        ({"options": {"pmtu": "x\n"}}, r'pmtu: "x\n" is not one of static, dynamic'),
        ({"options": {"ecn": 1}}, "ecn: 1 is neither true nor false"),
        ({"mechanism": "6rd", "options": {"prefix": "zz/3"}}, 'prefix: "zz/3" is not an IPv6 prefix'),
        ({"mechanism": "6rd", "options": {"ipv4-mask": 99}}, "ipv4-mask: 99 is too large"),
        ({"mechanism": "6rd", "options": {"br": 7}}, "br: 7 is not in the form in which it is kept"),
    ],
)
def test_a_path_that_no_experiment_can_have_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    directory = synthetic.transition(blocks=1).write(tmp_path / "run").directory

    def forge_it(data: dict[str, Any]) -> None:
        next(path for path in data["experiment"]["paths"] if path["mechanism"] == "6in4").update(change)

    change_manifest(directory, forge_it)
    with pytest.raises(StoreError) as caught:
        read_run(directory)
    assert f": damaged manifest: router-to-router: {message}" in str(caught.value)


def test_a_mechanism_of_a_later_version_is_left_out_of_reports(tmp_path: Path) -> None:
    directory = synthetic.transition(blocks=1).write(tmp_path / "run").directory
    change_manifest(directory, lambda data: data["experiment"]["paths"][-1].update(mechanism="novel", engine="x"))
    run = read_run(directory)
    assert len(run.problems) == len([problem for problem in run.problems if "its mechanism is" in problem]) > 0


def test_json_is_not_deeper_than_that_of_a_run(directory: Path) -> None:
    path = forge(directory, lambda data: data["client"].update(more=deep(100)))
    assert read_run(directory).problems == (f"{path}: more than 40 levels deep, which nothing of a run is",)


def test_half_a_character_is_refused(directory: Path) -> None:
    forge(directory, lambda data: data.update(more="\ud800"))
    [problem] = read_run(directory).problems
    assert "trial.json: not JSON: " in problem


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ("html", "json")])
def test_control_characters_are_shown_and_steer_no_terminal(directory: Path, name: str) -> None:
    evil = "a\x1b[2J\u202eb\x9b"
    change_manifest(directory, lambda data: data["experiment"].update(title=evil, description=evil))
    forge(
        directory, lambda data: data.update(status="invalid", reasons=[{"kind": "ledger", "text": evil}], notes=[evil])
    )
    run = read_run(directory)
    assert run.problems == ()
    text = FORMATS[name].render(run, analyse(run, None))
    assert not {"\x1b", "\u202e", "\x9b"} & set(text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data["findings"][0].update(n="x"), 'findings.0.n is "x", which is not a whole number'),
        (lambda data: data["findings"][0].update(ratio="nan"), 'findings.0.ratio is "nan", which is not a number'),
        (lambda data: data["findings"][0].pop("metric"), "findings.0.metric is missing"),
        (lambda data: data.update(claims=5), "claims is 5, which is not a list"),
        (lambda data: data["estimates"][0].update(value=10**30), "estimates.0.value is 1"),
    ],
)
def test_forged_findings_are_told_in_the_list_of_runs(
    sixbench: Command, directory: Path, change: Change, message: str
) -> None:
    run = read_run(directory)
    written = write_derived(run, {"findings.json": FORMATS["json"].render(run, analyse(run, None))})
    assert "decided" in sixbench("runs", directory).stdout
    data = json.loads(written["findings.json"].read_text())
    change(data)
    written["findings.json"].write_text(json.dumps(data))
    done = sixbench("runs", directory)
    assert done.exit == 0
    assert f"damaged findings: {message}" in done.stdout


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda levels: levels.pop("frame_bytes"), "c0001 searches a throughput and has no frame size"),
        (lambda levels: levels.update(frame_bytes=True), "c0001 has the frame size true"),
    ],
)
def test_a_search_of_a_throughput_without_a_frame_size_is_none(tmp_path: Path, change: Change, words: str) -> None:
    """Its figure ended with a traceback."""
    from endurance.stock import RUNS, written

    directory = written(*RUNS["rfc"](), tmp_path / "rfc")
    change_manifest(directory, lambda data: change(data["experiment"]["combinations"][0]["levels"]))
    with pytest.raises(StoreError, match=f"damaged manifest: {words}"):
        read_run(directory)


def _without_ipv4(data: Any) -> None:
    for topology in data["experiment"]["topologies"]:
        for end in topology["links"][0]["ends"]:
            end.pop("ipv4", None)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: data["experiment"]["paths"][0].update(mechanism="native"), "the mechanism native, which this"),
        (_without_ipv4, "cannot be in its network: no route leads from"),
    ],
)
def test_a_test_by_an_rfc_has_only_paths_that_can_be_in_their_networks(
    tmp_path: Path, change: Change, words: str
) -> None:
    """Its tables ended with a traceback."""
    from endurance.stock import RUNS, written

    directory = written(*RUNS["rfc"](), tmp_path / "rfc")
    change_manifest(directory, change)
    with pytest.raises(StoreError, match=f"damaged manifest: .*{words}"):
        read_run(directory)
