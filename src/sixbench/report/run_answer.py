"""Result of a run, on one line: for lists of runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from ..model.errors import StoreError
from ..model.finding import READ_SCHEMAS, Analysis, ClaimResult, Estimate, Finding
from ..model.json_object import JsonObject
from ..model.quoting import shown, visible
from ..model.workloads import WORKLOADS
from . import marks, rows, words
from .answers import largest

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Item = TypeVar("Item", Estimate, Finding, ClaimResult)


def analysis_of(document: JsonObject, file: str) -> Analysis:
    """The findings, estimates and claims of a `findings.json`. Raises `StoreError` where it is of another schema.

    Args:
        document: what `report.json` made.
        file: its name, for the error.
    """
    if document.get("schema") not in READ_SCHEMAS:
        schema = visible(shown(document.get("schema")))
        known = words.listing(READ_SCHEMAS)
        raise StoreError(
            f"{file}: the schema of its findings.json is {schema}, and this sixbench reads {known}; `sixbench report` "
            "writes it anew"
        )
    try:
        return Analysis(
            estimates=_items(Estimate, document, "estimates"),
            findings=_items(Finding, document, "findings"),
            claims=_items(ClaimResult, document, "claims"),
        )
    except ValueError as error:
        raise StoreError(f"{file}: damaged findings: {error}") from error


def answer_line(analysis: Analysis) -> str | None:
    """The answer in one line: how many claims of a paper were reproduced, how many comparisons of primary metrics are
    decided, and the largest of these (the first where none is the largest for certain). A run without comparisons has
    its first value. None where it has neither."""
    parts = [*_claims(analysis.claims), *_findings(rows.primary(rows.headline(analysis)))]
    if not parts:
        parts = _values(analysis.estimates)
    return "; ".join(parts) or None


def _claims(claims: Sequence[ClaimResult]) -> list[str]:
    tested = [claim for claim in claims if claim.verdict not in ("undecided", "not testable here")]
    reproduced = sum(claim.verdict == "reproduced" for claim in tested)
    return [f"{reproduced} of {words.count(len(tested), 'claim')} reproduced"] if tested else []


def _findings(findings: Sequence[Finding]) -> list[str]:
    if not findings:
        return []
    if len(findings) == 1:
        return [f"{_finding_words(findings[0])}, {_mark(findings[0])}"]
    decided = [finding for finding in findings if finding.mark == "decided"]
    counted = f"{len(decided)} of {words.count(len(findings), 'comparison')} decided"
    mixed = sum(finding.mark == "mixed" or (finding.apart > 0 and finding.is_answered) for finding in findings)
    counted += f", {mixed} not in all blocks" if mixed else ""
    if not decided:
        return [counted]
    apart = largest(decided)
    which = "this one" if len(decided) == 1 else "the first" if apart is None else "the largest"
    return [f"{counted}, {which}: {_finding_words(apart or decided[0])}"]


def _mark(finding: Finding) -> str:
    """The mark; with what blocks that lie apart say, and the blocks that would tell."""
    return finding.mark if finding.mark in ("decided", "equivalent") and not finding.apart else marks.verdict(finding)


def _finding_words(finding: Finding) -> str:
    """Such as `goodput over ipv6 −1.37 % against ipv4 (message 64 KiB)`."""
    message = rows.row(finding)
    at = f" ({message.levels})" if message.levels else ""
    what = f"{words.metric_in_sentence(finding.metric)} over {finding.path}"
    return f"{what} {message.change} against {finding.baseline}{at}"


def _values(estimates: Sequence[Estimate]) -> list[str]:
    for estimate in estimates:
        if estimate.workload in WORKLOADS and WORKLOADS[estimate.workload].primary == estimate.metric:
            value = words.quantity(estimate.value, estimate.unit)
            return [f"{words.metric_in_sentence(estimate.metric)} over {estimate.path}: {value}"]
    return []


def _items(kind: type[Item], document: JsonObject, name: str) -> list[Item]:
    """The items of a list, without what a later version has more. Raises `ValueError` where they have another form."""
    from pydantic import ValidationError

    from ..model.form import words_of

    try:
        # Validated as JSON, so that only lists are converted, to tuples.
        items: list[Item] = _adapter(kind.__name__).validate_json(json.dumps(document.get(name)), strict=True)
        return items
    except ValidationError as error:
        words = next(words_of(error))
        raise ValueError(f"{name}{words if words.startswith(' ') else f'.{words}'}") from None


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    """Made once: making one takes longer than reading all that a run has found."""
    from pydantic import TypeAdapter

    return TypeAdapter({item.__name__: list[item] for item in (Estimate, Finding, ClaimResult)}[kind])  # type: ignore[valid-type]
