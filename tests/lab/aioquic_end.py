"""aioquic as an end of HTTP/3: a server whose objects are as long as their names say, and a client that loads some; and
as a server of `quic-connect`.

    python aioquic_end.py server ADDRESS PORT CERTIFICATE KEY
    python aioquic_end.py client ADDRESS PORT AUTHORITY NAME OBJECTS LENGTH
    python aioquic_end.py connect-server ADDRESS PORT CERTIFICATE KEY
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, H3Event, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, QuicEvent, StreamDataReceived
from aioquic.tls import SessionTicket


class Http3(QuicConnectionProtocol):
    """A connection of HTTP/3."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.http = H3Connection(self._quic)

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, ConnectionTerminated):
            self.end(event.reason_phrase)
        for part in self.http.handle_event(event):
            self.receive(part)

    def receive(self, event: H3Event) -> None:
        """Takes a part of a request or an answer."""
        raise NotImplementedError

    def end(self, reason: str) -> None:
        """The connection is over."""


class Server(Http3):
    """Answers each request with as many bytes as its path names."""

    def receive(self, event: H3Event) -> None:
        if not isinstance(event, HeadersReceived):
            return
        length = dict(event.headers)[b":path"].lstrip(b"/")
        self.http.send_headers(event.stream_id, [(b":status", b"200"), (b"content-length", length)])
        self.http.send_data(event.stream_id, b"6" * int(length), end_stream=True)
        self.transmit()


class Client(Http3):
    """Asks for objects, one after the other."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.answered: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.received = 0

    async def load(self, authority: str, path: str) -> int:
        """Loads an object, and gives its length. Raises `ConnectionError` where the answer is none."""
        self.answered, self.received = asyncio.get_running_loop().create_future(), 0
        headers = {":method": "GET", ":scheme": "https", ":authority": authority, ":path": path}
        pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
        self.http.send_headers(self._quic.get_next_available_stream_id(), pairs, end_stream=True)
        self.transmit()
        return await self.answered

    def receive(self, event: H3Event) -> None:
        if isinstance(event, HeadersReceived) and dict(event.headers)[b":status"] != b"200":
            self.end("the status is another")
        if isinstance(event, DataReceived):
            self.received += len(event.data)
        if isinstance(event, HeadersReceived | DataReceived) and event.stream_ended and not self.answered.done():
            self.answered.set_result(self.received)

    def end(self, reason: str) -> None:
        if not self.answered.done():
            self.answered.set_exception(ConnectionError(reason))


async def run_server(address: str, port: str, certificate: str, key: str) -> None:
    """Serves until it is ended."""
    configuration = QuicConfiguration(alpn_protocols=H3_ALPN, is_client=False)
    configuration.load_cert_chain(certificate, key)
    await serve(address, int(port), configuration=configuration, create_protocol=Server)
    await asyncio.Future()


class Answering(QuicConnectionProtocol):
    """Answers the byte that a client of `quic-connect` sends."""

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, StreamDataReceived) and event.data == b"?":
            self._quic.send_stream_data(event.stream_id, b"!", end_stream=True)
            self.transmit()


async def run_connect_server(address: str, port: str, certificate: str, key: str) -> None:
    """As `run_server`, with tickets that are taken once."""
    configuration = QuicConfiguration(alpn_protocols=["sixbench"], is_client=False)
    configuration.load_cert_chain(certificate, key)
    tickets: dict[bytes, SessionTicket] = {}
    await serve(
        *(address, int(port)),
        configuration=configuration,
        create_protocol=Answering,
        session_ticket_handler=lambda ticket: tickets.update({ticket.ticket: ticket}),
        session_ticket_fetcher=lambda label: tickets.pop(label, None),
    )
    await asyncio.Future()


async def run_client(address: str, port: str, authority: str, name: str, objects: str, length: str) -> None:
    """Loads the objects over one connection."""
    configuration = QuicConfiguration(alpn_protocols=H3_ALPN, is_client=True, server_name=name)
    configuration.load_verify_locations(authority)
    async with connect(address, int(port), configuration=configuration, create_protocol=Client) as client:
        assert isinstance(client, Client)
        for _ in range(int(objects)):
            received = await client.load(f"{name}:{port}", f"/{length}")
            if received != int(length):
                raise ConnectionError(f"an object has {received} bytes")


if __name__ == "__main__":
    ends = {"server": run_server, "client": run_client, "connect-server": run_connect_server}
    asyncio.run(ends[sys.argv[1]](*sys.argv[2:]))
