"""A request, and the form of its answer."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Generic, TypeVar, cast, dataclass_transform, get_args

from ...model.form import Form
from ..answers import Nothing, check

Answered = TypeVar("Answered")
"""The type of its answer: a form, or a result as it came."""


REQUESTS: dict[str, type[Request[Any]]] = {}
"""All of them, by their `op`."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
class Request(Generic[Answered]):
    """A request. Each kind is a dataclass of the fields that it has.

    Attributes:
        op: its name in the protocol, which is that of the class unless it is given: `TunnelAdd` is `tunnel-add`.
        answer: the form of its `ok` object: that which the class names, as `Request[CountersAnswer]`.
    """

    op: ClassVar[str]
    answer: ClassVar[type[Form]] = Nothing

    def __init_subclass__(cls, op: str | None = None) -> None:
        dataclass(frozen=True, kw_only=True)(cls)
        cls.op = op or re.sub(r"(?<=[a-z])(?=[A-Z])", "-", cls.__name__).lower()
        for base in getattr(cls, "__orig_bases__", ()):
            for named in get_args(base):
                if isinstance(named, type) and issubclass(named, Form):
                    cls.answer = named
        if not cls.__name__.startswith("_"):  # a base class that several share is not a request
            REQUESTS[cls.op] = cls

    def to_json(self, request_id: int) -> dict[str, Any]:
        """The object that is one line; fields that are None are left out."""
        given = {f.name: getattr(self, f.name) for f in fields(cast(Any, self)) if "here" not in f.metadata}
        return {"id": request_id, "op": self.op} | {name: value for name, value in given.items() if value is not None}

    def read(self, answer: object) -> Answered:
        """The `ok` object in its form. Raises `AgentError` of code `agent-broken`."""
        return cast(Answered, check(self.answer, answer, self.op))
