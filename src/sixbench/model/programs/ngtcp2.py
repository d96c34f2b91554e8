"""The server of ngtcp2, which speaks HTTP/3."""

from __future__ import annotations

from ..parameter import Params
from . import http_objects
from .end import Command, Recipe


def _server(params: Params) -> Command:
    return Command(
        argv=("gtlsserver", "-q", "-d", "{dir}", "{address}", "{port}", "{key}", "{certificate}"),
        files=http_objects.object_file(params),
    )


def _unfit(params: Params) -> tuple[str, str] | None:
    return http_objects.unfit_server(params, ("3",), "ngtcp2's server")


RECIPE = Recipe(
    name="ngtcp2",
    program="gtlsserver",
    package="ngtcp2-server",
    side="server",
    doc="ngtcp2's server, with GnuTLS",
    command={"http": _server},
    unfit={"http": _unfit},
)
