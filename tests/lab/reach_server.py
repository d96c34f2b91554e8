"""A server of others, for tests of `sixbench reach`: HTTPS on a port of every address, and a resolver of its own.

    python reach_server.py ZONE.json CERTIFICATE KEY PORT

The zone has for each name the addresses by type of record, `null` for a type whose look-up is not answered, or the code
of an error. It is read anew for each question. A line on standard output says that all listen.
"""

from __future__ import annotations

import http.server
import json
import socket
import ssl
import struct
import sys
import threading
from pathlib import Path
from typing import Any

TYPES = {1: "A", 28: "AAAA", 65: "HTTPS"}
RCODES = {"SERVFAIL": 2, "NXDOMAIN": 3, "REFUSED": 5}


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers each request with 10 KiB."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = b"x" * 10240
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


class Server(http.server.ThreadingHTTPServer):
    """HTTPS; a handshake does not keep the others from being accepted."""

    daemon_threads = True

    def __init__(self, family: int, address: str, port: int, context: ssl.SSLContext) -> None:
        self.address_family = family
        self.context = context
        super().__init__((address, port), Handler)

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        self.socket.bind(self.server_address)

    def finish_request(self, request: Any, client_address: Any) -> None:
        request.settimeout(20)
        try:
            wrapped = self.context.wrap_socket(request, server_side=True)
        except OSError:
            return
        Handler(wrapped, client_address, self)

    def handle_error(self, *_: Any) -> None:
        """Clients of tests close early."""


def answer(query: bytes, zone: dict[str, Any]) -> bytes | None:
    """The answer to a question; None: there is none."""
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1 : at + 1 + query[at]].decode())
        at += 1 + query[at]
    kind, _ = struct.unpack("!HH", query[at + 1 : at + 5])
    question = query[12 : at + 5]
    records = zone.get(".".join(labels).lower().rstrip("."))
    if records is None:
        return _message(query, question, RCODES["NXDOMAIN"], [])
    addresses = records.get(TYPES.get(kind, ""), [])
    if addresses is None:
        return None
    if isinstance(addresses, str):
        return _message(query, question, RCODES[addresses], [])
    family = socket.AF_INET6 if kind == 28 else socket.AF_INET
    return _message(query, question, 0, [(kind, socket.inet_pton(family, address)) for address in addresses])


def _message(query: bytes, question: bytes, rcode: int, answers: list[tuple[int, bytes]]) -> bytes:
    header = query[:2] + struct.pack("!HHHHH", 0x8180 | rcode, 1, len(answers), 0, 0)
    parts = [b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 60, len(data)) + data for kind, data in answers]
    return header + question + b"".join(parts)


def resolve(family: int, address: str, zone: Path) -> None:
    """Answers look-ups for ever."""
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind((address, 53))
        while True:
            query, client = sock.recvfrom(4096)
            reply = answer(query, json.loads(zone.read_text()))
            if reply is not None:
                sock.sendto(reply, client)


def main() -> None:
    zone, certificate, key, port = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.set_alpn_protocols(["http/1.1"])
    for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        server = Server(family, address, port, context)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        threading.Thread(target=resolve, args=(family, address, zone), daemon=True).start()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    threading.Event().wait()


if __name__ == "__main__":
    main()
