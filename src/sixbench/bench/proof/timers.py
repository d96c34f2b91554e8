"""Late timers: the tokens that the rates of links lost to them.

A token bucket that waits for tokens sets a timer. A timer that runs late loses nothing as long as the bucket has room.
What is later than that is tokens that nobody gets, and the link was slower than its rate for so long.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ...model.evidence.timers import LateTimers
from ...model.observation import DeviceTimers
from ...model.rate_buckets import bucket_slack_ns
from ...model.reason import Reason, ReasonKind
from ...model.topology import Link
from ...model.units import scale

REMARKED_SHARE = 1e-4
"""The share of the measured time above which a remark tells what was lost."""


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """The token bucket of one direction of a link.

    Attributes:
        node, device: where it is.
        slack_ns: how late its timer may be without a loss.
    """

    link: str
    node: str
    device: str
    slack_ns: int


def buckets(links: Iterable[Link]) -> list[Bucket]:
    """The token buckets of these links, both directions."""
    results = []
    for link in links:
        for end in link.ends:
            direction = link.direction_from(end.node)
            if direction.rate_bps is None:
                continue
            slack_ns = bucket_slack_ns(link, direction)
            results.append(Bucket(link=link.name, node=end.node, device=end.name, slack_ns=slack_ns))
    return results


def timer_evidence(
    watched: Iterable[Bucket], seen: Iterable[DeviceTimers], nodes: Mapping[int, str]
) -> dict[str, dict[str, LateTimers]]:
    """Evidence of late timers, by link and the node that sends, where any timers ran.

    Args:
        seen: those that the agent watched.
        nodes: the name of the node that has a namespace.
    """
    known = {(bucket.node, bucket.device): bucket for bucket in watched}
    late_timers: dict[str, dict[str, LateTimers]] = {}
    for device_timers in seen:
        bucket = known.get((nodes.get(device_timers.netns_inode, ""), device_timers.device))
        if bucket is not None and device_timers.expired:
            late_timers.setdefault(bucket.link, {})[bucket.node] = LateTimers(
                expired=device_timers.expired,
                late=device_timers.late,
                worst_ns=device_timers.worst_ns,
                lost_ns=device_timers.lost_ns,
                slack_ns=bucket.slack_ns,
            )
    return late_timers


def judge_timers(
    evidence: Mapping[str, Mapping[str, LateTimers]], measured_ns: int, margin: float
) -> tuple[list[str], list[Reason]]:
    """Remarks, and the reasons against the trial: a link that late timers made slower than its rate by more than the
    margin within which differences count as none.

    Args:
        measured_ns: how long was measured.
        margin: as a share.
    """
    notes, reasons = [], []
    for link, ends in evidence.items():
        for node, timers in ends.items():
            share = timers.lost_ns / measured_ns
            if share <= REMARKED_SHARE:
                continue
            words = (
                f"late timers kept {node} from sending on {link} for {_shown(timers.lost_ns)}, "
                f"{100 * share:.2g} % of the measured time: {timers.late} of {timers.expired} timers came later than "
                f"the rate's bucket has room for ({_shown(timers.slack_ns)}), one by {_shown(timers.worst_ns)}"
            )
            if share > margin:
                reasons.append(Reason(kind=ReasonKind.LATE_TIMERS, text=words))
            else:
                notes.append(words)
    return notes, reasons


def _shown(duration_ns: int) -> str:
    value, unit = scale(duration_ns, "ns")
    return f"{value:.3g} {unit}"
