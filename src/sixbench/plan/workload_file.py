"""The `workloads` part of an experiment: kinds, parameters, and the combinations of their levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..model.topology import Family
from ..model.wording import shown
from ..model.workload import Parameter, Params, Scalar, WorkloadKind
from ..model.workloads import WORKLOADS
from .factors import Assignment, Factors, Setting, Varying, resolve
from .reader import Reader
from .yaml_source import KeyPath

DEFAULT_DURATION_NS = 5 * 10**9
DEFAULT_WARMUP_NS = 500 * 10**6
"""Long enough for slow start to end on links of this kind of bench; not counted."""

DEFAULT_INTERVAL_NS = 100 * 10**6
"""The agent's."""

MAX_INTERVALS = 200_000
"""So long is a series that fits into one line of the agent's protocol."""

_IDENTIFYING = ("message", "datagram", "payload", "gaps", "sizes", "trace", "codec")
"""Parameters that say what is sent: always part of the levels when given."""


@dataclass(frozen=True, kw_only=True)
class WorkloadTemplate:
    """A workload whose parameters may still vary, by the parameter's column."""

    kind: WorkloadKind
    path: KeyPath
    settings: dict[str, Setting]

    def factors(self) -> list[Any]:
        """Keys of the factors that it depends on, in order of appearance."""
        keys: dict[Any, None] = {}
        for setting in self.settings.values():
            if isinstance(setting, Varying):
                keys.setdefault(setting.factor)
        return list(keys)

    def params(self, assignment: Assignment) -> dict[str, Scalar]:
        """The parameters at one combination of levels, with the defaults that an experiment has."""
        params = {column: resolve(setting, assignment) for column, setting in self.settings.items()}
        if self.kind.parameter("duration") and not params.keys() & {"duration_ns", "bytes", "count"}:
            params["duration_ns"] = DEFAULT_DURATION_NS
        if "duration_ns" in params and "warmup_ns" not in params:
            params["warmup_ns"] = DEFAULT_WARMUP_NS
        return params


def values_of(template: WorkloadTemplate, factors: Factors, column: str) -> tuple[Scalar, ...]:
    """All values that a parameter takes; none where it is not given."""
    setting = template.settings.get(column)
    if setting is None:
        return ()
    return factors.by_key[setting.factor].values if isinstance(setting, Varying) else (setting.value,)


def read_workloads(reader: Reader, factors: Factors, value: Any) -> list[WorkloadTemplate]:
    """Reads the list: each entry a name, or one name with its parameters."""
    templates = []
    items = reader.sequence(("workloads",), value, "workloads")
    if not items and isinstance(value, list):
        reader.problem(("workloads",), f"no workload is given; there are {', '.join(WORKLOADS)}")
    for index, item in enumerate(items):
        template = _read_workload(reader, factors, ("workloads", index), item)
        if template is not None:
            templates.append(template)
    return templates


def check_workload(reader: Reader, template: WorkloadTemplate, params: Params, families: frozenset[Family]) -> None:
    """Notes what the workload itself finds wrong with a combination of levels."""
    wrong = template.kind.check(params, families)
    if wrong is not None:
        reader.problem(_place_of(reader, template, params, wrong), wrong)
    too_long = series_problem(template.kind, params)
    if too_long is not None:
        reader.problem(template.path, too_long)


def series_problem(kind: WorkloadKind, params: Params) -> str | None:
    """What is wrong where a trial's series would have too many intervals; None if nothing is."""
    duration_ns, interval_ns = params.get("duration_ns"), params.get("interval_ns", DEFAULT_INTERVAL_NS)
    if kind.name == "ping" or not isinstance(duration_ns, int) or not isinstance(interval_ns, int):
        return None
    entries = duration_ns // interval_ns
    if entries <= MAX_INTERVALS:
        return None
    return f"a series of {entries} intervals is too long: at most {MAX_INTERVALS}; give a longer interval"


def constant_levels(templates: list[WorkloadTemplate]) -> list[dict[str, Scalar]]:
    """For each template, the parameters that do not vary and yet belong to its levels: what is sent, and what sets it
    apart from other entries of the same kind. How long a trial is does so only where nothing else does."""
    return [
        _setting_apart(
            template, [other for other in templates if other is not template and other.kind is template.kind]
        )
        for template in templates
    ]


def _setting_apart(template: WorkloadTemplate, others: list[WorkloadTemplate]) -> dict[str, Scalar]:
    own = _constants(template)
    differing = {
        column: value
        for column, value in own.items()
        if any(_constants(other).get(column) != value for other in others)
    }
    levels = {
        column: value
        for column, value in own.items()
        if _parameter(template, column).name in _IDENTIFYING
        or (column in differing and not _parameter(template, column).length)
    }
    twins = [other for other in others if _kept(_constants(other), other) == _kept(own, template)]
    return levels | (differing if twins else {})


def _kept(constants: dict[str, Scalar], template: WorkloadTemplate) -> dict[str, Scalar]:
    return {column: value for column, value in constants.items() if not _parameter(template, column).length}


def _constants(template: WorkloadTemplate) -> dict[str, Scalar]:
    return {column: setting.value for column, setting in template.settings.items() if not isinstance(setting, Varying)}


def _parameter(template: WorkloadTemplate, column: str) -> Parameter:
    parameter = template.kind.by_column(column)
    assert parameter is not None, f"{column} was read as a parameter of {template.kind.name}"
    return parameter


def _read_workload(reader: Reader, factors: Factors, path: KeyPath, item: Any) -> WorkloadTemplate | None:
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
    place = (*path, name)
    for keys, value in _flat(reader, place, {} if given is None else given, f"parameters of {name}", list(known)):
        parameter = _packet_rate(known[parameter_name(keys)], known, factors.first_level(value))
        if parameter.column in settings:
            reader.problem((*place, *keys), f"there is a {parameter.name} already, by another key; keep one")
            continue
        own = ((*path, *keys), parameter.column)
        setting = factors.setting((*place, *keys), value, parameter.parse, _suffix(parameter), own)
        if setting is not None:
            settings[parameter.column] = setting
    return WorkloadTemplate(kind=kind, path=place, settings=settings)


DISTRIBUTION = "distribution"
"""What a parameter that has others under it is called among them: `gaps: {distribution: gamma, shape: 2}`."""


def parameter_name(keys: tuple[str, ...]) -> str:
    """`gaps.shape` of `gaps`, `shape`; `gaps` of `gaps`, `distribution`."""
    return keys[0] if keys[1:] in ((), (DISTRIBUTION,)) else ".".join(keys)


def _flat(reader: Reader, place: KeyPath, given: Any, what: str, known: list[str]) -> list[tuple[tuple[str, ...], Any]]:
    """The parameters with the keys that lead to them, those in a mapping too. What is not known is a problem."""
    found: list[tuple[tuple[str, ...], Any]] = []
    alone = [name for name in known if "." not in name]
    for key, value in reader.mapping(place, given, what, alone).items():
        parts = [name.partition(".")[2] for name in known if name.startswith(f"{key}.")]
        if isinstance(value, dict) and parts:
            within = reader.mapping((*place, key), value, key, [DISTRIBUTION, *parts])
            found.extend(((key, part), one) for part, one in within.items() if part in (DISTRIBUTION, *parts))
        elif key in alone:
            found.append(((key,), value))
    return found


def _packet_rate(parameter: Parameter, known: dict[str, Parameter], first: Any) -> Parameter:
    """`rate: 1000pps` means the packet rate."""
    if parameter.kind == "rate" and "packet-rate" in known and isinstance(first, str) and first.endswith("pps"):
        return known["packet-rate"]
    return parameter


def _suffix(parameter: Parameter) -> str:
    suffixes = {"size": "_bytes", "rate": "_bps", "packet-rate": "_pps", "duration": "_ns"}
    return suffixes.get(parameter.kind, "")


def _place_of(reader: Reader, template: WorkloadTemplate, params: Params, message: str) -> KeyPath:
    """The parameter that a message is about, so that its line can be given: the one whose value it begins with."""
    for parameter in template.kind.parameters:
        if parameter.kind == "size" and message.startswith(f"{params.get(parameter.column)} bytes"):
            return (*template.path, parameter.name)
    return template.path


def describe_params(kind: WorkloadKind, params: Params) -> str:
    """Parameters as an experiment would write them, on one line."""
    parts = []
    for column, value in params.items():
        parameter = kind.by_column(column)
        parts.append(f"{parameter.name}: {parameter.format(value)}" if parameter else f"{column}: {shown(value)}")
    return ", ".join(parts)
