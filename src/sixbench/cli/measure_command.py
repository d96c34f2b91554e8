"""`sixbench measure`: traffic to a machine that runs `sixbench serve`, with iperf3's options."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from ..model.addresses import why_no_host
from ..model.errors import UsageError
from .common import note
from .event_logs import event_log
from .measure_arguments import (
    AS_JSON,
    BIDIR,
    BIND,
    BITRATE,
    BLOCKCOUNT,
    BLOCKS,
    BYTES,
    CLIENT,
    CONGESTION,
    FOUR,
    HOST,
    INTERVAL,
    KEY,
    LENGTH,
    MSS,
    NO_DELAY,
    OMIT,
    OUT,
    PARALLEL,
    PMTU,
    PORT,
    REVERSE,
    SETTINGS,
    SIX,
    SKIP_RX_COPY,
    TIME,
    UDP,
    WINDOW,
    WORKLOAD,
    ZEROCOPY,
)
from .measure_request import MeasureRequest
from .options import EVENTS


def measure(
    host_: str | None = HOST,
    client: str | None = CLIENT,
    port: int = PORT,
    time_: str | None = TIME,
    interval: str | None = INTERVAL,
    omit: str | None = OMIT,
    parallel: int | None = PARALLEL,
    reverse: bool = REVERSE,
    bidir: bool = BIDIR,
    udp: bool = UDP,
    bitrate: str | None = BITRATE,
    length: str | None = LENGTH,
    bytes_: str | None = BYTES,
    blockcount: int | None = BLOCKCOUNT,
    window: str | None = WINDOW,
    mss: str | None = MSS,
    congestion: str | None = CONGESTION,
    no_delay: bool = NO_DELAY,
    zerocopy: bool = ZEROCOPY,
    skip_rx_copy: bool = SKIP_RX_COPY,
    bind: str | None = BIND,
    four: bool = FOUR,
    six: bool = SIX,
    blocks: int | None = BLOCKS,
    pmtu: bool = PMTU,
    workload: str | None = WORKLOAD,
    set_: list[str] = SETTINGS,
    key: Path | None = KEY,
    out: Path | None = OUT,
    events: Path | None = EVENTS,
    json: bool = AS_JSON,
) -> int:
    """Measure to a machine that runs `sixbench serve`.

    It needs no experiment file. The options are those of iperf3.
    """
    from ..plan.measure_options import MeasureOptions

    options = MeasureOptions(
        time=time_,
        interval=interval,
        omit=omit,
        parallel=parallel,
        reverse=reverse,
        bidir=bidir,
        udp=udp,
        pmtu=pmtu,
        bitrate=bitrate,
        length=length,
        bytes=bytes_,
        blockcount=blockcount,
        window=window,
        mss=mss,
        congestion=congestion,
        nodelay=no_delay,
        zerocopy=zerocopy,
        skip_rx_copy=skip_rx_copy,
        workload=workload,
        settings=tuple(set_),
    )
    request = MeasureRequest(
        host=_host(host_, client),
        port=port,
        bind=bind,
        key=key,
        families=(*((4,) if four else ()), *((6,) if six else ())),
        options=options,
        blocks=blocks,
        out=out,
        events=events,
        as_json=json,
    )
    return _measure(request)


def _measure(request: MeasureRequest) -> int:
    """Measures, and prints each trial and the conclusion."""
    from ..agent import AgentHub, find_agent
    from ..bench.machines import Machines, Target, find_addresses
    from ..bench.other_runs import measuring
    from ..plan.measure_experiment import MEASUREMENT, as_experiment
    from ..plan.measure_options import workload_of_options
    from .measuring import Measuring
    from .running import tell

    workload_of_options(
        request.options, request.families or (6,)
    )  # wrong options are reported before a name is resolved
    target = Target(host=request.host, port=request.port, bind=request.bind, key=request.key)
    ways = find_addresses(target, request.families)
    with (
        event_log(request.events) as log,
        AgentHub(find_agent()) as hub,
        Machines(hub, target, ways) as machines,
        measuring(MEASUREMENT, wait=False, report=tell) as presence,
    ):
        for why in machines.passed_over:
            note(f"not over that way: {why}")
        families = tuple(machines.addresses)
        workload = workload_of_options(request.options, families)
        experiment = as_experiment(workload, request.host, families, request.blocks, _as_comment())
        return Measuring(request, experiment, machines, presence, log).run()


def _host(argument: str | None, option: str | None) -> str:
    """The host, given once. Raises `UsageError`."""
    given = [host for host in (argument, option) if host is not None]
    if len(given) != 1:
        what = (
            "name the host once, not both as an argument and by -c" if given else "name a host: sixbench measure HOST"
        )
        raise UsageError(what)
    for name in given[0].split(","):
        wrong = why_no_host(name)
        if wrong is not None:
            raise UsageError(f"measure {wrong}; give the port with --port")
    return given[0]


def _as_comment() -> str:
    return f"# {shlex.join(['sixbench', *sys.argv[1:]])}\n"
