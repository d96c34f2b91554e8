"""A request, and the form of its answer."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

from ...model.form import Form
from ..answers import Nothing, check


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request. `answer` is the form of its `ok` object."""

    op: ClassVar[str]
    answer: ClassVar[type[Form]] = Nothing

    def to_json(self, request_id: int) -> dict[str, Any]:
        """The object that is one line; fields that are None are left out."""
        given = {f.name: getattr(self, f.name) for f in fields(self) if "here" not in f.metadata}
        return {"id": request_id, "op": self.op} | {name: value for name, value in given.items() if value is not None}

    def check(self, answer: object) -> dict[str, Any]:
        """The `ok` object, checked against its form. Raises `AgentError` of code `agent-broken`."""
        check(self.answer, answer, self.op)
        assert isinstance(answer, dict), "the form has been found right"
        return answer
