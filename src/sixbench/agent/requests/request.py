"""A request, and the form of its answer."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Generic, TypeVar, cast, get_args

from ...model.form import Form
from ..answers import Nothing, check

Answered = TypeVar("Answered")
"""What its answer is read as: a form, or a result as it came."""


REQUESTS: dict[str, type[Request[Any]]] = {}
"""All of them, by their `op`."""


@dataclass(frozen=True, kw_only=True)
class Request(Generic[Answered]):
    """A request. `answer` is the form of its `ok` object: that which the class names, as `Request[CountersAnswer]`."""

    op: ClassVar[str]
    answer: ClassVar[type[Form]] = Nothing

    def __init_subclass__(cls) -> None:
        for base in getattr(cls, "__orig_bases__", ()):
            for named in get_args(base):
                if isinstance(named, type) and issubclass(named, Form):
                    cls.answer = named
        if "op" in vars(cls):
            REQUESTS[cls.op] = cls

    def to_json(self, request_id: int) -> dict[str, Any]:
        """The object that is one line; fields that are None are left out."""
        given = {f.name: getattr(self, f.name) for f in fields(self) if "here" not in f.metadata}
        return {"id": request_id, "op": self.op} | {name: value for name, value in given.items() if value is not None}

    def read(self, answer: object) -> Answered:
        """The `ok` object in its form. Raises `AgentError` of code `agent-broken`."""
        return cast(Answered, check(self.answer, answer, self.op))
