"""`published.yaml`, beside an experiment: a paper's numbers and claims as data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..model.paper import Claim, OurMeasurement, OurTheory, Paper, PublishedValue, Untestable
from ..model.quoting import shown
from .paper_tables import read_tables
from .paper_tests import MEASURED_KEYS, THEORY_KEYS, check_unit, read_measured, read_test, read_theory
from .reader import Reader
from .shipped import PUBLISHED_FILE
from .yaml_source import KeyPath, Source, read_yaml

_KEYS = (
    *("paper", "title", "authors", "year", "published", "doc", "systems", "generations"),
    *("tables", "values", "claims", "notes", "deviations"),
)
_REQUIRED = ("paper", "title", "authors", "published", "doc", "claims")


def paper_beside(experiment: Path) -> Paper | None:
    """The paper that an experiment file reproduces; None if there is no `published.yaml` beside it. Raises
    `ExperimentError` with all that is wrong in that file, and `UsageError` if it cannot be read.
    """
    path = experiment.with_name(PUBLISHED_FILE)
    return read_paper(read_yaml(path)) if path.is_file() else None


def read_paper(source: Source) -> Paper:
    """Reads and checks a paper. Raises `ExperimentError` with all that is wrong."""
    reader = Reader(source)
    data = reader.mapping((), source.data, "a paper", _KEYS)
    _require(reader, (), data, _REQUIRED)
    systems = {
        name: _word(reader, ("systems", name), text, "a system")
        for name, text in reader.mapping(("systems",), data.get("systems", {}), "systems").items()
    }
    paper = Paper(
        name=_word(reader, ("paper",), data.get("paper", "-"), "paper"),
        title=_word(reader, ("title",), data.get("title", "-"), "title"),
        authors=_words(reader, ("authors",), data.get("authors", []), "authors"),
        year=_year(reader, data.get("year")),
        published=_word(reader, ("published",), data.get("published", "-"), "published"),
        doc=_word(reader, ("doc",), data.get("doc", "-"), "doc"),
        systems=systems,
        generations=_generations(reader, data.get("generations", []), systems),
        tables=tuple(read_tables(reader, data.get("tables", []))),
        values=tuple(_values(reader, data.get("values", []), systems)),
        claims=tuple(_claims(reader, data.get("claims", []))),
        notes=_words(reader, ("notes",), data.get("notes", []), "notes"),
        deviations=_words(reader, ("deviations",), data.get("deviations", []), "deviations"),
    )
    reader.finish()
    return paper


def _generations(reader: Reader, value: Any, systems: dict[str, str]) -> tuple[str, ...]:
    """The names of the older and the newer system."""
    place: KeyPath = ("generations",)
    names = reader.sequence(place, value, "generations")
    if names and (len(names) != 2 or names[0] == names[1]):
        reader.problem(place, f"generations are two systems, the older and the newer, not {shown(names)}")
        return ()
    return tuple(
        name for index, item in enumerate(names) if (name := reader.one_of((*place, index), item, "system", systems))
    )


_VALUE_KEYS = ("source", "page", "what", "system", "value", "unit", "printed", "note", "ours")


def _values(reader: Reader, value: Any, systems: dict[str, str]) -> list[PublishedValue]:
    values = []
    for index, item in enumerate(reader.sequence(("values",), value, "values")):
        place: KeyPath = ("values", index)
        data = reader.mapping(place, item, "a value", _VALUE_KEYS)
        if not _require(reader, place, data, ("source", "what", "value", "unit")):
            continue
        number = data["value"]
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            reader.problem((*place, "value"), f"a value must be a number, not {shown(number)}")
            continue
        if "system" in data:
            reader.one_of((*place, "system"), data["system"], "system", systems)
        ours = _ours(reader, (*place, "ours"), data["ours"], str(data["unit"])) if "ours" in data else None
        values.append(
            PublishedValue(
                source=_word(reader, (*place, "source"), data["source"], "source"),
                page=_page(reader, place, data),
                what=_word(reader, (*place, "what"), data["what"], "what"),
                system=data.get("system"),
                value=float(number),
                unit=_word(reader, (*place, "unit"), data["unit"], "unit"),
                printed=_word(reader, (*place, "printed"), data["printed"], "printed") if "printed" in data else None,
                note=_word(reader, (*place, "note"), data["note"], "note") if "note" in data else "",
                ours=ours,
            )
        )
    return values


def _ours(reader: Reader, place: KeyPath, value: Any, unit: str) -> OurMeasurement | OurTheory | None:
    data = reader.mapping(place, value, "ours")
    if "theory" in data:
        reader.mapping(place, data, "ours", THEORY_KEYS)
        theory = read_theory(reader, place, data)
        if theory is not None and unit != ("%" if theory.quantity.endswith("percent") else "bytes"):
            reader.problem(place, f"{theory.quantity} is not in {unit}")
        return theory
    reader.mapping(place, data, "ours", MEASURED_KEYS)
    measured = read_measured(reader, place, data)
    if measured is not None:
        check_unit(reader, place, measured, unit)
    return measured


_CLAIM_KEYS = ("claim", "text", "source", "page", "note", "test", "untestable")


def _claims(reader: Reader, value: Any) -> list[Claim]:
    claims: list[Claim] = []
    for index, item in enumerate(reader.sequence(("claims",), value, "claims")):
        place: KeyPath = ("claims", index)
        data = reader.mapping(place, item, "a claim", _CLAIM_KEYS)
        if not _require(reader, place, data, ("claim", "text", "source")):
            continue
        name = _word(reader, (*place, "claim"), data["claim"], "claim")
        if any(claim.name == name for claim in claims):
            reader.problem((*place, "claim"), f'there is another claim "{name}"; give each a name of its own')
        if ("test" in data) == ("untestable" in data):
            reader.problem(place, "give either test, or untestable with the reason")
            continue
        if "test" in data:
            test = read_test(reader, (*place, "test"), data["test"])
        else:
            test = Untestable(reason=_word(reader, (*place, "untestable"), data["untestable"], "the reason"))
        if test is None:
            continue
        claims.append(
            Claim(
                name=name,
                text=_word(reader, (*place, "text"), data["text"], "text"),
                source=_word(reader, (*place, "source"), data["source"], "source"),
                page=_page(reader, place, data),
                test=test,
                note=_word(reader, (*place, "note"), data["note"], "note") if "note" in data else "",
            )
        )
    return claims


def _require(reader: Reader, place: KeyPath, data: dict[str, Any], keys: tuple[str, ...]) -> bool:
    missing = [key for key in keys if key not in data]
    if missing:
        reader.problem(place, f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing")
    return not missing


def _word(reader: Reader, place: KeyPath, value: Any, what: str) -> str:
    """Text on one line, wherever the file breaks it."""
    return " ".join((reader.word(place, value, what) or "").split())


def _words(reader: Reader, place: KeyPath, value: Any, what: str) -> tuple[str, ...]:
    items = reader.sequence(place, value, what)
    return tuple(_word(reader, (*place, index), item, f"each of {what}") for index, item in enumerate(items))


def _page(reader: Reader, place: KeyPath, data: dict[str, Any]) -> int | None:
    return reader.count((*place, "page"), data["page"], "page", 1, 10_000) if "page" in data else None


def _year(reader: Reader, value: Any) -> int | None:
    return None if value is None else reader.count(("year",), value, "year", 1970, 2100)
