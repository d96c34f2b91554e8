"""The `workloads` part of an experiment: kinds, parameters, and the combinations of their levels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..model.parameter import Parameter, Params, Scalar
from ..model.quoting import listed, shown
from ..model.topology import Family
from ..model.workload import WorkloadKind
from ..model.workloads import WORKLOADS
from .factors import Assignment, Factors, Setting, Varying, resolve
from .key_reader import read_items
from .keys import A_NAME, CompoundKey, SharedValue, ValueList
from .reader import Reader, as_name
from .yaml_source import KeyPath


@dataclass(frozen=True, kw_only=True)
class WorkloadTemplate:
    """A workload whose parameters may still vary, by the parameter's column."""

    kind: WorkloadKind
    path: KeyPath
    settings: dict[str, Setting]
    places: dict[str, KeyPath]
    """The place of each given parameter, by its name."""
    paths: tuple[str, ...] = ()
    """The paths that it goes over; empty: all."""

    def place_of(self, name: str | None) -> KeyPath:
        """The place of the parameter of that name; that of the workload if it is not given."""
        return self.path if name is None else self.places.get(name, self.path)

    def factors(self) -> list[Any]:
        """Keys of the factors on which it depends, in order of appearance."""
        keys: dict[Any, None] = {}
        for setting in self.settings.values():
            if isinstance(setting, Varying):
                keys.setdefault(setting.factor)
        return list(keys)

    def params(self, assignment: Assignment) -> dict[str, Scalar]:
        """The parameters at one combination of levels, with the defaults that an experiment has."""
        return self.kind.with_lengths(self.given(assignment))

    def given(self, assignment: Assignment) -> dict[str, Scalar]:
        """The parameters that are given, at one combination of levels."""
        return {column: resolve(setting, assignment) for column, setting in self.settings.items()}


def values_of(template: WorkloadTemplate, factors: Factors, column: str) -> tuple[Scalar, ...]:
    """All values that a parameter takes; none if it is not given."""
    setting = template.settings.get(column)
    if setting is None:
        return ()
    return factors.by_key[setting.factor].values if isinstance(setting, Varying) else (setting.value,)


PATHS = "paths"
"""The key beside a workload's parameters that names the paths that it goes over."""
_OVER = ValueList(what=PATHS, item=A_NAME, empty="no path is named; name those that this workload goes over")
OVER_PATHS = CompoundKey(name=PATHS, value=_OVER, unless_given="all", doc="the paths that it goes over")
WORKLOAD_LIST = ValueList(
    what="workloads",
    item=SharedValue(name="workload"),
    empty=f"no workload is given; known are {', '.join(WORKLOADS)}",
)


def read_workloads(
    reader: Reader, factors: Factors, value: Any, paths: Mapping[str, Sequence[str]]
) -> list[WorkloadTemplate]:
    """Reads the list: each entry a name, or one name with its parameters.

    Args:
        paths: the names of those that the experiment has, by each name that stands for one or several.
    """
    templates = []
    for index, item in enumerate(read_items(reader, ("workloads",), value, WORKLOAD_LIST)):
        template = _read_workload(reader, factors, ("workloads", index), item, paths)
        if template is not None:
            templates.append(template)
    return templates


def check_workload(reader: Reader, template: WorkloadTemplate, params: Params, families: frozenset[Family]) -> None:
    """Notes what the workload itself finds wrong with a combination of levels."""
    wrong = template.kind.wrong(params, families)
    if wrong is not None:
        reader.problem(template.place_of(wrong.name), wrong.text)


def constant_levels(templates: list[WorkloadTemplate]) -> list[dict[str, Scalar]]:
    """For each template, the parameters that belong to its levels although they do not vary.

    They say what is sent, or they set it apart from other entries of the same kind. The length of trials is among them
    only if nothing else sets the entries apart."""
    of_kind: dict[str, list[int]] = {}
    for index, template in enumerate(templates):
        of_kind.setdefault(template.kind.name, []).append(index)
    levels: dict[int, dict[str, Scalar]] = {}
    for indices in of_kind.values():
        levels |= zip(indices, _setting_apart([templates[index] for index in indices]), strict=True)
    return [levels[index] for index in range(len(templates))]


def _setting_apart(templates: list[WorkloadTemplate]) -> Iterator[dict[str, Scalar]]:
    """The levels of the entries of one kind. It takes time in proportion to their number: who has which value is
    counted first."""
    all_constants = [_constants(template) for template in templates]
    lengths = {parameter.column for parameter in templates[0].kind.parameters if parameter.length}
    identifying = {parameter.column for parameter in templates[0].kind.parameters if parameter.identifying}
    entries_with = Counter(pair for constants in all_constants for pair in constants.items())
    kept = [
        frozenset(pair for pair in fixed_values.items() if pair[0] not in lengths) for fixed_values in all_constants
    ]
    alike = Counter(kept)
    for fixed_values, kept_of_own in zip(all_constants, kept, strict=True):
        differing = {pair[0]: pair[1] for pair in fixed_values.items() if entries_with[pair] < len(templates)}
        levels = {
            column: value
            for column, value in fixed_values.items()
            if column in identifying or (column in differing and column not in lengths)
        }
        yield levels | (differing if alike[kept_of_own] > 1 else {})


def _constants(template: WorkloadTemplate) -> dict[str, Scalar]:
    return {column: setting.value for column, setting in template.settings.items() if not isinstance(setting, Varying)}


def _read_workload(
    reader: Reader, factors: Factors, path: KeyPath, item: Any, paths: Mapping[str, Sequence[str]]
) -> WorkloadTemplate | None:
    if isinstance(item, str):
        item = {item: None}
    data = reader.mapping(path, item, "a workload")
    if len(data) != 1:
        if isinstance(item, dict):
            reader.problem(
                path,
                f"a workload is one name with its parameters, not {len(data)} keys; start another entry with a dash",
            )
        return None
    [(name, given)] = data.items()
    if reader.one_of((*path, name), name, "workload", WORKLOADS) is None:
        return None
    kind = WORKLOADS[name]
    known = {parameter.name: parameter for parameter in kind.parameters}
    settings: dict[str, Setting] = {}
    places: dict[str, KeyPath] = {}
    place = (*path, name)
    over: tuple[str, ...] = ()
    if isinstance(given, dict) and PATHS in given:
        over = _read_paths(reader, (*place, PATHS), given[PATHS], paths)
        given = {key: value for key, value in given.items() if key != PATHS}
    for keys, value in _flat(reader, place, {} if given is None else given, f"parameters of {name}", list(known)):
        parameter = _packet_rate(known[parameter_name(keys)], known, factors.first_level(value))
        if parameter.column in settings:
            reader.problem((*place, *keys), f"another key already gives the {parameter.name}; keep one")
            continue
        pair = ((*path, *keys), parameter.column)
        places[parameter.name] = (*place, *keys)
        setting = factors.setting((*place, *keys), value, parameter.parse, parameter.suffix, pair)
        if setting is not None:
            settings[parameter.column] = setting
    return WorkloadTemplate(kind=kind, path=place, settings=settings, places=places, paths=over)


def _read_paths(reader: Reader, place: KeyPath, value: Any, paths: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The paths for which the names in the list stand, each once."""
    items = read_items(reader, place, value, replace(_OVER, empty=f"{_OVER.empty}, out of {listed(paths)}"))
    over: dict[str, None] = {}
    for index, item in enumerate(items):
        name = reader.one_of((*place, index), as_name(item), "path", paths)
        for path in paths[name] if name is not None else ():
            if path in over:
                reader.problem((*place, index), f'"{path}" is named twice')
            over[path] = None
    return tuple(over)


DISTRIBUTION = "distribution"
"""The key of a parameter that has others under it, when it is given among them:
`gaps: {distribution: gamma, shape: 2}`."""


def parameter_name(keys: tuple[str, ...]) -> str:
    """`gaps.shape` of `gaps`, `shape`; `gaps` of `gaps`, `distribution`."""
    return keys[0] if keys[1:] in ((), (DISTRIBUTION,)) else ".".join(keys)


def _flat(reader: Reader, place: KeyPath, given: Any, what: str, known: list[str]) -> list[tuple[tuple[str, ...], Any]]:
    """The parameters, also those in a mapping, with the keys that lead to them. Unknown ones are noted as problems."""
    pairs: list[tuple[tuple[str, ...], Any]] = []
    alone = [name for name in known if "." not in name]
    for key, value in reader.mapping(place, given, what, alone).items():
        parts = [name.partition(".")[2] for name in known if name.startswith(f"{key}.")]
        if isinstance(value, dict) and parts:
            within = reader.mapping((*place, key), value, key, [DISTRIBUTION, *parts])
            pairs.extend(((key, part), item) for part, item in within.items() if part in (DISTRIBUTION, *parts))
        elif key in alone:
            pairs.append(((key,), value))
    return pairs


def _packet_rate(parameter: Parameter, known: dict[str, Parameter], first: Any) -> Parameter:
    """`rate: 1000pps` means the packet rate."""
    if parameter.kind == "rate" and "packet-rate" in known and isinstance(first, str) and first.endswith("pps"):
        return known["packet-rate"]
    return parameter


def describe_params(kind: WorkloadKind, params: Params) -> str:
    """Parameters as an experiment would write them, on one line."""
    parts = []
    for column, value in params.items():
        parameter = kind.by_column(column)
        parts.append(f"{parameter.name}: {parameter.format(value)}" if parameter else f"{column}: {shown(value)}")
    return ", ".join(parts)
