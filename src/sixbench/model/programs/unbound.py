"""unbound as the server of a trial's zone."""

from __future__ import annotations

from ..parameter import Params
from .end import Command, Recipe

FOLDER = "/etc/unbound"
"""Its package's, where it may read under AppArmor too."""
_NAME_BYTES = 45
"""A name of a trial's zone on the wire: 12 digits, and the zone, which always has one length (RFC 1035 section 3.1)."""
_AROUND_BYTES = 12 + (_NAME_BYTES + 4) + (2 + 10) + 11
"""The header, the question, the record's fields with its name as a pointer, and the record of EDNS (RFC 1035 section
4.1, RFC 6891 section 6.1.2)."""
_TEXT_BYTES = 255
MAX_UDP_BYTES = 4096


def zone_texts(answer_bytes: int) -> str:
    """The data of the TXT record of an answer of this length, as a zone file has it."""
    whole, rest = divmod(answer_bytes - _AROUND_BYTES, 1 + _TEXT_BYTES)
    texts = ["6" * _TEXT_BYTES] * whole + (["6" * (rest - 1)] if rest else [])
    return " ".join(f'"{text}"' for text in texts)


def _dns(params: Params) -> Command:
    over = params.get("over", "udp")
    lines = [
        "server:",
        '  chroot: ""',
        '  username: ""',
        '  pidfile: ""',
        "  use-syslog: no",
        "  do-daemonize: no",
        f"  directory: {FOLDER}",
        "  num-threads: 1",
        "  so-reuseport: no",
        "  interface: {address}@{port}",
        "  access-control: {peer} allow",
        f"  edns-buffer-size: {MAX_UDP_BYTES}",
        f"  max-udp-size: {MAX_UDP_BYTES}",
        "  incoming-num-tcp: 1024",
        '  module-config: "iterator"',
        '  local-zone: "{name}." redirect',
        f"  local-data: '{{name}}. 60 IN TXT {zone_texts(int(params.get('answer_bytes', 128)))}'",
    ]
    if over in ("tls", "https"):
        lines += [
            f"  {over}-port: {{port}}",
            f"  tls-service-key: {FOLDER}/key.pem",
            f"  tls-service-pem: {FOLDER}/certificate.pem",
        ]
    lines += ["remote-control:", "  control-enable: no"]
    start = f"mount -t tmpfs none {FOLDER} && cp {{dir}}/* {FOLDER} && exec unbound -d -c {FOLDER}/sixbench.conf"
    return Command(argv=("sh", "{dir}/start"), files={"start": start + "\n", "sixbench.conf": "\n".join(lines) + "\n"})


def _unfit(params: Params) -> tuple[str, str] | None:
    if params.get("over") == "quic":
        return "over", "unbound answers over udp, tcp, tls and https, not over quic"
    return None


RECIPE = Recipe(
    name="unbound",
    program="unbound",
    package="unbound",
    side="server",
    doc="unbound with the trial's zone as local data",
    version=("unbound", "-V"),
    command={"dns": _dns},
    unfit={"dns": _unfit},
)
