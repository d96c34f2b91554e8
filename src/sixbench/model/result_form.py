"""The forms that results of agents are made of (docs/protocol.md). Each workload has the forms of its own.

Whoever imports this imports pydantic. Workloads do so when a result arrives, and not before: most commands need none.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from .form import ABSENT, Counts, Form, Name, Natural
from .results import Socket


class Core(Form):
    """A core's time by kind, in ticks."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Natural]

    user: Natural
    nice: Natural
    system: Natural
    idle: Natural
    iowait: Natural
    irq: Natural
    softirq: Natural
    steal: Natural


class CpuSample(Form):
    """Resources that the machine and the agent had spent until a moment."""

    clock_ns: Natural
    realtime_ns: Natural
    tick_ns: Natural
    cores: list[Core]
    agent_user_ns: Natural
    agent_system_ns: Natural
    idle_ns: Natural = ABSENT


class EcnMarks(Form):
    """Datagrams that came, by their ECN field (RFC 3168 section 5)."""

    not_ect: Natural
    ect0: Natural
    ect1: Natural
    ce: Natural


class Histogram(Form):
    """Values by bucket, and what follows from them; with no values there is nothing but the count."""

    count: Natural
    unit: Name = ABSENT
    buckets: list[Annotated[list[Natural], Field(min_length=2, max_length=2)]]
    min: Natural = ABSENT
    max: Natural = ABSENT
    mean: float = ABSENT
    stdev: float = ABSENT
    p50: Natural = ABSENT
    p90: Natural = ABSENT
    p99: Natural = ABSENT
    p999: Natural = ABSENT

    @model_validator(mode="after")
    def _is_whole(self) -> Histogram:
        if self.count and None in (self.min, self.max, self.mean, self.stdev, self.p50, self.p90, self.p99, self.p999):
            raise ValueError("a histogram with values lacks its statistics")
        return self


def _equally_long(series: dict[str, list[Any]]) -> dict[str, list[Any]]:
    times = series.get("t_ns", [])
    if any(len(column) != len(times) for column in series.values()):
        raise ValueError("the columns of a series are not equally long")
    if any(type(time_ns) is not int for time_ns in times):
        raise ValueError("the times of a series are not integers")
    return series


Series = Annotated[dict[str, list[int | float | None]], AfterValidator(_equally_long)]


class CpuSpan(Form):
    """CPU samples at the edges of a window."""

    from_: CpuSample = Field(alias="from")
    to: CpuSample


class Move(Form):
    """A move of a client to another of its addresses, as it tells it."""

    t_ns: Natural
    lost: Name = Field(alias="from")
    to: Name


class SeenMove(Move):
    """The same as its server sees it."""

    outage_ns: Natural


class SideResult(Form):
    """The keys that any result, or one end of a flow in it, may have."""

    cpu: CpuSpan = ABSENT
    strays: Counts | Natural = ABSENT
    socket: Socket = ABSENT
    series: Series = ABSENT


class ProgramResult(Form):
    """A program of others that was an end of a trial: its end, where it ended by itself, and what it used."""

    ended: str = ABSENT
    exit: int = ABSENT
    ran_ns: Natural
    cpu_ns: Natural
    peak_memory_bytes: Natural
    processes: Natural
    listening: list[Name]
    output: str
    omitted_bytes: Natural


class ProgramSide(Form):
    """The result of an end that is a program of others."""

    program: ProgramResult
