"""The variables that a driver holds a derivative's inputs in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ferrodiff.analysis.model import Activity
from ferrodiff.analysis.rewrite.body import Plan, Slot
from ferrodiff.analysis.rewrite.likeness import Likeness
from ferrodiff.analysis.rewrite.samples import (
    Sampler,
    as_floats,
    constant,
    distinct_values,
    parse_sample_line,
)
from ferrodiff.analysis.rewrite.types import is_float_data, runtime_length, slice_element, strip_reference
from ferrodiff.analysis.rewrite.usertypes import user_types
from ferrodiff.analysis.signature import shadow_type
from ferrodiff.analysis.text import SourceText, decode

_SAMPLE = re.compile(rb"^\s*//[/!]?\s*ferrodiff:\s*(?!allow\b)(.*?)\s*$")
_ALIAS = re.compile(r"\btype\s+(\w+)\s*=\s*([^;<]+?)\s*;")
_LENGTH = re.compile(r"\bconst\s+(\w+)\s*:\s*usize\s*=\s*(\d+)\s*;")
_POINTER = re.compile(r"\*(?:const|mut) ")
_ABOVE = (b"//", b"#", b"/*", b"*")
_UNSIZED = ("str", "dyn ")


@dataclass(frozen=True, slots=True)
class Input:
    """One parameter's value, and where it came from: `given`, `file` or `sample`.

    `expression` is Rust; for a sampled seed it is a description in parentheses.
    """

    name: str
    expression: str
    origin: str


@dataclass(frozen=True, slots=True)
class Owner:
    """The variable behind one parameter of the derivative."""

    input: Input
    declaration: str
    argument: str
    """How the call passes it."""
    shown: str
    """The expression that is printed."""
    mutable: bool
    is_shadow: bool
    lane: int
    missing: str | None = None


@dataclass(frozen=True, slots=True)
class _Wanted:
    name: str
    type_text: str
    slot: Slot | None
    """None for the seed."""
    lane: int
    is_shadow: bool


Outside = Callable[[str, str], str]
"""What to write in place of a given expression, by the parameter's name: a reference to where it stands."""


def inputs_of(
    source: SourceText, plan: Plan, given: dict[str, str], outside: Outside | None = None
) -> list[Owner]:
    """One owner for each parameter of the derivative, in order."""
    return _Inputs(source, plan, given, outside).owners()


def sample_line(source: SourceText, plan: Plan) -> dict[str, str]:
    """Inputs from comments `// ferrodiff: x = .., n = ..` above the function."""
    inputs: dict[str, str] = {}
    line = source.line_of(plan.function.item_text_span.start) - 1
    while line >= 0:
        span = source.line_span(line)
        text = source.data[span.start : span.end]
        inside = span.start >= plan.function.span.start
        if not inside and not text.strip().startswith(_ABOVE):
            break
        if found := _SAMPLE.match(text):
            inputs = {**parse_sample_line(decode(found.group(1))), **inputs}
        line -= 1
    return inputs


class _Inputs:
    def __init__(
        self, source: SourceText, plan: Plan, given: dict[str, str], outside: Outside | None
    ) -> None:
        self.plan = plan
        self.outside = outside
        self.container = plan.function.container_info
        self.given = {name.removeprefix("r#"): text for name, text in given.items()}
        self.from_file = sample_line(source, plan)
        samples = {t.name: t.seen_from(self.container.modules) for t in user_types(source).values()}
        self.structs = {name: sample for name, sample in samples.items() if sample is not None}
        self.aliases = {m.group(1): m.group(2) for m in _ALIAS.finditer(source.text)}
        self.lengths = {m.group(1): m.group(2) for m in _LENGTH.finditer(source.text)}
        generics = (*plan.function.generics, *self.container.generics)
        self.generics = frozenset(g.name for g in generics if g.kind == "type")
        bounds = f"{plan.function.generics_text} {plan.function.where_text}"
        self.functions = frozenset(re.findall(r"\b(\w+): [^,>]*?\bFn(?:Mut|Once)?\(", bounds))
        self.constants = frozenset(g.name for g in generics if g.kind == "const")
        self.values = distinct_values()

    def owners(self) -> list[Owner]:
        return [self._owner(at, wanted) for at, wanted in enumerate(self._wanted())]

    def _wanted(self) -> Iterator[_Wanted]:
        for slot in self.plan.slots:
            yield _Wanted(slot.bare, self._concrete(slot.type_text), slot, 0, False)
            shadow = shadow_type(self.plan.function.parameters[slot.index], self.plan.annotation.mode)
            for lane, name in enumerate(slot.shadows):
                yield _Wanted(name, self._concrete(shadow), slot, lane, True)
        if not self.plan.forward and self.plan.returns in (Activity.ACTIVE, Activity.ACTIVE_ONLY):
            yield _Wanted("dret", self._concrete(self.plan.function.return_type or "()"), None, 0, True)

    def _concrete(self, text: str) -> str:
        if self.container.self_type and self.container.kind != "trait":
            return re.sub(r"\bSelf\b(?!::)", self.container.self_type.replace("\\", ""), text)
        return text

    # One parameter

    def _owner(self, at: int, wanted: _Wanted) -> Owner:
        text = re.sub(r"&'\w+ ", "&", wanted.type_text)
        expression, origin, missing = self._expression(wanted, text)
        variable = f"__fd_in_{at}"
        reference, mutable = text.startswith("&"), text.startswith(("&mut ", "*mut "))
        pointee = strip_reference(text)
        shape = self._shape(text, pointee, expression)
        held, annotation, argument, shown = shape(variable, expression, mutable)
        if self._is_float(pointee if reference else text):
            held = as_floats(held)
        value = self.outside(wanted.name, held) if origin == "given" and self.outside else held
        declaration = f"let mut {variable}{annotation} = {value};"
        described = self._described(wanted) if origin == "sample" and wanted.is_shadow else expression
        entry = Input(wanted.name, described, origin)
        visible = mutable and (wanted.is_shadow or reference or text.startswith("*"))
        return Owner(entry, declaration, argument, shown, visible, wanted.is_shadow, wanted.lane, missing)

    def _is_float(self, text: str) -> bool:
        element = slice_element(text)
        plain = element if element is not None else text.removeprefix("Vec<").removesuffix(">")
        names = frozenset(name for name, target in self.aliases.items() if target in ("f32", "f64"))
        return is_float_data(plain, names | self.generics)

    def _shape(
        self, text: str, pointee: str, expression: str
    ) -> Callable[[str, str, bool], tuple[str, str, str, str]]:
        if text.startswith("&") and slice_element(pointee) is not None:
            return self._as_slice
        if text.startswith("&") and not pointee.startswith(_UNSIZED[0]):
            return lambda v, e, m: self._as_reference(v, e, m, pointee)
        if _POINTER.match(text):
            return self._as_pointer
        return lambda v, e, m: (e, self._annotation(text), v, v)

    @staticmethod
    def _as_slice(variable: str, expression: str, mutable: bool) -> tuple[str, str, str, str]:
        held = strip_reference_of_expression(expression)
        return held, "", f"&{'mut ' if mutable else ''}{variable}[..]", f"{variable}[..]"

    def _as_reference(
        self, variable: str, expression: str, mutable: bool, pointee: str
    ) -> tuple[str, str, str, str]:
        held = strip_reference_of_expression(expression)
        return held, self._annotation(pointee), f"&{'mut ' if mutable else ''}{variable}", variable

    @staticmethod
    def _as_pointer(variable: str, expression: str, mutable: bool) -> tuple[str, str, str, str]:
        held = strip_reference_of_expression(expression)
        if held.startswith(("[", "vec!")):
            return held, "", f"{variable}.{'as_mut_ptr' if mutable else 'as_ptr'}()", variable
        cast = f"&mut {variable} as *mut _" if mutable else f"&{variable} as *const _"
        return held, "", cast, variable

    def _annotation(self, text: str) -> str:
        """The variable's type, where it can be written outside of the function."""
        names = set(re.findall(r"\w+", text))
        if names & (self.generics | self.constants | {"Self", "impl", "dyn"}):
            return ""
        return ": " + re.sub(r"'\w+", "'_", text)

    # Its value

    def _expression(self, wanted: _Wanted, text: str) -> tuple[str, str, str | None]:
        for origin, source in (("given", self.given), ("file", self.from_file)):
            if wanted.name in source:
                return source[wanted.name], origin, None
        missing = self._unguessable(wanted, text)
        if not wanted.is_shadow:
            sampler = self._sampler(self.values)
            pointee = _POINTER.sub("", text)
            return sampler.expression(f"[{pointee}]" if pointee != text else text), "sample", missing
        return self._seed(wanted, text), "sample", missing

    def _unguessable(self, wanted: _Wanted, text: str) -> str | None:
        if re.match(r"(?:&(?:mut )?)?(?:impl |dyn |Self\b)|(?:unsafe )?(?:extern \S+ )?fn\(", text):
            return f"its type is `{text}`"
        if wanted.is_shadow and strip_reference(text) == "str":
            return "its type is `&mut str`, and text has no derivative"
        if strip_reference(text) in self.functions:
            return f"its type `{text}` is that of a function or closure"
        shadow_of_given = wanted.is_shadow and wanted.slot is not None and self._was_given(wanted.slot)
        if shadow_of_given and wanted.slot is not None and not wanted.slot.split:
            pointee = strip_reference(text)
            like = self._like("")
            if like.varies(pointee) and like.of("", pointee) is None:
                return "its primal was given, and its shape cannot be read from the type"
        return None

    def _was_given(self, slot: Slot) -> bool:
        return slot.bare in self.given or slot.bare in self.from_file

    def _seed(self, wanted: _Wanted, text: str) -> str:
        """A shadow's or seed's value: elements of a unit vector where it seeds, zeros where it collects."""
        if wanted.slot is None:
            return self._sampler(constant("__fd_unit_0.next()")).expression(text)
        seeds = self._seeding(wanted.slot)
        lanes = range(self.plan.width) if wanted.slot.split else [wanted.lane]
        number = [f"__fd_unit_{k}.next()" if seeds else "__fd_zero.next()" for k in lanes]
        primal = f"__fd_in_{self._position(wanted.slot)}"
        if runtime_length(text) is not None or self._was_given(wanted.slot):
            shaped = None if wanted.slot.split else self._like(number[0]).of(primal, strip_reference(text))
            if shaped is not None:
                return shaped
        if wanted.slot.split:
            element = slice_element(strip_reference(text)) or "f64"
            values = [self._sampler(constant(n)).expression(element) for n in number]
            parts = [f"{primal}.iter().map(|_| {value}).collect::<Vec<_>>()" for value in values]
            return f"[{', '.join(parts)}].concat()"
        pointee = _POINTER.sub("", text)
        shape = f"[{pointee}]" if pointee != text else text
        return self._sampler(constant(number[0])).expression(shape)

    def _described(self, wanted: _Wanted) -> str:
        if wanted.slot is None:
            return "(one)"
        if not self._seeding(wanted.slot):
            return "(zeros)"
        if wanted.slot.split:
            return f"(unit vectors 0 to {self.plan.width - 1})" if self.plan.width > 1 else "(unit vector 0)"
        return f"(its part of unit vector {wanted.lane})"

    def _like(self, number: str) -> Likeness:
        return Likeness(self.structs, self.aliases, self._sampler(constant(number)).expression)

    def _seeding(self, slot: Slot) -> bool:
        """Whether this slot's shadows are seeds: inputs in forward mode, written outputs in reverse mode."""
        mutable = [s for s in self.plan.slots if s.shadows and is_mutable(s.type_text)]
        if self.plan.forward:
            inputs = [s for s in self.plan.slots if s.shadows and s not in mutable]
            return slot in (inputs or mutable)
        return slot in mutable and self.plan.returns not in (Activity.ACTIVE, Activity.ACTIVE_ONLY)

    def _position(self, slot: Slot) -> int:
        """The slot's own place among the derivative's parameters."""
        return sum(1 + len(s.shadows) for s in self.plan.slots[: slot.index])

    def _sampler(self, number: Callable[[], str]) -> Sampler:
        generics = self.generics | self.constants
        return Sampler(self.structs, self.aliases, generics, self.lengths, number)


def is_mutable(type_text: str) -> bool:
    """Whether a parameter of this type can be written through."""
    return bool(re.match(r"&(?:'\w+ )?mut |\*mut ", type_text))


def strip_reference_of_expression(text: str) -> str:
    """`&mut [1.0]` as `[1.0]`: the driver owns the value and borrows it itself."""
    return re.sub(r"^&\s*(?:mut\b\s*)?", "", text.strip())
