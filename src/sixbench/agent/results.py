"""Results of both sides of a trial, held against the forms of their workload (docs/protocol.md)."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import create_model

from ..model.errors import AgentError
from ..model.form import Form
from ..model.parameter import Params
from ..model.workload import Side
from ..model.workloads import WORKLOADS
from .answers import check


def check_result(workload: str, side: Side, params: Params, result: object, what: str) -> None:
    """Holds a result against its workload's form.

    Args:
        workload: the agent's, such as `udp-stream`.
        params: those that the agent was given: directions and policies decide what a result has.
        what: the request, in words, such as `run of ping`.

    Raises:
        AgentError: of code `agent-broken`; it says what is wrong, and where.
    """
    for expected in WORKLOADS[workload].results(side, params):
        part, place = result, () if expected.place is None else (expected.place,)
        for key in place:
            check(_with_object(key), part, what)
            assert isinstance(part, dict), "the form has been found right"
            part = part[key]
        check(expected.form, part, what, place)
        assert isinstance(part, dict), "the form has been found right"
        for key in expected.keys:
            if key not in part:
                raise AgentError("agent-broken", f"{what} was answered without {'.'.join((*place, key))}")


def check_program(result: object, what: str) -> None:
    """Holds the result of an end that is a program of others against its form. Raises as `check_result`."""
    from ..model.result_form import ProgramSide

    check(ProgramSide, result, what)


@cache
def _with_object(key: str) -> type[Form]:
    """The form of an object that has this key, with an object."""
    return create_model("WithObject", __base__=Form, **{key: (dict[str, Any], ...)})  # type: ignore[call-overload, no-any-return]
