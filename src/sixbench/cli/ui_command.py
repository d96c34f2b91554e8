"""`sixbench ui`."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import typer

from ..model.exit_codes import Exit
from . import completions
from .command_groups import RESULTS
from .common import note

PORT = 8066


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("ui", rich_help_panel=RESULTS)(ui)


def ui(
    directory: Path = typer.Argument(
        Path("runs"),
        metavar="[DIR]",
        help="A directory that holds run directories; new runs are made there.",
        autocompletion=completions.directories,
    ),
    port: int = typer.Option(PORT, "--port", "-p", metavar="PORT", min=0, max=65535, help="The port; 0: any free one."),
    bind: str = typer.Option("127.0.0.1", "--bind", "-B", metavar="ADDR", help="The loopback address to listen on."),
) -> int:
    """Show runs in a browser, live and when they are done.

    It prints an address, which has a token: whoever has it can start experiments. Runs that it started go on when it
    ends.
    """
    from ..model.errors import CapabilityError

    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise CapabilityError(
            f"the page needs {' and '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed; "
            "install with: pip install 'sixbench[ui]'"
        )
    from ..ui.server import listen, serve

    with listen(bind, port) as listening:
        try:
            serve(directory, listening, lambda address: note(f"sixbench: open {address}"))
        except KeyboardInterrupt:
            return Exit.DONE
    return Exit.DONE
