"""A neighbour that floods a trial's socket: the trial is invalid, whatever it measured."""

from __future__ import annotations

import subprocess
import sys

from lab.experiments import read
from reasons import kinds

from sixbench.agent import AgentHub
from sixbench.model.reason import ReasonKind
from sixbench.plan.schedule import block_order
from sixbench.run.laboratory import Laboratories
from sixbench.run.record import Trial
from sixbench.run.trial import References, run_trial
from sixbench.theory import expected_amid_changes

EXPERIMENT = """
topology:
  nodes: {h1: host, h2: host}
  links: [{endpoints: [h1, h2]}]
paths: {ipv4: native4}
workloads: [{udp-rr: {duration: 500ms, warmup: 50ms}}]
blocks: 1
"""

FLOOD = """
import socket
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.setblocking(False)
while True:
    with open("/proc/net/udp") as sockets:
        ends = [line.split()[2] for line in sockets.readlines()[1:]]
    for address, port in (end.split(":") for end in ends):
        target = socket.inet_ntoa(bytes.fromhex(address)[::-1]), int(port, 16)
        for _ in range(1000 if target[1] else 0):
            try:
                sender.sendto(bytes(64), target)
            except OSError:
                pass
"""
"""Sends datagrams to the peers of all connected UDP sockets of its namespace, which is the client's."""


def test_a_flooded_trial_is_invalid(hub: AgentHub) -> None:
    experiment = read(hub, EXPERIMENT)
    laboratories = Laboratories(hub, experiment)
    try:
        laboratory, network = laboratories.get(experiment.paths[0], 0)
        inside = ["nsenter", "--target", str(laboratory.agents["h1"].pid), "--net"]
        flood = subprocess.Popen([*inside, sys.executable, "-I", "-c", FLOOD])
        try:
            (planned,) = block_order(experiment, 1)
            trial = Trial(experiment=experiment, combination=experiment.combinations[0], planned=planned, sequence=1)
            record = run_trial(trial, laboratory, network, References(theory=expected_amid_changes)).record
        finally:
            flood.kill()
            flood.wait()
    finally:
        laboratories.close()
    assert record.status == "invalid"
    assert ReasonKind.STRAYS in kinds(record.reasons)
