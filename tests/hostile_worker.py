"""A worker that has the key and wants to run code elsewhere, as a process: `python hostile_worker.py KEY PORT MARK
WAY`.

Its Dask is as it came, and pickles whatever it likes; only what the scheduler sends it reads as a worker of ours does.
It says `joined` when it has joined. If anything that it sends is unpickled, the directory MARK is made.

Ways: `result`, `error` and `choice` are what it answers with; `requests` are those that run code in a scheduler of
Dask, or in other workers.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import sys
from typing import Any

import distributed.protocol.pickle as of_dask
from distributed import Worker
from distributed.comm import connect
from distributed.core import rpc
from distributed.protocol import to_serialize

from sixbench.workers import plain, tasks
from sixbench.workers.key import security_of

REQUESTS = (
    "run_function",
    "feed",
    "register_scheduler_plugin",
    "register_worker_plugin",
    "register_nanny_plugin",
    "broadcast",
    "proxy",
    "scatter",
    "update_data",
    "set_metadata",
    "log_event",
    "heartbeat_worker",
    "look",
    "choose",
)


class Evil(Exception):
    """Its pickle makes a directory where it is read."""

    def __reduce__(self) -> Any:
        return os.mkdir, (sys.argv[3],)


class Worker(Worker):
    """A worker that answers a question of the scheduler's with a pickle."""

    def __init__(self, *words: Any, **given: Any) -> None:
        super().__init__(*words, **given)
        self.handlers["choose"] = lambda run: {"sixbench": "1", "worker": to_serialize(Evil())}


def measure_block(job: str) -> Any:
    """Its measurement."""
    if sys.argv[4] == "error":
        raise Evil
    return [Evil(), {"schema": Evil()}] if sys.argv[4] == "result" else job


async def ask(address: str, arguments: dict[str, Any]) -> None:
    """Sends a scheduler all that runs code there."""
    evil = pickle.dumps(Evil())
    for op in REQUESTS:
        words = {"function": evil, "setup": evil, "teardown": evil, "plugin": evil, "name": evil, "key": evil}
        for sent in (words, {name: to_serialize(Evil()) for name in words}, {"msg": {"op": "run", "function": evil}}):
            with contextlib.suppress(Exception):
                async with rpc(address, connection_args=arguments) as scheduler:
                    await asyncio.wait_for(getattr(scheduler, op)(**sent), 2)
    # No handler is asked about pickles in the frames of a message.
    for value in (Evil(), [Evil()], {"a": Evil()}):
        with contextlib.suppress(Exception):
            comm = await connect(address, **arguments)
            await comm.write({"op": "identity", "reply": True, "extra": value})
            await asyncio.wait_for(comm.read(), 2)


async def main() -> None:
    tasks.measure_block = measure_block
    of_dask.loads = plain.loads
    address, security = f"tls://127.0.0.1:{sys.argv[2]}", security_of(bytes.fromhex(sys.argv[1]))
    if sys.argv[4] == "requests":
        await ask(address, security.get_connection_args("client"))
        os.write(1, b"joined\n")
        return
    async with Worker(
        address, security=security, name="lab1", nthreads=1, resources={tasks.WORKER_RESOURCE: 1}
    ) as worker:
        for topic in ("warn", "print", "all"):
            worker.log_event(topic, {"message": pickle.dumps(Evil()), "category": pickle.dumps(Evil())})
        os.write(1, b"joined\n")
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
