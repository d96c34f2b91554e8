"""h2load (https://nghttp2.org), which loads objects from nginx with one process."""

from __future__ import annotations

from ..contender import Tool, ToolReport
from .ends import of_recipes
from .reading import number


def read(client: str) -> ToolReport:
    """Requests a second, in its summary."""
    return {"transactions_per_s": number(r"(?m)^finished in \S+, ([\d.]+) req/s", client, "rate")}


TOOL = Tool(
    name="h2load",
    programs=("h2load", "nginx"),
    version=(("h2load", "--version"), r"nghttp2/(\S+)"),
    contenders=tuple(
        of_recipes(comparison, "h2load", server="nginx", client="h2load", read=read)
        for comparison in ("http-1", "http-2")
    ),
)
