"""Ctrl-C at any moment, and programs that are not on the PATH of ordinary users."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sixbench.cli.interrupts import between_imports
from sixbench.cli.main import main

INTERRUPTS_ITSELF = """
import os, signal
os.kill(os.getpid(), signal.Signals[os.environ.get("TRIED_SIGNAL", "SIGINT")])
for _ in range(100):
    pass
imported = True
"""


@pytest.fixture(autouse=True)
def _interruptible() -> object:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_waits_until_a_module_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "interrupts_itself.py").write_text(INTERRUPTS_ITSELF)
    monkeypatch.syspath_prepend(str(tmp_path))

    @between_imports()
    def import_it() -> None:
        import interrupts_itself  # noqa: F401

        signal.pause()

    with pytest.raises(KeyboardInterrupt):
        import_it()
    assert sys.modules["interrupts_itself"].imported
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_elsewhere_is_at_once() -> None:
    with pytest.raises(KeyboardInterrupt), between_imports():
        signal.raise_signal(signal.SIGINT)


class InterruptedInTheEnd:
    """Python drops what `__del__` raises."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def test_an_interrupt_that_python_drops_comes_once_more(capsys: pytest.CaptureFixture[str]) -> None:
    hook = sys.unraisablehook

    @between_imports()
    def work() -> None:
        InterruptedInTheEnd()
        signal.pause()

    with pytest.raises(KeyboardInterrupt):
        work()
    assert "Traceback" not in capsys.readouterr().err
    assert sys.unraisablehook is hook


def test_who_ignores_interrupts_goes_on_ignoring_them() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with between_imports():
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_command_that_is_interrupted_while_it_imports_ends_with_130(tmp_path: Path, name: str) -> None:
    (tmp_path / "jinja2.py").write_text(INTERRUPTS_ITSELF)
    program = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
        f"sys.path.insert(0, {str(tmp_path)!r});"
        "from sixbench.__main__ import main; import sixbench.cli; cli = sys.modules['sixbench.cli.main'];"
        "cli.app.command('import')(lambda: (__import__('jinja2'), signal.pause()));"
        "sys.argv[1:] = ['import']; sys.exit(main())"
    )
    environment = os.environ | {"TRIED_SIGNAL": name}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (130, "sixbench: interrupted\n")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_command_is_interrupted_before_its_modules_are_there(tmp_path: Path, name: str) -> None:
    (tmp_path / "typer.py").write_text(f"import os, signal; os.kill(os.getpid(), signal.{name}); signal.pause()")
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from sixbench.__main__ import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (130, "sixbench: interrupted\n")


def test_an_interrupt_does_not_change_how_a_command_has_ended() -> None:
    program = (
        "import os, signal, sys; from sixbench.__main__ import main; sys.argv[1:] = ['--version']; code = main();"
        "os.kill(os.getpid(), signal.SIGINT); os.kill(os.getpid(), signal.SIGTERM); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_run_leaves_sighup_ignored_as_nohup_makes_it() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with between_imports():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_places_of_ip_and_tc_are_searched_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/home/me/bin:/usr/bin:/bin")
    main(["--version"])
    assert os.environ["PATH"] == "/home/me/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin"
    monkeypatch.delenv("PATH")
    main(["--version"])
    assert "/usr/sbin" in os.environ["PATH"].split(":")
