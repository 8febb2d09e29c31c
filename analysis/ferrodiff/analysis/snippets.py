"""Rust that people would otherwise write by hand: a call of a derivative, and a test of its gradient.

A call declares every argument with values by type. A test compares the derivative along one direction with
central differences; for a reverse derivative that is the dot product of gradient and direction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ferrodiff.analysis.model import Activity, Annotation, Function, Mode, Parameter
from ferrodiff.analysis.rewrite.inputs import is_mutable
from ferrodiff.analysis.rewrite.samples import ELEMENTS, Sampler, constant, distinct_values
from ferrodiff.analysis.rewrite.usertypes import structs
from ferrodiff.analysis.text import SourceText
from ferrodiff.analysis.typetext import array_parts, slice_element, strip_reference

_SHADOWED = frozenset(
    {
        Activity.DUAL,
        Activity.DUAL_ONLY,
        Activity.DUALV,
        Activity.DUALV_ONLY,
        Activity.DUPLICATED,
        Activity.DUPLICATED_ONLY,
    }
)
_BY_VALUE = frozenset({Activity.ACTIVE, Activity.ACTIVE_ONLY})
_LONG = frozenset({Activity.DUALV, Activity.DUALV_ONLY})
_VEC = re.compile(r"(?:std::vec::|alloc::vec::)?Vec<(f32|f64)>")
_STEPS = {"f64": ("1e-5", "1e-6"), "f32": ("1e-2", "2e-2")}
"""Step and relative tolerance of central differences."""


class NoSnippet(Exception):
    """No Rust can be written for this function; the message says why."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A type as far as floats are concerned: how many there are and how they are held."""

    kind: str
    """``scalar``, ``reference``, ``slice``, ``array`` or ``vec``."""
    element: str
    mutable: bool = False
    by_reference: bool = False
    length: str = "3"


def shape_of(type_text: str) -> Shape | None:
    """The shape of a type of plain floats, or None for any other type."""
    pointee = strip_reference(type_text)
    referenced = pointee != type_text
    mutable = re.match(r"&(?:'\w+ )?mut ", type_text) is not None
    if pointee in _STEPS:
        return Shape("reference" if referenced else "scalar", pointee, mutable, referenced)
    element = slice_element(pointee)
    if element in _STEPS and referenced:
        return Shape("slice", str(element), mutable, True)
    array = array_parts(pointee)
    if array is not None and array[0] in _STEPS and array[1].isdigit() and 0 < int(array[1]) <= 64:
        return Shape("array", array[0], mutable, referenced, array[1])
    found = _VEC.fullmatch(pointee)
    return Shape("vec", found.group(1), mutable, referenced) if found else None


@dataclass(frozen=True, slots=True)
class _Argument:
    """A parameter with the variables that stand for it."""

    parameter: Parameter
    activity: Activity
    shape: Shape | None
    name: str
    shadows: tuple[str, ...]

    @property
    def is_output(self) -> bool:
        return self.shape is not None and self.shape.mutable


def _concrete(function: Function, type_text: str) -> str:
    """A type with a number for every const parameter, as samples have it."""
    for generic in (*function.generics, *function.container_info.generics):
        if generic.kind == "const":
            type_text = re.sub(rf"\b{re.escape(generic.name)}\b", str(ELEMENTS), type_text)
    return type_text


def _is_mutable(argument: _Argument) -> bool:
    return is_mutable(argument.parameter.type_text) or argument.parameter.self_kind == "&mut self"


def _arguments(function: Function, annotation: Annotation) -> list[_Argument]:
    found = []
    for parameter, item in zip(function.parameters, annotation.arguments, strict=False):
        if parameter.name is None or item.activity is None:
            raise NoSnippet(f"`{function.bare_name}` has parameters that are not plain names")
        lanes = 1 if item.activity in _LONG else annotation.width
        prefix = annotation.mode.shadow_prefix
        shadowed = item.activity in _SHADOWED
        shadows = tuple(f"{prefix}{parameter.name}_{k}" for k in range(lanes)) if shadowed else ()
        shape = shape_of(_concrete(function, parameter.type_text))
        found.append(_Argument(parameter, item.activity, shape, _variable(parameter.name), shadows))
    if len(found) != len(function.parameters):
        raise NoSnippet("the annotation is not complete")
    return found


def _variable(name: str) -> str:
    return "model" if name == "self" else name


def _return_activity(function: Function, annotation: Annotation) -> Activity | None:
    if not function.has_return or len(annotation.arguments) <= len(function.parameters):
        return None
    return annotation.arguments[len(function.parameters)].activity


class _Values:
    """Sample expressions by type, different for every float."""

    def __init__(self, source: SourceText, function: Function) -> None:
        generics = (*function.generics, *function.container_info.generics)
        floats = frozenset(generic.name for generic in generics if generic.kind == "type")
        self._function = function
        self._own = function.container_info.self_type or "Self"
        self._structs = structs(source)
        self._floats = floats
        self._values = distinct_values()

    def expression(self, type_text: str, zero: bool = False) -> str:
        text = strip_reference(_concrete(self._function, type_text))
        text = re.sub(r"\bSelf\b", lambda _: self._own, text)
        sampler = Sampler(
            structs=self._structs,
            aliases={},
            generics=self._floats,
            lengths={},
            number=constant("0.0") if zero else self._values,
        )
        return sampler.expression(text)


def call_example(source: SourceText, function: Function, annotation: Annotation) -> str:
    """Statements that call the derivative once, each shadow and seed explained.

    Raises `NoSnippet`.
    """
    if annotation.name is None:
        raise NoSnippet("the derivative has no name")
    values = _Values(source, function)
    lines: list[str] = []
    passed: list[str] = []
    for argument in _arguments(function, annotation):
        lines += _declared(argument, values, annotation)
        passed += _passed(argument)
    returns = _return_activity(function, annotation)
    if annotation.mode is Mode.REVERSE and returns in _BY_VALUE:
        lines.append(f"let seed = {_seed_value(function)}; // scales the gradient")
        passed.append("seed")
    name = _called(function, annotation, passed)
    call = f"{name}({', '.join(passed)})"
    unsafe = function.header.is_unsafe or any(
        item.activity in (Activity.DUAL_ONLY, Activity.DUPLICATED_ONLY)
        for item in annotation.arguments[: len(function.parameters)]
    )
    pattern = _pattern(function, annotation)
    lines.append(f"{f'let {pattern} = ' if pattern else ''}{f'unsafe {{ {call} }}' if unsafe else call};")
    return "\n".join(lines)


def _called(function: Function, annotation: Annotation, passed: list[str]) -> str:
    """How the derivative is named in a call; a receiver leaves the argument list."""
    if function.parameters and function.parameters[0].is_self:
        receiver = passed.pop(0).removeprefix("&mut ").removeprefix("&")
        return f"{receiver}.{annotation.name}"
    own = function.container_info.self_type
    return f"{re.sub(r'<.*>', '', own)}::{annotation.name}" if own else str(annotation.name)


def _seed_value(function: Function) -> str:
    return "1.0" if (function.return_type or "") in _STEPS else "Default::default()"


def _declared(argument: _Argument, values: _Values, annotation: Annotation) -> Iterator[str]:
    forward = annotation.mode is Mode.FORWARD
    text = argument.parameter.type_text
    value = values.expression(text)
    yield f"let {'mut ' if _is_mutable(argument) else ''}{argument.name} = {value};"
    if not (forward or _is_mutable(argument)):
        value = values.expression(text, zero=True)
    for lane, shadow in enumerate(argument.shadows):
        note = _shadow_note(argument, annotation, lane)
        changing = not forward or argument.is_output
        given = _shadow_value(argument, value, annotation, lane)
        yield f"let {'mut ' if changing else ''}{shadow} = {given}; // {note}"


def _shadow_note(argument: _Argument, annotation: Annotation, lane: int) -> str:
    where = f", lane {lane}" if annotation.width > 1 and len(argument.shadows) > 1 else ""
    if annotation.mode is Mode.FORWARD:
        return f"{'receives the tangent' if argument.is_output else 'tangent'} of {argument.name}{where}"
    if argument.is_output:
        return f"seed for {argument.name}{where}; consumed by the call"
    return f"gradient of {argument.name}{where}; the call adds to it"


def _shadow_value(argument: _Argument, value: str, annotation: Annotation, lane: int) -> str:
    shape = argument.shape
    seeding = (annotation.mode is Mode.FORWARD) != argument.is_output
    if shape is None:
        return value
    if shape.kind in ("scalar", "reference"):
        return "1.0" if seeding and lane == 0 else "0.0"
    length = f"{argument.name}.len()"
    if argument.activity in _LONG:
        return f"vec![{'1.0' if seeding else '0.0'}; {annotation.width} * {length}]"
    if shape.kind == "array":
        return f"[{'1.0' if seeding and lane == 0 else '0.0'}; {shape.length}]"
    return f"vec![{'1.0' if seeding and lane == 0 else '0.0'}; {length}]"


def _passed(argument: _Argument) -> list[str]:
    type_text = argument.parameter.type_text
    borrow = "&mut " if type_text.startswith("&mut") or re.match(r"&'\w+ mut ", type_text) else "&"
    own = borrow if type_text.startswith("&") else ""
    # Reverse shadows are always mutable; forward ones are what the parameter is.
    shadow = own
    if own and argument.activity in (Activity.DUPLICATED, Activity.DUPLICATED_ONLY):
        shadow = "&mut "
    return [own + argument.name, *(shadow + name for name in argument.shadows)]


def _pattern(function: Function, annotation: Annotation) -> str:
    """The pattern that takes the derivative's result apart; empty where it returns nothing."""
    returns = _return_activity(function, annotation)
    if annotation.mode is Mode.FORWARD:
        if returns is None:
            return ""
        many = annotation.width > 1
        if returns is Activity.DUAL:
            return "[value, tangents @ ..]" if many else "(value, tangent)"
        return {Activity.DUALV: "(value, tangent)", Activity.CONST: "value"}.get(
            returns, "tangents" if many else "tangent"
        )
    gradients = [
        f"d{parameter.name}"
        for parameter, item in zip(function.parameters, annotation.arguments, strict=False)
        if item.activity is Activity.ACTIVE
    ]
    parts = (["value"] if returns is not None and returns is not Activity.ACTIVE_ONLY else []) + gradients
    if function.return_type == "()" and gradients:
        parts = ["()", *gradients]
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})" if parts else ""


def sample_line(source: SourceText, function: Function) -> str:
    """The comment that gives a function's inputs, ``// ferrodiff: x = [..], k = ..``, with samples by type.

    Raises `NoSnippet` where there is nothing to give.
    """
    values = _Values(source, function)
    parts = []
    for parameter in function.parameters:
        if parameter.name is None:
            raise NoSnippet(f"`{function.bare_name}` has parameters that are not plain names")
        parts.append(f"{parameter.name} = {values.expression(parameter.type_text)}")
    if not parts:
        raise NoSnippet(f"`{function.bare_name}` has no parameters")
    return f"// ferrodiff: {', '.join(parts)}"


# -- tests ---------------------------------------------------------------------------------------------


def gradient_test(source: SourceText, function: Function, annotation: Annotation) -> str:
    """A ``#[test]`` that compares the derivative with central differences along one direction.

    Raises `NoSnippet` for functions whose differentiated parameters are not plain floats.
    """
    writer = _Test(source, function, annotation)
    return writer.text()


class _Test:
    def __init__(self, source: SourceText, function: Function, annotation: Annotation) -> None:
        if annotation.name is None:
            raise NoSnippet("the derivative has no name")
        if function.container != "module" or function.container_info.modules or function.generics:
            raise NoSnippet("a test is written for plain functions at the root of the file only")
        self.function, self.annotation = function, annotation
        self.arguments = _arguments(function, annotation)
        self.values = _Values(source, function)
        self.returns = _return_activity(function, annotation)
        active = [a for a in self.arguments if a.activity is not Activity.CONST]
        for argument in active:
            if argument.shape is None:
                raise NoSnippet(f"`{argument.parameter.text}` is not made of plain floats")
            if argument.activity in _LONG:
                raise NoSnippet("a test for `Dualv` has to be written by hand")
        self.inputs = [a for a in active if not a.is_output]
        self.outputs = [a for a in self.arguments if a.is_output]
        returned = function.return_type if function.has_return else None
        if returned is not None and returned not in _STEPS:
            raise NoSnippet(f"the return type `{returned}` is not a float")
        if not self.inputs:
            raise NoSnippet("no input is differentiated")
        if not self._counts_return() and not self.outputs:
            raise NoSnippet("no output is differentiated")
        self.element = self.inputs[0].shape.element if self.inputs[0].shape else "f64"

    def _counts_return(self) -> bool:
        """Whether the returned value takes part."""
        return self.returns is not None and self.returns is not Activity.CONST

    def text(self) -> str:
        step, tolerance = _STEPS[self.element]
        name = self.annotation.name
        body = [
            *self._points(),
            "",
            "// The sum of the outputs, `t` along the direction.",
            f"let at = |t: {self.element}| -> {self.element} {{",
            *("    " + line for line in self._value()),
            "};",
            f"let step = {step};",
            "let expected = (at(step) - at(-step)) / (2.0 * step);",
            "",
            *self._derivative(),
            f"let bound = {tolerance} * (1.0 + expected.abs());",
            'assert!((got - expected).abs() <= bound, "{got} is not {expected}");',
        ]
        lines = [f"    {line}" if line else "" for line in body]
        return "\n".join(["#[test]", f"fn {name}_matches_finite_differences() {{", *lines, "}"])

    def _points(self) -> Iterator[str]:
        for argument in self.arguments:
            if argument.is_output:
                continue
            yield f"let {argument.name} = {self._held(argument)};"
            if argument in self.inputs:
                yield f"let {self._direction(argument)} = {self._along(argument)};"

    def _held(self, argument: _Argument) -> str:
        value = self.values.expression(argument.parameter.type_text)
        shape = argument.shape
        if shape is not None and shape.kind in ("scalar", "reference"):
            return f"{value}_{shape.element}"
        if shape is not None and shape.kind == "slice":
            return "vec!" + re.sub(r"^\[([\d.]+)", rf"[\1_{shape.element}", value)
        return value

    def _direction(self, argument: _Argument) -> str:
        return f"{argument.name}_direction"

    def _along(self, argument: _Argument) -> str:
        """A direction without symmetry, so that swapped components are noticed."""
        shape = argument.shape
        assert shape is not None
        if shape.kind in ("scalar", "reference"):
            return f"0.7_{shape.element}"
        if shape.kind == "array":
            return f"{self._array(shape)}(|i| 1.0 / (1.0 + i as {shape.element}))"
        return (
            f"(0..{argument.name}.len()).map(|i| 1.0 / (1.0 + i as {shape.element}))"
            f".collect::<Vec<{shape.element}>>()"
        )

    @staticmethod
    def _array(shape: Shape) -> str:
        return f"std::array::from_fn::<{shape.element}, {shape.length}, _>"

    def _moved(self, argument: _Argument) -> str:
        shape = argument.shape
        assert shape is not None
        direction = self._direction(argument)
        if shape.kind in ("scalar", "reference"):
            return f"{argument.name} + t * {direction}"
        if shape.kind == "array":
            return f"{self._array(shape)}(|i| {argument.name}[i] + t * {direction}[i])"
        return f"{argument.name}.iter().zip(&{direction}).map(|(v, d)| v + t * d).collect::<Vec<_>>()"

    def _fresh(self, argument: _Argument, value: str) -> str:
        """An output or shadow whose floats are all `value`."""
        shape = argument.shape
        assert shape is not None
        if shape.kind in ("scalar", "reference"):
            return f"{value}_{shape.element}"
        length = shape.length if shape.kind == "array" or argument.is_output else f"{argument.name}.len()"
        literal = f"[{value}_{shape.element}; {length}]"
        return literal if shape.kind == "array" else f"vec!{literal}"

    def _value(self) -> Iterator[str]:
        for argument in self.inputs:
            yield f"let {argument.name} = {self._moved(argument)};"
        for argument in self.outputs:
            yield f"let mut {argument.name} = {self._fresh(argument, '0.0')};"
        passed = ", ".join(_passed(argument)[0] for argument in self.arguments)
        call = f"{self.function.name}({passed})"
        if self.function.header.is_unsafe:
            call = f"unsafe {{ {call} }}"
        terms = [self._total(argument.name, argument) for argument in self.outputs]
        if self._counts_return():
            yield f"let returned = {call};"
            terms.insert(0, "returned")
        else:
            yield f"{'let _ = ' if self.function.has_return else ''}{call};"
        yield " + ".join(terms)

    @staticmethod
    def _total(name: str, argument: _Argument) -> str:
        shape = argument.shape
        assert shape is not None
        if shape.kind in ("scalar", "reference"):
            return name
        return f"{name}.iter().sum::<{shape.element}>()"

    def _derivative(self) -> Iterator[str]:
        for argument in self.outputs:
            yield f"let mut {argument.name} = {self._fresh(argument, '0.0')};"
        forward = self.annotation.mode is Mode.FORWARD
        passed: list[str] = []
        for argument in self.arguments:
            yield from self._shadows(argument, forward)
            passed += _passed(argument)
        if not forward and self.returns in _BY_VALUE:
            passed.append("1.0")
        call = f"{self.annotation.name}({', '.join(passed)})"
        if self._unsafe():
            call = f"unsafe {{ {call} }}"
        pattern = self._result()
        yield f"let {pattern} = {call};" if pattern else f"{call};"
        yield f"let got: {self.element} = {' + '.join(self._terms(forward))};"

    def _unsafe(self) -> bool:
        only = (Activity.DUAL_ONLY, Activity.DUPLICATED_ONLY)
        return self.function.header.is_unsafe or any(a.activity in only for a in self.arguments)

    def _shadows(self, argument: _Argument, forward: bool) -> Iterator[str]:
        for lane, shadow in enumerate(argument.shadows):
            if forward and not argument.is_output:
                single = argument.shape is not None and argument.shape.kind in ("scalar", "reference")
                seed = self._direction(argument) + ("" if single else ".clone()")
                yield f"let {shadow} = {seed if lane == 0 else self._fresh(argument, '0.0')};"
            else:
                seed = "1.0" if not forward and argument.is_output and lane == 0 else "0.0"
                yield f"let mut {shadow} = {self._fresh(argument, seed)};"

    def _result(self) -> str:
        if self.annotation.mode is Mode.REVERSE:
            pattern = _pattern(self.function, self.annotation)
            return re.sub(r"\bvalue\b", "_value", pattern)
        if self.returns is None:
            return ""
        if self.returns is Activity.DUAL:
            return "[_value, tangent, ..]" if self.annotation.width > 1 else "(_value, tangent)"
        if self.returns is Activity.CONST:
            return "_"
        return "[tangent, ..]" if self.annotation.width > 1 else "tangent"

    def _terms(self, forward: bool) -> list[str]:
        if forward:
            terms = ["tangent"] if self._counts_return() else []
            return terms + [
                self._total(argument.shadows[0], argument) for argument in self.outputs if argument.shadows
            ]
        terms = []
        for argument in self.inputs:
            direction = self._direction(argument)
            if argument.activity in _BY_VALUE:
                if argument.activity is Activity.ACTIVE_ONLY:
                    raise NoSnippet("`ActiveOnly` inputs have no gradient to test")
                scalar = argument.shape is not None and argument.shape.kind == "scalar"
                gradient = f"d{argument.name}"
                terms.append(f"{gradient} * {direction}" if scalar else self._dot(gradient, direction))
            elif argument.shape is not None and argument.shape.kind == "reference":
                terms.append(f"{argument.shadows[0]} * {direction}")
            else:
                terms.append(self._dot(argument.shadows[0], direction))
        return terms

    def _dot(self, left: str, right: str) -> str:
        return f"{left}.iter().zip(&{right}).map(|(a, b)| a * b).sum::<{self.element}>()"
