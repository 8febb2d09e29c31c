"""Inputs for a derivative that nobody named: sensible Rust expressions by the type of a parameter.

Primal inputs are distinct, of moderate size and away from kinks; three elements stand for "some". Seeds pick
one direction: lane k of a forward derivative gets the k-th unit vector over all inputs with a derivative.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ferrodiff.analysis.rewrite.types import array_parts, slice_element, split_top_level, strip_reference

ELEMENTS = 3
"""How many elements a slice or a `Vec` gets."""

_VALUES = (0.5, 1.25, 0.75, 1.5, 0.25, 2.0, 1.75, 0.875)
_INTEGERS = frozenset(
    {"u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize"}
)
_FLOATS = frozenset({"f32", "f64"})
_GENERIC = re.compile(r"(?:[\w:]*::)?(Vec|Option|Box|Rc|Arc|VecDeque)<(.*)>", re.S)
_LITERAL = re.compile(r"[\d_.eE+\-\s,\[\]()]+")
_INTEGER_LITERAL = re.compile(r"(?<![\w.])(\d[\d_]*)(?![\w.])")
_FIXED = {"bool": "true", "char": "'x'", "()": "()", "&str": '"text"', "String": 'String::from("text")'}


@dataclass(slots=True)
class Sampler:
    """Writes expressions. `float` gives the next float literal; `structs` knows the file's own types."""

    structs: dict[str, Struct]
    aliases: dict[str, str]
    generics: frozenset[str]
    """Type parameters, which become floats, and const parameters, which become `ELEMENTS`."""
    lengths: dict[str, str]
    """Integer constants of the file."""
    number: Callable[[], str]
    depth: int = 0
    inside: bool = False
    """Within a list, whose elements must all be slices where they are references to some."""

    def expression(self, type_text: str) -> str:
        """A value of a type. Types that are not known get `Default::default()`."""
        text = re.sub(r"'\w+ ", "", type_text.strip())
        text = self.aliases.get(text, text)
        if text in _FLOATS or text in self.generics:
            return self.number()
        if text in _INTEGERS:
            return str(ELEMENTS - 1)
        if text in _FIXED:
            return _FIXED[text]
        return self._compound(text)

    def _compound(self, text: str) -> str:
        if text.startswith("&"):
            pointee = strip_reference(text)
            mutable = "&mut " if text.startswith("&mut") else "&"
            whole = "[..]" if self.inside and slice_element(pointee) is not None else ""
            return mutable + self.expression(pointee) + whole
        if (element := slice_element(text)) is not None:
            return self._list(element, ELEMENTS)
        if (array := array_parts(text)) is not None:
            return self._array(*array)
        if text.startswith("(") and text.endswith(")"):
            return "(" + "".join(self.expression(part) + ", " for part in split_top_level(text[1:-1])) + ")"
        if found := _GENERIC.fullmatch(text):
            return self._container(found.group(1), found.group(2))
        return self._named(text)

    def _array(self, element: str, length: str) -> str:
        length = self.lengths.get(length, length).removesuffix("usize").strip()
        if length.isdigit() and int(length) <= 64:
            return self._list(element, int(length))
        if length in self.generics:
            return self._list(element, ELEMENTS)
        return f"::core::array::from_fn(|_| {self.expression(element)})"

    def _list(self, element: str, count: int) -> str:
        before, self.inside = self.inside, True
        values = [self.expression(element) for _ in range(count)]
        self.inside = before
        return "[" + ", ".join(values) + "]"

    def _container(self, name: str, inner: str) -> str:
        if name in ("Vec", "VecDeque"):
            listed = f"vec!{self._list(inner, ELEMENTS)}"
            return listed if name == "Vec" else f"{listed}.into()"
        wrapped = self.expression(inner)
        return f"Some({wrapped})" if name == "Option" else f"{name}::new({wrapped})"

    def _named(self, text: str) -> str:
        struct = self.structs.get(text.split("<")[0].split("::")[-1])
        if struct is None or self.depth > 8:
            return "Default::default()"
        self.depth += 1
        values = [self.expression(type_text) for _, type_text in struct.fields]
        self.depth -= 1
        if struct.tuple_like:
            return f"{struct.name}({', '.join(values)})" if values else struct.name
        pairs = zip(struct.fields, values, strict=True)
        return f"{struct.name} {{ {', '.join(f'{name}: {value}' for (name, _), value in pairs)} }}"


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct that the file defines, or an enum's variant; `name` is how an expression calls it."""

    name: str
    fields: tuple[tuple[str, str], ...]
    tuple_like: bool
    variant: bool = False
    """Whether it is one of an enum's."""


def distinct_values() -> Callable[[], str]:
    """Float literals for primal inputs, all different."""
    counter = _count()
    return lambda: _primal_value(next(counter))


def _primal_value(index: int) -> str:
    turn, at = divmod(index, len(_VALUES))
    return repr(_VALUES[at] + turn * 0.0625)


def constant(value: str) -> Callable[[], str]:
    return lambda: value


def _count() -> Iterator[int]:
    at = 0
    while True:
        yield at
        at += 1


def as_floats(expression: str) -> str:
    """`[1, 2]` as `[1.0, 2.0]`, for expressions of nothing but numbers."""
    if not _LITERAL.fullmatch(expression):
        return expression
    return _INTEGER_LITERAL.sub(r"\1.0", expression)


def parse_sample_line(text: str) -> dict[str, str]:
    """`x = [0.5, 1.0], n = 3` as expressions by parameter name; malformed parts are left out."""
    inputs = {}
    for part in _split_expressions(text):
        name, equals, expression = part.partition("=")
        if equals and re.fullmatch(r"\s*(?:r#)?\w+\s*", name) and expression.strip():
            inputs[name.strip().removeprefix("r#")] = expression.strip()
    return inputs


def _split_expressions(text: str) -> list[str]:
    """Splits at commas outside of brackets and string literals."""
    parts, depth, start, quoted = [], 0, 0, False
    for at, char in enumerate(text):
        if char == '"' and text[at - 1 : at] != "\\":
            quoted = not quoted
        elif quoted:
            continue
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth <= 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]
