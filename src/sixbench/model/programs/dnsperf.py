"""dnsperf, which asks as fast as it is answered."""

from __future__ import annotations

import re

from ..parameter import Params
from .end import Command, Feature, Recipe
from .kdig import question_names

_MODES = {"udp": "udp", "tcp": "tcp", "tls": "dot", "https": "doh"}
MOST_QUESTIONS = 2000
"""Lines of its file. With a duration it begins again after the last."""
_SUMMARY = re.compile(
    r"^\s*(Queries sent|Queries lost|Queries per second|Average Latency \(s\)):\s+([0-9]{1,15}(?:\.[0-9]{1,12})?)\b",
    re.MULTILINE,
)


def _dns(params: Params) -> Command:
    in_flight = str(params.get("in_flight", 1))
    over = str(params.get("over", "udp"))
    count = int(params.get("count", MOST_QUESTIONS))
    length = ("-n", "1") if "count" in params else ("-l", str(-(-int(params["duration_ns"]) // 10**9)))
    options = ("-O", "tls-sni={name}") if over in ("tls", "https") else ()
    uri = ("-O", "doh-uri=https://{name}:{port}/dns-query", "-O", "doh-method=POST") if over == "https" else ()
    argv = ("dnsperf", "-s", "{peer}", "-p", "{port}", "-m", _MODES[over], "-d", "{dir}/questions", *length)
    return Command(
        argv=(*argv, "-e", "-T", "1", "-c", in_flight, "-q", in_flight, *options, *uri),
        files={"questions": "".join(f"{name} TXT\n" for name in question_names(count))},
    )


def _unfit(params: Params) -> tuple[str, str] | None:
    if params.get("over") == "quic":
        return "over", "dnsperf asks over udp, tcp, tls and https, not over quic"
    if params.get("connection", "new") != "kept":
        return "connection", "dnsperf keeps its connections: give connection: kept"
    if int(params.get("count", 1)) > MOST_QUESTIONS:
        return "count", f"dnsperf has at most {MOST_QUESTIONS} questions here: give a duration"
    if int(params.get("answer_bytes", 128)) > int(params.get("edns_bytes", 1232)):
        return "edns", "dnsperf says that it takes 4096 bytes, and does not ask again by TCP: give edns: 4096B"
    return None


def _feature(params: Params) -> Feature | None:
    """Over TLS it must say which server it asks, which older versions cannot."""
    if params.get("over") not in ("tls", "https"):
        return None
    return Feature(
        argv=("dnsperf", "-H"),
        word="tls-sni",
        lacks="has no option tls-sni, by which it would name its server: take a newer dnsperf, or over: udp or tcp",
    )


def read_summary(output: str) -> dict[str, float]:
    """The metrics in its summary: what it measured itself, in its own window."""
    values = {name: float(text) for name, text in _SUMMARY.findall(output)}
    metrics = {}
    if "Queries per second" in values:
        metrics["transactions_rate_per_s"] = values["Queries per second"]
    if values.get("Average Latency (s)"):
        metrics["transaction_mean_ns"] = values["Average Latency (s)"] * 1e9
    if values.get("Queries sent") and "Queries lost" in values:
        metrics["questions_unanswered_ratio"] = values["Queries lost"] / values["Queries sent"]
    return metrics


RECIPE = Recipe(
    name="dnsperf",
    program="dnsperf",
    package="dnsperf",
    side="client",
    doc="dnsperf with one thread, whose summary has the mean time and the rate",
    version=("dnsperf", "-h"),
    command={"dns": _dns},
    unfit={"dns": _unfit},
    feature=_feature,
    read=read_summary,
)
