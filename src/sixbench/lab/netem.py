"""Impairments of a link by the kernel's netem, at the end from which the packets leave."""

from __future__ import annotations

from pathlib import Path

from ..model.direction import Directions, LinkDirection
from ..model.emulation import ChosenPackets, Distribution, GilbertElliott, Impairments, standard_quantile
from ..model.topology import Link

LIMIT_PACKETS = 100_000
"""Number of packets that netem may hold. It drops further ones, and counts them."""
MAX_DELAY_NS = 274 * 10**9
"""The longest delay: tc passes it as up to 2^32 ticks of 64 ns."""
MAX_JITTER_NS = 2**31 - 1
"""The largest jitter: the kernel computes with 32 bits (`tabledist` of sch_netem.c)."""

REACH: dict[Distribution, int] = {"normal": 1, "pareto": 6}
"""Multiple of our jitter that tc gets, for a distribution with a long tail: a table's numbers end at four times the
jitter that tc gets."""
TABLES = Path(__file__).with_name("distributions")
"""Our own tables of distributions. iproute2's Pareto distribution is cut off at four times the jitter, which takes a
sixth from its standard deviation, and Debian keeps its tables where another `tc` does not look."""
TABLE_SIZE = 4096
_UNIT = 8192
"""The number that means one jitter in a table (NETEM_DIST_SCALE)."""


def table(distribution: Distribution) -> str:
    """The file that tc reads: equally likely values, in order, that are added to the delay."""
    shares = ((index + 0.5) / TABLE_SIZE for index in range(TABLE_SIZE))
    values = [round(_UNIT * standard_quantile(distribution, share) / REACH[distribution]) for share in shares]
    lines = (values[start : start + 16] for start in range(0, TABLE_SIZE, 16))
    return "\n".join([f"# {distribution}, as netem takes it", *(" ".join(map(str, line)) for line in lines), ""])


def tc_command(lines: str) -> tuple[str, ...]:
    """The command that runs lines of tc. It lets tc find our tables where the lines need them."""
    return ("env", f"TC_LIB_DIR={TABLES}", "tc") if " distribution " in lines else ("tc",)


def unfit(link: Link) -> str | None:
    """The property of a link that netem cannot do as docs/experiments defines it, in words; None: it can do all."""
    if any(not _are_alike(link.directions, state) for state in link.changes):
        return "a change in the midst of a trial"
    return next(filter(None, map(_unfit, link.directions)), None)


def _are_alike(pair: Directions, other: Directions) -> bool:
    """True if both do the same to packets."""
    return [direction.impairments for direction in pair] == [direction.impairments for direction in other]


def _unfit(direction: LinkDirection) -> str | None:
    impairments, has_rate = direction.impairments, direction.rate_bps is not None
    reach = REACH.get(impairments.distribution, 1)
    chance = (impairments.loss, impairments.corrupt, impairments.overtaking)
    cannot = {
        "packets chosen by their number": impairments.lists_packets,
        "delays from a file": impairments.delays_ns,
        "correlated jitter": impairments.jitter_correlation,
        "jitter that keeps the order of packets": impairments.in_order and impairments.jitter_ns,
        "a delay of more than 274 s": impairments.delay_ns > MAX_DELAY_NS,
        f"a jitter of more than {MAX_JITTER_NS / 1e9 / reach:.2g} s": reach * impairments.jitter_ns > MAX_JITTER_NS,
        "duplicates beside jitter, loss, corruption or reordering": impairments.duplicate
        and (impairments.jitter_ns or any(chance)),
        "anything but a delay behind a rate": has_rate
        and (impairments.jitter_ns or impairments.duplicate or any(chance)),
    }
    return next((words for words, is_asked in cannot.items() if is_asked), None)


def netem(impairments: Impairments) -> str:
    """The arguments of the queueing discipline, for what it can do (tc-netem(8))."""
    words = ["netem"]
    if impairments.delay_ns or impairments.jitter_ns:
        words += ["delay", _microseconds(impairments.delay_ns)]
    if impairments.jitter_ns:
        words += [_microseconds(REACH.get(impairments.distribution, 1) * impairments.jitter_ns)]
        words += ["distribution", impairments.distribution] if impairments.distribution in REACH else []
    if isinstance(impairments.loss, GilbertElliott):
        states = (
            impairments.loss.to_bad,
            impairments.loss.to_good,
            impairments.loss.loss_in_bad,
            impairments.loss.loss_in_good,
        )
        words += ["loss", "gemodel", *map(_percent, states)]
    elif impairments.loss is not None:
        words += ["loss", _percent(impairments.loss.ratio)]
    for name, chosen in (
        ("duplicate", impairments.duplicate),
        ("corrupt", impairments.corrupt),
        ("reorder", impairments.overtaking),
    ):
        words += [name, _percent(chosen.ratio)] if isinstance(chosen, ChosenPackets) else []
    return " ".join([*words, "limit", str(LIMIT_PACKETS)])


def _microseconds(time_ns: int) -> str:
    """A time for `tc`: iproute2 6.1 takes nothing shorter than a microsecond, and no fractions of one."""
    return f"{round(time_ns / 1000)}us"


def _percent(ratio: float) -> str:
    return f"{100 * ratio:.9g}%"
