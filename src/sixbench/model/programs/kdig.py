"""kdig, the client of Knot DNS, which asks a number of questions."""

from __future__ import annotations

from ..parameter import Params
from .end import Command, Recipe

MOST_QUESTIONS = 1000
"""Each is a word of its command."""
_TLS = ("+tls-ca={authority}", "+tls-hostname={name}", "+tls-sni={name}")
_OVER = {
    "udp": ("+notcp",),
    "tcp": ("+tcp",),
    "tls": ("+tls", *_TLS),
    "https": ("+https={name}/dns-query", *_TLS),
    "quic": ("+quic", *_TLS),
}


def question_names(count: int) -> tuple[str, ...]:
    """Names of the trial's zone, each another."""
    return tuple(f"{number:012x}.{{name}}" for number in range(1, count + 1))


def _dns(params: Params) -> Command:
    kept = ("+keepopen",) if params.get("connection") == "kept" else ()
    options = (f"+bufsize={params.get('edns_bytes', 1232)}", "+timeout=5", "+retry=2", "+nocrypto")
    questions = (word for name in question_names(int(params["count"])) for word in (name, "TXT"))
    over = _OVER[str(params.get("over", "udp"))]
    return Command(argv=("kdig", "@{peer}", "-p", "{port}", *options, *over, *kept, *questions))


def _unfit(params: Params) -> tuple[str, str] | None:
    count = params.get("count")
    if count is None:
        return "client", "kdig asks a number of questions, and takes no time: give count"
    if int(count) > MOST_QUESTIONS:
        return "count", f"kdig asks at most {MOST_QUESTIONS} questions here"
    if int(params.get("in_flight", 1)) > 1:
        return "in-flight", "kdig asks one question after the other: leave in-flight out"
    return None


RECIPE = Recipe(
    name="kdig",
    program="kdig",
    package="knot-dnsutils",
    side="client",
    doc="kdig, one question after the other",
    version=("kdig", "--version"),
    command={"dns": _dns},
    unfit={"dns": _unfit},
)
