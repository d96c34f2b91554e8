"""Server-sent events of a run, at most twice a second, for as long as a client reads them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

import anyio.to_thread
from starlette.types import Receive, Scope, Send

from ..model.errors import CapabilityError, StoreError
from .events import Reader, without_old_values
from .look import Look

EVERY_S = 0.5
SLOWEST_S = 20.0
"""Longest time that a client may take to read a message. A slower client is disconnected, and may connect again."""

MOST_STREAMS = 16
"""Streams that may be open at the same time."""

_ID = re.compile(r"(log|records)-([0-9]{1,12})")


class Streams:
    """The number of open streams."""

    def __init__(self, most: int = MOST_STREAMS) -> None:
        self._most = most
        self._open = 0

    def __enter__(self) -> None:
        self._open += 1

    def __exit__(self, *_: object) -> None:
        self._open -= 1

    @property
    def is_full(self) -> bool:
        """True if no further stream may be opened."""
        return self._open >= self._most


class EventStream:
    """An answer that lasts until the run is over, or the client leaves or is too slow.

    Args:
        last_id: the `Last-Event-ID` of the request.
        rest: the state of a run without a process; None: it has one, or is about to.
        look: announces to the run that a page shows it, until it is closed.
        stopping: whether the server is about to end.
    """

    def __init__(
        self,
        streams: Streams,
        reader: Reader,
        last_id: str,
        rest: Callable[[], Awaitable[str | None]],
        look: Look,
        stopping: Callable[[], bool],
    ) -> None:
        self._streams = streams
        self._reader = reader
        self._rest = rest
        self._look = look
        self._stopping = stopping
        match = _ID.fullmatch(last_id)
        self._known = int(match[2]) if match is not None and match[1] == reader.source else 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the events that are new."""
        headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
        with self._streams:
            gone = asyncio.create_task(_gone(receive))
            try:
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                await self._tell(send, gone)
            except (TimeoutError, StoreError, CapabilityError):
                pass
            finally:
                gone.cancel()
                self._look.close()
                self._reader.close()
            await send({"type": "http.response.body", "body": b""})

    async def _tell(self, send: Send, gone: asyncio.Task[None]) -> None:
        if not self._known:
            await _give(send, "event: reset\ndata: {}\n\n")
        while not gone.done() and not self._stopping():
            # The state is read before the events, so that no event from before the end is missed.
            state = await self._rest()
            if state is None:
                await anyio.to_thread.run_sync(self._look.announce)
            events = await anyio.to_thread.run_sync(self._reader.more)
            new = [(number, event) for number, event in events if number > self._known]
            if new:
                self._known = self._reader.number
                shown = [event for _, event in without_old_values(new)]
                await _give(send, _message(f"{self._reader.source}-{self._known}", shown))
            elif not self._reader.has_more and not events and state is not None:
                await _give(send, f"event: over\ndata: {json.dumps({'state': state})}\n\n")
                return
            else:
                await _give(send, ": still here\n\n")
            if not self._reader.has_more and state is None:
                await asyncio.wait([gone], timeout=EVERY_S)


def _message(identity: str, events: list[dict[str, Any]]) -> str:
    return f"id: {identity}\nevent: run\ndata: {json.dumps(events, ensure_ascii=False, allow_nan=False)}\n\n"


async def _give(send: Send, text: str) -> None:
    message = {"type": "http.response.body", "body": text.encode(), "more_body": True}
    await asyncio.wait_for(send(message), SLOWEST_S)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
