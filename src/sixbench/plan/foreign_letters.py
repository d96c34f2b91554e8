"""The options of iperf3 that `sixbench measure` does not have, each with what to write instead.

The options are those of iperf 3.18, in the order of its manual page.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ForeignLetter:
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

FOREIGN_LETTERS: tuple[ForeignLetter, ...] = (
    ForeignLetter(
        names=("-f", "--format"),
        takes_value=True,
        instead="each number is printed with the unit that fits it; -J has bits per second",
        is_harmless=True,
    ),
    ForeignLetter(
        names=("-I", "--pidfile"),
        takes_value=True,
        instead='leave it out; in a shell "$!" is the process of the last background command',
    ),
    ForeignLetter(names=("-F", "--file"), takes_value=True, instead="what is sent comes from memory; leave it out"),
    ForeignLetter(
        names=("-A", "--affinity"), takes_value=True, instead="write: taskset --cpu-list N sixbench measure ..."
    ),
    ForeignLetter(
        names=("-V", "--verbose"), instead="what it would add is always printed; -J has everything", is_harmless=True
    ),
    ForeignLetter(
        names=("--json-stream",),
        instead="write -J for one document at the end; on a terminal, intervals are shown as they arrive",
    ),
    ForeignLetter(names=("--json-stream-full-output",), instead="write -J, which has everything"),
    ForeignLetter(names=("--logfile",), takes_value=True, instead="redirect the output: sixbench measure ... > FILE"),
    ForeignLetter(names=("--forceflush",), instead="each line is printed at once", is_harmless=True),
    ForeignLetter(
        names=("--timestamps",),
        instead='pipe the output through "ts"; trials in -J and --out carry the time at which they began',
    ),
    ForeignLetter(
        names=("--rcv-timeout",), takes_value=True, instead="a trial ends 15 s beyond its time at the latest"
    ),
    ForeignLetter(
        names=("--snd-timeout",), takes_value=True, instead="a trial ends 15 s beyond its time at the latest"
    ),
    ForeignLetter(names=("--cntl-ka",), instead="a server that has gone is noticed without it", is_harmless=True),
    ForeignLetter(names=("-m", "--mptcp"), instead=_TRANSPORT),
    ForeignLetter(names=("-d", "--debug"), instead="there is nothing more to print; -J has everything"),
    ForeignLetter(names=("-v", "--version"), instead="write: sixbench --version"),
    ForeignLetter(names=("-s", "--server"), instead=_SERVER),
    ForeignLetter(names=("-D", "--daemon"), instead=f"{_SERVER} ... &"),
    ForeignLetter(names=("-1", "--one-off"), instead=f"{_SERVER} --one-off"),
    ForeignLetter(names=("--server-bitrate-limit",), takes_value=True, instead=f"{_SERVER} --max-rate RATE"),
    ForeignLetter(names=("--server-max-duration",), takes_value=True, instead=f"{_SERVER} --max-duration S"),
    ForeignLetter(names=("--idle-timeout",), takes_value=True, instead=f"{_SERVER}, which has no such limit"),
    ForeignLetter(names=("--rsa-private-key-path",), takes_value=True, instead=_AUTHENTICATION),
    ForeignLetter(names=("--authorized-users-path",), takes_value=True, instead=_AUTHENTICATION),
    ForeignLetter(names=("--time-skew-threshold",), takes_value=True, instead=_AUTHENTICATION),
    ForeignLetter(names=("--use-pkcs1-padding",), instead=_AUTHENTICATION),
    ForeignLetter(names=("--sctp",), instead=_TRANSPORT),
    ForeignLetter(names=("-X", "--xbind"), takes_value=True, instead=f"it belongs to SCTP; {_TRANSPORT}"),
    ForeignLetter(names=("--nstreams",), takes_value=True, instead=f"it belongs to SCTP; {_TRANSPORT}"),
    ForeignLetter(
        names=("--connect-timeout",), takes_value=True, instead="write: timeout 5 sixbench measure ... for 5 s in all"
    ),
    ForeignLetter(
        names=("--pacing-timer",),
        takes_value=True,
        instead="datagrams have an absolute schedule, which needs no timer",
        is_harmless=True,
    ),
    ForeignLetter(
        names=("--fq-rate",), takes_value=True, instead="TCP has no rate of its own here; -u -b RATE has one for UDP"
    ),
    ForeignLetter(
        names=("--cport",),
        takes_value=True,
        instead="the kernel chooses the ports of data; -B ADDR chooses the address",
    ),
    ForeignLetter(names=("-S", "--tos"), takes_value=True, instead=_TRAFFIC_CLASS),
    ForeignLetter(names=("--dscp",), takes_value=True, instead=_TRAFFIC_CLASS),
    ForeignLetter(
        names=("-L", "--flowlabel"), takes_value=True, instead="the kernel chooses the flow label of each connection"
    ),
    ForeignLetter(
        names=("-T", "--title"), takes_value=True, instead="lines have no title; --out DIR keeps a run under a name"
    ),
    ForeignLetter(
        names=("--extra-data",), takes_value=True, instead="the document has no place for it; --out DIR keeps the run"
    ),
    ForeignLetter(
        names=("--get-server-output",), instead="what the server counted is always in the results", is_harmless=True
    ),
    ForeignLetter(
        names=("--udp-counters-64bit",), instead="counters of datagrams are always long enough", is_harmless=True
    ),
    ForeignLetter(names=("--repeating-payload",), instead="what is sent comes from memory; leave it out"),
    ForeignLetter(names=("--dont-fragment",), instead="write: -u --set df=set"),
    ForeignLetter(names=("--gsro",), instead="write: -u --set segmentation=always"),
    ForeignLetter(names=("--username",), takes_value=True, instead=_AUTHENTICATION),
    ForeignLetter(names=("--rsa-public-key-path",), takes_value=True, instead=_AUTHENTICATION),
)

FOREIGN_BY_NAME: dict[str, ForeignLetter] = {name: letter for letter in FOREIGN_LETTERS for name in letter.names}
