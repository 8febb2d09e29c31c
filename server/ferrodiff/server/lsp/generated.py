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
from ferrodiff.analysis.explain import Explanation, explain
from ferrodiff.analysis.fixes import alternatives, widths
from ferrodiff.analysis.inference import Proposal, propose
from ferrodiff.analysis.model import Activity, Annotation, Function, Mode, Parameter
from ferrodiff.analysis.signature import Role, SignatureParameter, derivative_signature
from ferrodiff.analysis.text import Span

WIDTHS = (2, 4, 8, 16)
Edits = tuple[tuple[Span, str], ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One parameter of the generated function."""

    text: str
    name: str
    role: str
    """``primal``, ``shadow`` or ``seed``."""
    owner: int | None
    """Which primal parameter it belongs to; None for the seed of the returned value."""
    lane: int | None
    activity: str
    meaning: str
    """In a few words."""
    documentation: str = ""
    """In sentences, about the place it belongs to."""
    is_receiver: bool = False


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
    explained = explanations_of(function, annotation)
    rows = []
    for parameter in derivative_signature(function, annotation).parameters:
        owner = function.parameters[parameter.primal] if parameter.primal is not None else None
        place = parameter.primal if parameter.primal is not None else len(function.parameters)
        rows.append(
            Row(
                text=parameter.text,
                name=parameter.name or parameter.text.partition(":")[0],
                role=parameter.role.value,
                owner=parameter.primal,
                lane=parameter.lane,
                activity=parameter.activity.value if parameter.activity is not None else "",
                meaning=_meaning(function, annotation, parameter, owner),
                documentation=" ".join(explained[place].sentences) if place < len(explained) else "",
                is_receiver=owner is not None and owner.is_self and parameter.role is Role.PRIMAL,
            )
        )
    return tuple(rows)


@lru_cache(maxsize=1024)
def explanations_of(function: Function, annotation: Annotation) -> tuple[Explanation, ...]:
    """One explanation for every place of the activity list."""
    return explain(function, annotation)


def _meaning(
    function: Function, annotation: Annotation, parameter: SignatureParameter, owner: Parameter | None
) -> str:
    if parameter.role is Role.SEED:
        return f"seed: weight of the returned `{function.return_type}`"
    if parameter.role is Role.PRIMAL:
        return "as for the primal"
    name = owner.name or owner.pattern_text if owner is not None else ""
    what = "tangent" if annotation.mode is Mode.FORWARD else "gradient"
    if parameter.lane is None:
        return f"shadow: {annotation.width} {what}s of `{name}`, one after the other"
    return f"shadow: {what} of `{name}`{f', lane {parameter.lane}' if annotation.width > 1 else ''}"


def notes_of(function: Function, annotation: Annotation) -> list[str]:
    """What the table does not say: who passes, zeroes and gets what."""
    notes = [
        f"`{item.place}`: {' '.join(item.sentences)}"
        if item.place != "return value"
        else " ".join(item.sentences)
        for item in explanations_of(function, annotation)
        if item.sentences and item.activity is not Activity.CONST
    ]
    if derivative_signature(function, annotation).is_unsafe and not function.header.is_unsafe:
        notes.append("`unsafe`, because an `Only` activity leaves the primal's memory unspecified.")
    return notes


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


def words_for_activity(function: Function, annotation: Annotation, index: int) -> list[str]:
    """Sentences about one activity at its place, and what else may stand there."""
    activity = annotation.arguments[index].activity
    choices = choices_for(function, annotation.mode, index)
    if activity is None:
        words = ["This is no activity."]
    elif not any(choice.activity is activity for choice in choices):
        words = [f"`{activity.value}` can not be used in {annotation.mode.title} mode."]
    else:
        explained = explanations_of(function, annotation)
        words = [" ".join(explained[index].sentences)] if index < len(explained) else []
    others = [
        f"* `{c.activity.value}`: {c.summary}" for c in choices if c.valid and c.activity is not activity
    ]
    return [*words, "Instead:\n" + "\n".join(others)] if others else words


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
