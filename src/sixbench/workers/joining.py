"""A worker: joins a scheduler, measures what it hands out, and waits for it when it has gone."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ..model.errors import CapabilityError
from .address import Address
from .dask_worker import DaskWorker
from .measuring import Abandoned, BlockMeasurer, Report
from .messages import chosen_to_wire, reply_to_wire
from .reaching import reach
from .request_queue import BlockRequest, RequestQueue, open_request_queue

if TYPE_CHECKING:
    from distributed.security import Security

IDLE_S = 10.0
"""After this time without a block a worker takes its networks down and lets the processors sleep."""

RETRY_S = 1.0
"""Interval at which a worker looks for its lost scheduler."""


def run_worker(address: Address, security: Security, name: str, bench: BlockMeasurer, report: Report) -> None:
    """Serves until `KeyboardInterrupt`. Raises `CapabilityError` where the scheduler cannot be joined at first."""
    here = reach(address, security)
    has_joined = False
    while True:
        desk = open_request_queue()
        worker = DaskWorker(address, here, security, name, desk)
        try:
            worker.start()
        except CapabilityError:
            if not has_joined:
                raise
            here = _wait_for(address, security)  # a scheduler may take some time to see that it has lost this worker
            continue
        has_joined = True
        report(f"{name} is a worker of the scheduler at {address}; stop with Ctrl-C")
        try:
            _serve(bench, desk)
        finally:
            bench.rest()
            worker.close()
        report(f"the scheduler at {address} is gone; {name} waits for it")
        here = _wait_for(address, security)


def _serve(bench: BlockMeasurer, desk: RequestQueue) -> None:
    """Does what the worker is asked for, until the scheduler has gone."""
    while True:
        try:
            asked = desk.next(IDLE_S)
        except TimeoutError:
            bench.rest()
            continue
        if asked is None:
            return
        if not isinstance(asked, BlockRequest):
            asked.answer.set_result(chosen_to_wire(bench.choose(asked.text)))
            continue
        try:
            asked.answer.set_result(reply_to_wire(bench.measure(asked.text, asked.is_wanted)))
        except Abandoned:
            asked.answer.cancel()


def _wait_for(address: Address, security: Security) -> str:
    while True:
        time.sleep(RETRY_S)
        try:
            return reach(address, security)
        except CapabilityError:
            continue
