"""The server and the client of ngtcp2, which speak HTTP/3."""

from __future__ import annotations

from ..parameter import Params
from . import http_objects
from .end import Command, Recipe

_CLIENT = "gtlsclient -q -n OBJECTS --exit-on-all-streams-close {name} {port} URL"
_START = f"mount --bind {{dir}}/hosts /etc/hosts && exec {_CLIENT}\n"
"""The client with GnuTLS asks for the name by which it finds its server, whatever its option `sni` says, and for
`localhost` at an address. So it finds the trial's name, in a file that nobody else sees."""


def _serve(params: Params) -> Command:
    return Command(
        argv=("gtlsserver", "-q", "-d", "{dir}", "{address}", "{port}", "{key}", "{certificate}"),
        files=http_objects.object_file(params),
    )


def _unfit_server(params: Params) -> tuple[str, str] | None:
    return http_objects.unfit_server(params, ("3",), "ngtcp2's server")


def _load(params: Params) -> Command:
    objects = int(params["count"]) * http_objects.objects(params)
    start = _START.replace("OBJECTS", str(objects)).replace("URL", http_objects.url(params))
    return Command(argv=("sh", "{dir}/start"), files={"start": start, "hosts": "{peer} {name}\n"})


def _unfit_client(params: Params) -> tuple[str, str] | None:
    if "count" not in params:
        return "client", "ngtcp2's client loads a number of objects, and takes no time: give count"
    if params.get("connection", "new") != "kept":
        return "connection", "ngtcp2's client keeps its connection: give connection: kept"
    if int(params.get("in_flight", 1)) > 1:
        return "in-flight", "ngtcp2's client has one connection: leave in-flight out"
    if "parallel" in params:
        return "parallel", "ngtcp2's client asks for all objects at once: leave parallel out"
    return http_objects.unfit(params, ("3",), "ngtcp2's client")


SERVER = Recipe(
    name="ngtcp2",
    program="gtlsserver",
    package="ngtcp2-server",
    side="server",
    doc="ngtcp2's server, with GnuTLS",
    command={"http": _serve},
    unfit={"http": _unfit_server},
)
CLIENT = Recipe(
    name="ngtcp2",
    program="gtlsclient",
    package="ngtcp2-client",
    side="client",
    doc="ngtcp2's client, with GnuTLS, which asks for all objects at once",
    command={"http": _load},
    unfit={"http": _unfit_client},
)
