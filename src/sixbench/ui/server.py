"""Listening: on loopback only, with limits on connections, and without patience for slow clients."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..model.errors import CapabilityError, UsageError
from .app import application
from .guard import SERVED

MOST_CONNECTIONS = 200
"""A page has two or three. For one more, the oldest connection ends that has not shown the token."""

REQUEST_WITHIN_S = 10.0
"""How long a client may take for its first request."""

IDLE_S = 15


class Impatient(H11Protocol):
    """A connection that ends where no request has come in time, and where others need its place.

    Those that have shown the token stay, so whoever was served stays served.
    """

    def connection_made(self, transport: Any) -> None:
        """Begins to wait for a request."""
        super().connection_made(transport)
        self.loop.call_later(REQUEST_WITHIN_S, self._end_if_silent)
        self._began_s = self.loop.time()
        others = [one for one in self.connections if one is not self and not one.transport.is_closing()]
        if len(others) >= MOST_CONNECTIONS:
            strangers = [one for one in others if isinstance(one, Impatient) and one.is_stranger]
            if strangers:
                min(strangers, key=lambda one: one._began_s).refuse(b"408 Request Timeout")
            else:
                self.refuse(b"429 Too Many Requests")

    @property
    def is_stranger(self) -> bool:
        """Whether it has not shown the token, and is not being answered."""
        cycle: Any = self.cycle  # None before the first request
        return cycle is None or (cycle.response_complete and not cycle.scope["state"].get(SERVED, False))

    def refuse(self, status: bytes) -> None:
        """Ends it with that status."""
        self.transport.write(b"HTTP/1.1 " + status + b"\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
        self.transport.close()

    def _end_if_silent(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            self.transport.close()


def listen(address: str, port: int) -> socket.socket:
    """A socket that listens. Raises `UsageError` beyond loopback, `CapabilityError` where the port is taken."""
    try:
        wanted = ip_address(address)
    except ValueError:
        raise UsageError(f"--bind {address}: that is no address; give 127.0.0.1 or ::1") from None
    if not wanted.is_loopback:
        raise UsageError(
            f"--bind {address}: the page is served on loopback only, since it has no TLS yet; "
            "from another machine reach it with: ssh -L 8066:127.0.0.1:8066 HOST"
        )
    family = socket.AF_INET if wanted.version == 4 else socket.AF_INET6
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((str(wanted), port))
        listening.listen(64)
    except OSError as error:
        listening.close()
        raise CapabilityError(f"listening on {address} port {port}: {error.strerror}; give another --port") from error
    return listening


def serve(directory: Path, listening: socket.socket, told: Callable[[str], None], token: str | None = None) -> None:
    """Serves the page until it is interrupted.

    Args:
        told: gets the address that has the token.
    """
    secret = token or secrets.token_urlsafe(24)
    address, port = listening.getsockname()[:2]
    name = f"[{address}]" if ":" in address else address
    server: uvicorn.Server | None = None
    names = [f"{name}:{port}", f"localhost:{port}"]
    app = application(directory, secret, names, lambda: server is not None and server.should_exit)
    config = uvicorn.Config(
        app,
        http=Impatient,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=IDLE_S,
        timeout_graceful_shutdown=2,
    )
    told(f"http://{name}:{port}/?token={secret}")
    server = uvicorn.Server(config)
    asyncio.run(server.serve(sockets=[listening]))
