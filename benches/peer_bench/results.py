"""All of a run as values, and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sixbench.store import Environment
from sixbench.store.atomic import write_file

from .comparisons import COMPARISONS
from .verdicts import Row, Value, limits, rows

SCHEMA = 1


@dataclass(kw_only=True)
class Results:
    """A run, as far as it has come.

    Attributes:
        rounds: of everything, that were asked for. Those of `values` that follow are of what was open.
        placement: `pinned` (client on processor 0, server on 1) or `free`.
        tools: name to version, of those that were there.
        absent: what was not measured, and why.
        commands: by comparison, contender and family, as they were run.
    """

    started: str
    environment: Environment
    rounds: int
    seconds: int
    placement: str
    nice: int
    tools: dict[str, str]
    absent: dict[str, str]
    commands: dict[tuple[str, str, int], list[str]] = field(default_factory=dict)
    values: list[Value] = field(default_factory=list)

    def rows(self) -> list[Row]:
        """Ours beside the peers, as if no more rounds came."""
        return rows(self.values, self.rounds, is_over=True)

    def to_json(self) -> dict[str, Any]:
        """Ratios and limits are derived, and are there for readers who do not want to."""
        return {
            "schema": SCHEMA,
            "started": self.started,
            "environment": asdict(self.environment),
            "rounds": self.rounds,
            "seconds": self.seconds,
            "placement": self.placement,
            "nice": self.nice,
            "tools": self.tools,
            "absent": self.absent,
            "comparisons": {c.key: {"title": c.title, "unit": c.unit, "told": c.about} for c in COMPARISONS},
            "commands": [
                {"comparison": comparison, "contender": contender, "family": family, "run": run}
                for (comparison, contender, family), run in self.commands.items()
            ],
            "values": [_present(asdict(value)) for value in self.values],
            "ratios": [
                _present({**asdict(row), "target": str(row.target) if row.target else None}) for row in self.rows()
            ],
            "limits": [{**asdict(limit), "verdict": limit.verdict} for limit in limits(self.values)],
        }

    def write(self, directory: Path) -> None:
        """Writes `results.json`, whole or not at all. Raises `WriteError`."""
        text = json.dumps(self.to_json(), allow_nan=False, ensure_ascii=False, indent=1)
        write_file(directory / "results.json", text + "\n")


def _present(data: dict[str, Any]) -> dict[str, Any]:
    """Known values: those that are missing are absent."""
    return {name: value for name, value in data.items() if value is not None}
