"""Translation and address sharing over links with offloads and without, of the MTUs that there are, with DF clear and
set, and a DSCP with its highest bit set: by the packets on every link."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab.experiments import WithWholeChecksums, run, wrong
from lab.wire import decode

from sixbench.agent import AgentHub
from sixbench.mechanisms import MECHANISMS
from sixbench.model.captured import IcmpHeader, IpHeader
from sixbench.model.network import Network
from sixbench.model.path import Path as Way
from sixbench.run.laboratory import Laboratories, Laboratory

EXPERIMENT = """
topology:
  nodes: {{h1: host, r1: router, r2: router, h2: host}}
  links:
    - {{endpoints: [h1, r1], offload: {offload}}}
    - {{endpoints: [r1, r2], offload: {offload}, mtu: [1280, 1480, 1500]}}
    - {{endpoints: [r2, h2], offload: {offload}}}
between: [h1, h2]
paths: {{way: {{{mechanism}: {{nodes: [{nodes}], engine: {engine}}}}}}}
blocks: 1
workloads:
  - tcp-stream: {{duration: 80ms, warmup: 40ms}}
  - udp-stream: {{datagram: [1000B, 1400B], df: [clear, set], rate: 2Mbit, duration: 60ms, warmup: 0s}}
"""
SHARING = ("siit", "nat64", "464xlat", "map-t", "map-e", "lw4o6")
CASES = [(name, engine) for name in SHARING for engine in ("ebpf", "user") if engine in MECHANISMS[name].engines]
DSCP = 0x28
"""CS5 (RFC 2474 section 4.2.2)."""
MARK = f"""table inet mark {{
  chain output {{
    type filter hook output priority mangle; policy accept;
    meta nfproto ipv4 ip dscp set {DSCP}
    meta nfproto ipv6 ip6 dscp set {DSCP}
  }}
}}
"""


def marked(laboratory: Laboratory) -> Laboratory:
    """All that its hosts send has the DSCP."""
    for host in ("h1", "h2"):
        done = laboratory.agents[host].call("exec", argv=["nft", "-f", "-"], stdin=MARK)
        assert done["exit"] == 0, done
    return laboratory


class Marked(Laboratories):
    """Networks whose hosts mark their packets."""

    def _built(self, path: Way, network: Network) -> Laboratory:
        return marked(super()._built(path, network))


class MarkedAndWhole(WithWholeChecksums):
    """Those whose devices leave no checksum to the hardware besides."""

    def _built(self, path: Way, network: Network) -> Laboratory:
        return marked(super()._built(path, network))


@pytest.mark.parametrize("offload", ["true", "false"])
@pytest.mark.parametrize(("mechanism", "engine"), CASES)
def test_packets_keep_their_dscp_and_are_of_the_sizes_that_theory_says(
    hub: AgentHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mechanism: str, engine: str, offload: str
) -> None:
    monkeypatch.setattr("sixbench.run.scheduler.Laboratories", Marked if offload == "true" else MarkedAndWhole)
    nodes = ", ".join(MECHANISMS[mechanism].sample)
    text = EXPERIMENT.format(mechanism=mechanism, nodes=nodes, engine=engine, offload=offload)
    finished = run(hub, text, tmp_path / "run")
    streams = [trial for trial in finished.trials if trial.workload == "tcp-stream"]
    datagrams = [trial for trial in finished.trials if trial.workload == "udp-stream"]
    assert wrong(streams) == []
    assert (len(streams), len(datagrams)) == (3, 12)
    judged = {trial.key: trial.evidence.fragments for trial in datagrams}
    assert [key for key, fragments in judged.items() if fragments is None or fragments.agrees is not True] == []
    for trial in finished.trials:
        for segment in trial.evidence.segments or ():
            packets = [
                packet
                for packet in segment.packets
                if not any(isinstance(layer, IcmpHeader) for layer in packet.layers)
            ]
            headers = [layer for packet in packets for layer in packet.layers if isinstance(layer, IpHeader)]
            assert {(layer.traffic_class or 0) >> 2 for layer in headers} <= {DSCP}, trial.key
    assert any(trial.evidence.segments for trial in streams)
    if offload == "false":
        captures = [file for trial in finished.trials for file in finished.captures(trial).values()]
        assert [packet for packet in decode(captures, tmp_path) if packet.has_wrong_checksum] == []
