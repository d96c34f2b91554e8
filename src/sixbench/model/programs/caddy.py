"""caddy as a server of TLS."""

from __future__ import annotations

from ..parameter import Params
from .end import Command, Recipe

_TLS = """\
{
  admin off
  auto_https off
  default_bind {address}
}
https://{name}:{port} {
  tls {certificate} {key}
  respond 204
}
"""


def _tls(params: Params) -> Command:
    return Command(
        argv=("caddy", "run", "--config", "{dir}/Caddyfile", "--adapter", "caddyfile"), files={"Caddyfile": _TLS}
    )


RECIPE = Recipe(
    name="caddy",
    program="caddy",
    package="caddy",
    side="server",
    doc="caddy, without its administration and without certificates of its own",
    command={"tls": _tls},
)
