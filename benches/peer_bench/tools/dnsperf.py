"""dnsperf (https://www.dns-oarc.net/tools/dnsperf), which asks unbound with one thread."""

from __future__ import annotations

from ..contender import Tool, ToolReport
from .ends import of_recipes
from .reading import number


def read(client: str) -> ToolReport:
    """Answers a second, in its summary. Raises `Unreadable` too where there were none."""
    return {
        "transactions_per_s": number(r"Queries per second:\s+([\d.]+)", client, "rate"),
        "lost": number(r"Queries lost:\s+(\d+)", client, "loss"),
    }


TOOL = Tool(
    name="dnsperf",
    programs=("dnsperf", "unbound"),
    version=(("dnsperf", "-h"), r"Version (\S+)"),
    contenders=(of_recipes("dns-udp", "dnsperf", server="unbound", client="dnsperf", read=read),),
)
