"""What the generated function looks like and means, in the shape that the features show.

The facts are the analysis'; hovers, hints, completions and actions share the words made of them here.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from ferrodiff.analysis.diagnostics import Fix
from ferrodiff.analysis.fixes import drop_width, new_form, other_mode, set_width, shadow_layout
from ferrodiff.analysis.model import Activity, Annotation, Function, Mode, Parameter
from ferrodiff.analysis.signature import Role, Signature, SignatureParameter, derivative_signature
from ferrodiff.analysis.text import Span
from ferrodiff.server.lsp.places import parameter_of

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
    is_receiver: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """An activity that may be written at a place, the useful ones first."""

    activity: Activity
    summary: str
    valid: bool


@dataclass(frozen=True, slots=True)
class Proposal:
    """A whole annotation for a function, with the reason of every choice."""

    mode: Mode
    name: str
    activities: tuple[str, ...]
    reasons: tuple[str, ...]
    reason: str = ""
    """Why this mode, in a few words."""
    edits: Edits = ()
    """What else has to change: an import, the feature gate."""


@lru_cache(maxsize=1024)
def signature_of(function: Function, annotation: Annotation) -> str:
    """The generated function's signature on one line."""
    return derivative_signature(function, annotation).text


@lru_cache(maxsize=1024)
def rows_of(function: Function, annotation: Annotation) -> tuple[Row, ...]:
    """The generated function's parameters in order, each with what the caller passes."""
    rows = []
    for parameter in derivative_signature(function, annotation).parameters:
        owner = function.parameters[parameter.primal] if parameter.primal is not None else None
        rows.append(
            Row(
                text=parameter.text,
                name=parameter.name or parameter.text.partition(":")[0],
                role=parameter.role.value,
                owner=parameter.primal,
                lane=parameter.lane,
                activity=parameter.activity.value if parameter.activity is not None else "",
                meaning=_meaning(function, annotation, parameter, owner),
                is_receiver=owner is not None and owner.is_self and parameter.role is Role.PRIMAL,
            )
        )
    return tuple(rows)


def _meaning(
    function: Function, annotation: Annotation, parameter: SignatureParameter, owner: Parameter | None
) -> str:
    if parameter.role is Role.SEED:
        return f"seed: the weight of the returned `{function.return_type}`; gradients are scaled by it"
    name = owner.name or owner.pattern_text if owner is not None else ""
    if parameter.role is Role.PRIMAL:
        return _PRIMALS.get(parameter.activity or Activity.NONE, "as the primal's")
    mutable = owner is not None and _writable(owner.type_text)
    lanes = annotation.width
    if parameter.activity in (Activity.DUALV, Activity.DUALV_ONLY):
        block = f"{name}.len()"
        what = "receives the tangents" if mutable else "tangents"
        return f"{what} of `{name}`: {lanes} × `{block}` elements, lane k at `[k*{block}..]`"
    lane = f", lane {parameter.lane}" if lanes > 1 else ""
    if annotation.mode is Mode.FORWARD:
        return f"receives the tangent of `{name}`{lane}" if mutable else f"tangent of `{name}`{lane}"
    if mutable:
        return f"adjoint of `{name}`{lane}: its seed on entry, consumed where `{name}` is overwritten"
    return f"gradient with respect to `{name}`{lane}: the call adds to it, the caller zeroes it"


def _writable(type_text: str) -> bool:
    return type_text.startswith(("&mut ", "*mut ")) or (
        type_text.startswith("&'") and type_text.partition(" ")[2].startswith("mut ")
    )


_PRIMALS: Mapping[Activity, str] = {
    Activity.CONST: "as the primal's; not differentiated",
    Activity.ACTIVE: "as the primal's; its gradient is returned",
    Activity.ACTIVE_ONLY: "as the primal's; its gradient is computed and dropped",
    Activity.DUAL_ONLY: "as the primal's; its memory is unspecified afterwards",
    Activity.DUPLICATED_ONLY: "as the primal's; its memory is unspecified afterwards",
}


def notes_of(function: Function, annotation: Annotation) -> list[str]:
    """What the signature does not say: what comes back, what is unsafe."""
    signature = derivative_signature(function, annotation)
    notes = []
    returned = returned_text(function, annotation, signature)
    if returned:
        notes.append(f"Returns {returned}.")
    if signature.is_unsafe and not function.header.is_unsafe:
        notes.append("`unsafe`, because an `Only` activity leaves the primal's memory unspecified.")
    if annotation.old_form:
        notes.append("Written in the old form, which current compilers do not know.")
    return notes


def returned_text(function: Function, annotation: Annotation, signature: Signature) -> str:
    """What the generated function returns, in words; empty for nothing."""
    parts = ["the primal's value"] if signature.returns_primal else []
    if annotation.mode is Mode.FORWARD:
        if signature.tangent_lanes and function.has_return:
            lanes = signature.tangent_lanes
            parts.append("its tangent" if lanes == 1 else f"{lanes} tangents, one for each lane")
    else:
        parts += [f"the gradient of `{function.parameters[i].name}`" for i in signature.gradients]
    return ", then ".join(parts)


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
    """Sentences about one activity at its place."""
    activity = annotation.arguments[index].activity
    if activity is None:
        offered = [f"`{c.activity.value}`" for c in choices_for(function, annotation.mode, index) if c.valid]
        return (
            [f"This is no activity. Here fit {', '.join(offered)}."] if offered else ["This is no activity."]
        )
    choices = choices_for(function, annotation.mode, index)
    chosen = next((choice for choice in choices if choice.activity is activity), None)
    if chosen is None:
        return [f"`{activity.value}` can not be used in {annotation.mode.title} mode."]
    text = chosen.summary[0].upper() + chosen.summary[1:] + "."
    others = [f"* `{c.activity.value}`: {c.summary}" for c in choices if c.valid and c is not chosen]
    return [text, "Instead:\n" + "\n".join(others)] if others else [text]


def proposals_for(function: Function) -> list[Proposal]:
    """A reverse and a forward annotation by the types of the parameters; empty where none fits."""
    if function.container == "extern" or any(parameter.name is None for parameter in function.parameters):
        return []
    found = []
    for mode in (Mode.REVERSE, Mode.FORWARD):
        activities, reasons = [], []
        for index in range(expected_count(function)):
            choice = choices_for(function, mode, index)[0]
            parameter = parameter_of(function, index)
            what = f"`{parameter.text}`" if parameter is not None else f"`-> {function.return_type}`"
            activities.append(choice.activity.value)
            reasons.append(f"{what}: `{choice.activity.value}`, {choice.summary}")
        if any(activity != "Const" for activity in activities):
            found.append(Proposal(mode, f"d{function.bare_name}", tuple(activities), tuple(reasons)))
    return found


def rewrites_of(function: Function, annotation: Annotation) -> list[tuple[str, Edits]]:
    """Other ways to write an annotation: the other mode, one long shadow, another width, the new form."""
    offered: list[Fix | None] = [
        *new_form(annotation),
        *other_mode(function, annotation),
        *shadow_layout(function, annotation),
    ]
    offered += [set_width(annotation, width) for width in WIDTHS if width != annotation.width]
    if annotation.width != 1:
        offered.append(drop_width(annotation))
    return [
        (fix.title, tuple((edit.span, edit.new_text) for edit in fix.edits))
        for fix in offered
        if fix is not None
    ]
