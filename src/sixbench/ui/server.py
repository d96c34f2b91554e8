"""The HTTP server, with limits on connections and on the time that clients may take."""

from __future__ import annotations

import asyncio
import resource
import secrets
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from .apart import Apart
from .app import application, prepare_works, works
from .asking import RunnerConnection
from .guard import SERVED
from .site import Site

MOST_CONNECTIONS = 200
"""Open connections; a page has two or three. A further connection closes the oldest that has not shown the token."""

REQUEST_WITHIN_S = 10.0
"""Longest time that a client may take for its first request."""

IDLE_S = 15


class Impatient(H11Protocol):
    """A connection that is closed if no request arrives in time, or if another connection needs its place.

    Connections that have shown the token stay open.
    """

    def connection_made(self, transport: Any) -> None:
        """Starts to wait for a request."""
        super().connection_made(transport)
        self.loop.call_later(REQUEST_WITHIN_S, self._end_if_silent)
        self._began_s = self.loop.time()
        others = [other for other in self.connections if other is not self and not other.transport.is_closing()]
        if len(others) >= MOST_CONNECTIONS:
            strangers = [other for other in others if isinstance(other, Impatient) and other.is_stranger]
            if strangers:
                min(strangers, key=lambda stranger: stranger._began_s).refuse(b"408 Request Timeout")
            else:
                self.refuse(b"429 Too Many Requests")

    @property
    def is_stranger(self) -> bool:
        """True if the client has not shown the token, and no answer is under way."""
        cycle: Any = self.cycle  # None before the first request
        return cycle is None or (cycle.response_complete and not cycle.scope["state"].get(SERVED, False))

    def refuse(self, status: bytes) -> None:
        """Closes the connection with that status."""
        self.transport.write(b"HTTP/1.1 " + status + b"\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
        self.transport.close()

    def _end_if_silent(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            self.transport.close()


class _Loop(asyncio.SelectorEventLoop):
    """An event loop that waits for a TLS handshake no longer than for a request."""

    async def create_server(self, *args: Any, **more: Any) -> asyncio.Server:
        """As in other loops, with the time limit on the handshake."""
        if more.get("ssl") is not None:
            more["ssl_handshake_timeout"] = REQUEST_WITHIN_S
        return await super().create_server(*args, **more)


def serve(
    directory: Path,
    listening: socket.socket,
    site: Site,
    tls: ssl.SSLContext | None,
    runner: socket.socket,
    agent: int | None,
    print_address: Callable[[str], None],
) -> None:
    """Serves the page until it is interrupted, or the runner ends.

    Args:
        runner: the server's end of the pair of sockets to the runner.
        agent: a descriptor of the agent; None: there is none.
        print_address: is called with the address that contains the token.
    """
    token = secrets.token_urlsafe(24)
    # A connection before the end of its handshake is not counted, but holds a descriptor.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    def end() -> None:
        server.should_exit = True

    asked = RunnerConnection(runner, end)
    apart = Apart(works(directory), prepare_works)  # this process has one thread
    app = application(directory, token, site, asked, lambda: server.should_exit, agent, apart)
    config = uvicorn.Config(
        app,
        http=Impatient,
        ws="none",
        lifespan="on",
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=IDLE_S,
        timeout_graceful_shutdown=2,
    )
    config.load()
    config.ssl = tls  # created before rights were given up, since the file of its key may need them
    server = uvicorn.Server(config)
    print_address(f"{site.address}#token={token}")
    with asyncio.Runner(loop_factory=_Loop) as loop:
        loop.run(server.serve(sockets=[listening]))
