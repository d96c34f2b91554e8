"""Executes the example notebooks."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import nbformat
import pytest

import sixbench

EXAMPLES = Path(__file__).parents[1] / "examples"


def execute(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs every cell of an example in that folder. Returns all that it printed and showed as text and HTML.

    Raises `nbclient.exceptions.CellExecutionError` where a cell fails.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries that only Jupyter uses
        from nbclient import NotebookClient

        monkeypatch.setenv("PYTHONPATH", str(Path(sixbench.__file__).parents[1]))
        for variable in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR"):
            place = folder / "jupyter" / variable
            place.mkdir(parents=True)
            monkeypatch.setenv(variable, str(place))
        notebook = nbformat.read(EXAMPLES / name, as_version=4)  # type: ignore[no-untyped-call]
        NotebookClient(
            notebook,
            timeout=300,
            kernel_name="python3",
            resources={"metadata": {"path": str(folder)}},
        ).execute()
    outputs: list[Any] = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return "\n".join(text for output in outputs for text in _texts(output))


def _texts(output: Any) -> list[str]:
    data = output.get("data", {})
    return [output.get("text", ""), data.get("text/plain", ""), data.get("text/html", "")]
