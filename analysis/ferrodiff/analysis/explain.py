"""What an annotation means for its caller, as data: what is passed, what comes back, who zeroes what."""

from __future__ import annotations

from dataclasses import dataclass

from ferrodiff.analysis.activities import is_indirect, is_slice
from ferrodiff.analysis.model import Activity, Annotation, Function, Mode, Parameter
from ferrodiff.analysis.rewrite.types import is_shared
from ferrodiff.analysis.signature import (
    Role,
    Signature,
    derivative_signature,
    input_activities,
    return_activity,
)


@dataclass(frozen=True, slots=True)
class Explanation:
    """One activity at its place. Empty texts have nothing to say."""

    index: int
    place: str
    """The parameter's name, or ``return value``."""
    activity: Activity | None
    passes: str
    """What the caller passes."""
    returns: str
    """What comes back, and where."""
    zeroes: str
    """Who clears what, and what calling twice does."""
    layout: str
    """Of a batch: which lane is where, in elements."""
    names: tuple[str, ...] = ()
    """The generated parameters that belong to it."""

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple([text for text in (self.passes, self.returns, self.zeroes, self.layout) if text])


def explain(function: Function, annotation: Annotation) -> tuple[Explanation, ...]:
    """One explanation for every place of the list, missing ones included."""
    signature = derivative_signature(function, annotation)
    places = []
    for index, (parameter, activity) in enumerate(
        zip(function.parameters, input_activities(function, annotation), strict=True)
    ):
        names = tuple(
            [p.name or "" for p in signature.parameters if p.primal == index and p.role is Role.SHADOW]
        )
        places.append(_parameter(index, parameter, activity, annotation, names, signature))
    if function.has_return:
        places.append(_return(function, annotation, signature))
    return tuple(places)


def _parameter(
    index: int,
    parameter: Parameter,
    activity: Activity | None,
    annotation: Annotation,
    names: tuple[str, ...],
    signature: Signature,
) -> Explanation:
    name = parameter.name or parameter.pattern_text
    passes, returns, zeroes = _input_words(name, parameter, activity, annotation, names, signature, index)
    layout = _layout(name, parameter, activity, annotation, names)
    return Explanation(index, name, activity, passes, returns, zeroes, layout, names)


def _listed(names: tuple[str, ...]) -> str:
    if len(names) > 2:
        return f"`{names[0]}` .. `{names[-1]}`"
    return " and ".join([f"`{name}`" for name in names]) or "its shadow"


def _input_words(
    name: str,
    parameter: Parameter,
    activity: Activity | None,
    annotation: Annotation,
    names: tuple[str, ...],
    signature: Signature,
    index: int,
) -> tuple[str, str, str]:
    shadows = _listed(names)
    verb = "holds" if len(names) == 1 else "hold"
    writes = is_indirect(parameter.type_text) and not is_shared(parameter.type_text)
    if activity in (Activity.DUAL, Activity.DUAL_ONLY, Activity.DUALV, Activity.DUALV_ONLY):
        passes = f"Pass `{name}`, then {shadows}: the tangent of `{name}`, the direction of the derivative."
        returns = ""
        if writes:
            returns = f"Where `{name}` is written, {shadows} {verb} the tangent of what was written."
        zeroes = "Nothing is cleared: what the function does not write keeps its tangent."
        if activity in (Activity.DUAL_ONLY, Activity.DUALV_ONLY):
            returns += f" What `{name}` itself holds afterwards is unspecified."
        return passes, returns.strip(), zeroes
    if activity in (Activity.DUPLICATED, Activity.DUPLICATED_ONLY):
        passes = f"Pass `{name}`, then {shadows}, of the same shape and mutable."
        returns = f"The gradient with respect to `{name}` is added to {shadows}."
        zeroes = f"The caller zeroes {shadows} before the call; calling twice adds twice."
        if writes:
            passes += f" On entry {shadows} {verb} the seed: the weight of what `{name}` holds at the end."
            zeroes = f"The seed is consumed: where the function overwrites `{name}`, {shadows} is set to 0."
        if activity is Activity.DUPLICATED_ONLY:
            returns += f" What `{name}` itself holds afterwards is unspecified."
        return passes, returns, zeroes
    if activity is Activity.ACTIVE:
        place = signature.gradients.index(index) if index in signature.gradients else 0
        ordinal = place + (2 if signature.returns_primal else 1)
        total = len(signature.gradients) + (1 if signature.returns_primal else 0)
        where = f"as item {ordinal} of the returned tuple" if total > 1 else "as the return value"
        passes = f"Pass `{name}` as for the primal."
        return passes, f"Its gradient comes back {where}.", "The gradient starts from 0 in every call."
    if activity is Activity.ACTIVE_ONLY:
        return f"Pass `{name}` as for the primal.", "Its gradient is computed and lost.", ""
    if activity is Activity.CONST:
        return f"Pass `{name}` as for the primal. It is not differentiated.", "", ""
    return "No activity is given.", "", ""


def _layout(
    name: str,
    parameter: Parameter,
    activity: Activity | None,
    annotation: Annotation,
    names: tuple[str, ...],
) -> str:
    width = annotation.width
    if activity in (Activity.DUALV, Activity.DUALV_ONLY):
        what = "tangent" if width == 1 else "tangents"
        return (
            f"`{names[0] if names else 'the shadow'}` holds {width} {what} of length {name}.len(), "
            f"lane k at [k*{name}.len()..(k+1)*{name}.len()]: {width}*{name}.len() elements in all."
        )
    if len(names) < 2:
        return ""
    extent = f" of length {name}.len()" if is_slice(parameter.type_text) else ""
    prefix = annotation.mode.shadow_prefix
    return f"{width} shadows{extent}, lane k in `{prefix}{name}_k`; `{name}` is computed once."


def _return(function: Function, annotation: Annotation, signature: Signature) -> Explanation:
    activity, written = return_activity(function, annotation), function.return_type or ""
    forward = annotation.mode is Mode.FORWARD
    passes = returns = zeroes = layout = ""
    names: tuple[str, ...] = ()
    if forward:
        returns, layout = _forward_return(activity, annotation.width, signature)
    elif activity in (Activity.ACTIVE, Activity.ACTIVE_ONLY):
        names = ("dret",)
        passes = (
            f"Pass `dret`, a `{written}`, last: the weight of the returned value. Gradients are scaled by it."
        )
        returns = (
            "The primal's value comes back first." if signature.returns_primal else "The value is dropped."
        )
        zeroes = f"All {annotation.width} lanes share this seed." if annotation.width > 1 else ""
    elif activity is Activity.CONST:
        returns = "The primal's value comes back. It seeds nothing: gradients come from `Duplicated` outputs."
    return Explanation(
        len(function.parameters), "return value", activity, passes, returns, zeroes, layout, names
    )


def _forward_return(activity: Activity | None, width: int, signature: Signature) -> tuple[str, str]:
    kind = signature.return_type or "()"
    if activity is Activity.DUAL:
        if width == 1:
            return f"`{kind}`: the value, then its tangent.", ""
        return (
            f"`{kind}`: the value and {width} tangents.",
            "Item 0 is the value, item 1 + k the tangent of lane k.",
        )
    if activity in (Activity.DUAL_ONLY, Activity.DUALV_ONLY):
        if width == 1:
            return f"`{kind}`: the tangent alone.", ""
        return f"`{kind}`: {width} tangents.", "Item k is the tangent of lane k."
    if activity is Activity.DUALV:
        return f"`{kind}`: the value and one tangent; there is no room for other lanes.", ""
    if activity is Activity.CONST:
        return f"`{kind}`: for a float the tangent (of lane 0), as rustc has it.", ""
    return "", ""
