"""What an annotation means for its caller, as data: what is passed, what comes back, who zeroes what."""

from __future__ import annotations

from dataclasses import dataclass

from ferrodiff.analysis.activities import INPUTS, RETURNS, allowed_input
from ferrodiff.analysis.floats import MANY, Floats
from ferrodiff.analysis.model import Activity, Annotation, Function, Mode, Parameter
from ferrodiff.analysis.rewrite.types import is_shared, runtime_length
from ferrodiff.analysis.signature import (
    ONE_LONG_SHADOW,
    Role,
    Signature,
    derivative_signature,
    input_activities,
    return_activity,
)
from ferrodiff.analysis.typetext import slice_element, strip_reference

TANGENTS = frozenset({Activity.DUAL, Activity.DUAL_ONLY, Activity.DUALV, Activity.DUALV_ONLY})
ADJOINTS = frozenset({Activity.DUPLICATED, Activity.DUPLICATED_ONLY})
_FLOATS = frozenset({"f16", "f32", "f64", "f128"})


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
        places.append(_parameter(index, parameter, activity, annotation, names, function, signature))
    if function.has_return:
        places.append(_return(function, annotation, signature))
    return tuple(places)


def _parameter(
    index: int,
    parameter: Parameter,
    activity: Activity | None,
    annotation: Annotation,
    names: tuple[str, ...],
    function: Function,
    signature: Signature,
) -> Explanation:
    name = parameter.name or parameter.pattern_text
    refused = refusal(activity, parameter, annotation.mode)
    if refused:
        return Explanation(index, name, activity, refused, "", "", "")
    if activity in TANGENTS:
        words = _tangent_words(name, parameter, activity, names, annotation.width)
    elif activity in ADJOINTS:
        words = _adjoint_words(name, parameter, activity, names)
    elif activity is Activity.ACTIVE:
        words = (
            f"Pass `{name}` as for the primal.",
            f"Its gradient comes back {_place_of_gradient(function, signature, index)}.",
            "The gradient starts from 0 in every call.",
        )
    else:
        words = (f"Pass `{name}` as for the primal.{_AS_VALUE.get(activity, '')}", "", "")
    layout = _layout(name, parameter, activity, annotation, names)
    return Explanation(index, name, activity, *words, layout, names)


def refusal(activity: Activity | None, parameter: Parameter | None, mode: Mode) -> str:
    """Why rustc does not take an activity for a parameter (the return value for None); empty where it does."""
    if activity is None:
        return "No activity is given."
    if activity not in (RETURNS if parameter is None else INPUTS)[mode]:
        return f"`{activity.value}` can not be used in {mode.title} mode."
    if parameter is not None and not allowed_input(activity, parameter, mode):
        return f"`{activity.value}` can not be used for this type: it needs a reference or raw pointer."
    return ""


_AS_VALUE: dict[Activity | None, str] = {
    Activity.CONST: " It is not differentiated.",
    Activity.ACTIVE_ONLY: " Its gradient is computed and lost.",
}


def _listed(names: tuple[str, ...]) -> str:
    if len(names) > 2:
        return f"`{names[0]}` .. `{names[-1]}`"
    return " and ".join([f"`{name}`" for name in names]) or "its shadow"


def _tangent_words(
    name: str, parameter: Parameter, activity: Activity | None, names: tuple[str, ...], width: int
) -> tuple[str, str, str]:
    shadows, several = _listed(names), len(names) > 1
    what = f"the tangent of `{name}`, the direction"
    if width > 1:
        what = f"one tangent of `{name}` per lane, the directions"
    passes = f"Pass `{name}`, then {shadows}: {what} of the derivative."
    returns = ""
    if is_writable(parameter.type_text):
        verb = "hold" if several else "holds"
        returns = f"Where `{name}` is written, {shadows} {verb} the tangent of what was written."
    if activity in (Activity.DUAL_ONLY, Activity.DUALV_ONLY):
        returns += f" What `{name}` itself holds afterwards is unspecified."
    return passes, returns.strip(), "Nothing is cleared: what the function does not write keeps its tangent."


def _adjoint_words(
    name: str, parameter: Parameter, activity: Activity | None, names: tuple[str, ...]
) -> tuple[str, str, str]:
    shadows, several = _listed(names), len(names) > 1
    passes = f"Pass `{name}`, then {shadows}, of the same shape and mutable."
    returns = f"The gradient with respect to `{name}` is added to {shadows}."
    zeroes = f"The caller zeroes {shadows} before the call; calling twice adds twice."
    if is_writable(parameter.type_text):
        verb, are = ("hold", "are") if several else ("holds", "is")
        passes += f" On entry {shadows} {verb} the seed: the weight of what `{name}` holds at the end."
        zeroes = (
            f"The seed is consumed: where the function overwrites `{name}`, {shadows} {are} set to 0, and "
            f"another call needs a new seed. Where it only adds to `{name}`, the seed stays."
        )
    if activity is Activity.DUPLICATED_ONLY:
        returns += f" What `{name}` itself holds afterwards is unspecified."
    return passes, returns, zeroes


def _place_of_gradient(function: Function, signature: Signature, index: int) -> str:
    # An explicit `-> ()` takes the first place of the tuple like any other type.
    first = signature.returns_primal or function.return_type == "()"
    total = len(signature.gradients) + (1 if first else 0)
    if index not in signature.gradients or total < 2:
        return "as the return value"
    return f"as item {signature.gradients.index(index) + (2 if first else 1)} of the returned tuple"


def _layout(
    name: str,
    parameter: Parameter,
    activity: Activity | None,
    annotation: Annotation,
    names: tuple[str, ...],
) -> str:
    """Which lane is where, in elements. Code spans keep ``*`` from being read as Markdown."""
    width, written = annotation.width, parameter.type_text
    what = ("tangent" if annotation.mode is Mode.FORWARD else "gradient") + ("s" if width != 1 else "")
    length = f"{name}.len()"
    if activity in ONE_LONG_SHADOW:
        element = slice_element(strip_reference(written))
        of = "" if element is None or element in _FLOATS else f" (elements of type `{element}`)"
        return (
            f"`{names[0] if names else 'the shadow'}` holds {width} {what} of length `{length}`{of}, "
            f"lane k at `[k*{length}..(k+1)*{length}]`: `{width}*{length}` elements in all. "
            "A shorter one panics at entry."
        )
    if not names:
        return ""
    sized = runtime_length(written) is not None
    demand = (
        f" {'Each' if len(names) > 1 else 'It'} must be as long as `{name}`; a shorter one panics at entry."
    )
    if len(names) == 1:
        return f"`{names[0]}` has length `{length}`.{demand}" if sized else ""
    extent = f" of length `{length}`" if sized else _floats_in(written)
    return (
        f"{width} {what}{extent}, lane k in `{annotation.mode.shadow_prefix}{name}_k`."
        f"{demand if sized else ''}"
    )


def _floats_in(written: str) -> str:
    """``of 3 floats each`` for types whose text says how many they hold."""
    floats = Floats()
    count = floats.count(written)
    return "" if floats.guessed or count < 2 or count >= MANY else f" of {count} floats each"


def is_writable(written: str) -> bool:
    """Whether a type lets a function write through it: ``&mut`` and ``*mut``."""
    return written.startswith("*mut ") or (written.startswith("&") and not is_shared(written))


def _return(function: Function, annotation: Annotation, signature: Signature) -> Explanation:
    activity, written = return_activity(function, annotation), function.return_type or ""
    forward = annotation.mode is Mode.FORWARD
    refused = refusal(activity, None, annotation.mode)
    if refused:
        return Explanation(len(function.parameters), "return value", activity, refused, "", "", "")
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
