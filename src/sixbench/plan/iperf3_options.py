"""The options of iperf3 that `sixbench measure` does not have, each with what to write instead.

The options are those of iperf 3.18, in the order of its manual page.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Iperf3Option:
    """An option of iperf3 that is not an option of ours.

    Attributes:
        names: short and long, with their dashes.
        takes_value: whether iperf3 takes the next word as its value.
        instead: what to write instead, or why there is nothing to write.
        is_harmless: whether the same is measured without it, so that it may be left out.
    """

    names: tuple[str, ...]
    instead: str
    takes_value: bool = False
    is_harmless: bool = False


_SERVER = "it belongs to the server; there write: sixbench serve"
_TRANSPORT = "only TCP and UDP are measured"
_AUTHENTICATION = "clients prove who they are with a key: make one with sixbench key FILE, and give it with --key FILE"
_TRAFFIC_CLASS = "packets leave with the class 0, and nothing changes that yet"

OTHER_OPTIONS: tuple[Iperf3Option, ...] = (
    Iperf3Option(
        names=("-f", "--format"),
        takes_value=True,
        instead="each number is printed with the unit that fits it; -J has bits per second",
        is_harmless=True,
    ),
    Iperf3Option(
        names=("-I", "--pidfile"),
        takes_value=True,
        instead='leave it out; in a shell "$!" is the process of the last background command',
    ),
    Iperf3Option(names=("-F", "--file"), takes_value=True, instead="what is sent comes from memory; leave it out"),
    Iperf3Option(
        names=("-A", "--affinity"), takes_value=True, instead="write: taskset --cpu-list N sixbench measure ..."
    ),
    Iperf3Option(
        names=("-V", "--verbose"), instead="what it would add is always printed; -J has everything", is_harmless=True
    ),
    Iperf3Option(
        names=("--json-stream",),
        instead="write -J for one document at the end; on a terminal, intervals are shown as they arrive",
    ),
    Iperf3Option(names=("--json-stream-full-output",), instead="write -J, which has everything"),
    Iperf3Option(names=("--logfile",), takes_value=True, instead="redirect the output: sixbench measure ... > FILE"),
    Iperf3Option(names=("--forceflush",), instead="each line is printed at once", is_harmless=True),
    Iperf3Option(
        names=("--timestamps",),
        instead='pipe the output through "ts"; trials in -J and --out carry the time at which they began',
    ),
    Iperf3Option(names=("--rcv-timeout",), takes_value=True, instead="a trial ends 15 s beyond its time at the latest"),
    Iperf3Option(names=("--snd-timeout",), takes_value=True, instead="a trial ends 15 s beyond its time at the latest"),
    Iperf3Option(names=("--cntl-ka",), instead="a server that has gone is noticed without it", is_harmless=True),
    Iperf3Option(names=("-m", "--mptcp"), instead=_TRANSPORT),
    Iperf3Option(names=("-d", "--debug"), instead="there is nothing more to print; -J has everything"),
    Iperf3Option(names=("-v", "--version"), instead="write: sixbench --version"),
    Iperf3Option(names=("-s", "--server"), instead=_SERVER),
    Iperf3Option(names=("-D", "--daemon"), instead=f"{_SERVER} ... &"),
    Iperf3Option(names=("-1", "--one-off"), instead=f"{_SERVER} --one-off"),
    Iperf3Option(names=("--server-bitrate-limit",), takes_value=True, instead=f"{_SERVER} --max-rate RATE"),
    Iperf3Option(names=("--server-max-duration",), takes_value=True, instead=f"{_SERVER} --max-duration S"),
    Iperf3Option(names=("--idle-timeout",), takes_value=True, instead=f"{_SERVER}, which has no such limit"),
    Iperf3Option(names=("--rsa-private-key-path",), takes_value=True, instead=_AUTHENTICATION),
    Iperf3Option(names=("--authorized-users-path",), takes_value=True, instead=_AUTHENTICATION),
    Iperf3Option(names=("--time-skew-threshold",), takes_value=True, instead=_AUTHENTICATION),
    Iperf3Option(names=("--use-pkcs1-padding",), instead=_AUTHENTICATION),
    Iperf3Option(names=("--sctp",), instead=_TRANSPORT),
    Iperf3Option(names=("-X", "--xbind"), takes_value=True, instead=f"it belongs to SCTP; {_TRANSPORT}"),
    Iperf3Option(names=("--nstreams",), takes_value=True, instead=f"it belongs to SCTP; {_TRANSPORT}"),
    Iperf3Option(
        names=("--connect-timeout",), takes_value=True, instead="write: timeout 5 sixbench measure ... for 5 s in all"
    ),
    Iperf3Option(
        names=("--pacing-timer",),
        takes_value=True,
        instead="datagrams have an absolute schedule, which needs no timer",
        is_harmless=True,
    ),
    Iperf3Option(
        names=("--fq-rate",), takes_value=True, instead="TCP has no rate of its own here; -u -b RATE has one for UDP"
    ),
    Iperf3Option(
        names=("--cport",),
        takes_value=True,
        instead="the kernel chooses the ports of data; -B ADDR chooses the address",
    ),
    Iperf3Option(names=("-S", "--tos"), takes_value=True, instead=_TRAFFIC_CLASS),
    Iperf3Option(names=("--dscp",), takes_value=True, instead=_TRAFFIC_CLASS),
    Iperf3Option(
        names=("-L", "--flowlabel"), takes_value=True, instead="the kernel chooses the flow label of each connection"
    ),
    Iperf3Option(
        names=("-T", "--title"), takes_value=True, instead="lines have no title; --out DIR keeps a run under a name"
    ),
    Iperf3Option(
        names=("--extra-data",), takes_value=True, instead="the document has no place for it; --out DIR keeps the run"
    ),
    Iperf3Option(
        names=("--get-server-output",), instead="what the server counted is always in the results", is_harmless=True
    ),
    Iperf3Option(
        names=("--udp-counters-64bit",), instead="counters of datagrams are always long enough", is_harmless=True
    ),
    Iperf3Option(names=("--repeating-payload",), instead="what is sent comes from memory; leave it out"),
    Iperf3Option(names=("--dont-fragment",), instead="write: -u --set df=set"),
    Iperf3Option(names=("--gsro",), instead="write: -u --set segmentation=always"),
    Iperf3Option(names=("--username",), takes_value=True, instead=_AUTHENTICATION),
    Iperf3Option(names=("--rsa-public-key-path",), takes_value=True, instead=_AUTHENTICATION),
)

OTHER_BY_NAME: dict[str, Iperf3Option] = {name: option for option in OTHER_OPTIONS for name in option.names}
