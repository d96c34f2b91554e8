"""nginx as a server of TLS, and of objects by HTTP/1.1 and 2."""

from __future__ import annotations

from ..parameter import Params
from . import http_objects
from .end import Command, Recipe

_CONFIGURATION = """\
daemon off;
master_process off;
pid {dir}/nginx.pid;
error_log stderr;
events { worker_connections 2048; }
http {
  access_log off;
  client_body_temp_path {dir}/body;
  proxy_temp_path {dir}/proxy;
  fastcgi_temp_path {dir}/fastcgi;
  uwsgi_temp_path {dir}/uwsgi;
  scgi_temp_path {dir}/scgi;
  keepalive_requests 1000000;
  server {
    listen {host}:{port}LISTENS;
    server_name {name};
SECURED    ANSWERS
  }
}
"""
_SECURED = """\
    ssl_certificate {certificate};
    ssl_certificate_key {key};
    ssl_protocols TLSv1.3;
"""


def _command(listens: str, answers: str, files: dict[str, str] | None = None) -> Command:
    """nginx with these options of its socket and this answer."""
    text = _CONFIGURATION.replace("LISTENS", listens).replace("SECURED", _SECURED if " ssl" in listens else "")
    return Command(
        argv=("nginx", "-p", "{dir}", "-e", "stderr", "-c", "{dir}/nginx.conf"),
        files={"nginx.conf": text.replace("ANSWERS", answers), **(files or {})},
    )


def _tls(params: Params) -> Command:
    return _command(" ssl", "return 204;")


def _http(params: Params) -> Command:
    listens = (" ssl" if http_objects.is_secured(params) else "") + (" http2" if params.get("version") == "2" else "")
    answers = f"location = /{http_objects.object_bytes(params)} {{ root {{dir}}; }}"
    return _command(listens, answers, http_objects.object_file(params))


def _unfit(params: Params) -> tuple[str, str] | None:
    return http_objects.unfit_server(params, ("1.1", "2"), "nginx")


RECIPE = Recipe(
    name="nginx",
    program="nginx",
    package="nginx",
    side="server",
    doc="nginx with one process",
    version=("nginx", "-v"),
    command={"tls": _tls, "http": _http},
    unfit={"http": _unfit},
)
