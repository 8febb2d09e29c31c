"""The generated derivative: one line of Rust that packs its parameters and calls a marker.

The primal's parameters become a tuple, each lane's shadows a tuple of the same type (written slot by slot,
since a shadow's own type may differ from the primal's: `&mut [f64]` for `&[f64]`). All types are inferred
through a closure that calls the primal, so generics, `Self`, lifetimes and `impl Trait` need no spelling.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ferrodiff.analysis.model import Activity, Annotation, Function, Mode, Parameter
from ferrodiff.analysis.rewrite.support import MODULE
from ferrodiff.analysis.rewrite.types import is_float_data, is_inert, is_shared, runtime_length
from ferrodiff.analysis.signature import MAXIMUM_SHOWN_WIDTH, shadow_names

_SPLIT = {Activity.DUALV: Activity.DUAL, Activity.DUALV_ONLY: Activity.DUAL_ONLY}
"""One long shadow reaches the core as one shadow for each lane."""

_SHADOWED = {Activity.DUAL, Activity.DUAL_ONLY, Activity.DUPLICATED, Activity.DUPLICATED_ONLY}
_BY_VALUE = {Activity.ACTIVE, Activity.ACTIVE_ONLY}
_INPUTS = {
    Mode.FORWARD: {Activity.CONST, Activity.DUAL, Activity.DUAL_ONLY, Activity.DUALV, Activity.DUALV_ONLY},
    Mode.REVERSE: {Activity.CONST, Activity.DUPLICATED, Activity.DUPLICATED_ONLY, *_BY_VALUE},
}
_RETURNS = {
    Mode.FORWARD: {*_INPUTS[Mode.FORWARD], Activity.NONE},
    Mode.REVERSE: {Activity.NONE, Activity.CONST, *_BY_VALUE},
}
_BINDING = re.compile(r"(?:mut )?((?:r#)?[^\W\d]\w*)")


class Refused(Exception):
    """This derivative cannot be written in Rust; the message says why."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an annotation stands, for messages: `line` and `column` count from 1."""

    path: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Slot:
    """One parameter of the primal in the generated body."""

    index: int
    binding: str
    """The expression that names it: `x`, `r#type`, `self`."""
    bare: str
    activity: Activity
    type_text: str
    shadows: tuple[str, ...]

    @property
    def split(self) -> bool:
        return self.activity in _SPLIT


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything about one derivative that its body is written from."""

    function: Function
    annotation: Annotation
    slots: tuple[Slot, ...]
    returns: Activity
    place: Place
    aliases: frozenset[str]
    """Names that stand for a float type in this file."""
    crate: str | None = None
    """The path of the crate's root where the function's own module is not known (in macros)."""

    @property
    def width(self) -> int:
        return self.annotation.width

    @property
    def forward(self) -> bool:
        return self.annotation.mode is Mode.FORWARD

    @property
    def support(self) -> str:
        """Path of the helper module, which stands at the root of the file."""
        if self.crate is not None:
            return f"{self.crate}::{MODULE}"
        return "self::" + "super::" * len(self.function.container_info.modules) + MODULE


def plan(
    function: Function,
    annotation: Annotation,
    place: Place,
    aliases: frozenset[str],
    crate: str | None = None,
) -> Plan:
    """Reads what an annotation asks of a function.

    Raises `Refused` where no derivative can be generated.
    """
    _refuse_unusable(function, annotation)
    activities = [a.activity or Activity.NONE for a in annotation.arguments]
    inputs, returns = activities[: len(function.parameters)], Activity.NONE
    if function.has_return:
        returns = activities[len(function.parameters)]
    slots = tuple(
        _slot(i, p, a, annotation) for i, (p, a) in enumerate(zip(function.parameters, inputs, strict=True))
    )
    for activity in inputs:
        if activity not in _INPUTS[annotation.mode]:
            raise Refused(f"{activity.value} can not be used in {annotation.mode.title} Mode")
    if returns not in _RETURNS[annotation.mode]:
        raise Refused(f"invalid return activity {returns.value} in {annotation.mode.title} Mode")
    if returns is Activity.DUALV and annotation.width > 1:
        raise Refused("a `Dualv` return has room for one lane only; write `Dual` for `[T; N + 1]`")
    return Plan(function, annotation, slots, returns, place, aliases, crate)


def _refuse_unusable(function: Function, annotation: Annotation) -> None:
    expected = len(function.parameters) + function.has_return
    reasons: list[tuple[bool, str]] = [
        (annotation.name is None, "the annotation names no derivative"),
        (function.container == "extern", "a foreign function has no body to differentiate"),
        (function.header.is_async, "an `async fn` cannot be differentiated"),
        (any(p.variadic for p in function.parameters), "a variadic function cannot be differentiated"),
        (annotation.width < 1, "the width must be at least 1"),
        (
            annotation.width > MAXIMUM_SHOWN_WIDTH,
            f"a width above {MAXIMUM_SHOWN_WIDTH} is not supported; split the batch",
        ),
        (any(a.activity is None for a in annotation.arguments), "the annotation has an unknown activity"),
        (
            len(annotation.arguments) != expected,
            f"expected {expected} activities, but found {len(annotation.arguments)}",
        ),
    ]
    for bad, reason in reasons:
        if bad:
            raise Refused(reason)


def _slot(index: int, parameter: Parameter, activity: Activity, annotation: Annotation) -> Slot:
    found = _BINDING.fullmatch(parameter.pattern_text)
    binding = "self" if parameter.is_self else found.group(1) if found else None
    bare = parameter.name
    if binding is None or bare is None:
        raise Refused(f"the parameter `{parameter.pattern_text}` is a pattern; give it a name")
    shadows = shadow_names(parameter, activity, annotation.mode, annotation.width)
    return Slot(index, binding, bare, activity, parameter.type_text, shadows)


def body(plan: Plan, *, shadow_checks: bool) -> str:
    """The derivative's body with its braces, on one line."""
    statements = [
        *(_checks(plan) if shadow_checks else ()),
        *_packing(plan),
        *_marker_call(plan),
    ]
    return "{ unsafe { " + " ".join(statements) + f" {_outcome(plan)} }} }}"


def attributes(plan: Plan, silenced: str) -> str:
    """Attributes of the generated function: conditions under which it exists, and silenced lints."""
    own = [a.text for a in plan.function.attributes if a.path == "cfg"]
    if plan.annotation.cfg_predicate is not None:
        own.append(f"#[cfg({plan.annotation.cfg_predicate})]")
    return " ".join([*own, f"#[allow({silenced})]"])


def _checks(plan: Plan) -> Iterator[str]:
    for slot in plan.slots:
        length = runtime_length(slot.type_text)
        if length is None and not slot.split:
            continue
        lanes = plan.width if slot.split else 1
        for shadow in slot.shadows:
            call = f'"{shadow}", {shadow}.len(), "{slot.bare}", {slot.binding}.len(), {lanes}'
            yield f"{plan.support}::check({call});"
            if length == "vec" and not is_shared(slot.type_text):
                yield from _room(slot, shadow)


def _room(slot: Slot, shadow: str) -> Iterator[str]:
    """Where the primal pushes within its capacity, the shadow is written at the same offset."""
    if not slot.type_text.startswith("&"):
        yield f"let mut {shadow} = {shadow};"
    more = f"{slot.binding}.capacity() - {shadow}.len()"
    yield f"if {shadow}.capacity() < {slot.binding}.capacity() {{ {shadow}.reserve_exact({more}); }}"


def _packing(plan: Plan) -> Iterator[str]:
    support, width = plan.support, plan.width
    for slot in plan.slots:
        if slot.split:
            (shadow,) = slot.shadows
            yield (
                f"let __fd_s{slot.index} = {support}::lanes({shadow}, {support}::length(&{slot.binding}));"
            )
    bindings = "".join(f"{slot.binding}, " for slot in plan.slots)
    names = "".join(f"__fd_a{slot.index}, " for slot in plan.slots)
    yield f"let __fd_call = {support}::call(({bindings}), |({names})| {_primal(plan.function)}({names}));"
    yield f"let mut __fd_shadows = __fd_call.shadows::<{width}>();"
    for slot in plan.slots:
        for lane in range(width):
            yield from _lane(slot, lane, width)


def _lane(slot: Slot, lane: int, width: int) -> Iterator[str]:
    at = f"&mut __fd_shadows, {lane}"
    if slot.split:
        yield f"__fd_call.split::<{slot.index}, _, {width}>({at}, &__fd_s{slot.index});"
    elif slot.activity in _SHADOWED:
        yield f"__fd_call.set::<{slot.index}, _, {width}>({at}, {slot.shadows[lane]});"
    elif slot.activity in _BY_VALUE:
        yield f"__fd_call.zero::<{slot.index}, {width}>({at});"


def _marker_call(plan: Plan) -> Iterator[str]:
    yield "let mut __fd_result = __fd_call.result();"
    yield f"let mut __fd_results = __fd_call.tangents::<{plan.width}>();"
    if plan.returns in _BY_VALUE:
        for lane in range(plan.width):
            yield f"__fd_call.seed::<{plan.width}>(&mut __fd_results, {lane}, &dret);"
    marker = "forward" if plan.forward else "reverse"
    yield (
        f"__fd_call.{marker}::<{plan.width}>({rust_string(request(plan))}, "
        "&mut __fd_shadows, &mut __fd_result, &mut __fd_results);"
    )


def request(plan: Plan) -> str:
    """The marker's JSON: what is differentiated, how, and where it stands."""
    returns = plan.returns
    if plan.forward and returns is Activity.CONST and _const_return(plan) != "primal":
        returns = Activity.DUAL
    return json.dumps(
        {
            "derivative": plan.annotation.name,
            "function": plan.function.bare_name,
            "mode": plan.annotation.mode.value,
            "width": plan.width,
            "activities": [_asked(slot).value for slot in plan.slots],
            "ret": _SPLIT.get(returns, returns).value,
            "params": [s.bare for s in plan.slots],
            "file": plan.place.path,
            "line": plan.place.line,
            "column": plan.place.column,
        }
    )


def _asked(slot: Slot) -> Activity:
    """What the core is asked: a type without floats is `Const` whatever was written."""
    if is_inert(slot.type_text):
        return Activity.CONST
    return _SPLIT.get(slot.activity, slot.activity)


def rust_string(text: str) -> str:
    """A Rust string literal with a NUL after the text."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '\\0"'


def _outcome(plan: Plan) -> str:
    return _forward_outcome(plan) if plan.forward else _reverse_outcome(plan)


def _forward_outcome(plan: Plan) -> str:
    tangents = [f"__fd_results[{lane}].assume_init_read()" for lane in range(plan.width)]
    result = "__fd_result.assume_init()"
    dual: Callable[[], str] = lambda: (  # noqa: E731
        f"({result}, {tangents[0]})" if plan.width == 1 else f"[{', '.join([result, *tangents])}]"
    )
    only: Callable[[], str] = lambda: (  # noqa: E731
        tangents[0] if plan.width == 1 else f"[{', '.join(tangents)}]"
    )
    constant = {
        "tangent": tangents[0],
        "primal": result,
        "either": f"{plan.support}::tangent_of_float({result}, {tangents[0]})",
    }
    table: dict[Activity, Callable[[], str]] = {
        Activity.NONE: lambda: result,
        Activity.DUAL: dual,
        Activity.DUALV: dual,
        Activity.DUAL_ONLY: only,
        Activity.DUALV_ONLY: only,
        Activity.CONST: lambda: constant[_const_return(plan)],
    }
    return table[plan.returns]()


def _const_return(plan: Plan) -> str:
    """What a forward `Const` return yields: rustc gives a float's tangent, and other types' primal."""
    written = plan.function.return_type or "()"
    if is_float_data(written, plan.aliases):
        return "tangent"
    generic = {
        g.name for g in (*plan.function.generics, *plan.function.container_info.generics) if g.kind == "type"
    }
    return "either" if written in generic or written.startswith("Self::") else "primal"


def _reverse_outcome(plan: Plan) -> str:
    parts = []
    unit = plan.function.return_type == "()"
    if unit or (plan.function.has_return and plan.returns is not Activity.ACTIVE_ONLY):
        parts.append("__fd_result.assume_init()")
    parts += [
        f"__fd_call.gradient::<{slot.index}, {plan.width}>(&mut __fd_shadows)"
        for slot in plan.slots
        if slot.activity is Activity.ACTIVE
    ]
    if not parts:
        return "()"
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def _primal(function: Function) -> str:
    """The path by which the derivative calls its primal, with type and const arguments as rustc has them."""
    container = function.container_info
    owner = {
        "module": "self::",
        "block": "",
        "impl": "Self::",
        "trait": "Self::",
        "trait_impl": f"<Self as {container.trait}>::" if container.trait else "Self::",
    }[container.kind]
    arguments = [g.name for g in function.generics if g.kind != "lifetime"]
    return owner + function.name + (f"::<{', '.join(arguments)}>" if arguments else "")
