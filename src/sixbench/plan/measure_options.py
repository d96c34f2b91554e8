"""Makes a workload of the options of `sixbench measure`, which are those of iperf3.

Numbers are written as for iperf3 or as in experiments. For iperf3, sizes count in powers of 1024 (`128K` is 128 KiB),
rates in powers of 1000 (`100M` is 100 Mbit/s), and times in seconds. In experiments they have units (`128KiB`,
`100Mbit`, `500ms`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address

from ..model import units
from ..model.errors import ExperimentError, UsageError
from ..model.parameter import Parameter, Scalar
from ..model.quoting import printable
from ..model.topology import Family
from ..model.workload import Workload, WorkloadKind
from ..model.workloads import WORKLOADS, pmtu, tcp_stream, udp_stream
from ..model.workloads.traffic_models import model_in
from .reader import suggest
from .yaml_source import parse_yaml

DEFAULT_DURATION_NS = 10 * 10**9
"""The default of -t in iperf3."""

DEFAULT_COMPARED_DURATION_NS = 2 * 10**9
"""Length of each trial where two families are compared. Many short trials tell more than few long ones."""

DEFAULT_INTERVAL_NS = 10**9
"""The default of -i in iperf3."""

DEFAULT_UDP_RATE_BPS = 10**6
"""The default of -b with -u in iperf3."""

DEFAULT_DATAGRAM_BYTES = 1400
"""The same over both families, unlike in iperf3. It fits in one packet of 1500 bytes over either (RFC 791, RFC
8200)."""

_IPERF3_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+)([kKmMgGtT]?)")
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


@dataclass(frozen=True, kw_only=True)
class MeasureOptions:
    """The options as the command line has them; None or false if they are not given.

    Attributes:
        workload: the name of a workload other than those that `udp` and `pmtu` choose.
        settings: more parameters, each `name=value`.
    """

    time: str | None = None
    interval: str | None = None
    omit: str | None = None
    parallel: int | None = None
    reverse: bool = False
    bidir: bool = False
    udp: bool = False
    pmtu: bool = False
    bitrate: str | None = None
    length: str | None = None
    bytes: str | None = None
    blockcount: int | None = None
    window: str | None = None
    mss: str | None = None
    congestion: str | None = None
    nodelay: bool = False
    zerocopy: bool = False
    skip_rx_copy: bool = False
    workload: str | None = None
    settings: tuple[str, ...] = ()


def workload_of_options(options: MeasureOptions, families: tuple[Family, ...]) -> Workload:
    """The workload, with the defaults of `measure`. Raises `UsageError`, which names the option."""
    kind = _kind(options)
    params = _Params(kind)
    for option, name, value in _given(options, kind):
        params.put(option, name, value)
    for setting in options.settings:
        params.set(setting)
    _defaults(kind, params.values, options, compared=len(families) > 1)
    if (varying := model_in(params.values)) is not None:
        raise UsageError(
            f"--set {varying}: a server takes only equal datagrams at equal distances; leave {varying} out and give a "
            "rate (-b), or write an experiment, whose datagrams may differ (`sixbench new` writes one to start from)"
        )
    if kind.moves_by is not None and kind.moves_by.of(params.values):
        name = kind.moves_by.name
        raise UsageError(
            f"--set {name}: only in an experiment a client loses its address, by an event with takes; leave {name} out "
            "(`sixbench new` writes an experiment to start from)"
        )
    wrong = kind.wrong(params.values, frozenset(families))
    if wrong is not None:
        raise UsageError(f"{kind.name} cannot be measured like this: {wrong.text}")
    return Workload(kind=kind.name, params=params.values)


def read_rate(option: str, text: str) -> int:
    """The bits per second that an option gives, in the notation of iperf3 or of experiments. Raises `UsageError`."""
    return _read(option, text, _rate, units.parse_rate)


def read_seconds(option: str, text: str) -> int:
    """The seconds that an option gives, in the notation of iperf3 or of experiments, rounded up to whole ones. Raises
    `UsageError`."""
    return -(-_read(option, text, _seconds, units.parse_duration) // 10**9)


def without_mapping(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address that an IPv4-mapped one stands for (RFC 4291 section 2.5.5.2); any other one as it is. Packets
    to it are IPv4."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return address if mapped is None else mapped


def _read(option: str, text: str, convert: Callable[[str], str], parse: Callable[[object], int]) -> int:
    try:
        return parse(convert(text))
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from error


def _kind(options: MeasureOptions) -> WorkloadKind:
    chosen = {"-u": udp_stream.KIND.name} if options.udp else {}
    if options.pmtu:
        chosen["--pmtu"] = pmtu.KIND.name
    if options.workload is not None:
        if options.workload not in WORKLOADS:
            hint = suggest(options.workload, WORKLOADS)
            raise UsageError(f"--workload {printable(options.workload)}: there is no such workload; {hint}")
        if (needed := WORKLOADS[options.workload].needs_network) is not None:
            raise UsageError(f"--workload {options.workload} needs {needed}; {_instead(WORKLOADS[options.workload])}")
        chosen["--workload"] = options.workload
    if len(set(chosen.values())) > 1:
        raise UsageError(f"{' and '.join(chosen)} ask for different workloads; leave one out")
    return WORKLOADS[next(iter(chosen.values()), tcp_stream.KIND.name)]


def _instead(kind: WorkloadKind) -> str:
    """The words for a workload that `measure` cannot do."""
    words = f"only experiments have it, and `sixbench new` writes one to start from (workload: {kind.name})"
    return words if kind.instead is None else f"{words}. Here, {kind.instead}"


def _given(options: MeasureOptions, kind: WorkloadKind) -> list[tuple[str, str, str]]:
    """For each option: the parameter that it means, and its value as an experiment would write it."""
    if options.reverse and options.bidir:
        raise UsageError("-R and --bidir exclude each other; give one of them")
    at_once = "streams" if kind.parameter("parallel") is None else "parallel"
    ends = {"-t": options.time, "-n": options.bytes, "-k": options.blockcount}
    given = [option for option, value in ends.items() if value is not None]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} exclude each other; give one of them")
    size_of = next(
        (parameter.name for parameter in kind.parameters if parameter.identifying and parameter.kind == "size"),
        "message",
    )
    sentences: list[tuple[str, str, str | None, Callable[[str], str]]] = [
        ("-t", "duration", options.time, _seconds),
        ("-O", "warmup", options.omit, _seconds),
        ("-P", at_once, None if options.parallel is None else str(options.parallel), str),
        ("-R", "direction", "reverse" if options.reverse else None, str),
        ("--bidir", "direction", "both" if options.bidir else None, str),
        ("-l", size_of, options.length, _size),
        ("-n", "bytes", options.bytes, _size),
        ("-k", "count", None if options.blockcount is None else str(options.blockcount), str),
        ("-w", "sndbuf", options.window, _size),
        ("-w", "rcvbuf", options.window, _size),
        ("-M", "mss", options.mss, _size),
        ("-C", "congestion", options.congestion, str),
        ("-N", "nodelay", "true" if options.nodelay else None, str),
        ("-Z", "send", "zerocopy" if options.zerocopy else None, str),
        ("--skip-rx-copy", "receive", "truncate" if options.skip_rx_copy else None, str),
    ]
    if options.interval is not None and _number(options.interval) != 0:
        sentences.append(("-i", "interval", options.interval, _seconds))
    if options.bitrate is not None and _number(options.bitrate) != 0:
        sentences.append(("-b", "rate", options.bitrate, _rate))
    return [(option, name, convert(text)) for option, name, text, convert in sentences if text is not None]


def _defaults(kind: WorkloadKind, params: dict[str, Scalar], options: MeasureOptions, *, compared: bool) -> None:
    timed = kind.parameter("duration") is not None
    if timed and not params.keys() & {"duration_ns", "bytes", "count"}:
        params["duration_ns"] = DEFAULT_COMPARED_DURATION_NS if compared else DEFAULT_DURATION_NS
    params.update(kind.with_lengths(params))
    if kind.series_interval is not None:
        params.setdefault("interval_ns", DEFAULT_INTERVAL_NS)
    if kind is udp_stream.KIND:
        params.setdefault("datagram_bytes", DEFAULT_DATAGRAM_BYTES)
        if options.bitrate is None and not params.keys() & {"rate_bps", "rate_pps"}:
            params["rate_bps"] = DEFAULT_UDP_RATE_BPS


class _Params:
    """Parameters by column, as they come in."""

    def __init__(self, kind: WorkloadKind) -> None:
        self.kind = kind
        self.values: dict[str, Scalar] = {}

    def put(self, option: str, name: str, text: str) -> None:
        """Sets what an option means."""
        parameter = self.kind.parameter(name)
        if parameter is None:
            raise UsageError(f"{option}: {self.kind.name} has no {name}; it has {self._names()}")
        value: object = text
        if parameter.kind == "count":
            value = int(text)
        elif parameter.kind == "flag":
            value = text == "true"
        self._parse(f"{option}: ", parameter, value)

    def set(self, setting: str) -> None:
        """Sets what `--set NAME=VALUE` says. The value is written as in an experiment."""
        name, equals, text = setting.partition("=")
        where = f"--set {printable(setting)}: "
        if not equals or not name:
            raise UsageError(f"{where}write it as name=value, such as --set streams=4")
        parameter = self.kind.parameter(name)
        if parameter is None:
            hint = suggest(name, [known.name for known in self.kind.parameters])
            raise UsageError(f'{where}{self.kind.name} has no "{printable(name)}"; {hint}')
        try:
            value = parse_yaml(text, "value").data if text.strip() else None
        except ExperimentError as error:
            raise UsageError(f"{where}{error.problems[0].message}") from error
        self._parse(where, parameter, value)

    def _parse(self, where: str, parameter: Parameter, value: object) -> None:
        if parameter.kind == "file":
            raise UsageError(f"{where}{parameter.name} is a file, and only experiments can name files")
        if parameter.kind == "program":
            raise UsageError(
                f"{where}{parameter.name} is a program in a node, which only experiments have; `sixbench new` writes "
                "one to start from"
            )
        packets = self.kind.parameter("packet-rate")
        if parameter.name == "rate" and packets is not None and isinstance(value, str) and value.endswith("pps"):
            parameter = packets
        if parameter.column in self.values:
            raise UsageError(f"{where}{parameter.name} is given twice; keep one")
        try:
            self.values[parameter.column] = parameter.parse(value)
        except ValueError as error:
            raise UsageError(f"{where}{error}") from error

    def _names(self) -> str:
        return ", ".join(parameter.name for parameter in self.kind.parameters)


def _seconds(text: str) -> str:
    return f"{text}s" if _number(text) is not None and text[-1].isdigit() else text


def _size(text: str) -> str:
    """Reads a size as `unit_atoi` of iperf3 does: in powers of 1024."""
    return _with_unit(text, 1024, "B")


def _rate(text: str) -> str:
    """Reads a rate as `unit_atof_rate` of iperf3 does: in powers of 1000."""
    return _with_unit(text, 1000, "bit")


def _with_unit(text: str, base: int, unit: str) -> str:
    """The notation of iperf3 in that of experiments. Anything else stays as it is, for the parameter to judge."""
    number = _number(text, base)
    return text if number is None else f"{number.normalize():f}{unit}"


def _number(text: str, base: int = 1000) -> Decimal | None:
    """The number that iperf3 would read; None where it would not."""
    result = _IPERF3_NUMBER.fullmatch(text) if len(text) <= 30 else None
    return None if result is None else Decimal(result[1]) * base ** _POWERS[result[2].lower()]
