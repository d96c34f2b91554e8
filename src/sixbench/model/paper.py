"""A paper that an experiment reproduces: what it published, what it claims, and how each claim is tested on a run.

Nothing here is measured by us. `plan.paper_file` reads it from the `published.yaml` beside an experiment;
`analysis.claims` judges.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .workload import Scalar

Formula = Literal["value", "of-baseline", "of-larger", "of-mean", "points"]
"""How a number is made from two values, a path's and what it is compared with (by default the baseline at the same
levels):

- `value`: the path's alone, in the metric's unit;
- `of-baseline`: 100 (path - baseline) / baseline;
- `of-larger`: 100 (path - baseline) / the larger of the two;
- `of-mean`: 100 (path - baseline) / the mean of the two;
- `points`: 100 (path - baseline) / cores of the machine, for CPU metrics: percentage points of the whole machine.

Papers drop the sign and use several of these; here the sign is always that of path - baseline.
"""

Quantifier = Literal["all", "most", "any"]
"""Of the comparisons that a test makes, one a combination of levels: every one, more than half, or at least one."""

Of = Literal["value", "ratio"]
"""What a trend or a contrast is about: the path's value, or its ratio to the baseline."""

Way = Literal["rises", "falls"]

TheoryQuantity = Literal[
    "payload_bytes",
    "transport_header_bytes",
    "ip_payload_bytes",
    "ip_header_bytes",
    "ethernet_header_bytes",
    "total_bytes",
    "overhead_percent",
    "extra_header_percent",
    "extra_wire_percent",
]
"""A row of Table 1 of raicu-stack-rtt (see `theory.FullPacket`); or, for a message of given size over `mechanism`,
what its headers are larger by than those of IPv4, as a share of the message, and what it takes more of the wire."""


@dataclass(frozen=True, kw_only=True)
class Selector:
    """Which results are meant.

    Attributes:
        workloads, paths: names; any of them.
        metric: of the registry.
        levels: by column, in the column's unit, any of the values. A column that is no level of a combination is
            looked up in its workload's parameters; columns that are not named may have any value.
    """

    workloads: tuple[str, ...]
    metric: str
    paths: tuple[str, ...]
    levels: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class OurMeasurement:
    """A number of ours to set beside a published one.

    Attributes:
        selector: where several combinations match, their mean is meant.
        formula: how it is made.
        against: levels of the same path to compare with, where that is not the baseline: `{"length_bytes": 128}`.
    """

    selector: Selector
    formula: Formula = "value"
    against: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class OurTheory:
    """A number of ours that follows from headers alone. `message_bytes` is for the `extra_` quantities only."""

    quantity: TheoryQuantity
    mechanism: str
    transport: Literal["tcp", "udp"]
    message_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class PublishedValue:
    """A number of a paper.

    Attributes:
        source: table, figure or section.
        page: where the text at hand shows pages; else None.
        what: in words, without the system.
        system: a key of `Paper.systems`; None where it is of none (headers, theory).
        value: in `unit`, with the sign of `formula`.
        printed: as it stands in the paper, where that differs from value and unit.
        note: what is odd about it.
        ours: what to set beside it; None where nothing of ours compares.
    """

    source: str
    page: int | None = None
    what: str
    system: str | None = None
    value: float
    unit: str
    printed: str | None = None
    note: str = ""
    ours: OurMeasurement | OurTheory | None = None


@dataclass(frozen=True, kw_only=True)
class Direction:
    """The path is higher, lower, or the same as its baseline, by the verdicts of the findings.

    `margin`: what counts as the same here, where the paper is more generous than the experiment's margin.
    """

    selector: Selector
    expect: Literal["higher", "lower", "equivalent"]
    quantifier: Quantifier = "most"
    margin: float | None = None


@dataclass(frozen=True, kw_only=True)
class Magnitude:
    """The difference between path and baseline, by `formula`, is from `low` to `high` percent."""

    selector: Selector
    formula: Formula
    low: float
    high: float
    quantifier: Quantifier = "most"


@dataclass(frozen=True, kw_only=True)
class Trend:
    """A metric (or its ratio to the baseline) rises or falls with a factor, the block being the unit."""

    selector: Selector
    of: Of
    factor: str
    expect: Way
    quantifier: Quantifier = "all"


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """A metric (or its ratio to the baseline) at one level of a factor and at another: it rises, falls, or is the same
    within `margin`."""

    selector: Selector
    of: Of
    factor: str
    at: Scalar
    then: Scalar
    expect: Way | Literal["same"]
    margin: float | None = None
    quantifier: Quantifier = "all"


@dataclass(frozen=True, kw_only=True)
class InTheory:
    """What headers alone make is from `low` to `high`. Needs no trial."""

    theory: OurTheory
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Untestable:
    """This experiment cannot tell, and why."""

    reason: str


ClaimTest = Direction | Magnitude | Trend | Contrast | InTheory | Untestable


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement of a paper about its results.

    Attributes:
        name: unique in the paper.
        text: as the paper says it.
        source, page: as for `PublishedValue`.
        note: how it is read here, or what contradicts it in the paper.
    """

    name: str
    text: str
    source: str
    page: int | None = None
    test: ClaimTest
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class PublishedTable:
    """A table of the paper, whose cells are the values with its name as their source."""

    name: str
    title: str
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper and all that can be compared with it.

    Attributes:
        name: of the experiment that reproduces it.
        year: None where the document does not say.
        published: where.
        doc: what was measured, in a few sentences.
        systems: short names to what they stand for.
        notes: contradictions in the paper and how they are read.
        deviations: what our experiment does otherwise, and why.
    """

    name: str
    title: str
    authors: tuple[str, ...]
    year: int | None
    published: str
    doc: str
    systems: Mapping[str, str]
    tables: tuple[PublishedTable, ...]
    values: tuple[PublishedValue, ...]
    claims: tuple[Claim, ...]
    notes: tuple[str, ...]
    deviations: tuple[str, ...]


UNIT_FACTORS: Mapping[tuple[str, str], float] = {
    ("Mbit/s", "bit/s"): 1e6,
    ("ms", "ns"): 1e6,
    ("us", "ns"): 1e3,
}
"""From the units that papers use to those of the metrics."""
