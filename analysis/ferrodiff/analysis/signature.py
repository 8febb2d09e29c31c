"""The signature of a generated function: what rustc expands an annotation to.

The text is rustc's own, after its pretty-printer, with these habits of the printer not imitated: line breaks
in long signatures, the space in ``const N : usize``, and the suffix in ``[f64; 5usize]``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from ferrodiff.analysis.model import Activity, Annotation, Function, Mode, Parameter
from ferrodiff.analysis.printing import identifier, quoted


class Role(StrEnum):
    """What a parameter of a derivative is for. Equal to its value, so it can be compared with text."""

    PRIMAL = "primal"
    SHADOW = "shadow"
    SEED = "seed"


@dataclass(frozen=True, slots=True)
class SignatureParameter:
    text: str
    """As printed, ``bx_0: &[f64]``."""
    name: str | None
    """The binding; None for a pattern."""
    type_text: str
    role: Role
    lane: int | None = None
    """Which tangent or adjoint of the batch; None for primals, seeds and ``Dualv`` (all lanes in one)."""
    primal: int | None = None
    """Index of the primal parameter this one is or belongs to; None for the seed of the return value."""
    activity: Activity | None = None
    """Of that primal parameter (of the return value for the seed)."""


@dataclass(frozen=True, slots=True)
class Signature:
    text: str
    """One line, without a body."""
    name: str
    parameters: tuple[SignatureParameter, ...]
    return_type: str | None
    """None where no ``->`` is printed."""
    is_unsafe: bool
    returns_primal: bool
    """Whether the return value holds the primal's."""
    gradients: tuple[int, ...] = ()
    """Indices of the primal parameters whose gradients are returned, in order (reverse mode)."""
    tangent_lanes: int = 0
    """How many tangents of the return value are returned (forward mode)."""


INPUT_UNSAFE = frozenset({Activity.DUAL_ONLY, Activity.DUPLICATED_ONLY})
SHADOWS_PER_LANE = frozenset(
    {Activity.DUAL, Activity.DUAL_ONLY, Activity.DUPLICATED, Activity.DUPLICATED_ONLY}
)
ONE_LONG_SHADOW = frozenset({Activity.DUALV, Activity.DUALV_ONLY})
SEEDED = frozenset({Activity.ACTIVE, Activity.ACTIVE_ONLY})
MAXIMUM_SHOWN_WIDTH = 4096
"""Shadows listed at most: a width of a billion is an error to report, not a signature to print."""


def input_activities(function: Function, annotation: Annotation) -> tuple[Activity | None, ...]:
    """One per parameter; None where the annotation has none (or an unknown one)."""
    given = [argument.activity for argument in annotation.arguments[: len(function.parameters)]]
    return tuple(given + [None] * (len(function.parameters) - len(given)))


def return_activity(function: Function, annotation: Annotation) -> Activity | None:
    """The return value's; None for a unit function or where it is missing."""
    index = len(function.parameters)
    if not function.has_return or index >= len(annotation.arguments):
        return None
    return annotation.arguments[index].activity


def shadow_type(parameter: Parameter, mode: Mode) -> str:
    """The type of a parameter's shadow: in reverse mode the outermost ``&`` or ``*const`` is made mutable."""
    text = parameter.type_text
    if mode is Mode.FORWARD:
        return text
    if text.startswith("*const "):
        return "*mut " + text.removeprefix("*const ")
    if not text.startswith("&"):
        return text
    lifetime, rest = "", text[1:]
    if rest.startswith("'"):
        lifetime, _, rest = rest.partition(" ")
        lifetime += " "
    return text if rest.startswith("mut ") else f"&{lifetime}mut {rest}"


def shadow_names(parameter: Parameter, activity: Activity | None, mode: Mode, width: int) -> tuple[str, ...]:
    """The bindings of a parameter's shadows, in lane order."""
    if activity in SHADOWS_PER_LANE:
        count = min(width, MAXIMUM_SHOWN_WIDTH)
    else:
        count = 1 if activity in ONE_LONG_SHADOW else 0
    return tuple([f"{mode.shadow_prefix}{parameter.name or ''}_{lane}" for lane in range(count)])


def derivative_signature(function: Function, annotation: Annotation) -> Signature:
    """The generated function of `annotation`.

    Missing and unknown activities count as ``Const``, so half-typed annotations have a signature too.
    """
    mode, width = annotation.mode, annotation.width
    inputs = input_activities(function, annotation)
    result = return_activity(function, annotation)
    parameters: list[SignatureParameter] = []
    for index, (parameter, activity) in enumerate(zip(function.parameters, inputs, strict=True)):
        if not parameter.absent:
            parameters += _with_shadows(index, parameter, activity, mode, width)
    if mode is Mode.REVERSE and result in SEEDED and function.return_type is not None:
        returned = function.return_type
        parameters.append(
            SignatureParameter(f"dret: {returned}", "dret", returned, Role.SEED, None, None, result)
        )
    gradients: tuple[int, ...] = ()
    return_type: str | None
    if mode is Mode.FORWARD:
        return_type = _forward_return(function.return_type, result, width)
    else:
        gradients = tuple([i for i, activity in enumerate(inputs) if activity is Activity.ACTIVE])
        types = [function.parameters[i].type_text for i in gradients]
        return_type = _reverse_return(function.return_type, result, types)
    is_unsafe = function.header.is_unsafe or not INPUT_UNSAFE.isdisjoint(inputs)
    return Signature(
        text=_text(function, annotation.name or "", parameters, return_type, is_unsafe),
        name=annotation.name or "",
        parameters=tuple(parameters),
        return_type=return_type,
        is_unsafe=is_unsafe,
        returns_primal=_returns_primal(function, result, mode),
        gradients=gradients,
        tangent_lanes=_tangent_lanes(result, width) if mode is Mode.FORWARD else 0,
    )


def primal_signature(function: Function, name: str | None = None) -> str:
    """The function's own signature, or the same under another name.

    rustc generates that one when the number or kind of the activities is wrong.
    """
    plain = [
        SignatureParameter(p.text, p.name, p.type_text, Role.PRIMAL)
        for p in function.parameters
        if not p.absent
    ]
    own = identifier(function.name) if name is None else quoted(name)
    return _text(function, own, plain, function.return_type, function.header.is_unsafe, quote=False)


def _with_shadows(
    index: int, parameter: Parameter, activity: Activity | None, mode: Mode, width: int
) -> Iterable[SignatureParameter]:
    yield SignatureParameter(
        parameter.text, parameter.name, parameter.type_text, Role.PRIMAL, None, index, activity
    )
    written = shadow_type(parameter, mode)
    for lane, name in enumerate(shadow_names(parameter, activity, mode, width)):
        long = activity in ONE_LONG_SHADOW
        text = f"{parameter.attributes_text}{name}: {written}"
        yield SignatureParameter(text, name, written, Role.SHADOW, None if long else lane, index, activity)


def _forward_return(returned: str | None, activity: Activity | None, width: int) -> str:
    if returned is None:
        return "()"
    if activity is Activity.DUALV or (activity is Activity.DUAL and width == 1):
        return f"({returned}, {returned})"
    if activity is Activity.DUAL:
        return f"[{returned}; {width + 1}]"
    if activity in (Activity.DUAL_ONLY, Activity.DUALV_ONLY) and width > 1:
        return f"[{returned}; {width}]"
    return returned


def _reverse_return(returned: str | None, activity: Activity | None, gradients: list[str]) -> str | None:
    if activity is Activity.ACTIVE_ONLY:
        returned = None
    parts = gradients if returned is None else [returned, *gradients]
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def _returns_primal(function: Function, activity: Activity | None, mode: Mode) -> bool:
    if not function.has_return:
        return False
    if mode is Mode.FORWARD:
        return activity in (Activity.DUAL, Activity.DUALV)
    return activity is not Activity.ACTIVE_ONLY


def _tangent_lanes(activity: Activity | None, width: int) -> int:
    """`Const` counts: rustc returns the tangent there, the first one in a batch."""
    if activity is None:
        return 0
    return width if activity in (Activity.DUAL, Activity.DUAL_ONLY, Activity.DUALV_ONLY) else 1


def _text(
    function: Function,
    name: str,
    parameters: Iterable[SignatureParameter],
    return_type: str | None,
    is_unsafe: bool,
    quote: bool = True,
) -> str:
    visibility = f"{function.visibility} " if function.visibility else ""
    header = function.header.text(force_unsafe=is_unsafe)
    listed = ", ".join([p.text for p in parameters])
    arrow = f" -> {return_type}" if return_type is not None else ""
    where = f" {function.where_text}" if function.where_text else ""
    shown = quoted(name) if quote else name
    return f"{visibility}{header}fn {shown}{function.generics_text}({listed}){arrow}{where}"


def expansion_order(function: Function) -> tuple[Annotation, ...]:
    """A function's annotations in the order in which rustc places their functions after it: bottom to top."""
    return tuple(reversed(function.annotations))


def expanded_derivatives(functions: Iterable[Function]) -> list[tuple[Function, Annotation]]:
    """Every derivative of a file in rustc's order: after its primal, the last attribute's first.

    An inner function's derivatives stand inside its outer function, so before the outer one's.
    """
    found: list[tuple[Function, Annotation]] = []
    waiting: list[Function] = []
    for function in sorted(functions, key=lambda f: f.item_text_span.start):
        while waiting and waiting[-1].item_text_span.end <= function.item_text_span.start:
            done = waiting.pop()
            found += [(done, annotation) for annotation in expansion_order(done)]
        waiting.append(function)
    while waiting:
        done = waiting.pop()
        found += [(done, annotation) for annotation in expansion_order(done)]
    return found
