"""Clauses, and the functions that decide if a run meets them.

`profiles` has the clauses, one file a profile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Literal, get_args

from ..mechanisms import install
from ..model.network import Network
from ..model.networks import pools, within
from ..model.procedure import Procedure
from ..model.topology import ETHERNET_MIN_MTU_V6
from ..plan.workloads.frames import other_bits
from ..store import Run
from .lengths import Lengths
from .places import Places
from .procedures import TESTS
from .procedures.latency import LEAST_TAGGED
from .results import AtSize, RfcTestResults, is_at_tester
from .rfc_test import SelfTest
from .sizes import LEAST_OVER_IPV6, overhead_bytes, sizes_of
from .state import has_own_table, keeps_state
from .traffic import PLAIN, TRAFFICS

State = Literal["met", "not met", "not applicable"]
STATES: tuple[State, ...] = get_args(State)


@dataclass(frozen=True, kw_only=True)
class Tested:
    """A run of tests, as clauses look at it.

    Attributes:
        all_results: the throughputs.
        all_values: the results of the other tests.
    """

    run: Run
    places: Places
    all_results: Sequence[AtSize]
    all_values: Sequence[RfcTestResults]

    @property
    def results(self) -> list[AtSize]:
        """The throughputs of plain frames."""
        return [result for result in self.all_results if result.traffic == PLAIN]

    @property
    def values(self) -> list[RfcTestResults]:
        """The results of the other tests, with plain frames."""
        return [item for item in self.all_values if item.traffic == PLAIN]

    @property
    def procedure(self) -> Procedure:
        """The tests that were run, and their rules."""
        return self.places.procedure

    @property
    def lengths(self) -> Lengths:
        """The lengths of trials."""
        return self.places.lengths

    @property
    def devices(self) -> list[AtSize]:
        """The results of paths with a device."""
        return [result for result in self.results if not result.is_tester]

    @property
    def networks(self) -> list[Network]:
        """The networks of the paths with a device."""
        experiment = self.run.manifest.experiment
        paths = [path for path in experiment.paths if path.name not in self.procedure.testers]
        return [install(path, experiment.topologies[0], experiment.between) for path in paths]


Judge = Callable[[Tested], tuple[State, str]]


@dataclass(frozen=True, kw_only=True)
class Clause:
    """An RFC's requirement.

    Attributes:
        section: where, such as `RFC 2544 section 24`.
        asks: what, in a few words.
        judge: decides whether a run meets it, and why.
    """

    section: str
    asks: str
    judge: Judge


def always(state: State, reason: str) -> Judge:
    """A judgement that does not depend on the run."""
    return lambda tested: (state, reason)


def was_run(name: str) -> Judge:
    """Checks whether a test was run in full length at every place where it says something, and has its results."""

    def judge(tested: Tested) -> tuple[State, str]:
        test, lengths = TESTS[name], tested.lengths
        if name not in tested.procedure.tests:
            return "not met", f"it was not asked for: --test {name}"
        testers = tested.procedure.testers
        unfit = [
            why
            for path in tested.run.manifest.experiment.paths
            if path.name not in testers and (why := tested.places.unfit(test, path)) is not None
        ]
        results = [item for item in tested.values if item.test == name and item.path not in testers]
        if unfit and not results:
            return "not applicable", unfit[0]
        if not results:
            return "not met", "it was not measured"
        without = [result for result in results if all(value.has_none for value in result.values)]
        unknown = [
            result
            for result in results
            if result not in without and all(value.value is None for value in result.values)
        ]
        if len(without) == len(results):
            return "not applicable", without[0].values[0].remark
        if unknown:
            first = unknown[0]
            why = first.failed or first.values[0].remark or f"no trial gives a value, and {first.refused} were refused"
            return "not met", f"there is no result at {len(unknown)} of {len(results)} places: {why}"
        if tested.procedure.quick:
            return "not met", f"--quick: {test.shortened(lengths)}"
        fewest = min(value.trials for result in results for value in result.values if value.value is not None)
        if fewest < test.times(lengths):
            return "not met", (
                f"only {fewest} of {test.times(lengths)} at one place: the tester could not carry out the others"
            )
        testers_own = [result for result in results if any(value.is_testers for value in result.values)]
        if testers_own:
            return "not met", f"the tester was the limit at {len(testers_own)} of {len(results)} places"
        some = f"; not at {len(without)} of {len(results)} places: {without[0].values[0].remark}" if without else ""
        return "met", f"{test.shortened(lengths)}{some}"

    return judge


def beyond(name: str, state: State, reason: str) -> Judge:
    """A judgement that holds for any run of a test, where the test applies to the devices."""

    def judge(tested: Tested) -> tuple[State, str]:
        verdict, why = was_run(name)(tested)
        return (verdict, why) if verdict == "not applicable" else (state, reason)

    return judge


def tagged(tested: Tested) -> tuple[State, str]:
    """Checks whether so many frames of each stream had a tag (RFC 8219 section 7.2)."""
    rates = [
        value.rate_pps for item in tested.values if item.test == "latency" for value in item.values if value.rate_pps
    ]
    if not rates:
        return "not met", "latency was not measured"
    stamped = _stamped(tested)
    if stamped is not None:
        words = f"at least {stamped} frames of each stream have the hardware time stamps of both interfaces"
        return ("met" if stamped >= LEAST_TAGGED else "not met"), words
    fewest = int(min(rates) * tested.lengths.latency_s)
    words = f"every frame has a time stamp, at least {fewest} in each stream"
    return ("met" if fewest >= LEAST_TAGGED else "not met"), words


def latency(tested: Tested) -> tuple[State, str]:
    """Checks whether the latency was measured, and by whose time stamps."""
    state, why = was_run("latency")(tested)
    if state != "met":
        return state, why
    by = "the sender's socket and the receiver's kernel" if _stamped(tested) is None else "the interfaces' hardware"
    return state, f"{why}; by the time stamps of {by}"


def _stamped(tested: Tested) -> int | None:
    """Least number of frames of each stream that have the hardware time stamps of which a latency is made. None: no
    latency is made of such."""
    values = [value for item in tested.values if item.test == "latency" for value in item.values]
    return min((value.stamped for value in values if value.stamped is not None), default=None)


def self_test(tested: Tested) -> tuple[State, str]:
    """Checks whether the tester can answer 2.2 times as many questions by itself (RFC 8219 section 9.2.1)."""
    testers = tested.procedure.testers
    values = [
        value for item in tested.values if item.test == "dns64" and item.path not in testers for value in item.values
    ]
    if not values:
        state, reason = was_run("dns64")(tested)
        return ("not applicable" if state == "not applicable" else "not met"), reason
    self_tests = [value.self_test or SelfTest(is_passed=False, text=value.remark) for value in values]
    failed = next((item for item in self_tests if not item.is_passed), None)
    return ("met", self_tests[0].text) if failed is None else ("not met", failed.text or "the resolver was not tested")


_BENCHMARKING = (ip_network("198.18.0.0/15"), ip_network("2001:2::/48"))
"""RFC 2544 appendix C.2.2, and RFC 5180 section 8 with its erratum 1752."""


_HALVES = (
    (ip_network("198.18.0.0/16"), ip_network("2001:2::/49")),
    (ip_network("198.19.0.0/16"), ip_network("2001:2:0:8000::/49")),
)
"""Those of the input side, and those of the output side."""


def addresses(tested: Tested) -> tuple[State, str]:
    """Checks whether the hosts, and the networks behind them, have addresses that are for benchmarking alone."""
    clients = [leg.source for network in tested.networks for leg in network.legs[:1]]
    others = [
        address
        for address in clients
        if not any(address.version == network.version and address in network for network in _BENCHMARKING)
    ]
    if others:
        return "not met", f"the client has {others[0]}, by the experiment, in namespaces that nothing else reaches"
    for name in tested.procedure.traffics:
        bits = other_bits(TRAFFICS[name].params) if name in TRAFFICS else frozenset()
        elsewhere = [pool for pool in pools(bits) if not any(within(pool, other) for other in _BENCHMARKING)]
        if elsewhere:
            words = ", ".join(map(str, elsewhere))
            return "not met", f"frames of {name} go to {words}: 2001:2::/48 has no room for such prefixes"
    return "met", "the addresses of the tester are of 198.18.0.0/15 and 2001:2::/48"


def halves(tested: Tested) -> tuple[State, str]:
    """Checks whether clients and servers are each in a half of their own of the addresses for benchmarking (RFC 2544
    appendix C.2.2.1, RFC 5180 section 5.2.2)."""
    for network in tested.networks:
        client, server = network.legs[0].source, network.legs[-1].destination
        for address, number in ((client, 0), (server, 1)):
            if not any(address.version == half.version and address in half for half in _HALVES[number]):
                return "not met", (
                    f"the client has {client} and the server {server}, which are not in different halves of these "
                    "addresses"
                )
    return "met", "clients have addresses of the first half, and servers of the second"


def prefixes(tested: Tested) -> tuple[State, str]:
    """Checks whether interfaces have prefixes as RFC 5180 section 5.2.1 allows them."""
    lengths = {
        end.ipv6.network.prefixlen
        for network in tested.networks
        for link in network.topology.links
        for end in link.ends
        if end.ipv6 is not None
    }
    if not lengths:
        return "not applicable", "no interface has an IPv6 address"
    wrong = sorted(length for length in lengths if 64 < length != 126)
    if wrong:
        return "not met", f"prefixes of {', '.join(map(str, wrong))} bits, by the experiment"
    return "met", f"prefixes of {', '.join(map(str, sorted(lengths)))} bits"


def sizes(tested: Tested) -> tuple[State, str]:
    """Checks whether every frame size of the profile was tested."""
    with_ipv6 = any(path.family == 6 or path.server_family == 6 for path in tested.run.manifest.experiment.paths)
    done = {result.frame_bytes for result in tested.devices}
    wanted = sizes_of(tested.procedure.profile, with_ipv6 or LEAST_OVER_IPV6 in done)
    left_out = tested.procedure.left_out or {}
    missing = [size for size in wanted if size not in done]
    if not missing:
        return "met", f"all {len(wanted)} sizes"
    why = next((left_out[size] for size in missing if size in left_out), "they were not asked for")
    return "not met", f"without {', '.join(map(str, missing))}: {why}"


def length(tested: Tested) -> tuple[State, str]:
    """Checks whether the final trials of searches last 60 s."""
    goal = tested.lengths.goals[0]
    if goal.final_s >= 60:
        return "met", f"shorter trials search; those that decide last {goal.final_s:g} s"
    return "not met", f"--quick: trials that decide last {goal.final_s:g} s"


def residual(tested: Tested) -> tuple[State, str]:
    """Checks whether late frames are waited for."""
    if tested.lengths.residual_s >= 2:
        return "met", "frames count for 2 s after the last one was sent; later ones are reported as late"
    return "not met", f"--quick: frames count for {tested.lengths.residual_s:g} s after the last one was sent"


def throughput(tested: Tested) -> tuple[State, str]:
    """Checks whether each throughput is known."""
    if not tested.devices:
        return "not met", "it was not asked for: --test throughput"
    for words, open_ones in (
        (
            "no rate without loss was found",
            [device for device in tested.devices if device.goals[0].bounds.lower_pps is None],
        ),
        ("the search did not end", [device for device in tested.devices if not device.goals[0].is_settled]),
    ):
        if open_ones:
            places = ", ".join(f"{open_one.path} at {open_one.frame_bytes} bytes" for open_one in open_ones[:3])
            return "not met", f"{words} for {len(open_ones)} of {len(tested.devices)}: {places}"
    return "met", "the highest rate without loss, by MLRsearch (RFC 9971)"


def tester(tested: Tested) -> tuple[State, str]:
    """Checks whether the tester was faster than what it tested (RFC 2544 section 6)."""
    if all(device.tester_pps is None for device in tested.devices):
        return "not met", "the tester's own limit is not known"
    if all(device.goals[0].bounds.lower_pps is None for device in tested.devices):
        return "not met", "no throughput is known to compare with the tester's own limit"
    limited = [device for device in tested.devices if is_at_tester(device)]
    if limited:
        return "not met", (
            f"the tester was the limit of {len(limited)} of {len(tested.devices)} results, as their remarks say"
        )
    return "met", "without a device the tester carried more than every result, or the line was the limit"


def line(tested: Tested) -> tuple[State, str]:
    """Checks whether the results can be held against a line's rate."""
    if any(device.line_pps is not None for device in tested.devices):
        return "met", "beside each result, less the overhead of the mechanism"
    return "not applicable", "no link of the paths has a rate"


def mtus(tested: Tested) -> tuple[State, str]:
    """Checks whether all links have one MTU, of at least 1280 bytes and the overhead (RFC 8219 section 5.1)."""
    wires = [link for network in tested.networks for link in network.topology.links if not link.is_tunnel]
    numbers = {link.mtu_bytes for link in wires}
    least = ETHERNET_MIN_MTU_V6 + max(overhead_bytes(network) for network in tested.networks)
    if len(numbers) > 1:
        return "not met", f"links have MTUs of {' and '.join(map(str, sorted(numbers)))} bytes, by the experiment"
    if min(numbers) < least:
        return (
            "not met",
            f"all links have an MTU of {min(numbers)} bytes, by the experiment, which is less than {least}",
        )
    return "met", f"all links have an MTU of {min(numbers)} bytes"


def with_state(state: State, reason: str) -> Judge:
    """A judgement that holds for runs whose devices keep state."""

    def judge(tested: Tested) -> tuple[State, str]:
        if any(keeps_state(network) for network in tested.networks):
            return state, reason
        return "not applicable", "nothing on the path keeps state"

    return judge


def empty_table(tested: Tested) -> tuple[State, str]:
    """Checks whether each trial begins with an empty table (RFC 9693)."""
    if any(has_own_table(network) for network in tested.networks):
        return "not met", "the table is the device's own, and the device decides when entries expire"
    return "met", "each trial begins with an empty table, and no phase lasts 25 s, where entries last 30 s"
