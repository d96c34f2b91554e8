"""`sixbench theory`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import typer

from ..plan.changes import ExperimentChanges
from . import completions
from .common import print_json, say
from .fragments_table import FragmentsRequest, print_fragments
from .options import JSON
from .tables import print_table

if TYPE_CHECKING:
    from ..theory import FullPacket, Row


EXPERIMENT: str | None = typer.Option(
    None,
    "--experiment",
    metavar="FILE",
    help="An experiment file, or the name of a shipped one: print the packets that datagrams become on each link of "
    "its paths.",
    autocompletion=completions.experiments,
)
DATAGRAM: list[str] = typer.Option(
    [],
    "--datagram",
    metavar="SIZE",
    help="With --experiment: size of the UDP payload; default 1470B; may be repeated.",
)
DF: str | None = typer.Option(
    None,
    "--df",
    metavar="clear|set|probe|kernel|atomic",
    help="With --experiment: the sender's policy for DF; default: clear.",
    autocompletion=completions.df_policies,
)


def theory(
    path: list[str] = typer.Option(
        [],
        "--path",
        metavar="PATH",
        help="A mechanism such as native6, or with --experiment one of its paths; may be repeated. Default: native4 "
        "and native6, or all paths of the experiment.",
        autocompletion=completions.mechanisms,
    ),
    protocol: list[str] = typer.Option(
        [], "--protocol", metavar="tcp|udp", help="tcp or udp; may be repeated; default: both."
    ),
    mtu: list[int] = typer.Option([1500], "--mtu", metavar="BYTES", help="IP MTU of the link; may be repeated."),
    size: list[str] = typer.Option(
        [],
        "--size",
        metavar="SIZE",
        help="Size of a message, such as 1KiB; may be repeated. Default: the size that fills one packet.",
    ),
    rate: str = typer.Option("100Mbit", "--rate", metavar="RATE", help="Rate of the link."),
    mss: str | None = typer.Option(
        None, "--mss", metavar="SIZE", help="Largest segment of TCP (TCP_MAXSEG), options included."
    ),
    timestamps: bool = typer.Option(
        True, "--timestamps/--no-timestamps", help="Whether TCP carries timestamps (12 bytes), as Linux does."
    ),
    table_1: bool = typer.Option(False, "--table-1", help="Print Table 1 of raicu-stack-rtt as the paper has it."),
    experiment: str | None = EXPERIMENT,
    datagram: list[str] = DATAGRAM,
    df: str | None = DF,
    set_: list[str] = typer.Option(
        [], "--set", metavar="A.B=C", help="With --experiment: change a value of the experiment; may be repeated."
    ),
    json: bool = JSON,
) -> None:
    """Print header overhead, efficiency and goodput limits by theory.

    With --experiment it prints the fragments that a datagram becomes.
    """
    from ..model.errors import UsageError

    if experiment is not None:
        fragments = FragmentsRequest(
            experiment=experiment,
            changes=ExperimentChanges(assignments=tuple(set_)),
            paths=tuple(path),
            datagrams=tuple(datagram),
            df=df or "clear",
        )
        print_fragments(fragments, as_json=json)
    elif datagram or df is not None or set_:
        raise UsageError("--datagram, --df and --set concern the paths of an experiment; name it with --experiment")
    elif table_1:
        _tell_table_1(as_json=json)
    else:
        request = TheoryRequest(
            mechanisms=tuple(path),
            protocols=tuple(protocol),
            mtus_bytes=tuple(mtu),
            sizes=tuple(size),
            rate=rate,
            mss=mss,
            timestamps=timestamps,
        )
        _tell_rows(request, as_json=json)


@dataclass(frozen=True, kw_only=True)
class TheoryRequest:
    """Packets on one link, by theory.

    Attributes:
        mechanisms: empty: `native4` and `native6`.
        protocols: `tcp` or `udp`; empty: both.
        sizes: of a message, as text; empty: that which fills one packet.
        rate: of the link, as text.
        mss: the largest segment of TCP, as text; None: that of the link's MTU.
        timestamps: whether TCP carries them.
    """

    mechanisms: tuple[str, ...]
    protocols: tuple[str, ...]
    mtus_bytes: tuple[int, ...]
    sizes: tuple[str, ...]
    rate: str
    mss: str | None
    timestamps: bool


def _tell_table_1(*, as_json: bool) -> None:
    from ..theory import raicu_table_1

    columns = raicu_table_1()
    if as_json:
        print_json({"schema": "sixbench.theory/1", "columns": [asdict(column) for column in columns]})
    else:
        _print_table_1(columns)


def _tell_rows(request: TheoryRequest, *, as_json: bool) -> None:
    rows = _rows(request)
    if as_json:
        from ..model.units import parse_rate

        rate, rate_bps = request.rate, parse_rate(request.rate)
        predictions = [asdict(row) for row in rows]
        print_json({"schema": "sixbench.theory/1", "rate": rate, "rate_bps": rate_bps, "rows": predictions})
    else:
        _print_rows(rows, request.rate)


def _rows(request: TheoryRequest) -> list[Row]:
    """A row for each path, protocol, MTU and size. Raises `UsageError`."""
    from ..model.errors import UsageError
    from ..model.units import parse_rate, parse_size
    from ..theory import Transport, table

    transports: list[Transport] = []
    for protocol in request.protocols or ("tcp", "udp"):
        if protocol not in ("tcp", "udp"):
            raise UsageError(f"--protocol {protocol}: there are tcp and udp")
        transports.append("tcp" if protocol == "tcp" else "udp")
    rows: list[Row] = []
    try:
        for mtu_bytes in request.mtus_bytes:
            rows += table(
                mechanisms=request.mechanisms or ("native4", "native6"),
                transports=transports,
                sizes_bytes=[parse_size(size) for size in request.sizes] or [None],
                mtu_bytes=mtu_bytes,
                rate_bps=parse_rate(request.rate),
                mss_bytes=None if request.mss is None else parse_size(request.mss),
                timestamps=request.timestamps,
            )
    except ValueError as error:
        raise UsageError(f"theory: {error}") from error
    return rows


def _print_rows(rows: list[Row], rate: str) -> None:
    from ..model.units import format_size, scale

    heads = [
        "path",
        "protocol",
        "MTU",
        "payload",
        "packets",
        "headers",
        "on the wire",
        "overhead",
        "efficiency",
        f"goodput limit at {rate}",
    ]
    cells = []
    for row in rows:
        limit, unit = scale(row.goodput_limit_bps or 0.0, "bit/s")
        cells.append(
            [
                *(row.mechanism, row.transport, str(row.mtu_bytes), format_size(row.payload_bytes), str(row.packets)),
                *(
                    f"{row.header_bytes} B",
                    f"{row.wire_bytes} B",
                    f"{100 * row.overhead_ratio:.2f} %",
                    f"{100 * row.efficiency_ratio:.2f} %",
                ),
                f"{limit:.3f} {unit}",
            ]
        )
    print_table(heads, cells)
    say("")
    say("Overhead is headers over payload. Efficiency is payload over all that the wire carries, with FCS and gap.")


def _print_table_1(columns: list[FullPacket]) -> None:
    """Prints the table in the layout of the paper."""
    heads = ["", *(f"{'IPv4' if c.mechanism == 'native4' else 'IPv6'} {c.transport.upper()}" for c in columns)]
    layout = [
        ("TCP/UDP payload", "payload_bytes"),
        ("TCP/UDP header", "transport_header_bytes"),
        ("IP payload", "ip_payload_bytes"),
        ("IP header", "ip_header_bytes"),
        ("Ethernet header", "ethernet_header_bytes"),
        ("Total Ethernet MTU", "total_bytes"),
    ]
    cells = [[label, *(str(getattr(column, field)) for column in columns)] for label, field in layout]
    cells.append(["Overhead %", *(f"{100 * column.overhead_ratio:.2f}%" for column in columns)])
    print_table(heads, cells)
