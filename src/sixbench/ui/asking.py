"""Questions to the runner, which does the work that needs more rights than the server has."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

from ..model.errors import CapabilityError
from .runner import KINDS

LONGEST_ANSWER_BYTES = 2**24
"""The jobs of a page, each with some kilobytes of last words."""


class RunnerConnection:
    """The runner at the other end of a pair of sockets.

    Args:
        gone: is called when the runner has ended.
    """

    def __init__(self, here: socket.socket, gone: Callable[[], None] = lambda: None) -> None:
        self._here = here
        self._gone = gone
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._writer: asyncio.StreamWriter | None = None

    @contextlib.asynccontextmanager
    async def reached(self) -> AsyncIterator[None]:
        """Context in which questions can be asked."""
        reader, writer = await asyncio.open_connection(sock=self._here, limit=LONGEST_ANSWER_BYTES)
        self._writer = writer
        hearing = asyncio.create_task(self._hear(reader))
        try:
            yield
        finally:
            hearing.cancel()
            self._writer = None
            writer.close()

    async def start(self, experiment: Any) -> dict[str, Any]:
        """Starts a run or queues it, and returns the job. Raises one of `KINDS`, as all of these do."""
        return await self._ask(ask="start", experiment=experiment)  # type: ignore[no-any-return]

    async def measure(self, measurement: Any) -> dict[str, Any]:
        """Starts a measurement to another machine, or queues it."""
        return await self._ask(ask="measure", measurement=measurement)  # type: ignore[no-any-return]

    async def resume(self, run: str) -> dict[str, Any]:
        """Resumes an interrupted run, or queues it."""
        return await self._ask(ask="resume", run=run)  # type: ignore[no-any-return]

    async def stop(self, run: str) -> None:
        """Ends a run as Ctrl-C does, or takes it from the queue."""
        await self._ask(ask="stop", run=run)

    async def jobs(self) -> list[dict[str, Any]]:
        """All runs that the page started."""
        return await self._ask(ask="jobs")  # type: ignore[no-any-return]

    async def job(self, run: str) -> dict[str, Any] | None:
        """The job of a run; None where the page did not start it."""
        return next((job for job in await self.jobs() if job["run"] == run), None)

    async def is_under_way(self, run: str) -> bool:
        """True if the page started a run of that name that has not ended."""
        job = await self.job(run)
        return job is not None and job["state"] != "ended"

    async def doctor(self) -> str | None:
        """The capabilities of this machine, in one sentence; None while it is being checked."""
        return await self._ask(ask="doctor")  # type: ignore[no-any-return]

    async def _ask(self, **question: Any) -> Any:
        if self._writer is None:
            raise CapabilityError("the runner has ended")
        number = next(self._numbers)
        line = json.dumps({"number": number, **question}, allow_nan=False).encode() + b"\n"
        answered = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self._writer.write(line)
            answer = await answered
        finally:
            del self._waiting[number]
        if "refused" in answer:
            raise KINDS[answer["refused"]](answer["words"])
        return answer["answer"]

    async def _hear(self, reader: asyncio.StreamReader) -> None:
        try:
            while line := await reader.readline():
                answer = json.loads(line)
                answered = self._waiting.get(answer["number"])
                if answered is not None and not answered.done():  # the client may have left
                    answered.set_result(answer)
        finally:
            self._writer = None
            for answered in self._waiting.values():
                if not answered.done():
                    answered.set_exception(CapabilityError("the runner has ended"))
            self._gone()
