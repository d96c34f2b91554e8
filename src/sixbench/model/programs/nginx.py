"""nginx as a server of TLS."""

from __future__ import annotations

from ..parameter import Params
from .end import Command, Recipe

_TLS = """\
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
  server {
    listen {host}:{port} ssl;
    server_name {name};
    ssl_certificate {certificate};
    ssl_certificate_key {key};
    ssl_protocols TLSv1.3;
    return 204;
  }
}
"""


def _tls(params: Params) -> Command:
    return Command(argv=("nginx", "-p", "{dir}", "-e", "stderr", "-c", "{dir}/nginx.conf"), files={"nginx.conf": _TLS})


RECIPE = Recipe(
    name="nginx",
    program="nginx",
    package="nginx",
    side="server",
    doc="nginx with one process",
    command={"tls": _tls},
)
