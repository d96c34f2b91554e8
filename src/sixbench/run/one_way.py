"""One-way delays of a trial whose client and server are on two machines: by both clocks, and how uncertain that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..model.errors import CapabilityError
from ..model.evidence.clocks import ClockLook, TwoClocks
from ..model.host import MOST_DRIFT_PPM
from ..model.leg import Leg
from ..model.parameter import Params, Scalar
from ..model.units import scale
from ..model.workload import Measured, Result, WorkloadKind
from ..model.workloads.common import PACKET_LOG
from ..model.workloads.two_ways import flows_of
from .clock_sources.link import flow_of, read_link
from .one_clock import OF_ONE_CLOCK, leave_out_what_needs_one_clock
from .parts import Hosts
from .traffic import Setting

if TYPE_CHECKING:
    from ..stats.two_clocks import Delays, Exchange, Line


@dataclass(kw_only=True)
class OneWay:
    """The clocks of a trial's ends, looked at before and after it.

    Attributes:
        clocks: what both looks say; None: it is not known.
        unknown: why it is not.
    """

    setting: Setting
    key: str
    is_needed: bool
    clocks: TwoClocks | None = None
    unknown: str | None = None
    _before: tuple[Exchange, int] | None = None
    _line: Line | None = None

    @classmethod
    def of(cls, kind: WorkloadKind, setting: Setting, key: str) -> OneWay:
        """Clocks are needed where these are two, and ends of the workload can note when each datagram came."""
        return cls(setting=setting, key=key, is_needed=not setting.has_one_clock and PACKET_LOG in kind.parameters)

    @property
    def asked(self) -> dict[str, Scalar]:
        """Parameters of the workload besides its own."""
        return {PACKET_LOG.column: True} if self.is_needed else {}

    def look_before(self) -> None:
        """Looks at the clocks. Raises `AgentError`."""
        self._before = self._look("before")

    def look_after(self) -> None:
        """Looks once more. Raises `AgentError`."""
        from ..stats.two_clocks import line_of

        after = self._look("after") if self._before is not None else None
        if self._before is None or after is None:
            return
        try:
            # Twice the drift, because one clock may be fast and the other slow.
            self._line = line = line_of(self._before[0], after[0], 2 * MOST_DRIFT_PPM)
        except ValueError as error:
            self.unknown = f"no single difference of the clocks agrees with the exchanges before and after it ({error})"
            return
        client, server = (self.setting.laboratory.agents[name].host for name in self.setting.between)
        looks = [
            ClockLook(realtime_ns=realtime_ns, client_ns=at.at_ns, low_ns=at.low_ns, high_ns=at.high_ns)
            for at, (_, realtime_ns) in ((line.first, self._before), (line.last, after))
        ]
        self.clocks = TwoClocks(
            client=client or "",
            server=server or "",
            before=looks[0],
            after=looks[1],
            low_ppm=line.low_ppm,
            high_ppm=line.high_ppm,
        )

    def _look(self, when: str) -> tuple[Exchange, int] | None:
        if not self.is_needed:
            return None
        try:
            return read_link(_ends(self.setting), f"{self.key}-{when}")
        except CapabilityError as error:
            self.unknown = f"{error} ({when} the trial)"
            return None

    def summarise(self, kind: WorkloadKind, params: Params, client: Result, server: Result) -> Measured:
        """The measurements. What needs one clock is by the line between both looks, with its uncertainty; or it is left
        out, with a note that says why."""
        if self.setting.has_one_clock:
            return kind.summarise(params, client, server)
        if self.clocks is None or self._line is None:
            return _without(kind.summarise(params, client, server), self.unknown)
        try:
            delays = corrected(params, client, server, self._line, self.clocks.half_width_ns)
        except CapabilityError as error:
            return _without(kind.summarise(params, client, server), str(error))
        return summarise_with(kind, params, client, server, delays, self.clocks)


def _ends(setting: Setting) -> Hosts:
    """Between whom the clocks are looked at: those at the ends of the cable where one joins the two machines, since
    nothing that is emulated is between them; else client and server."""
    hosts, agents = setting.hosts, setting.laboratory.agents
    for crossing in (view.crossing for view in setting.views):
        near, far = agents.get(crossing.near), agents.get(crossing.far)
        if near is None or far is None or (near.host, far.host) != (hosts.client.host, hosts.server.host):
            continue
        for family in (hosts.own, 4, 6):
            source, destination = (crossing.link.end_of(end).address(family) for end in (crossing.near, crossing.far))
            if source is not None and destination is not None:
                leg = Leg(
                    family=family, near=crossing.near, far=crossing.far, source=source.ip, destination=destination.ip
                )
                return replace(hosts, client=near, server=far, own=family, legs={family: (leg,)})
    return hosts


def _without(measured: Measured, why: str | None) -> Measured:
    measured.notes.extend(leave_out_what_needs_one_clock(measured, why))
    return measured


def corrected(params: Params, client: Result, server: Result, line: Line, uncertain_ns: float) -> Mapping[str, Delays]:
    """The one-way delays of each flow that has any, by its direction. Raises `CapabilityError`."""
    from ..stats.two_clocks import least

    delays = {}
    for way, (sender, receiver) in flows_of(params, client, server).items():
        flow = flow_of(sender, receiver)
        if not len(flow.sent_ns):
            continue
        delays_ns = line.delays_ns(flow, is_there=way == "forward")
        least_ns = least(delays_ns)
        if least_ns < -uncertain_ns:
            words = f"by {_time(-least_ns)}, which is more than the uncertainty of the clocks' difference"
            raise CapabilityError(f"a datagram arrived before it was sent, {words}: a clock was changed in the trial")
        delays[way] = delays_ns
    return delays


def summarise_with(
    kind: WorkloadKind,
    params: Params,
    client: Result,
    server: Result,
    delays_ns: Mapping[str, Delays],
    clocks: TwoClocks,
) -> Measured:
    """The measurements with these delays. A metric is as uncertain as it changes where all delays are longer or shorter
    by what the clocks are uncertain, and delays above the least one by what they may have drifted otherwise."""
    either_ns, drifted_ns = clocks.half_width_ns, clocks.before.half_width_ns + clocks.after.half_width_ns

    def by(sign: int) -> Measured:
        ends = _with_delays(params, client, server, delays_ns, sign * either_ns, sign * drifted_ns)
        return kind.summarise(params, *ends)

    measured, *extremes = by(0), by(-1), by(1)
    for column, value in list(measured.metrics.items()):
        changes = [abs(extreme.metrics[column] - value) for extreme in extremes if column in extreme.metrics]
        if not column.startswith(OF_ONE_CLOCK) or not changes:
            continue
        uncertain = max(changes)
        if column.endswith("_ns"):
            # The clock that measures the delay may drift as well.
            uncertain += abs(value) * MOST_DRIFT_PPM / 1e6
        measured.uncertainty[column] = uncertain
    return leave_out_what_is_too_short(measured)


def leave_out_what_is_too_short(measured: Measured) -> Measured:
    """Takes out the delays that are no longer than they are uncertain, with a note."""
    short = [
        column
        for column, uncertain in measured.uncertainty.items()
        if column.endswith("_ns") and measured.metrics[column] <= uncertain
    ]
    words = [
        f"{column.removesuffix('_ns')} ({_time(measured.metrics.pop(column))}, "
        f"uncertain by {_time(measured.uncertainty.pop(column))})"
        for column in short
    ]
    if words:
        measured.notes.append(f"not known, because two clocks cannot measure so short a delay: {', '.join(words)}")
    for name in [name for name in measured.histograms if name.startswith(OF_ONE_CLOCK)]:
        if not any(column.startswith(name) for column in measured.metrics):
            del measured.histograms[name]
    return measured


def _with_delays(
    params: Params,
    client: Result,
    server: Result,
    delays_ns: Mapping[str, Delays],
    longer_ns: float,
    further_ns: float,
) -> tuple[Result, Result]:
    """The results with these delays in place of those that receivers made of two clocks."""
    import numpy as np

    from ..stats.two_clocks import histogram_of, least

    changed = [
        {name: dict(value) if isinstance(value, Mapping) else value for name, value in entry.items()}
        for entry in (client, server)
    ]
    for way, (_, receiver) in flows_of(params, changed[0], changed[1]).items():
        assert isinstance(receiver, dict), "it was just made"
        delays = delays_ns.get(way)
        receiver.pop("one_way_delay_negative", None)
        if delays is not None:
            beyond_ns = delays - least(delays)
            receiver["one_way_delay"] = histogram_of(delays + longer_ns)
            receiver["pdv"] = histogram_of(np.where(beyond_ns > 0, np.maximum(0, beyond_ns + further_ns), 0))
    return changed[0], changed[1]


def _time(duration_ns: float) -> str:
    value, unit = scale(duration_ns, "ns")
    return f"{value:.3g} {unit}"
