"""Workers, schedulers and runs read plain data only: no pickle of a hostile worker runs code. Messages have a size."""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from waiting import wait_for

from sixbench.model.errors import SixbenchError
from sixbench.workers import plain
from sixbench.workers.settings import set_up

set_up()
from distributed import protocol  # noqa: E402, Dask is held to plain data before
from distributed.comm.core import CommClosedError  # noqa: E402
from distributed.protocol import serialize as _  # noqa: E402, F401
from distributed.protocol.pickle import loads as dasks_loads  # noqa: E402

from sixbench.workers.address import Address  # noqa: E402
from sixbench.workers.dask_client import DaskWorkers  # noqa: E402
from sixbench.workers.key import security_of  # noqa: E402
from sixbench.workers.messages import BlockJob  # noqa: E402
from sixbench.workers.scheduler import run_scheduler  # noqa: E402

pytestmark = pytest.mark.computes

KEY = b"k" * 32
JOB = BlockJob(run="x", block=1, combinations=("c",), attempt=1, fence="f")
HOSTILE = Path(__file__).parents[1] / "hostile_worker.py"


class Evil:
    """Its pickle makes a directory where it is read."""

    def __init__(self, mark: Path) -> None:
        self.mark = str(mark)

    def __reduce__(self) -> Any:
        return os.mkdir, (self.mark,)


@pytest.fixture
def mark(tmp_path: Path) -> Iterator[Path]:
    """The directory that a pickle would make, and has not made when a test is over."""
    mark = tmp_path / "mark"
    pickle.loads(pickle.dumps(Evil(mark)))  # it is a pickle that would
    mark.rmdir()
    yield mark
    assert not mark.exists()


def frames_of(kind: str, evil: bytes) -> list[bytes]:
    """The frames of a message with a pickle in it."""
    pack = msgpack.packb
    if kind == "pickled":
        return [pack({"a": {"__Pickled__": 1}}), pack({"pickled-obj": evil, "num-sub-frames": 0})]
    if kind == "enum":
        return [pack({"__Enum__": True, "__module__": "this", "__name__": "s", "name": "join"})]
    if kind == "compressed":
        header = {"pickled-obj": evil, "num-sub-frames": 1, "compression": ["zlib"]}
        return [pack({"a": {"__Pickled__": 1}}), pack(header), b"x"]
    inner = {"serializer": kind, "type-serialized": evil, "sub-header": {}, "writeable": [False], "dtype": [0, evil]}
    if kind == "collection":
        inner = {"serializer": "pickle", "writeable": [False]}
        outer = {"is-collection": True, "sub-headers": [inner], "frame-lengths": [1], "type-serialized": "list"}
        return [
            pack({"a": {"__Serialized__": 1}}),
            pack(outer | {"num-sub-frames": 1, "split-num-sub-frames": [1], "split-offsets": [0]}),
            evil,
        ]
    header = inner | {"num-sub-frames": 1, "split-num-sub-frames": [1], "split-offsets": [0]}
    return [pack({"a": {"__Serialized__": 1}}), pack(header), evil]


@pytest.mark.parametrize(
    "kind", ["pickled", "pickle", "dask", "cuda", "error", "msgpack", "collection", "compressed", "enum", "numpy"]
)
def test_no_part_of_a_message_is_unpickled(kind: str, mark: Path) -> None:
    for evil in (pickle.dumps(Evil(mark)), cloudpickle.dumps(lambda: os.mkdir(mark)), pickle.dumps(Evil(mark), 0)):
        with contextlib.suppress(CommClosedError):
            protocol.loads(frames_of(kind, evil))


def test_no_module_of_dask_names_what_unpickles() -> None:
    unpickling = {id(item) for item in (pickle, cloudpickle, pickle.loads, pickle.load, pickle.Unpickler)}
    texts = [
        f"{name}.{key}"
        for name, module in sys.modules.items()
        if name.partition(".")[0] == "distributed"
        for key, value in vars(module).items()
        if id(value) in unpickling
    ]
    assert texts == []
    assert dasks_loads is plain.loads


def test_whatever_unpickles_for_dask_is_ended(mark: Path) -> None:
    evil = pickle.dumps(Evil(mark))
    with pytest.raises(pickle.UnpicklingError, match="nothing that a message brings is unpickled"):
        exec("import pickle; pickle.loads(evil)", {"__name__": "distributed.some.module", "evil": evil})


@settings(max_examples=50)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text() | st.binary(),
        lambda item: st.lists(item, max_size=3) | st.dictionaries(st.text(max_size=9), item, max_size=3),
    )
)
def test_plain_data_comes_as_it_went(value: Any) -> None:
    assert plain.loads(plain.dumps(value)) == value


@given(st.binary(max_size=300))
def test_whatever_comes_is_read_or_unread(data: bytes) -> None:
    for frame in (data, b"sixbench-plain/1\n" + data):
        plain.loads(frame)
    assert isinstance(plain.loads(b"\x80" + data), plain.Unread)


class Large:
    """A stream that says how large a message will be, and counts what is read of it."""

    def __init__(self) -> None:
        self.read = 0

    async def read_into(self, chunk: memoryview) -> int:
        self.read += len(chunk)
        return len(chunk)


@pytest.mark.parametrize("count", [plain.MOST_MESSAGE_BYTES + 1, 3 * 2**30, 2**63])
def test_a_message_that_is_too_large_is_not_begun(count: int) -> None:
    import asyncio

    from distributed.comm import tcp

    stream = Large()
    with pytest.raises(CommClosedError, match="a message of more than"):
        asyncio.run(tcp.read_bytes_rw(stream, count))  # type: ignore[arg-type]
    assert stream.read == 0


@pytest.fixture
def scheduler() -> Address:
    """A scheduler of ours that knows no other test's workers, in a thread that ends with the process."""
    collected: list[Address] = []
    serving = threading.Thread(
        target=lambda: run_scheduler(Address(host="127.0.0.1", port=0), security_of(KEY), collected.append), daemon=True
    )
    serving.start()
    wait_for(lambda: bool(collected))
    return collected[0]


@contextlib.contextmanager
def hostile(scheduler: Address, mark: Path, attack: str) -> Iterator[None]:
    """A hostile worker that has joined."""
    words = [sys.executable, HOSTILE, KEY.hex(), str(scheduler.port), str(mark), attack]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            assert process.stdout.readline() == "joined\n"
            yield
        finally:
            process.stdin.close()
            process.wait(60)


@pytest.mark.parametrize("attack", ["result", "error"])
def test_what_a_hostile_worker_measured_is_not_unpickled(scheduler: Address, mark: Path, attack: str) -> None:
    outcome, is_dropped, refusal = None, False, ""
    with hostile(scheduler, mark, attack):
        try:
            with DaskWorkers(scheduler, security_of(KEY), "r", wait=False, report=print) as workers:
                workers.hand_out(JOB)
                outcome = workers.next(60)
                is_dropped = workers.names() == []
        except SixbenchError as error:
            refusal = str(error)
    # Its measurement is refused, or it is a worker that has died. The scheduler may drop it even before it has
    # measured.
    assert (
        refusal.startswith(("a reply of a worker: ", f"the scheduler at {scheduler} has no worker"))
        or (outcome is not None and outcome.reply is None)
        or is_dropped
    )
    assert refusal.isprintable()


def test_what_a_hostile_worker_would_choose_is_not_unpickled(scheduler: Address, mark: Path) -> None:
    # The scheduler may drop such a worker before it is asked; then there is none to choose from.
    with hostile(scheduler, mark, "choice"), pytest.raises(SixbenchError, match="worker") as caught:  # noqa: SIM117
        with DaskWorkers(scheduler, security_of(KEY), "r", wait=False, report=print) as workers:
            workers.choose("a run")
    assert str(caught.value).isprintable()


def test_no_request_runs_code_in_the_scheduler(scheduler: Address, mark: Path) -> None:
    with hostile(scheduler, mark, "requests"):
        pass
