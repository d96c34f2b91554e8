"""The hosts that nodes of a run were on: their kernels and their clocks."""

from __future__ import annotations

from ..model.host import NO_HARDWARE_CLOCK
from ..store import CONTROL, ClockReading, HostFacts, Run, Underlay, UnderlayReading, UnderlayWay
from .host_clocks import ahead, clock_properties, delay_properties, last_clocks, time_words


def host_properties(run: Run) -> list[tuple[str, str]]:
    """A property for each host, and for each network between two of them that is not ours."""
    environment = run.manifest.environment
    return [
        *((f"Host {name}", _words(host)) for name, host in environment.hosts.items()),
        *clock_properties(environment.hosts, last_clocks(run)),
        *delay_properties(run),
        *((f"Network between {name}", _of_underlay(underlay)) for name, underlay in environment.underlays.items()),
    ]


def _of_underlay(underlay: Underlay) -> str:
    """The first and the last observation of it, and a note that nothing else is known."""
    first, last = (_seen(underlay.readings[at]) for at in (0, -1))
    changed = "" if first == last else f"; at the end {last}"
    return f"not ours, IPv{underlay.family}, {first}{changed}; nothing else is known of it"


def _seen(reading: UnderlayReading) -> str:
    if reading.there is None or reading.back is None:
        return f"nothing seen ({reading.not_known or 'no probe was answered'})"
    there, back = _of_way(reading.there), _of_way(reading.back)
    return f"{there} there and back" if there == back else f"{there} there, {back} back"


def _of_way(direction: UnderlayWay) -> str:
    size = "path MTU not known" if direction.path_mtu_bytes is None else f"path MTU {direction.path_mtu_bytes} B"
    limit = "" if direction.narrowest is None else f" (limited by {direction.narrowest})"
    hops = (
        "an unknown number of routers"
        if direction.routers is None
        else f"{direction.routers} router{'s'[: direction.routers != 1]}"
    )
    return f"{size}{limit}, {hops}"


def _words(host: HostFacts) -> str:
    parts = [f"{host.kernel} on {host.machine}"]
    by_exchange = [reading for reading in host.clock if reading.source == CONTROL]
    if by_exchange:
        first, last = by_exchange[0], by_exchange[-1]
        if first.round_trip_ns is not None:
            parts.append(f"{time_words(first.round_trip_ns)} away")
        parts.append(f"its clock {ahead(first.low_ns, first.high_ns)} by an exchange over SSH")
        low, high = drift_ppm(first, last) if last.realtime_ns > first.realtime_ns else (None, None)
        if low is not None and high is not None:
            parts.append(f"which drifts by {low:.3g} to {high:.3g} ppm")
    parts += [f"no {source}: {why}" for source, why in host.no_clock.items()]
    return ", ".join([*parts, *(_of_hardware_clock(name, clock) for name, clock in host.hardware_clocks.items())])


def _of_hardware_clock(interface: str, clock: str | None) -> str:
    """Facts about an interface's hardware clock."""
    if clock is None:
        return f"it is not known whether {interface} has a hardware clock"
    return f"{interface} has no hardware clock" if clock == NO_HARDWARE_CLOCK else f"{interface} has {clock}"


def drift_ppm(first: ClockReading, last: ClockReading) -> tuple[float, float]:
    """Least and greatest number of millionths by which a host's clock may be faster than ours."""
    elapsed_ns = last.realtime_ns - first.realtime_ns
    return (
        1e6 * (last.low_ns - first.high_ns) / elapsed_ns,
        1e6 * (last.high_ns - first.low_ns) / elapsed_ns,
    )
