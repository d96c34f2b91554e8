"""`docs/adding.md`, followed in a copy of the tree: what it adds works, and changes one file besides."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from adding import ROOT, Section, follow, sections
from ip_packets import ipv6, pcap

from sixbench.model.capture_file import read_capture

RUN = ROOT / "tests/schemas/run-2/fragments"

SECTIONS = sections()
SHOWN = {
    "A mechanism": ["link add toy type sit local", "link set toy mtu 1480 up"],
    "Packets through a mechanism": ["toy      A configured tunnel of IPv6 in IPv4."],
    "An engine": ["link add 6in4-1 type sit local 198.18.1.1 remote 198.18.1.2 ttl 64\n"],
    "A workload": ["name-lookup"],
    "A metric": ["name-lookup"],
    "A report format": ["udp-stream, goodput: tunnel is not compared"],
}
"""Output of the commands, in part."""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package in which every section was followed."""
    tree = tmp_path_factory.mktemp("adding")
    shutil.copytree(ROOT / "src", tree / "src")  # with what is compiled, so that only what changes is compiled again
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


@pytest.mark.parametrize("section", SECTIONS.values(), ids=SECTIONS)
def test_at_most_one_file_is_changed_besides_the_new_one(section: Section) -> None:
    changed = [name for name in section.changes if (ROOT / name).exists()]
    assert len(changed) == 1
    assert len(section.files) + len(section.changes) == 2


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
from sixbench.model.metric import COLUMNS
from sixbench.model.workloads import WORKLOADS
client, server = ([one["answer"] for one in json.load(open(sys.argv[1])) if one.get("workload") == "udp-rr" and
                   one["op"] == op][0] for op in ("run", "finish"))
print({COLUMNS[name].name for name in WORKLOADS["name-lookup"].summarise({}, client, server).metrics})
"""


def test_the_workload_makes_its_metric_of_what_agents_answer(tree: Path) -> None:
    assert "'rtt_spread'" in in_tree(tree, "-c", SUMMARISE, str(ROOT / "tests/unit/answers.json"))
