"""`make endurance`, workers that are killed: what their owner does with those that end by themselves."""

from __future__ import annotations

import pytest

from sixbench.model.exit_codes import Exit

pytestmark = pytest.mark.computes


class Process:
    """A process with what it ended with; None: it goes on."""

    def __init__(self, code: int | None) -> None:
        self.code = code

    def poll(self) -> int | None:
        return self.code


@pytest.mark.parametrize(
    ("code", "is_begun"), [(Exit.CANNOT, True), (None, False), (0, False), (1, False), (Exit.BUG, False), (-9, False)]
)
def test_a_worker_that_found_no_scheduler_is_begun_again_and_no_other_end_is_hidden(
    code: int | None, is_begun: bool
) -> None:
    from endurance.machine_sweeps import Workers

    begun: list[str] = []

    class Machines:
        def begin_worker(self, name: str) -> Process:
            begun.append(name)
            return Process(None)

    sweep = object.__new__(Workers)
    sweep.command = None
    sweep._machines = Machines()  # type: ignore[assignment]
    sweep._workers = {"lab1": Process(None), "lab2": Process(code)}  # type: ignore[dict-item]
    assert sweep.code() is None
    assert sweep.code() is None
    assert begun == (["lab2"] if is_begun else [])
