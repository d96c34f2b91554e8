"""`sixbench kernels`: the kernels on which emulated machines can run experiments."""

from __future__ import annotations

import typer

from . import completions
from .command_groups import with_subcommands
from .common import print_json, say

kernels_app = with_subcommands("Fetch, list and remove kernels for `run --kernel`.")


@kernels_app.command("add")
def add(
    name: str = typer.Argument(
        help="The kernel, such as debian-6.1; see: sixbench kernels list.", autocompletion=completions.kernels
    ),
    with_: str | None = typer.Option(
        None, "--with", metavar="jool", help="Build Jool's modules for it, for the engine jool; it takes minutes."
    ),
) -> None:
    """Fetch a kernel from Debian and keep it."""
    from ..guest import add_kernel
    from ..model.errors import UsageError
    from ..model.quoting import printable

    if with_ not in (None, "jool"):
        raise UsageError(f"--with {printable(str(with_))}: only jool can be built for a kernel")
    kernel = add_kernel(name, with_jool=with_ is not None)
    built = "".join(f"  with {module}" for module in kernel.built)
    say(f"{kernel.name}  {kernel.release}  {kernel.origin}{built}  SHA-256 {kernel.sha256}")


@kernels_app.command("list")
def list_(json: bool = typer.Option(False, "--json", help="Print them as JSON.")) -> None:
    """List the kernels that are kept and those that you can fetch."""
    from dataclasses import asdict

    from ..guest import kept_kernels
    from ..model.kernels import DEBIAN_KERNELS

    kept = {kernel.name: kernel for kernel in kept_kernels()}
    missing = {name: suite for name, suite in DEBIAN_KERNELS.items() if name not in kept}
    if json:
        rows = [asdict(kernel) for kernel in kept.values()]
        print_json({"schema": "sixbench.kernels/1", "kept": rows, "to_fetch": list(missing)})
        return
    for kernel in kept.values():
        built = "".join(f"  with {module}" for module in kernel.built)
        say(f"{kernel.name:<12}  kept      {kernel.release}  {kernel.origin}{built}  SHA-256 {kernel.sha256[:16]}")
    for name, suite in missing.items():
        say(f"{name:<12}  to fetch  from Debian {suite}, with: sixbench kernels add {name}")


@kernels_app.command("remove")
def remove(
    name: str = typer.Argument(
        help="The kernel, as `sixbench kernels list` names it.", autocompletion=completions.kept_kernels
    ),
) -> None:
    """Remove a kernel that is kept."""
    from ..guest import remove_kernel

    remove_kernel(name)
