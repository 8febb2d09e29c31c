"""What the generated function looks like and means, in the shape that the features show.

The facts are the analysis'; hovers, hints, completions and actions share the words made of them here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ferrodiff.analysis.activities import (
    INPUTS,
    REASONS,
    RETURN_REASONS,
    RETURNS,
    choices_at,
    expected_count,
)
from ferrodiff.analysis.document import FileAnalysis
from ferrodiff.analysis.fixes import alternatives, widths
from ferrodiff.analysis.inference import Proposal, propose
from ferrodiff.analysis.model import Activity, Annotation, Function, Mode
from ferrodiff.analysis.pages import Row as Row
from ferrodiff.analysis.pages import rows
from ferrodiff.analysis.signature import derivative_signature
from ferrodiff.analysis.text import Span

WIDTHS = (2, 4, 8, 16)
Edits = tuple[tuple[Span, str], ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """An activity that may be written at a place, the useful ones first."""

    activity: Activity
    summary: str
    valid: bool


@lru_cache(maxsize=1024)
def signature_of(function: Function, annotation: Annotation) -> str:
    """The generated function's signature on one line."""
    return derivative_signature(function, annotation).text


@lru_cache(maxsize=1024)
def rows_of(function: Function, annotation: Annotation) -> tuple[Row, ...]:
    """The generated function's parameters in order, each with what it is."""
    return rows(function, annotation)


# -- activities to choose from ---------------------------------------------------------------------------


def choices_for(function: Function, mode: Mode, index: int) -> list[Choice]:
    """The mode's activities for parameter number `index`, or for the return value after the last one."""
    useful = choices_at(function, mode, index)
    if index >= expected_count(function):
        return []
    inputs = index < len(function.parameters)
    rest = sorted((INPUTS if inputs else RETURNS)[mode] - set(useful), key=lambda activity: activity.value)

    def reason(activity: Activity) -> str:
        return REASONS[activity] if inputs else RETURN_REASONS.get((mode, activity), "")

    found = [Choice(activity, reason(activity), True) for activity in useful]
    return found + [Choice(activity, reason(activity), False) for activity in rest]


def instead_of(function: Function, annotation: Annotation, index: int) -> tuple[str, ...]:
    """What else may stand at the place of an activity."""
    activity = annotation.arguments[index].activity
    others = [
        f"* `{choice.activity.value}`: {choice.summary}"
        for choice in choices_for(function, annotation.mode, index)
        if choice.valid and choice.activity is not activity
    ]
    return ("Instead:\n" + "\n".join(others),) if others else ()


def proposals_for(function: Function, analysis: FileAnalysis) -> tuple[Proposal, ...]:
    """Whole annotations for a function, best first; names in use are not proposed again."""
    return propose(function, analysis=analysis)


def rewrites_of(
    function: Function, annotation: Annotation, margin: str, analysis: FileAnalysis
) -> list[tuple[str, Edits]]:
    """Other ways to write an annotation: the other mode, one long shadow, another width, a stub."""
    offered = (
        *alternatives(function, annotation, margin, analysis),
        *widths(function, annotation, WIDTHS),
    )
    return [(fix.title, tuple((edit.span, edit.new_text) for edit in fix.edits)) for fix in offered]
