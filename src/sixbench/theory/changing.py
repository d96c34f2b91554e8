"""Theory for trials during which a link changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from ..model.experiment import LinkChange
from ..model.parameter import Params
from ..model.path import Path
from ..model.recorded_page import RecordedPage
from ..model.topology import Topology
from .expected import NO_PAGES, expected

MAX_ROUND_TRIP_SHARE = 0.01
"""The longest round trip, as a share of the measured time. The receiver sees a change of a link only half a round trip
later."""
RATES = ("_bps", "_pps")
"""The ends of the columns of which a mean over time is a bound."""


def expected_amid_changes(
    kind: str,
    params: Params,
    path: Path,
    topology: Topology,
    between: tuple[str, str],
    changes: Sequence[LinkChange],
    pages: Mapping[str, RecordedPage] = NO_PAGES,
) -> dict[str, float]:
    """The values of `expected` for a trial during which links change.

    A rate is the mean, over the measured time, of what each state allows. Any other value is given where it is the same
    in all states. Nothing is given where that would not be a bound: where an MTU changes, where the rates of several
    links change, where the client loses a link or its addresses, where the trial does not last for a time of its own,
    and where a round trip is longer than a hundredth of the measured time.

    Args:
        changes: the changes in the order of time, each with the complete state of the link from then on.
        pages: the recorded pages, by the names that parameters give.
    """
    if not changes:
        return expected(kind, params, path, topology, between, pages)
    links = {link.name: link for link in topology.links}
    if len({change.link for change in changes}) > 1 or "duration_ns" not in params:
        return {}
    if any(change.takes is not None or change.mtu_bytes != links[change.link].mtu_bytes for change in changes):
        return {}
    starts_ns = int(params.get("warmup_ns", 0))
    ends_ns = starts_ns + int(params["duration_ns"])
    round_trip_ns = sum(
        max(direction.impairments.mean_delay_ns for state in link.states for direction in state) * 2
        for link in topology.wires
    )
    if round_trip_ns > MAX_ROUND_TRIP_SHARE * (ends_ns - starts_ns):
        return {}
    states = [topology, *(_after(topology, change) for change in changes)]
    times_ns = [0, *(change.at_ns for change in changes), ends_ns]
    values = [expected(kind, params, path, state, between, pages) for state in states]
    shares = [
        max(0, min(end_ns, ends_ns) - max(start_ns, starts_ns)) / (ends_ns - starts_ns)
        for start_ns, end_ns in pairwise(times_ns)
    ]
    columns = [column for column in values[0] if all(column in entry for entry in values)]
    return {
        column: sum(share * entry[column] for share, entry in zip(shares, values, strict=True))
        for column in columns
        if column.endswith(RATES) or len({entry[column] for entry in values}) == 1
    }


def _after(topology: Topology, change: LinkChange) -> Topology:
    links = (
        replace(link, directions=change.directions) if link.name == change.link else link for link in topology.links
    )
    return replace(topology, links=tuple(links))
