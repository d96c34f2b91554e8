"""`docs/adding.md`, followed in a copy of the tree: what it adds works, and changes one file of each layer besides."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from adding import ROOT, Section, follow, sections
from ip_packets import ipv6, pcap

from sixbench.model.capture_file import read_capture

RUN = ROOT / "tests/schemas/run-2/fragments"

WORKLOADS_OF_AGENT = "crates/traffic/src/workloads"

SECTIONS = sections()
SHOWN = {
    "A mechanism": ["link add toy type sit local", "link set toy mtu 1480 up"],
    "Packets through a mechanism": ["toy      A configured tunnel of IPv6 in IPv4."],
    "An engine": ["link add 6in4-1 type sit local 198.18.1.1 remote 198.18.1.2 ttl 64\n"],
    "A workload": ["name-lookup"],
    "A metric": ["name-lookup"],
    "A kind of evidence": ['"neighbours": {}'],
    "A report format": ["udp-stream, goodput: tunnel is not compared"],
}
"""Output of the commands, in part."""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package in which every section was followed."""
    tree = tmp_path_factory.mktemp("adding")
    shutil.copytree(ROOT / "src", tree / "src")  # with what is compiled, so that only what changes is compiled again
    shutil.copytree(ROOT / WORKLOADS_OF_AGENT, tree / WORKLOADS_OF_AGENT)
    shutil.copytree(RUN, tree / "runs/fragments")
    for section in SECTIONS.values():
        follow(section, tree)
        for name, text in section.experiments.items():
            (tree / name).write_text(text)
    return tree


def in_tree(tree: Path, *argv: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, *argv], cwd=tree, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_page_adds_one_of_each() -> None:
    assert SECTIONS.keys() == SHOWN.keys()


def layers(names: Iterable[str]) -> list[str]:
    """The layers and crates of files: `model` of `src/sixbench/model/metric.py`, `traffic` of `crates/traffic/...`."""
    return sorted(parts[1] if parts[0] == "crates" else parts[2] for parts in (Path(name).parts for name in names))


@pytest.mark.parametrize(("heading", "section"), SECTIONS.items(), ids=SECTIONS)
def test_at_most_one_file_of_a_layer_is_changed_besides_the_new_one(heading: str, section: Section) -> None:
    changed = [name for name in section.changes if (ROOT / name).exists()]
    several = {"A kind of evidence": ["bench", "model", "report"], "A workload": ["model", "traffic"]}
    if heading in several:
        assert layers(changed) == layers(section.files) == several[heading]
    else:
        assert len(changed) == 1
        assert len(section.files) + len(section.changes) == 2


def test_a_workload_is_a_file_and_an_entry_in_each_of_two_languages() -> None:
    section = SECTIONS["A workload"]
    assert [Path(name).suffix for name in section.files] == [".py", ".rs"]
    assert [[added(change) for change in changes] for changes in section.changes.values()] == [
        ["name_lookup,", "name_lookup.KIND,"],
        ["mod name_lookup;", "&name_lookup::NameLookup,"],
    ]


def added(change: tuple[str, str]) -> str:
    """The one line that comes to a file."""
    before, after = (text.splitlines() for text in change)
    [line] = [line.strip() for line in after if line not in before]
    return line


def test_a_new_thing_is_a_line_or_two_of_a_list(tree: Path) -> None:
    """An import and an entry. A metric is its own entry."""
    added = {
        heading: [
            sum(after.count("\n") - before.count("\n") for before, after in section.changes[name])
            for name in section.changes
            if (ROOT / name).exists()
        ]
        for heading, section in SECTIONS.items()
        if section.files
    }
    assert [heading for heading, lines in added.items() if max(lines) > 2] == []


@pytest.mark.parametrize("heading", SECTIONS)
def test_what_was_added_works(tree: Path, heading: str) -> None:
    for _, *words in SECTIONS[heading].commands:
        printed = in_tree(tree, "-m", "sixbench", *words)
        assert [shown for shown in SHOWN[heading] if shown not in printed] == []


def test_the_schema_knows_them(tree: Path) -> None:
    schema = in_tree(tree, "-m", "sixbench", "schema")
    assert [name for name in ('"toy"', '"bare"', '"name-lookup"') if name not in schema] == []


def test_packets_go_through_the_mechanism(tree: Path) -> None:
    (tree / "in.pcap").write_bytes(pcap([ipv6(b"", source="2001:db8::1")]))
    ends = ("--local", "192.0.2.1", "--remote", "192.0.2.2", "--ttl", "9")
    printed = in_tree(
        tree, "-m", "sixbench", "translate", "toy", *ends, "--in", "in.pcap", "--out", "out.pcap", "--json"
    )
    assert json.loads(printed)["out"] == [{"source": "192.0.2.1", "destination": "192.0.2.2", "bytes": 60}]
    with (tree / "out.pcap").open("rb") as stream:
        [packet] = [record.data for record in read_capture(stream)]
    assert packet[8] == 9


SUMMARISE = """
import json, sys
from sixbench.agent.results import check_result
from sixbench.model.errors import AgentError
from sixbench.model.metric import COLUMNS
from sixbench.model.workloads import WORKLOADS
client, server = ([one["answer"] for one in json.load(open(sys.argv[1])) if one.get("workload") == "udp-rr" and
                   one["op"] == op][0] for op in ("run", "finish"))
try:
    check_result("name-lookup", "client", {}, client, "run of name-lookup")
except AgentError as error:
    print(error)
client["repeated"] = 2 * (client["transactions"] + client["lost"])
check_result("name-lookup", "client", {}, client, "run of name-lookup")
measured = WORKLOADS["name-lookup"].summarise({}, client, server).metrics
has_all = {COLUMNS[name].name for name in measured} >= {"rtt_spread", "loss_ratio", "repeats"}
print(has_all, measured["repeats_per_question"])
"""


def test_the_workload_makes_its_metrics_of_what_agents_answer(tree: Path) -> None:
    refused, metrics = in_tree(tree, "-c", SUMMARISE, str(ROOT / "tests/unit/answers.json")).splitlines()
    assert "repeated" in refused
    assert metrics == "True 2.0"


WITNESSED = """
import sys
from dataclasses import replace
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from sixbench.agent.answers import ExecAnswer
from sixbench.analysis import analyse
from sixbench.model.evidence import joined
from sixbench.model.record_json import record_from_json, record_to_json
from sixbench.report.sections import SECTIONS, ReportData
from sixbench.bench.witnesses import WITNESSES
from sixbench.bench.witnesses.neighbours import NeighbourWitness
from sixbench.store import read_run

class Node:
    tables = ["[]", '[{"dst": "a"}, {"dst": "b"}]']
    def ask(self, request):
        assert request.argv[-2:] == ["neighbour", "show"]
        future = Future()
        future.set_result(ExecAnswer(exit=0, stdout=self.tables.pop(0), stderr=""))
        return future
    def wait(self, future, *_):
        return future.result()

assert NeighbourWitness in WITNESSES
witness = NeighbourWitness(SimpleNamespace(watched={"r1": Node()}))
witness.look_before()()
witness.look_after()()
testimony = witness.judge(None)
print(*testimony.notes)
run = read_run(Path(sys.argv[1]))
records = [replace(trial, evidence=joined([trial.evidence, testimony.evidence])) for trial in run.trials]
run = replace(run, trials=[record_from_json(record_to_json(record)) for record in records])
[section] = [section for section in SECTIONS if section.name == "neighbours"]
[table] = section.filled(ReportData.of(run, analyse(run)))
print(table.rows)
"""


def test_a_witness_asks_judges_is_recorded_added_up_and_shown(tree: Path) -> None:
    note, rows = in_tree(tree, "-c", WITNESSED, "runs/fragments").splitlines()
    assert note == "r1 learned of neighbours"
    assert "'r1', '2']" in rows
