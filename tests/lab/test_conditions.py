"""The page tells of every node what holds there."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest

from sixbench.bench.laboratory import Laboratories
from sixbench.cli import main
from sixbench.store import read_run

EXPERIMENT = """
topology:
  nodes:
    h1: host
    r1: {kind: router, sysctl: {net.ipv4.tcp_no_metrics_save: 0, net.ipv4.ip_default_ttl: 33}}
    h2: host
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, h2]}]
between: [h1, h2]
paths: {ipv4: native4, ipv6: native6}
baseline: ipv4
workloads: [{tcp-rr: {count: 10, congestion: reno}}, {tcp-rr: {count: 10}}]
blocks: 1
"""


def test_the_page_says_what_the_nodes_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: dict[str, dict[str, str]] = {}
    get = Laboratories.get

    def watched(self: Laboratories, *arguments: Any) -> Any:
        laboratory, network = get(self, *arguments)
        for node, settings in self.settings.items():
            for name in settings:
                path = f"/proc/sys/{name.replace('.', '/')}"
                read = laboratory.agents[node].call("exec", argv=["cat", path])["stdout"]
                held.setdefault(name, {})[node] = " ".join(read.split())
        return laboratory, network

    monkeypatch.setattr(Laboratories, "get", watched)
    file, run = tmp_path / "experiment.yaml", tmp_path / "run"
    file.write_text(EXPERIMENT)
    assert main(["run", str(file), "--out", str(run), "--quiet"]) == 0
    page = (run / "report.html").read_text()
    section = page.partition('<section id="environment">')[2].partition("</section>")[0]
    rows = re.findall(r'<th scope="row">(.*?)</th><td>(.*?)</td>', section)
    unescapes = {html.unescape(name): html.unescape(value) for name, value in rows}
    assert {"net.ipv4.tcp_congestion_control", "net.ipv4.tcp_no_metrics_save", "net.ipv4.tcp_rmem"} <= held.keys()
    for name, by_node in held.items():
        values = set(by_node.values())
        if len(values) == 1 and len(by_node) == 3:
            assert unescapes[name].startswith(f"{values.pop()} in every node"), name
    assert unescapes["net.ipv4.tcp_no_metrics_save"] == "1 in h1 and h2; 0 in r1"
    assert unescapes["net.ipv4.ip_default_ttl"] == "33 in r1"
    assert unescapes["Sockets of tcp-rr"].startswith("congestion control cubic and reno, TCP_NODELAY on, MSS ")
    assert set(read_run(run).manifest.environment.nodes) == {"h1", "r1", "h2"}
