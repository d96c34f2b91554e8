"""Work on whole runs in processes of their own, which end with it: what it took of memory is free then, and it ends at
once where nobody waits for it any more.

The processes are forked by one that was itself forked before the server had threads. None is started from a file, which
the server's user might not be able to read.
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
"""Without a question, after which the process that forks the others prepares for them."""

Work = Callable[..., Any]
"""Takes texts and returns what JSON has."""

MOST_AT_ONCE = 2
"""Others wait: each may read a whole run."""

MOST_KEPT_BYTES = 2**25
"""The largest number of answers that are kept."""

_KINDS: dict[str, type[SixbenchError]] = {"usage": UsageError, "store": StoreError, "cannot": CapabilityError}


class Apart:
    """Has work done in other processes. To be made in a process with one thread.

    Args:
        known: the kinds of work, by name.
        prepare: imports what they need, once, while nothing is asked; it starts no thread.
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
            key: has changed where the result may have; an answer to the same key and words is kept for a while.
        """
        asked = (key, name, words)
        answer = self._answers.pop(asked, None)
        if answer is None:
            async with self._turn:
                answer = await self._asked(json.dumps([name, *words]).encode())
        self._answers[asked] = answer
        while sum(map(len, self._answers.values())) > MOST_KEPT_BYTES:
            self._answers.popitem(last=False)
        told = json.loads(answer)
        if "refused" in told:
            raise _KINDS[told["refused"]](told["words"])
        return told["answer"]

    async def _asked(self, question: bytes) -> bytes:
        mine, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._here, [question], [theirs.fileno()])
        reader, writer = await asyncio.open_connection(sock=mine)
        try:
            answer = await reader.read()
        finally:
            writer.close()  # which ends the process, if it goes on
        if not answer:
            raise CapabilityError(
                "a process that reads a run for the page was killed, or ended by a bug, which sixbench ui printed then"
            )
        return answer


def _fork_for(server: socket.socket, known: Mapping[str, Work], prepare: Callable[[], None]) -> None:
    """Forks a process for each question, until the server has ended. Does not return."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    is_prepared = False
    while True:
        if not is_prepared and not select.select([server], [], [], IDLE_S)[0]:
            prepare()
            gc.freeze()  # no process that is forked looks through it
            is_prepared = True
        question, descriptors, _, _ = socket.recv_fds(server, 2**16, 1)
        if not question:
            os._exit(0)
        if os.fork() == 0:
            server.close()
            gc.disable()  # records have no cycles, and looking for some takes a tenth of the time
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _answer_and_end(socket.socket(fileno=descriptors[0]), question, known)
        os.close(descriptors[0])


def _answer_and_end(asker: socket.socket, question: bytes, known: Mapping[str, Work]) -> NoReturn:
    """Ends this process here also where the work has a bug: what stands above in the stack is the server's."""
    try:
        threading.Thread(target=_end_with, args=(asker,), daemon=True).start()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            asker.sendall(_answer(question, known))
    except Exception:  # noqa: BLE001, it is printed
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
