"""Which interfaces of machines nodes may borrow, and which hardware clocks they have, as the agent tells."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sixbench.agent import Lendable, lendable_here, read_lendable
from sixbench.bench.host_doctor import interface_capability
from sixbench.bench.ports import why_not_lent
from sixbench.model.errors import AgentError, CapabilityError
from sixbench.report.hosts import host_properties
from sixbench.store import ClockReading, HostFacts, Manifest, Run

FREE: dict[str, Any] = {
    "interface": "eth1",
    "refused": None,
    "in_use": None,
    "has": None,
    "is_up": True,
    "has_carrier": True,
    "hardware_clock": "none",
    "hardware_stamps": {"sends": False, "receives": False},
}


def lendable_with(**other: object) -> Lendable:
    [lendable] = read_lendable(json.dumps([FREE | other]))
    return lendable


@pytest.mark.parametrize(
    ("other", "means_it", "why"),
    [
        ({}, False, None),
        ({"is_up": False, "has_carrier": False}, False, None),
        ({"has_carrier": False}, True, "it has no carrier; connect it to the equipment, and switch that on"),
        ({"refused": "it is a port of br0; name another one"}, True, "it is a port of br0; name another one"),
        ({"in_use": "it has the default route"}, False, "it has the default route, or say --i-mean-it"),
        ({"in_use": "it has the default route"}, True, None),
        (
            {"has": "it has an address; remove that address"},
            False,
            "it has an address; remove that address, or say --i-mean-it",
        ),
        ({"has": "it has an address; remove that address"}, True, None),
    ],
)
def test_a_port_is_lent_or_not(other: dict[str, object], means_it: bool, why: str | None) -> None:
    assert why_not_lent("eth1", {"eth1": lendable_with(**other)}, may_lend=True, means_it=means_it) == why


def test_a_port_that_is_not_there_or_not_ours() -> None:
    known = {"lo": lendable_with(interface="lo"), "eth1": lendable_with()}
    text = "this machine has no such interface, or another run has it; it has eth1"
    assert why_not_lent("eth9", known, may_lend=False, means_it=True) == text
    text = "root alone can lend it to a namespace; run as root"
    assert why_not_lent("eth1", known, may_lend=False, means_it=True) == text


@pytest.mark.parametrize(
    ("other", "answer", "reason"),
    [
        ({}, "yes", "it can be borrowed; it has no hardware clock"),
        (
            {"hardware_clock": "/dev/ptp0", "has": "it has the address A; remove that address"},
            "yes",
            "it can be borrowed; it has the hardware clock /dev/ptp0, and stamps no frames by it",
        ),
        (
            {"hardware_clock": "/dev/ptp0", "hardware_stamps": {"sends": True, "receives": True}},
            "yes",
            "it can be borrowed; it has the hardware clock /dev/ptp0, and stamps frames by it",
        ),
        (
            {"hardware_clock": "/dev/ptp0", "hardware_stamps": {"sends": True, "receives": False}},
            "yes",
            "it can be borrowed; it has the hardware clock /dev/ptp0, and does not stamp all frames that it receives",
        ),
        (
            {"hardware_clock": "/dev/ptp0", "hardware_stamps": None},
            "yes",
            "it can be borrowed; it has the hardware clock /dev/ptp0",
        ),
        (
            {"hardware_clock": None, "has_carrier": False},
            "yes",
            "it can be borrowed, and has no carrier now; it is not known whether it has a hardware clock",
        ),
        ({"in_use": "a socket is bound to it"}, "no", "a socket is bound to it"),
        ({"refused": "it is a port of br0", "in_use": "a socket is bound to it"}, "no", "it is a port of br0"),
    ],
)
def test_doctor_says_whether_a_cable_may_have_it(other: dict[str, object], answer: str, reason: str) -> None:
    capability = interface_capability(lendable_with(**other))
    assert (capability.name, capability.answer, capability.reason) == ("interface eth1", answer, reason)


@pytest.mark.parametrize("message", ["", "[", "{}", '[{"interface": "eth1"}]', json.dumps([FREE | {"is_up": "yes"}])])
def test_an_answer_of_another_form_is_the_agents_failure(message: str) -> None:
    with pytest.raises(AgentError, match="lendable was answered"):
        read_lendable(message)


def test_an_agent_that_cannot_tell_says_why(tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    agent.write_text("#!/bin/sh\necho 'running ip: no such file' >&2\nexit 1\n")
    agent.chmod(0o700)
    with pytest.raises(CapabilityError, match=r"agent lendable\): running ip: no such file"):
        lendable_here(agent)


def test_the_report_says_by_what_a_clock_was_measured_and_what_else_there_is(manifest: Manifest) -> None:
    reading = ClockReading(realtime_ns=1, low_ns=-400_000, high_ns=500_000, round_trip_ns=900_000)
    without = {"ptp": "no ptp4l answers"}
    clocks: dict[str, str | None] = {"eth1": "/dev/ptp0", "eth2": "none", "eth3": None}
    facts = HostFacts(kernel="6.18", machine="x86_64", clock=(reading,), no_clock=without, hardware_clocks=clocks)
    environment = replace(manifest.environment, hosts={"lab1": facts})
    run = Run(directory=Path(), manifest=replace(manifest, environment=environment), trials=[])
    [(name, text)] = host_properties(run)
    assert name == "Host lab1"
    assert text == (
        "6.18 on x86_64, 900 µs away, its clock is at most 500 µs off by an exchange over SSH, "
        "no ptp: no ptp4l answers, eth1 has /dev/ptp0, eth2 has no hardware clock, it is not known whether eth3 "
        "has a hardware clock"
    )
