"""Debian's caddy, nginx and unbound in the nodes of a network, with certificates of an authority of the test's own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from lab.reach_network import Internet

from sixbench.model.program_path import with_usual_places

CADDY, NGINX = "caddy.example.org", "nginx.example.org"
PORTAL = "portal.example.net"
BODY = "x" * 10240
_CADDYFILE = """{{
  admin off
  auto_https off
  servers {{
    protocols h1 h2 h3
  }}
}}
https://{name} {{
  tls {certificate} {key}
  respond "{body}"
}}
"""
_NGINX = """daemon off;
pid {folder}/nginx.pid;
error_log stderr notice;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen {port} ssl http2;
    listen [::]:{port} ssl http2;
    ssl_certificate {certificate};
    ssl_certificate_key {key};
    location / {{ return 200 "{body}"; }}
  }}
}}
"""
_UNBOUND = """server:
  interface: {address}
  port: 53
  access-control: 0.0.0.0/0 allow
  access-control: ::/0 allow
  do-daemonize: no
  use-syslog: no
  verbosity: 1
  chroot: ""
  username: ""
  directory: "{folder}"
  pidfile: "{folder}/unbound.pid"
  module-config: "{modules}"
  dns64-prefix: {prefix}
remote-control:
  control-enable: no
auth-zone:
  name: "."
  zonefile: "{folder}/zone"
  for-downstream: no
  for-upstream: yes
"""
_ZONE = """. 60 IN SOA ns. admin. 1 3600 3600 3600 60
. 60 IN NS ns.
ns. 60 IN A 192.0.2.1
ipv4only.arpa. 60 IN A 192.0.0.170
ipv4only.arpa. 60 IN A 192.0.0.171
"""
PREFIX = "2001:db8:64::/96"


def require_programs(*programs: str) -> None:
    """Skips, or fails where the programs are expected."""
    path = with_usual_places(os.environ.get("PATH", ""))
    missing = [program for program in programs if shutil.which(program, path=path) is None]
    if not missing:
        return
    words = f"{', '.join(missing)} is not installed; tools/system-packages programs does so"
    if os.environ.get("SIXBENCH_EXPECT_PROGRAMS") == "1":
        pytest.fail(words)
    pytest.skip(f"{words}, which starts servers where an init system runs")


def make_certificates(folder: Path, *names: str) -> None:
    """Makes an authority, `ca.pem`, and for each name `NAME.pem` and `NAME.key`, which it has issued."""
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    _openssl(
        *("req", "-x509", *key, "-keyout", folder / "ca.key", "-out", folder / "ca.pem", "-days", "30"),
        *("-subj", "/CN=test", "-addext", "basicConstraints=critical,CA:TRUE"),
    )
    for name in names:
        (folder / f"{name}.ext").write_text(f"subjectAltName=DNS:{name}\nbasicConstraints=critical,CA:FALSE\n")
        _openssl("req", *key, "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.csr", "-subj", "/CN=leaf")
        _openssl(
            *("x509", "-req", "-in", folder / f"{name}.csr", "-CA", folder / "ca.pem", "-CAkey", folder / "ca.key"),
            *("-CAcreateserial", "-days", "30", "-out", folder / f"{name}.pem", "-extfile", folder / f"{name}.ext"),
        )


def _openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


def start_caddy(internet: Internet, stack: ExitStack, node: str, name: str = CADDY) -> None:
    """HTTP/1.1, 2 and 3 at every address of a node."""
    folder = _folder(internet, f"caddy-{node}")
    text = _CADDYFILE.format(
        name=name, certificate=internet.folder / f"{name}.pem", key=internet.folder / f"{name}.key", body=BODY
    )
    (folder / "Caddyfile").write_text(text)
    words = ["caddy", "run", "--config", folder / "Caddyfile", "--adapter", "caddyfile"]
    home = {name: str(folder) for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
    _start(internet, stack, node, words, "serving initial configuration", home)


def start_nginx(internet: Internet, stack: ExitStack, node: str, name: str = NGINX, port: int = 443) -> None:
    """HTTP/1.1 and 2 at every address of a node."""
    folder = _folder(internet, f"nginx-{node}")
    certificate, key = internet.folder / f"{name}.pem", internet.folder / f"{name}.key"
    (folder / "nginx.conf").write_text(
        _NGINX.format(folder=folder, port=port, certificate=certificate, key=key, body=BODY[:4000])
    )
    words = ["nginx", "-e", "stderr", "-p", folder, "-c", folder / "nginx.conf"]
    _start(internet, stack, node, words, "start worker processes")


def start_unbound(
    internet: Internet, stack: ExitStack, node: str, address: str, records: Sequence[str], *, dns64: bool = False
) -> None:
    """A resolver at an address of a node, which has the records by itself, and with them the addresses of a DNS64."""
    folder = _folder(internet, f"unbound-{node}")
    (folder / "zone").write_text(_ZONE + "".join(f"{record}\n" for record in records))
    modules = "dns64 iterator" if dns64 else "iterator"
    text = _UNBOUND.format(address=address, folder=folder, modules=modules, prefix=PREFIX)
    (folder / "unbound.conf").write_text(text)
    _start(internet, stack, node, ["unbound", "-d", "-c", folder / "unbound.conf"], "start of service")


def _folder(internet: Internet, name: str) -> Path:
    folder = internet.folder / name
    folder.mkdir(exist_ok=True)
    return folder


def _start(
    internet: Internet,
    stack: ExitStack,
    node: str,
    words: Sequence[str | Path],
    ready: str,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Starts a program, and waits for the line by which it says that it listens."""
    path = with_usual_places(os.environ.get("PATH", ""))
    process = stack.enter_context(
        subprocess.Popen(
            internet.within(node, *words),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PATH": path} | dict(environment or {}),
        )
    )
    stack.callback(process.terminate)
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if ready in line:
            return
    pytest.fail(f"{words[0]} ended: {''.join(lines)}")
