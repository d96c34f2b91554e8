"""The command line, and errors to exit codes."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import typer

from .. import __version__
from ..model.errors import ExperimentError, HostsError, SixbenchError, WriteError
from ..model.exit_codes import Exit, exit_codes_line
from ..model.program_path import with_usual_places
from . import (
    calibrate_command,
    compare_command,
    doctor_command,
    kernels_command,
    lab_command,
    measure_command,
    monitor_command,
    new_command,
    papers_command,
    plan_command,
    profiles_command,
    reach_command,
    report_command,
    rfc_command,
    run_command,
    runs_command,
    serve_command,
    theory_command,
    translate_command,
    ui_command,
    verify_command,
    worker_command,
)
from .bugs import tell
from .command_groups import (
    BY_HAND,
    EXPERIMENTS,
    MACHINE,
    MANY_MACHINES,
    RESULTS,
    SERVERS,
    TWO_MACHINES,
    GroupedCommands,
)
from .common import note, say
from .interrupts import between_imports
from .iperf3_arguments import MeasureCommand

NAME = "sixbench"

app = typer.Typer(
    name=NAME,
    help="The bench for IPv4, IPv6 and everything between. It takes one experiment file, builds the network, measures "
    "with proof from packets, and writes a report.\n\nStart with: sixbench run quickstart",
    cls=GroupedCommands,
    no_args_is_help=True,
    epilog=f"Exit codes: {exit_codes_line()}. See also: man sixbench.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(value: bool) -> None:
    if value:
        say(f"sixbench {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Print the version and stop."
    ),
) -> None:
    pass


_COMMANDS: dict[str, dict[str, Callable[..., object] | typer.Typer]] = {
    EXPERIMENTS: {
        "papers": papers_command.papers,
        "new": new_command.new,
        "plan": plan_command.plan,
        "schema": plan_command.schema,
        "run": run_command.run,
        "resume": run_command.resume,
        "rfc": rfc_command.rfc,
        "profiles": profiles_command.profiles,
    },
    RESULTS: {
        "runs": runs_command.runs,
        "report": report_command.report,
        "verify": verify_command.verify,
        "compare": compare_command.compare,
        "monitor": monitor_command.monitor,
        "ui": ui_command.ui,
    },
    SERVERS: {"reach": reach_command.reach},
    TWO_MACHINES: {
        "serve": serve_command.serve,
        "key": serve_command.key,
        "measure": measure_command.measure,
    },
    MANY_MACHINES: {
        "scheduler": worker_command.scheduler,
        "worker": worker_command.worker,
    },
    BY_HAND: {
        "lab": lab_command.lab_app,
        "clean": lab_command.clean,
        "theory": theory_command.theory,
        "translate": translate_command.translate_app,
    },
    MACHINE: {
        "doctor": doctor_command.doctor,
        "calibrate": calibrate_command.calibrate,
        "kernels": kernels_command.kernels_app,
    },
}
"""The commands by group, in the order in which --help lists them."""

for _group, _commands_of_group in _COMMANDS.items():
    for _name, _command in _commands_of_group.items():
        if isinstance(_command, typer.Typer):
            app.add_typer(_command, name=_name, rich_help_panel=_group)
        else:
            _class = MeasureCommand if _name == "measure" else None
            app.command(_name, rich_help_panel=_group, cls=_class)(_command)


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line. Returns the exit code, one of `model.exit_codes`."""
    code = _obeyed(arguments)
    try:
        sys.stdout.flush()
    except WriteError as error:
        note(f"sixbench: {error}")
        return code or error.exit_code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _obeyed(arguments: list[str] | None) -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without the character µ still shows a report
    os.environ["PATH"] = with_usual_places(os.environ.get("PATH", ""))
    try:
        with between_imports():
            result = _commands()(args=arguments, prog_name=NAME, standalone_mode=False)
        return result if isinstance(result, int) else Exit.DONE
    except typer.Exit as stop:
        return stop.exit_code
    except (KeyboardInterrupt, typer.Abort):
        note("sixbench: interrupted")
        return Exit.INTERRUPTED
    except typer.TyperException as error:
        words = _words_of(error)
        for line in words.split("\n") if words.startswith("Usage:") else [f"sixbench: {words}"]:
            note(line)
        return Exit.USAGE
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.DONE
    except (ExperimentError, HostsError) as error:
        for problem in str(error).split("\n"):
            note(problem)  # each starts with file:line:, as editors expect
        return error.exit_code
    except SixbenchError as error:
        note(f"sixbench: {error}")
        return error.exit_code
    except Exception as error:  # noqa: BLE001, nothing is hidden: the traceback is saved
        return tell(error)


@cache
def _commands() -> Any:
    """The tree of all commands, which takes typer some 30 ms to make."""
    return typer.main.get_command(app)


def _words_of(error: typer.TyperException) -> str:
    """The fault of a command line, and the way to get help."""
    command = getattr(getattr(error, "ctx", None), "command_path", "sixbench")
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    return message if message.startswith("Usage:") else f"{message.rstrip('.')}. See: {command} --help"
