"""The addresses of the page."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import anyio.to_thread
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from ..model.errors import AgentError, CapabilityError, ExperimentError, SixbenchError, StoreError, UsageError
from ..model.quoting import text_of
from ..report import palette
from ..store import Run, prepare_to_read
from . import check, compare, learn, servers, tables, trial, two_machines
from .apart import Apart, Work
from .asking import RunnerConnection
from .bounded_json import read_json
from .events import reader_of, rest_of
from .guard import MOST_BODY_BYTES, Guard
from .look import Look
from .runs import FILES, Runs, described
from .site import Site
from .stream import EventStream, Streams

STATIC = Path(__file__).resolve().parent / "static"

LIST_WITHIN_S = 0.6
"""Longest time for which an answer with the list waits for runs that are being read."""

LIST_LEFT_S = 15.0
"""Time without a question for the list after which nobody looks at it any more. A page asks every 5 s."""

LOOK_S = 0.5
"""Interval between checks whether a client has left."""

PREPARED = (
    "sixbench.report.latex",
    "sixbench.report.markdown",
    "sixbench.report.csv",
    "sixbench.analysis.comparison_groups",
    "sixbench.analysis.findings",
    "sixbench.analysis.fixed_mtu",
    "sixbench.analysis.held_against",
    "sixbench.analysis.kernel_contrasts",
    "sixbench.analysis.worker_effects",
    "sixbench.model.record_json",
    "sixbench.plan.paper_file",
    "scipy.special",
)
"""Modules that work on whole runs needs. They import the drawing packages, which take most of the time and 40 MB."""

_Result = TypeVar("_Result")

REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
    "frame-ancestors 'self'"
)
"""A report needs no other file. It may come from a stranger, so it has an origin of its own and can make no request."""

Handler = Callable[[Request], Awaitable[Any]]


def application(
    directory: Path,
    token: str,
    site: Site,
    runner: RunnerConnection,
    stopping: Callable[[], bool] = lambda: False,
    agent: int | None = None,
    apart: Apart | None = None,
) -> ASGIApp:
    """The page for the runs of a directory, behind its guard.

    Args:
        stopping: whether the server is about to end.
        agent: a descriptor of the agent, which decodes packets; None: the agent is searched for.
        apart: reads whole runs; None: this process reads them, and keeps the memory.
    """
    page = _Page(directory, runner, stopping, agent, apart)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with runner.reached():
            yield

    routes = [
        Route("/", _index),
        Route("/report", _report_frame),
        Route("/static/palette.css", _palette),
        Mount("/static", StaticFiles(directory=STATIC)),
        Route("/api/jobs", page.list_jobs),
        Route("/api/runs", page.list_runs),
        Route("/api/runs/{name}", page.one_run),
        Route("/api/runs/{name}/events", page.events),
        Route("/api/runs/{name}/stop", page.stop, methods=["POST"]),
        Route("/api/runs/{name}/resume", page.resume, methods=["POST"]),
        Route("/api/runs/{name}/trials", page.trials),
        Route("/api/runs/{name}/trials/{key}", page.trial),
        Route("/api/runs/{name}/trials/{key}/packets/{link}", page.packets),
        Route("/api/runs/{name}/servers", page.servers),
        Route("/api/runs/{name}/tables", page.table_titles),
        Route("/api/runs/{name}/tables/{form}", page.tables),
        Route("/runs/{name}/{file}", page.file),
        Route("/runs/{name}/trials/{key}/{file}", page.trial_file),
        Route("/api/compare", page.compare),
        Route("/api/doctor", page.machine),
        Route("/api/gallery", page.gallery),
        Route("/api/gallery/{name}", page.shipped),
        Route("/api/check", page.check, methods=["POST"]),
        Route("/api/start", page.start, methods=["POST"]),
        Route("/api/measure/check", page.check_measurement, methods=["POST"]),
        Route("/api/measure/start", page.start_measurement, methods=["POST"]),
        Route("/api/runs/{name}/path-mtu", page.path_mtus),
        Route("/api/learn", page.lessons),
        Route("/api/learn/{name}", page.lesson),
    ]
    handlers: dict[Any, Any] = {CapabilityError: _cannot, ClientDisconnect: _left}
    return Guard(Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers), token, site)


async def _index(_: Request) -> Response:
    return FileResponse(STATIC / "index.html")


async def _palette(_: Request) -> Response:
    """The colours of the report, which the page shares."""
    return Response(f"{palette.sheet()}\n{palette.path_classes()}\n", media_type="text/css")


async def _report_frame(_: Request) -> Response:
    """An empty page. The page around it fills it with a report."""
    return FileResponse(STATIC / "report.html", headers={"content-security-policy": REPORT_POLICY})


def _refused(error: Exception, code: int) -> Response:
    return JSONResponse({"error": text_of(str(error))}, code)


async def _cannot(_: Request, error: Exception) -> Response:
    """The answer where this machine lacks a capability, or the runner has ended."""
    return _refused(error, 500)


async def _left(_: Request, error: Exception) -> Response:
    """The answer to a client that left before its request was complete. Nobody receives it."""
    return _refused(error, 400)


class _Page:
    def __init__(
        self,
        directory: Path,
        runner: RunnerConnection,
        stopping: Callable[[], bool],
        agent: int | None,
        apart: Apart | None,
    ) -> None:
        self._stopping = stopping
        self.runs = Runs(directory)
        self.runner = runner
        self.streams = Streams()
        self._agent = agent
        self._apart = apart
        self._reading: asyncio.Task[None] | None = None
        self._listed_s = 0.0

    async def list_runs(self, _: Request) -> Response:
        """All runs, and those that the page started."""
        try:
            listed = await self._listed()
        except SixbenchError as error:
            return _refused(error, 500)
        jobs = await self.runner.jobs()
        return JSONResponse({"directory": text_of(str(self.runs.directory)), "runs": listed, "jobs": jobs})

    async def _listed(self) -> list[dict[str, Any]]:
        """All runs. Unread runs are read one after the other while somebody asks for the list."""
        if self._apart is None:
            return await anyio.to_thread.run_sync(self.runs.listed)
        self._listed_s = time.monotonic()
        listed = await anyio.to_thread.run_sync(lambda: self.runs.listed(at_once=True))
        unread = [run["run"] for run in listed if run.get("unread")]
        if unread and (self._reading is None or self._reading.done()):
            self._reading = asyncio.create_task(self._read_for_list(self._apart, unread))
        if unread and self._reading is not None:
            await asyncio.wait([self._reading], timeout=LIST_WITHIN_S)
            return await anyio.to_thread.run_sync(lambda: self.runs.listed(at_once=True))
        return listed

    async def _read_for_list(self, apart: Apart, names: list[str]) -> None:
        for name in names:
            began_s = time.monotonic()
            if began_s - self._listed_s > LIST_LEFT_S:
                return
            with contextlib.suppress(StoreError, CapabilityError):
                entry = await apart.done(self.runs.changes(name), "listed", name)
                self.runs.learn(name, entry, time.monotonic() - began_s)

    async def list_jobs(self, _: Request) -> Response:
        """The runs that the page started. No other run is read."""
        return JSONResponse({"jobs": await self.runner.jobs()})

    async def one_run(self, request: Request) -> Response:
        """The data on the screens of one run, besides its events. A run that has just been started has no directory."""
        name = request.path_params["name"]

        def read() -> dict[str, Any]:
            inside = self.runs.folder(name)
            return described(name, self.runs.outline(name), [file for file in FILES if inside.has(file)])

        try:
            return JSONResponse(await anyio.to_thread.run_sync(read))
        except StoreError as error:
            job = await self.runner.job(name)
            if job is not None and job["state"] != "ended":
                return JSONResponse({"preparing": True}, 202)
            return _refused(StoreError(job["words"]) if job is not None and job["words"] else error, 404)

    async def events(self, request: Request) -> Any:
        """The events of a run, as a stream."""
        name = request.path_params["name"]
        if self.streams.is_full:
            return PlainTextResponse("sixbench ui: too many pages follow this run already; close one\n", 429)
        try:
            reader = reader_of(self.runs, name)
        except StoreError as error:
            return _refused(error, 404)
        last = request.headers.get("last-event-id", "")
        look = Look(lambda: self.runs.folder(name))
        return EventStream(self.streams, reader, last, lambda: self._rest(name), look, self._stopping)

    async def _rest(self, name: str) -> str | None:
        """The state of a run without a process; None while it has one. A run that the page started is over when its
        process has ended, a moment after that has released the directory."""
        if await self.runner.is_under_way(name):
            return None
        return await anyio.to_thread.run_sync(lambda: rest_of(self.runs, name))

    async def stop(self, request: Request) -> Response:
        """Stops a run of this directory."""
        try:
            await self.runner.stop(request.path_params["name"])
        except StoreError as error:
            return _refused(error, 404)
        except UsageError as error:
            return _refused(error, 409)
        return JSONResponse({})

    async def resume(self, request: Request) -> Response:
        """Resumes an interrupted run, or queues it."""
        try:
            return JSONResponse(await self.runner.resume(request.path_params["name"]), 202)
        except StoreError as error:
            return _refused(error, 404)
        except UsageError as error:
            return _refused(error, 409)

    async def file(self, request: Request) -> Response:
        """A file of a run."""
        name, file = request.path_params["name"], request.path_params["file"]
        try:
            content = await anyio.to_thread.run_sync(lambda: self.runs.file(name, file))
        except StoreError as error:
            return _refused(error, 404)
        if content is None:
            return _refused(ValueError("the run has no such file"), 404)
        return _saved(content, file)

    async def trials(self, request: Request) -> Response:
        """All trials of a run in brief."""
        name = request.path_params["name"]
        try:
            briefs = await anyio.to_thread.run_sync(lambda: self.runs.briefs(name))
            while await anyio.to_thread.run_sync(briefs.read_more):
                if await request.is_disconnected():
                    return _refused(ValueError("the client left"), 400)
            experiment = (await anyio.to_thread.run_sync(lambda: self.runs.outline(name))).manifest.experiment
        except StoreError as error:
            return _refused(error, 404)
        return JSONResponse(trial.trials(experiment, briefs.events))

    async def trial(self, request: Request) -> Response:
        """One trial with its series."""
        key = request.path_params["key"]
        return await self._of_run(request, lambda run: trial.trial(run, key), self._with_trial)

    async def packets(self, request: Request) -> Response:
        """Packets of a trial on a link."""
        key, link = request.path_params["key"], request.path_params["link"]
        first = request.query_params.get("first", "0")
        if not first.isdecimal() or len(first) > 9:
            return _refused(ValueError("packets are counted from 0"), 422)
        return await self._of_run(
            request, lambda run: trial.packets(run, key, link, int(first), self._agent), self._with_trial
        )

    async def table_titles(self, request: Request) -> Response:
        """The tables of the paper that the run reproduces."""
        return await self._of_run(
            request, tables.titles, lambda request: self.runs.outline(request.path_params["name"])
        )

    async def tables(self, request: Request) -> Response:
        """The report as text with tables for a paper, or one table of the paper that the run reproduces."""
        form, name = request.path_params["form"], request.query_params.get("table")
        if self._apart is None:
            return await self._of_run(request, lambda run: tables.text(run, form, name))
        run = request.path_params["name"]
        try:
            key = self.runs.changes(run)
            return JSONResponse(await _while_there(request, self._apart.done(key, "tables", run, form, name)))
        except StoreError as error:
            return _refused(error, 404)
        except UsageError as error:
            return _refused(error, 409)

    async def servers(self, request: Request) -> Response:
        """The servers of a run by their change, or one of them with its blocks."""
        label = request.query_params.get("server")
        if self._apart is None:
            return await self._of_run(request, lambda run: _of_servers(run, label))
        name = request.path_params["name"]
        try:
            key = self.runs.changes(name)
            return JSONResponse(await _while_there(request, self._apart.done(key, "servers", name, label)))
        except StoreError as error:
            return _refused(error, 404)
        except UsageError as error:
            return _refused(error, 409)

    async def trial_file(self, request: Request) -> Response:
        """A file of a trial."""
        name, key, file = (request.path_params[part] for part in ("name", "key", "file"))
        try:
            content = await anyio.to_thread.run_sync(lambda: trial.file(self.runs.with_trial(name, key), key, file))
        except StoreError as error:
            return _refused(error, 404)
        return _refused(ValueError("the trial has no such file"), 404) if content is None else _saved(content, file)

    def _with_trial(self, request: Request) -> Run:
        return self.runs.with_trial(request.path_params["name"], request.path_params["key"])

    async def _of_run(
        self, request: Request, describe: Callable[[Run], dict[str, Any]], read: Callable[[Request], Run] | None = None
    ) -> Response:
        """The description of a run.

        Args:
            read: reads the part of the run that is needed; None: all of it.
        """
        chosen = read or (lambda request: self.runs.kept(request.path_params["name"]))
        try:
            return JSONResponse(await anyio.to_thread.run_sync(lambda: describe(chosen(request))))
        except StoreError as error:
            return _refused(error, 404)
        except UsageError as error:
            return _refused(error, 409)
        except AgentError as error:
            return _refused(error, 500)

    async def compare(self, request: Request) -> Response:
        """Compared runs, each against a reference."""
        names, reference = request.query_params.getlist("run"), request.query_params.get("reference", "")
        try:
            if self._apart is None or not 2 <= len(names) <= compare.MOST_RUNS:
                return JSONResponse(
                    await anyio.to_thread.run_sync(lambda: compare.compared(self.runs, names, reference))
                )
            key = "".join(self.runs.changes(name) for name in names) + reference
            return JSONResponse(await _while_there(request, self._apart.done(key, "compare", reference, *names)))
        except StoreError as error:
            return _refused(error, 404)
        except UsageError as error:
            return _refused(error, 422)

    async def machine(self, _: Request) -> Response:
        """The capabilities of this machine, in one sentence; null while it is being checked."""
        return JSONResponse({"sentence": await self.runner.doctor()})

    async def gallery(self, _: Request) -> Response:
        """The shipped experiments."""
        return JSONResponse({"experiments": await anyio.to_thread.run_sync(check.gallery)})

    async def shipped(self, request: Request) -> Response:
        """The text of a shipped experiment."""
        try:
            return JSONResponse({"text": check.shipped_text(request.path_params["name"])})
        except UsageError as error:
            return _refused(error, 404)

    async def check(self, request: Request) -> Response:
        """The problems of an experiment, or its duration."""
        try:
            data = await _body(request)
            return JSONResponse(await anyio.to_thread.run_sync(lambda: check.described(check.checked(data))))
        except (ExperimentError, UsageError) as error:
            return JSONResponse({"problems": check.problem_lines(error)}, 422)

    async def start(self, request: Request) -> Response:
        """Starts a run, or queues it."""
        return await self._queued(request, self.runner.start)

    async def start_measurement(self, request: Request) -> Response:
        """Starts a measurement to another machine, or queues it."""
        return await self._queued(request, self.runner.measure)

    async def _queued(self, request: Request, ask: Callable[[Any], Awaitable[dict[str, Any]]]) -> Response:
        try:
            return JSONResponse(await ask(await _body(request)), 202)
        except UsageError as error:
            return JSONResponse({"problems": check.problem_lines(error)}, 422)
        except (StoreError, CapabilityError) as error:
            return _refused(error, 500)

    async def check_measurement(self, request: Request) -> Response:
        """The problems of a measurement to another machine, or its command."""
        try:
            return JSONResponse({"command": two_machines.command(two_machines.read_measurement(await _body(request)))})
        except UsageError as error:
            return JSONResponse({"problems": check.problem_lines(error)}, 422)

    async def path_mtus(self, request: Request) -> Response:
        """The path MTU of each direction of a measurement."""
        return await self._of_run(request, two_machines.path_mtus)

    async def lessons(self, _: Request) -> Response:
        """The paths that can be learned."""
        return JSONResponse(await anyio.to_thread.run_sync(learn.lessons))

    async def lesson(self, request: Request) -> Response:
        """The path of a packet, step by step."""
        size = request.query_params.get("bytes", "1280")
        try:
            if not size.isdecimal() or len(size) > 5:
                raise ValueError("a size is a whole number of bytes")
            lesson = await anyio.to_thread.run_sync(lambda: learn.lesson(request.path_params["name"], int(size)))
        except KeyError:
            return _refused(ValueError("there is no such path"), 404)
        except ValueError as error:
            return _refused(error, 422)
        return JSONResponse(lesson)


def works(directory: Path) -> dict[str, Work]:
    """The kinds of work on whole runs, by name."""
    return {
        "listed": lambda name: Runs(directory).description(name),
        "servers": lambda name, label: _of_servers(Runs(directory).read(name), label),
        "tables": lambda name, form, table: tables.text(Runs(directory).read(name), form, table),
        "compare": lambda reference, *names: compare.compared(Runs(directory), names, reference),
    }


def _of_servers(run: Run, label: str | None) -> dict[str, Any]:
    return servers.by_change(run) if label is None else servers.one_server(run, label)


def prepare_works() -> None:
    """Imports the packages for work on whole runs, which takes longer than the work, and builds what checks runs."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a process with threads must not be forked
    for name in PREPARED:
        import_module(name)
    prepare_to_read()


async def _while_there(request: Request, work: Coroutine[Any, Any, _Result]) -> _Result:
    """The result of work that is cancelled when the client leaves. Raises `ClientDisconnect` then."""
    task = asyncio.create_task(work)
    try:
        while not (await asyncio.wait([task], timeout=LOOK_S))[0]:
            if await request.is_disconnected():
                raise ClientDisconnect
        return task.result()
    finally:
        task.cancel()


def _saved(content: bytes, file: str) -> Response:
    """A file to save. Its name is from a fixed list."""
    headers = {"content-disposition": f'attachment; filename="{file}"', "content-security-policy": "sandbox"}
    return Response(content, media_type="application/octet-stream", headers=headers)


async def _body(request: Request) -> Any:
    """The JSON of a request. Raises `UsageError`."""
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > MOST_BODY_BYTES:
            raise UsageError(f"an experiment of the page has at most {MOST_BODY_BYTES} bytes")
    return read_json(content)
