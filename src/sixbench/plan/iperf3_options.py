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


def _flag(instead: str, *names: str, is_harmless: bool = False) -> Iperf3Option:
    return Iperf3Option(names=names, instead=instead, is_harmless=is_harmless)


def _valued(instead: str, *names: str, is_harmless: bool = False) -> Iperf3Option:
    return Iperf3Option(names=names, instead=instead, is_harmless=is_harmless, takes_value=True)


_SERVER = "it belongs to the server; there write: sixbench serve"
_TRANSPORT = "only TCP and UDP are measured"
_AUTHENTICATION = "clients authenticate with a key: make one with sixbench key FILE, and give it with --key FILE"
_TRAFFIC_CLASS = "packets leave with the class 0, and nothing changes that yet"

OTHER_OPTIONS: tuple[Iperf3Option, ...] = (
    _valued(
        "each number is printed with the unit that fits it; -J has bits per second", "-f", "--format", is_harmless=True
    ),
    _valued('leave it out; in a shell "$!" is the process of the last background command', "-I", "--pidfile"),
    _valued("the data always comes from memory; leave it out", "-F", "--file"),
    _valued("write: taskset --cpu-list N sixbench measure ...", "-A", "--affinity"),
    _flag("its additions are always printed; -J has everything", "-V", "--verbose", is_harmless=True),
    _flag("write -J for one document at the end; on a terminal, intervals are shown as they arrive", "--json-stream"),
    _flag("write -J, which has everything", "--json-stream-full-output"),
    _valued("redirect the output: sixbench measure ... > FILE", "--logfile"),
    _flag("each line is printed at once", "--forceflush", is_harmless=True),
    _flag('pipe the output through "ts"; trials in -J and --out carry the time at which they began', "--timestamps"),
    _valued("a trial ends 15 s beyond its time at the latest", "--rcv-timeout"),
    _valued("a trial ends 15 s beyond its time at the latest", "--snd-timeout"),
    _flag("a lost server is noticed without it", "--cntl-ka", is_harmless=True),
    _flag(_TRANSPORT, "-m", "--mptcp"),
    _flag("there is nothing more to print; -J has everything", "-d", "--debug"),
    _flag("write: sixbench --version", "-v", "--version"),
    _flag(_SERVER, "-s", "--server"),
    _flag(f"{_SERVER} ... &", "-D", "--daemon"),
    _flag(f"{_SERVER} --one-off", "-1", "--one-off"),
    _valued(f"{_SERVER} --max-rate RATE", "--server-bitrate-limit"),
    _valued(f"{_SERVER} --max-duration S", "--server-max-duration"),
    _valued(f"{_SERVER}, which has no such limit", "--idle-timeout"),
    _valued(_AUTHENTICATION, "--rsa-private-key-path"),
    _valued(_AUTHENTICATION, "--authorized-users-path"),
    _valued(_AUTHENTICATION, "--time-skew-threshold"),
    _flag(_AUTHENTICATION, "--use-pkcs1-padding"),
    _flag(_TRANSPORT, "--sctp"),
    _valued(f"it belongs to SCTP; {_TRANSPORT}", "-X", "--xbind"),
    _valued(f"it belongs to SCTP; {_TRANSPORT}", "--nstreams"),
    _valued("write: timeout 5 sixbench measure ... for 5 s in all", "--connect-timeout"),
    _valued("datagrams have an absolute schedule, which needs no timer", "--pacing-timer", is_harmless=True),
    _valued("TCP has no rate of its own here; -u -b RATE has one for UDP", "--fq-rate"),
    _valued("the kernel chooses the ports of data; -B ADDR chooses the address", "--cport"),
    _valued(_TRAFFIC_CLASS, "-S", "--tos"),
    _valued(_TRAFFIC_CLASS, "--dscp"),
    _valued("the kernel chooses the flow label of each connection", "-L", "--flowlabel"),
    _valued("lines have no title; --out DIR keeps a run under a name", "-T", "--title"),
    _valued("the document has no place for it; --out DIR keeps the run", "--extra-data"),
    _flag("the server's counts are always in the results", "--get-server-output", is_harmless=True),
    _flag("counters of datagrams are always long enough", "--udp-counters-64bit", is_harmless=True),
    _flag("the data always comes from memory; leave it out", "--repeating-payload"),
    _flag("write: -u --set df=set", "--dont-fragment"),
    _flag("write: -u --set segmentation=always", "--gsro"),
    _valued(_AUTHENTICATION, "--username"),
    _valued(_AUTHENTICATION, "--rsa-public-key-path"),
)

OTHER_BY_NAME: dict[str, Iperf3Option] = {name: option for option in OTHER_OPTIONS for name in option.names}
