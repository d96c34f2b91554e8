"""The clocks of hosts by PTP: what ptp4l says, what of that counts, and whether the sources agree."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from sixbench.agent import read_hardware_clock
from sixbench.agent.answers import ExecAnswer
from sixbench.bench import host_clocks
from sixbench.bench.clock_sources import read_clocks
from sixbench.bench.clock_sources.ptp import bounds_ns, compare, parse_pmc, read_ptp, system_ahead_ns
from sixbench.bench.host_clocks import EVERY_NS, ClockWatch
from sixbench.bench.host_doctor import ptp_capability
from sixbench.model.errors import AgentError, CapabilityError
from sixbench.report.host_clocks import agree, clock_properties, last_differences
from sixbench.store import ClockReading, HostFacts, nowhere

pytestmark = pytest.mark.computes

MASTER, SLAVE = "4a74fc.fffe.700c23", "32848e.fffe.79c5c5"
FOLLOWS = f"""\
sending: GET DEFAULT_DATA_SET
sending: GET CURRENT_DATA_SET
\t{SLAVE}-0 seq 0 RESPONSE MANAGEMENT DEFAULT_DATA_SET \n\
\t\ttwoStepFlag             1
\t\tclockIdentity           {SLAVE}
sending: GET TIME_STATUS_NP
\t{SLAVE}-0 seq 1 RESPONSE MANAGEMENT CURRENT_DATA_SET \n\
\t\tstepsRemoved     1
\t\toffsetFromMaster -41.0
\t\tmeanPathDelay    2438.0
\t{SLAVE}-0 seq 2 RESPONSE MANAGEMENT TIME_STATUS_NP \n\
\t\tmaster_offset              -41
\t\tingress_time               1795819203293262073
\t\tlastGmPhaseChange          0x0000'0000000000000000.0000
\t\tgmPresent                  true
\t\tgmIdentity                 {MASTER}
\t{SLAVE}-1 seq 3 RESPONSE MANAGEMENT PORT_DATA_SET \n\
\t\tportIdentity            {SLAVE}-1
\t\tportState               SLAVE
\t{SLAVE}-1 seq 4 RESPONSE MANAGEMENT PORT_PROPERTIES_NP \n\
\t\tportIdentity            {SLAVE}-1
\t\tportState               SLAVE
\t\ttimestamping            SOFTWARE
\t\tinterface               eth0
"""
"""Output of pmc of linuxptp 3.1.1, without values that nobody reads."""
LEADS = (
    FOLLOWS.replace(SLAVE, MASTER)
    .replace("SLAVE", "MASTER")
    .replace("stepsRemoved     1", "stepsRemoved     0")
    .replace("gmPresent                  true", "gmPresent                  false")
)
INGRESS_NS = 1795819203293262073


class Host:
    """An agent on a host that has these programs: what each prints, by a word of its command line."""

    def __init__(self, **message: str) -> None:
        self.text_by_command = message
        self.now_ns = INGRESS_NS + 10**9

    def answer(self, request: Any) -> ExecAnswer:
        saids = [text for word, text in self.text_by_command.items() if word.replace("_", "-") in request.argv]
        stdout = saids[0] if saids else ""
        return ExecAnswer(exit=0 if saids else 1, stdout=stdout, stderr="")

    def call(self, op: str) -> dict[str, int]:
        assert op == "cpu"
        return {"realtime_ns": self.now_ns}


def test_a_clock_that_follows_is_within_the_delay_of_the_path() -> None:
    reading = read_ptp(Host(pmc=FOLLOWS))  # type: ignore[arg-type]
    assert (reading.low_ns, reading.high_ns) == (-41 - 2438, -41 + 2438)
    assert (reading.source, reading.is_steered) == ("ptp", True)
    assert reading.reference == f"{MASTER} (software timestamps)"


def test_a_clock_that_nobody_steers_may_have_drifted_since() -> None:
    compared = compare(parse_pmc(FOLLOWS.replace("SLAVE", "UNCALIBRATED")))
    assert not compared.is_steered
    assert bounds_ns(compared, INGRESS_NS + 100_000_000) == (-41 - 2438 - 50_000, -41 + 2438 + 50_000)


def test_the_grandmaster_is_its_own_reference() -> None:
    reading = read_ptp(Host(pmc=LEADS))  # type: ignore[arg-type]
    assert (reading.low_ns, reading.high_ns, reading.is_steered) == (0, 0, True)
    assert reading.reference == f"{MASTER} (software timestamps)"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda message: "sending: GET CURRENT_DATA_SET\n", "no ptp4l answers at /var/run/ptp4l"),
        (lambda message: message.split("\t" + SLAVE + "-1 seq 4")[0], "does not report its PORT_PROPERTIES_NP"),
        (
            lambda message: message.replace("stepsRemoved     1", "stepsRemoved     2"),
            "ptp4l is 2 steps from its grandmaster",
        ),
        (lambda message: message.replace("SLAVE", "LISTENING"), "has no time yet (its ports are listening)"),
        (lambda message: message.replace("Delay    2438.0", "Delay    0.0"), "has no time yet"),
        (lambda message: message.replace("SOFTWARE", "LEGACY"), "stamps packets by LEGACY"),
        (lambda message: message.replace("-41.0", "soon"), "cannot be read"),
        (lambda message: message.replace("-41.0", "nan"), "cannot be read"),
        (lambda message: message.replace("1795819203293262073", "9" * 400), "cannot be read"),
        (lambda message: message.replace("\t\tgmIdentity", "\t\tother"), "cannot be read"),
    ],
)
def test_what_is_not_enough_is_no_reading(change: Callable[[str], str], why: str) -> None:
    with pytest.raises(CapabilityError) as error:
        compare(parse_pmc(change(FOLLOWS)))
    assert why in str(error.value)


def test_a_hardware_clock_stands_between_the_system_and_the_grandmaster() -> None:
    free = {"refused": None, "in_use": None, "has": None, "is_up": True, "has_carrier": True, "hardware_stamps": None}
    lendable = json.dumps([{"interface": "eth0", "hardware_clock": "/dev/ptp1", **free}])
    # In TAI, which is 37 s ahead, and 1000 ns on top of that.
    tai_ns = 37 * 10**9 + 1000
    readings = [[at, at + tai_ns + 40, at + 100] for at in (0, 1000)] + [[2000, 2000 + tai_ns + 10, 2080]]
    changed = FOLLOWS.replace("SOFTWARE", "HARDWARE")
    host = Host(pmc=changed, lendable=lendable, hardware_clock=json.dumps({"readings": readings}))
    reading = read_ptp(host)  # type: ignore[arg-type]
    assert (reading.low_ns, reading.high_ns) == (-tai_ns - 10 - 41 - 2438, -tai_ns + 60 - 41 + 2438)
    assert reading.reference == f"{MASTER} (hardware timestamps)"
    host.text_by_command["lendable"] = lendable.replace("/dev/ptp1", "none")
    with pytest.raises(CapabilityError, match="a hardware clock of eth0 that cannot be found"):
        read_ptp(host)  # type: ignore[arg-type]


def test_readings_of_a_hardware_clock_narrow_the_difference() -> None:
    assert system_ahead_ns([[0, 1000, 900], [2000, 2900, 2950]]) == (-900, -100)
    assert system_ahead_ns([[0, 1000, 300], [2000, 3100, 2200]]) == (-1000, -900)
    for item in ("", '{"readings": []}', '{"readings": [[1, 2]]}', '{"readings": [[1, "2", 3]]}'):
        with pytest.raises(AgentError, match="hardware-clock was answered"):
            read_hardware_clock(item)


def test_a_host_without_ptp_has_the_exchange_alone_and_says_why() -> None:
    readings, missing = read_clocks(Host())  # type: ignore[arg-type]
    assert [reading.source for reading in readings] == ["control"]
    assert missing == {"ptp": "ptp4l could not be asked: the host has no pmc (Debian package linuxptp)"}
    readings, missing = read_clocks(Host(pmc=FOLLOWS))  # type: ignore[arg-type]
    assert ([reading.source for reading in readings], missing) == (["control", "ptp"], {})


def reading(low_ns: int, high_ns: int, source: str = "control", at_ns: int = 0, **more: Any) -> ClockReading:
    return ClockReading(realtime_ns=at_ns, low_ns=low_ns, high_ns=high_ns, source=source, **more)


def by_ptp(low_ns: int, high_ns: int, at_ns: int = 0, reference: str = MASTER, is_steered: bool = True) -> ClockReading:
    return reading(low_ns, high_ns, "ptp", at_ns, reference=reference, is_steered=is_steered)


def facts(*clock: ClockReading) -> HostFacts:
    return HostFacts(kernel="6.18", machine="x86_64", clock=clock)


@pytest.mark.parametrize(
    ("shift_ns", "words"), [(0, "which agree"), (10**6, "which do not agree, so one of them is wrong")]
)
def test_two_sources_agree_or_the_report_says_that_one_is_wrong(shift_ns: int, words: str) -> None:
    actual_facts = facts(reading(-400_000, 500_000), by_ptp(shift_ns - 3_000, shift_ns + 1_000))
    other = facts(reading(-400_000, 400_000), by_ptp(0, 0))
    [(name, output)] = clock_properties({"lab1": actual_facts, "lab2": other})
    assert name == "Clocks of lab1 and lab2"
    ptp = "is at most 3 µs off" if not shift_ns else "is 997 µs to 1.001 ms ahead"
    assert output == f"that of lab1 is at most 900 µs off by exchanges over SSH and {ptp} by PTP, {words}"


def test_what_has_no_common_reference_or_no_common_moment_is_not_compared() -> None:
    control, late_ns = reading(-5, 5), 60 * 10**9
    ptp = facts(control, by_ptp(-1, 1))
    assert clock_properties({"lab1": ptp, "lab2": facts(control, by_ptp(-1, 1, reference=SLAVE))}) == []
    assert clock_properties({"lab1": ptp, "lab2": facts(control)}) == []
    # One whose ptp4l has ended since.
    ended = facts(control, by_ptp(-1, 1), reading(-5, 5, at_ns=late_ns))
    assert list(last_differences(ended.clock, (*ptp.clock, reading(-5, 5, at_ns=late_ns)))) == ["control"]


def test_clocks_that_nobody_steers_drift_between_the_readings() -> None:
    host_clock, other = by_ptp(-1, 1, is_steered=False), by_ptp(-1, 1, at_ns=10**9)
    assert last_differences((host_clock,), (other,)) == {"ptp": (-2 - 500_000, 2 + 500_000)}


def test_intervals_agree_where_one_value_is_in_all() -> None:
    assert agree([(0, 5), (5, 9)])
    assert not agree([(0, 4), (5, 9)])


def test_doctor_says_whether_there_is_ptp() -> None:
    capability = ptp_capability(facts(reading(-5, 5), by_ptp(-3_000, 1_000)))
    system_words = f"the system's clock is -3000 to 1000 ns ahead of {MASTER}"
    assert (capability.name, capability.answer, capability.reason) == ("PTP", "yes", system_words)
    without = HostFacts(kernel="6.18", machine="x86_64", no_clock={"ptp": "no ptp4l answers"})
    assert (ptp_capability(without).answer, ptp_capability(without).reason) == ("no", "no ptp4l answers")


def test_clocks_are_looked_at_once_a_minute_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    time_ns = iter((0, 0, EVERY_NS - 1, EVERY_NS, EVERY_NS, 2 * EVERY_NS - 1, 3 * EVERY_NS, 3 * EVERY_NS))
    looks: list[int] = []

    def look(hub: object, hosts: dict[str, HostFacts]) -> dict[str, HostFacts]:
        looks.append(len(looks) + 1)
        return {name: facts(*host.clock, reading(0, 1, at_ns=looks[-1])) for name, host in hosts.items()}

    monkeypatch.setattr(host_clocks, "with_clocks", look)
    environment = nowhere()
    environment.hosts["lab1"] = facts(reading(0, 1))
    writer = SimpleNamespace(manifest=SimpleNamespace(environment=environment))
    writer.save_manifest = lambda **changes: vars(writer.manifest).update(changes)
    watch = ClockWatch(None, writer, lambda: next(time_ns))  # type: ignore[arg-type]
    collected = []
    for _ in range(5):
        watch.look()
        collected.append([item.realtime_ns for item in writer.manifest.environment.hosts["lab1"].clock])
    assert collected == [[0], [0], [0, 1], [0, 1], [0, 1, 2]]
    writer.manifest.environment = nowhere()
    watch.look()
    assert len(looks) == 2
