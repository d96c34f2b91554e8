"""Dask without pickle: workers, schedulers and runs send each other plain data, and nothing that comes is unpickled.

Dask.distributed sends most of a message as msgpack, and the rest as pickles, of which each may run code where it is
read. Here all of the rest is msgpack too: texts, numbers, bytes, lists and objects of them, and the one task that a
scheduler hands out. What else is written becomes `Unread`, and what else is read too, real pickles among them. A
message also has a size, which is looked at before any of it is kept, and is never decompressed.

`hold` sets that up for this process, in three fences: Dask's families of serialization, all places where its modules
name a pickle's functions, and a hook of the interpreter (PEP 578) that ends whatever unpickles a name for Dask.
"""

from __future__ import annotations

import enum
import pickle
import secrets
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

from ..model.quoting import sentence

MOST_MESSAGE_BYTES = 2**29
"""The largest message that is read: a block of trials with all of their files."""

_BEGINS = b"sixbench-plain/1\n"
_KIND = "__sixbench__"
_TASK, _GRAPH, _UNREAD, _NOTHING = "task", "graph", "unread", "nothing"
_MODULES = "distributed"
"""Package whose modules are held to this."""

_is_held = False


class Unread(Exception):
    """Something that was sent as no plain data, so that it was not read. Of an error its words are left."""


def dumps(value: Any, **_: Any) -> bytes:
    """A value as plain data. It has the place of `pickle.dumps`."""
    import msgpack

    try:
        packed = msgpack.packb(value, default=_written, use_bin_type=True)
    except (TypeError, ValueError, OverflowError, RecursionError):
        packed = msgpack.packb(_written(Unread(type(value).__name__)), use_bin_type=True)
    return _BEGINS + bytes(packed)


def loads(data: Any, **_: Any) -> Any:
    """Reads it back; `Unread` for anything else, such as a pickle. It has the place of `pickle.loads`."""
    import msgpack

    packed = memoryview(data).cast("B")
    if packed[: len(_BEGINS)] != _BEGINS:
        return Unread("no plain data")
    try:
        return msgpack.unpackb(packed[len(_BEGINS) :], object_hook=_read, raw=False, strict_map_key=False)
    except (ValueError, TypeError, RecursionError, OverflowError, msgpack.UnpackException):
        return Unread("damaged data")


def _written(value: Any) -> Any:
    """The substitute for a value that msgpack does not know."""
    from dask._expr import LLGExpr
    from dask._task_spec import Task

    from .tasks import measure_block

    if isinstance(value, Task) and value.func is measure_block and len(value.args) == 1 and not value.kwargs:
        return {_KIND: _TASK, "key": value.key, "job": value.args[0]}
    if isinstance(value, LLGExpr):
        return {_KIND: _GRAPH, "tasks": list(value.operand("dsk").values())}  # type: ignore[no-untyped-call]
    if isinstance(value, (set, frozenset)):
        return list(value)
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, BaseException):
        return {_KIND: _UNREAD, "words": f"{type(value).__name__}: {value}"[:10_000]}
    return {_KIND: _NOTHING if type(value).__name__ == "traceback" else _UNREAD, "words": type(value).__name__}


def _read(results: dict[Any, Any]) -> Any:
    """Values that stand for themselves, and values that stand for something else."""
    from dask._expr import LLGExpr
    from dask._task_spec import Task

    from .tasks import measure_block

    match results:
        case {"__sixbench__": "task", "key": str(key), "job": str(job)}:
            return Task(key, measure_block, job)
        case {"__sixbench__": "graph", "tasks": list(tasks)} if all(type(task) is Task for task in tasks):
            return LLGExpr({task.key: task for task in tasks}, _determ_token=secrets.token_hex())  # type: ignore[no-untyped-call]
        case {"__sixbench__": "nothing"}:
            return None
        case {"__sixbench__": _}:
            return Unread(sentence(str(results.get("words", ""))))
    return results


def hold() -> None:
    """Holds Dask to this in this process, for ever."""
    global _is_held  # noqa: PLW0603
    if _is_held:
        return
    _is_held = True
    _set_families()
    _set_names()
    _set_reading()
    sys.addaudithook(_end_unpickling)


def _set_families() -> None:
    """All of what Dask calls serialization is ours, under the names that it asks for when it is asked for none."""
    compression, serialize = _module("protocol.compression"), _module("protocol.serialize")

    def family_dumps(value: Any) -> tuple[dict[str, Any], list[bytes]]:
        return {"serializer": "pickle"}, [dumps(value)]

    def family_loads(_: Mapping[str, Any], frames: Iterable[Any]) -> Any:
        return loads(b"".join(frames))

    serialize.families.clear()
    for name in ("dask", "pickle", "msgpack", "error"):
        serialize.register_serialization_family(name, family_dumps, family_loads)
    # A few compressed bytes may become gigabytes.
    for name in [item for item in compression.compressions if item not in (None, False, "auto")]:
        del compression.compressions[name]
    compression.compressions["auto"] = compression.compressions[None]


def _set_names() -> None:
    """Wherever its modules name what pickles and unpickles, they name ours."""
    import cloudpickle

    dasks_own = _module("protocol.pickle")
    ours = SimpleNamespace(dumps=dumps, loads=loads, HIGHEST_PROTOCOL=pickle.HIGHEST_PROTOCOL)
    instead: dict[int, Any] = {id(pickle): ours, id(cloudpickle): ours}
    for item in (dasks_own, pickle):
        instead[id(item.loads)], instead[id(item.dumps)] = loads, dumps
    for module in _modules():
        for name, value in list(vars(module).items()):
            if id(value) in instead:
                setattr(module, name, instead[id(value)])
    _module("protocol.serialize").import_allowed_module = _known_module


def _module(name: str) -> Any:
    return import_module(f"{_MODULES}.{name}")


def _modules() -> list[ModuleType]:
    return [
        module_type
        for name, module_type in sys.modules.items()
        if name.partition(".")[0] == _MODULES and module_type is not None
    ]


def _known_module(name: object) -> ModuleType:
    """A module of Dask's that is there already: no message has one imported. Raises `ValueError`."""
    module = sys.modules.get(name) if isinstance(name, str) and name.partition(".")[0] == _MODULES else None
    if module is None:
        raise ValueError("a message names a module that is not there")
    return module


def _set_reading() -> None:
    """A message that is too large, or that cannot be read, ends its connection. All connections are over TLS."""
    from distributed.comm.core import CommClosedError

    protocol, tcp, backends = _module("protocol"), _module("comm.tcp"), _module("comm.registry").backends
    for name in [backend for backend in backends if backend != "tls"]:
        del backends[name]
    read_bytes, unpack_frames, read_message = tcp.read_bytes_rw, tcp.unpack_frames, protocol.loads

    async def bounded_bytes(stream: Any, count: int) -> Any:
        if count > MOST_MESSAGE_BYTES:
            raise CommClosedError(f"a message of more than {MOST_MESSAGE_BYTES} bytes")
        return await read_bytes(stream, count)

    def bounded_frames(data: Any, **how: Any) -> Any:
        try:
            result = unpack_frames(data, **how)
        except (ValueError, TypeError, OverflowError, MemoryError, LookupError) as error:
            raise CommClosedError("a message whose parts have no lengths") from error
        if how.get("partial") and sum(result[1]) > MOST_MESSAGE_BYTES:
            raise CommClosedError(f"a message of more than {MOST_MESSAGE_BYTES} bytes")
        return result

    def readable(frames: Any, **how: Any) -> Any:
        try:
            return read_message(frames, **how)
        except Exception as error:
            raise CommClosedError(f"a message that cannot be read: {type(error).__name__}") from error

    tcp.read_bytes_rw = bounded_bytes
    tcp.unpack_frames = bounded_frames
    protocol.loads = readable


def _end_unpickling(event: str, _: tuple[Any, ...]) -> None:
    """A hook of the interpreter. Raises `pickle.UnpicklingError` where Dask looks up a name for a pickle."""
    if event != "pickle.find_class":
        return
    frame = sys._getframe()
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] == _MODULES:
            raise pickle.UnpicklingError("nothing that a message brings is unpickled")
        frame = frame.f_back  # type: ignore[assignment]


def only(handlers: Mapping[str, Callable[..., Any]], *names: str) -> dict[str, Callable[..., Any]]:
    """The handlers of messages that workers need: Dask's others run functions, import files and write them."""
    return {name: handler for name, handler in handlers.items() if name in names}
