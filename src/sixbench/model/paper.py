"""A paper that an experiment reproduces: what it published, what it claims, and how each claim is tested on a run.

Nothing here is measured by us. `plan.paper_file` reads it from the `published.yaml` beside an experiment;
`analysis.claims` judges.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .metric import METRICS
from .parameter import Scalar

Formula = Literal["value", "of-baseline", "of-larger", "of-mean", "points"]
"""The formula of a number from two values, a path's and the one that it is compared with (by default the baseline at
the same levels):

- `value`: the path's alone, in the metric's unit;
- `of-baseline`: 100 (path - baseline) / baseline;
- `of-larger`: 100 (path - baseline) / the larger of the two;
- `of-mean`: 100 (path - baseline) / the mean of the two;
- `points`: 100 (path - baseline) / cores of the machine, for CPU metrics: percentage points of the whole machine.

Papers drop the sign and use several of these; here the sign is always that of path - baseline.
"""

Quantifier = Literal["all", "most", "any"]
"""Share of a test's comparisons, one for each combination of levels, that has to agree: every one, more than half, or
at least one."""

Of = Literal["value", "ratio"]
"""The subject of a trend or a contrast: the path's value, or its ratio to the baseline."""

TrendWay = Literal["rises", "falls"]

Expected = Literal["higher", "lower", "equivalent", "not lower", "not higher"]

SYSTEM = "system"
"""The column in levels whose values are the paper's systems: where a run has several kernels, those that stand for the
paper's `generations` (`analysis.system_kernels`); where it has one, that kernel stands for each."""

WORKLOAD = "workload"
"""The factor of a contrast whose levels are workloads that measure the same metric, such as bulk transfer by TCP and by
QUIC."""

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
    "ip_header_percent",
    "extra_ip_header_percent",
]
"""A row of Table 1 of raicu-stack-rtt (see `theory.FullPacket`). Or, for a message of given size over `mechanism`: by
how much its headers are larger than those of IPv4, as a share of the message, and how much more of the wire it takes.
Or, for one packet or frame of given size: all its IP headers as a share of it, and by how much they exceed IPv4's."""


@dataclass(frozen=True, kw_only=True)
class Selector:
    """A choice of results.

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


PER_MESSAGE = ("extra_header_percent", "extra_wire_percent", "ip_header_percent", "extra_ip_header_percent")


@dataclass(frozen=True, kw_only=True)
class OurMeasurement:
    """A number of ours to set beside a published one.

    Attributes:
        selector: where several combinations match, their mean is meant.
        formula: how it is made.
        against: levels of the same path to compare with, where that is not the baseline: `{"length_bytes": 128}`.
        over_ns: for rates, the time over which papers print the total of a run: bits of bit/s,
            packets of packets/s.
    """

    selector: Selector
    formula: Formula = "value"
    against: Mapping[str, Scalar] = field(default_factory=dict)
    over_ns: int | None = None


@dataclass(frozen=True, kw_only=True)
class OurTheory:
    """A number of ours that follows from headers alone. `message_bytes` is for the quantities that are shares of a
    message or packet, and only for them: `PER_MESSAGE`."""

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
        note: what is unusual about it.
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
class DirectionTest:
    """The path is higher, lower, or the same as its baseline, by the verdicts of the findings; or it is not lower (not
    higher) by more than the margin, by the interval.

    Attributes:
        margin: what counts as the same here, where the paper is more generous than the experiment's margin.
        against: another path to compare with instead of the baseline; then by the interval of the paired ratios.
    """

    selector: Selector
    expect: Expected
    quantifier: Quantifier = "most"
    margin: float | None = None
    against: str | None = None


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
    expect: TrendWay
    quantifier: Quantifier = "all"


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """A metric (or its ratio to the baseline) at one level of a factor and at another: it rises, falls, or is the same
    within `margin`. The factor `SYSTEM` is about the kernels of a run, and `WORKLOAD` about two of the selector's
    workloads at the same levels."""

    selector: Selector
    of: Of
    factor: str
    at: Scalar
    then: Scalar
    expect: TrendWay | Literal["same"]
    margin: float | None = None
    quantifier: Quantifier = "all"


@dataclass(frozen=True, kw_only=True)
class Amount:
    """A path's own value is from `low` to `high`, in the metric's unit; CPU time in percent of the machine."""

    selector: Selector
    low: float
    high: float
    quantifier: Quantifier = "all"


@dataclass(frozen=True, kw_only=True)
class InTheory:
    """A quantity that follows from headers alone is from `low` to `high`. Needs no trial."""

    theory: OurTheory
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Untestable:
    """This experiment cannot tell, and why."""

    reason: str


ClaimTest = DirectionTest | Magnitude | Trend | Contrast | Amount | InTheory | Untestable


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
class TableColumn:
    """A column of a table in the paper's own form: numbers, and what each of them is.

    Attributes:
        heading: as printed.
        unit: of its cells; empty where they have none.
        level: the column of ours whose level each cell gives; None where it gives none.
        is_block: whether it counts repetitions: row i of these is the i-th block of ours.
        ours: what to set beside each cell, at the levels of its row; None where nothing of ours compares.
    """

    heading: str
    unit: str = ""
    level: str | None = None
    is_block: bool = False
    ours: OurMeasurement | None = None


@dataclass(frozen=True, kw_only=True)
class TableRow:
    """A row of such a table. `cells`: a number for each column, None where the paper left one out. `levels`: by
    column of ours; `block`: from 1, None where the rows are no repetitions."""

    cells: tuple[float | None, ...]
    levels: Mapping[str, Scalar]
    block: int | None = None


@dataclass(frozen=True, kw_only=True)
class PublishedTable:
    """A table of the paper: in its own columns and rows, or else its cells are the values with its name as their
    source."""

    name: str
    title: str
    note: str = ""
    columns: tuple[TableColumn, ...] = ()
    rows: tuple[TableRow, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper and all that can be compared with it.

    Attributes:
        name: of the experiment that reproduces it.
        year: None where the document does not say.
        published: where.
        doc: what was measured, in a few sentences.
        systems: short names to what they stand for.
        generations: two of them, the older and the newer, where the paper compares two generations of a system.
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
    generations: tuple[str, ...] = ()
    tables: tuple[PublishedTable, ...]
    values: tuple[PublishedValue, ...]
    claims: tuple[Claim, ...]
    notes: tuple[str, ...]
    deviations: tuple[str, ...]


UNIT_FACTORS: Mapping[tuple[str, str], float] = {
    ("Mbit/s", "bit/s"): 1e6,
    ("KiB/s", "bit/s"): 8192,
    ("KiB", "bit"): 8192,
    ("s", "ns"): 1e9,
    ("ms", "ns"): 1e6,
    ("us", "ns"): 1e3,
    ("%", "1"): 1e-2,
}
"""The factors from the units of papers to those of the metrics."""


def own_unit(measured: OurMeasurement) -> str:
    """The unit of a number of ours: the metric's, the metric's times a time, or percent."""
    unit = METRICS[measured.selector.metric].unit
    if measured.formula != "value" or unit == "cores":
        return "%"
    return unit.removesuffix("/s") if measured.over_ns is not None else unit


def unit_factor(theirs: str, ours: str) -> float | None:
    """The factor from the paper's unit to ours; None where they cannot be compared."""
    return 1.0 if theirs == ours else UNIT_FACTORS.get((theirs, ours))
