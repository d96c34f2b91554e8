"""Work on whole runs in separate processes. Each ends with its work, which frees its memory, or as soon as nobody waits
for the answer any more.

The processes are forked from a process that was itself forked before the server had threads. None is started from a
file, which the server's user might not be able to read.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from ..model.errors import CapabilityError, SixbenchError, StoreError, UsageError
from ..model.exit_codes import Exit

IDLE_S = 1.0
"""Idle time after which the forking process imports what the work needs."""

Work = Callable[..., Any]
"""Takes texts and returns a value that JSON can hold."""

MOST_AT_ONCE = 2
"""Processes that work at the same time; further questions wait. Each may read a whole run."""

MOST_KEPT_BYTES = 2**25
"""Total size of the answers that are kept."""

_KINDS: dict[str, type[SixbenchError]] = {"usage": UsageError, "store": StoreError, "cannot": CapabilityError}


class Apart:
    """Work in other processes. Create it while this process has one thread.

    Args:
        known: the kinds of work, by name.
        prepare: imports the packages that they need. It is called once, while no question waits, and starts no thread.
    """

    def __init__(self, known: Mapping[str, Work], prepare: Callable[[], None]) -> None:
        self._here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._turn = asyncio.Semaphore(MOST_AT_ONCE)
        self._answers: OrderedDict[object, bytes] = OrderedDict()
        if os.fork() == 0:
            self._here.close()
            _fork_for(there, known, prepare)
        there.close()

    async def done(self, key: object, name: str, *words: str | None) -> Any:
        """The result of a kind of work. Raises the `UsageError`, `StoreError` or `CapabilityError` that it raised.

        Args:
            key: differs wherever the result may differ; an answer to the same key and words is kept for a while.
        """
        asked = (key, name, words)
        answer = self._answers.pop(asked, None)
        if answer is None:
            async with self._turn:
                answer = await self._asked(json.dumps([name, *words]).encode())
        self._answers[asked] = answer
        while sum(map(len, self._answers.values())) > MOST_KEPT_BYTES:
            self._answers.popitem(last=False)
        reply = json.loads(answer)
        if "refused" in reply:
            raise _KINDS[reply["refused"]](reply["words"])
        return reply["answer"]

    async def _asked(self, question: bytes) -> bytes:
        mine, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._here, [question], [theirs.fileno()])
        reader, writer = await asyncio.open_connection(sock=mine)
        try:
            answer = await reader.read()
        finally:
            writer.close()  # the process ends if it still works
        if not answer:
            raise CapabilityError(
                "the process that read the run was killed, or ended by a bug; sixbench ui printed the reason"
            )
        return answer


def _fork_for(server: socket.socket, known: Mapping[str, Work], prepare: Callable[[], None]) -> None:
    """Forks a process for each question, until the server has ended. Does not return."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are reaped by the kernel
    is_prepared = False
    while True:
        if not is_prepared and not select.select([server], [], [], IDLE_S)[0]:
            prepare()
            gc.freeze()  # forked processes need not search what is imported for garbage
            is_prepared = True
        question, descriptors, _, _ = socket.recv_fds(server, 2**16, 1)
        if not question:
            os._exit(0)
        if os.fork() == 0:
            server.close()
            gc.disable()  # records have no cycles, and searching for them takes a tenth of the time
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _answer_and_end(socket.socket(fileno=descriptors[0]), question, known)
        os.close(descriptors[0])


def _answer_and_end(asker: socket.socket, question: bytes, known: Mapping[str, Work]) -> NoReturn:
    """Answers and ends this process, also where the work has a bug: the callers in the stack belong to the server."""
    try:
        threading.Thread(target=_end_with, args=(asker,), daemon=True).start()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            asker.sendall(_answer(question, known))
    except Exception:  # noqa: BLE001, the traceback is printed
        sys.excepthook(*sys.exc_info())
        os._exit(Exit.BUG)
    os._exit(Exit.DONE)


def _end_with(asker: socket.socket) -> None:
    """Ends this process when nobody waits for its answer."""
    with contextlib.suppress(OSError):
        asker.recv(1)
    os._exit(0)


def _answer(question: bytes, known: Mapping[str, Work]) -> bytes:
    name, *words = json.loads(question)
    try:
        answer = {"answer": known[name](*words)}
    except (UsageError, StoreError, CapabilityError) as error:
        kind = "usage" if isinstance(error, UsageError) else "store" if isinstance(error, StoreError) else "cannot"
        answer = {"refused": kind, "words": str(error)}
    return json.dumps(answer).encode()
