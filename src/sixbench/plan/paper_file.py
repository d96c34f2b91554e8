"""`published.yaml`, beside an experiment: a paper's numbers and claims as data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..model.paper import Claim, ClaimTest, OurMeasurement, OurTheory, Paper, PublishedValue, Untestable
from ..model.parameter import Parameter
from ..model.quoting import shown
from .key_reader import read_items, read_keys, read_names, read_plain, read_value
from .keys import ValueList
from .paper_keys import (
    A_SYSTEM,
    AUTHORS,
    CLAIM,
    CLAIMS,
    DEVIATIONS,
    GENERATIONS,
    MEASURED,
    NOTES,
    PAPER,
    SYSTEMS,
    THEORY,
    VALUE,
    VALUES,
    YEAR,
)
from .paper_tables import read_tables
from .paper_tests import check_unit, read_measured, read_needed, read_test, read_theory
from .reader import Reader
from .shipped import PUBLISHED_FILE
from .yaml_source import KeyPath, Source, read_yaml


def paper_beside(experiment: Path) -> Paper | None:
    """The paper that an experiment file reproduces; None if there is no `published.yaml` beside it. Raises
    `ExperimentError` with all that is wrong in that file, and `UsageError` if it cannot be read.
    """
    path = experiment.with_name(PUBLISHED_FILE)
    return read_paper(read_yaml(path)) if path.is_file() else None


def read_paper(source: Source) -> Paper:
    """Reads and checks a paper. Raises `ExperimentError` with all that is wrong."""
    reader = Reader(source)
    data = read_keys(reader, (), source.data, PAPER)
    read = read_plain(reader, (), data, PAPER)
    systems = {
        name: str(read_value(reader, ("systems", name), text, A_SYSTEM))
        for name, text in read_names(reader, ("systems",), data.get("systems", {}), SYSTEMS).items()
    }
    year = None if data.get("year") is None else read_value(reader, ("year",), data["year"], YEAR)
    authors, notes, deviations = (
        _lines(reader, data.get(lines.what, []), lines) for lines in (AUTHORS, NOTES, DEVIATIONS)
    )
    generations = _generations(reader, data.get("generations", []), systems)
    tables = tuple(read_tables(reader, data.get("tables", [])))
    values = tuple(_values(reader, data.get("values", []), systems))
    claims = tuple(_claims(reader, data.get("claims", [])))
    reader.finish()
    return Paper(
        name=read["paper"],
        title=read["title"],
        authors=authors,
        year=None if year is None else int(year),
        published=read["published"],
        doc=read["doc"],
        systems=systems,
        generations=generations,
        tables=tables,
        values=values,
        claims=claims,
        notes=notes,
        deviations=deviations,
    )


def _lines(reader: Reader, value: Any, lines: ValueList) -> tuple[str, ...]:
    assert isinstance(lines.item, Parameter), "a line is a single value"
    items = read_items(reader, (lines.what,), value, lines)
    return tuple(str(read_value(reader, (lines.what, index), item, lines.item)) for index, item in enumerate(items))


def _generations(reader: Reader, value: Any, systems: dict[str, str]) -> tuple[str, ...]:
    """The names of the older and the newer system."""
    place: KeyPath = ("generations",)
    names = read_items(reader, place, value, GENERATIONS)
    if names and (len(names) != 2 or names[0] == names[1]):
        reader.problem(place, f"generations are two systems, the older and the newer, not {shown(names)}")
        return ()
    return tuple(
        name for index, item in enumerate(names) if (name := reader.one_of((*place, index), item, "system", systems))
    )


def _values(reader: Reader, value: Any, systems: dict[str, str]) -> list[PublishedValue]:
    values = []
    for index, item in enumerate(read_items(reader, ("values",), value, VALUES)):
        place: KeyPath = ("values", index)
        data = read_keys(reader, place, item, VALUE)
        read = read_needed(reader, place, data, VALUE, *VALUE.missing)
        if read is None:
            continue
        if "system" in data:
            read["system"] = reader.one_of((*place, "system"), data["system"], "system", systems)
        if "ours" in data:
            read["ours"] = _ours(reader, (*place, "ours"), data["ours"], read["unit"])
        values.append(PublishedValue(**read))
    return values


def _ours(reader: Reader, place: KeyPath, value: Any, unit: str) -> OurMeasurement | OurTheory | None:
    if isinstance(value, dict) and "theory" in value:
        theory = read_theory(reader, place, read_keys(reader, place, value, THEORY))
        if theory is not None and unit != ("%" if theory.quantity.endswith("percent") else "bytes"):
            reader.problem(place, f"{theory.quantity} is not in {unit}")
        return theory
    measured = read_measured(reader, place, read_keys(reader, place, value, MEASURED))
    if measured is not None:
        check_unit(reader, place, measured, unit)
    return measured


def _claims(reader: Reader, value: Any) -> list[Claim]:
    claims: list[Claim] = []
    for index, item in enumerate(read_items(reader, ("claims",), value, CLAIMS)):
        place: KeyPath = ("claims", index)
        data = read_keys(reader, place, item, CLAIM)
        read = read_needed(reader, place, data, CLAIM, *CLAIM.missing)
        if read is None:
            continue
        name, reason = read.pop("claim"), read.pop("untestable", None)
        if any(claim.name == name for claim in claims):
            reader.problem((*place, "claim"), f'there is another claim "{name}"; give each a name of its own')
        if ("test" in data) == ("untestable" in data):
            reader.problem(place, "give either test, or untestable with the reason")
            continue
        test: ClaimTest | None = Untestable(reason=str(reason))
        if "test" in data:
            test = read_test(reader, (*place, "test"), data["test"])
        if test is not None:
            claims.append(Claim(**read, name=name, test=test))
    return claims
