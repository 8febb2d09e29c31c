"""The facts that the analysis finds in a Rust file, as frozen data.

Texts (`type_text`, `generics_text`, ...) are canonical: comments are gone and spacing is that of rustc's
pretty-printer, on one line. What the user wrote stands at the corresponding span.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import Enum
from functools import cache
from typing import Any, TypeVar, cast

from ferrodiff.analysis.text import Span

T = TypeVar("T")

FILE_SCOPE = Span(-1, -1)
"""The scope of items at a file's root; a marker that never moves, not a place."""


class Mode(Enum):
    FORWARD = "forward"
    REVERSE = "reverse"

    @property
    def title(self) -> str:
        """As rustc's messages and the old attribute spell it."""
        return "Forward" if self is Mode.FORWARD else "Reverse"

    @property
    def macro(self) -> str:
        return f"autodiff_{self.value}"

    @property
    def shadow_prefix(self) -> str:
        return "b" if self is Mode.FORWARD else "d"


class Activity(Enum):
    CONST = "Const"
    ACTIVE = "Active"
    ACTIVE_ONLY = "ActiveOnly"
    DUAL = "Dual"
    DUAL_ONLY = "DualOnly"
    DUALV = "Dualv"
    DUALV_ONLY = "DualvOnly"
    DUPLICATED = "Duplicated"
    DUPLICATED_ONLY = "DuplicatedOnly"
    NONE = "None"


class ProblemKind(Enum):
    """What is wrong with the text of an argument list, before its meaning is looked at."""

    NO_LIST = "no list"  # `#[autodiff_forward]` or `#[autodiff_forward = ".."]`
    EMPTY_LIST = "empty list"
    UNCLOSED = "unclosed"
    EMPTY_ITEM = "empty item"  # two commas in a row
    NAME_NOT_IDENTIFIER = "name"
    NAME_PATH = "name path"
    NAME_DECORATED = "name decorated"  # `df = 1`, `df(..)`: rustc reads `df`
    WIDTH_LITERAL = "width literal"  # a float, string, char or bool where the width may stand
    WIDTH_SUFFIXED = "width suffix"
    WIDTH_EXPRESSION = "width expression"
    ARGUMENT_PATH = "argument path"
    ARGUMENT_LITERAL = "argument literal"
    ARGUMENT_DECORATED = "argument decorated"
    ARGUMENT_JUNK = "argument junk"
    MISSING_COMMA = "missing comma"
    MODE_MISSING = "mode missing"  # old form only
    MODE_UNKNOWN = "mode unknown"  # old form only


@dataclass(frozen=True, slots=True)
class Problem:
    kind: ProblemKind
    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Argument:
    """One item after name and width (after name, mode and width in the old form)."""

    span: Span
    text: str
    """What rustc's messages call it: the path, or a literal's value."""
    activity: Activity | None


@dataclass(frozen=True, slots=True)
class Annotation:
    span: Span
    """The whole ``#[...]``."""
    item_span: Span
    """Path and argument list only; differs from the inside of `span` within ``cfg_attr``."""
    path_span: Span
    path: str
    mode: Mode
    old_form: bool
    via_cfg_attr: bool
    name: str | None
    """Bare identifier without ``r#``; None when there is none."""
    name_span: Span | None
    width: int
    width_span: Span | None
    arguments: tuple[Argument, ...]
    list_span: Span | None
    """The argument list with its parentheses (to the end of what was typed when unclosed)."""
    closed: bool = True
    commas: tuple[int, ...] = ()
    """Offsets of the list's own commas, so that a caret can be mapped to the argument it stands in."""
    mode_span: Span | None = None
    """The ``Forward``/``Reverse`` of the old form."""
    cfg_predicate: str | None = None
    problems: tuple[Problem, ...] = ()

    @property
    def label(self) -> str:
        """The name the primal's derivative goes by, for messages."""
        return self.name if self.name is not None else "the derivative"


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str | None
    """Bare identifier without ``r#``; ``self`` for receivers; None for any other pattern."""
    span: Span
    pattern_text: str
    """As rustc prints it: ``mut x``, ``(a, b)``, ``r#type``, ``&mut self``."""
    pattern_span: Span
    type_text: str
    """The written type; ``&Self``, ``&'a mut Self`` or ``Self`` for a shorthand receiver."""
    type_span: Span
    is_self: bool = False
    self_kind: str | None = None
    """``"&self"``, ``"&mut self"``, ``"self"``, ``"typed"`` or None."""
    mutable: bool = False
    """A ``mut`` binding."""
    attributes_text: str = ""
    """Attributes on the parameter, printed, with a space after them."""
    variadic: bool = False
    absent: bool = False
    """Written with a ``cfg`` that never holds: it has an activity, and no place in the generated signature."""

    @property
    def text(self) -> str:
        """The parameter as it stands in a printed signature."""
        if self.variadic:
            return self.attributes_text + (f"{self.pattern_text}: ..." if self.pattern_text else "...")
        if self.is_self and self.self_kind != "typed":
            return self.attributes_text + self.pattern_text
        return f"{self.attributes_text}{self.pattern_text}: {self.type_text}"


@dataclass(frozen=True, slots=True)
class Generic:
    kind: str
    """``"lifetime"``, ``"type"`` or ``"const"``."""
    name: str
    text: str
    """The whole parameter with bounds and default, printed."""


@dataclass(frozen=True, slots=True)
class Header:
    is_const: bool = False
    is_async: bool = False
    is_unsafe: bool = False
    extern: str | None = None
    """``extern "C"`` as printed, or None."""
    is_safe: bool = False

    def text(self, *, force_unsafe: bool = False) -> str:
        """The words before ``fn``, each followed by a space, in rustc's order."""
        words = [
            "const " if self.is_const else "",
            "async " if self.is_async else "",
            "unsafe " if self.is_unsafe or force_unsafe else "safe " if self.is_safe else "",
            f"{self.extern} " if self.extern else "",
        ]
        return "".join(words)


@dataclass(frozen=True, slots=True)
class Attribute:
    """An outer attribute or doc comment that is not an annotation."""

    span: Span
    path: str
    """Last path segment (``inline``, ``cfg``); ``doc`` for doc comments."""
    text: str


@dataclass(frozen=True, slots=True)
class Container:
    """What a function stands in."""

    kind: str
    """``"module"``, ``"block"``, ``"impl"``, ``"trait"``, ``"trait_impl"`` or ``"extern"``."""
    scope: Span
    """The braces (`FILE_SCOPE` at the file's root): two items of one name may not share it."""
    self_type: str | None = None
    """The type of an impl, the name of a trait."""
    trait: str | None = None
    generics: tuple[Generic, ...] = ()
    generics_text: str = ""
    where_text: str = ""
    modules: tuple[str, ...] = ()
    """Names of the enclosing inline modules, outermost first."""


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    """As written, so with ``r#`` for a raw identifier."""
    name_span: Span
    span: Span
    """From the first attribute or doc comment to the closing brace or semicolon."""
    item_text_span: Span
    """The same without attributes and doc comments: from visibility to closing brace."""
    visibility: str
    header: Header
    generics_text: str
    """``<'a, T: Copy>`` or empty."""
    generics: tuple[Generic, ...]
    where_text: str
    """``where T: Copy`` or empty."""
    parameters: tuple[Parameter, ...]
    return_type: str | None
    """The written type, None without ``->``."""
    return_span: Span | None
    parameters_span: Span
    """The parentheses."""
    container_info: Container
    body_span: Span | None
    annotations: tuple[Annotation, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    is_default: bool = False
    """Written with ``default`` (specialisation)."""

    @property
    def container(self) -> str:
        return self.container_info.kind

    @property
    def container_self(self) -> str | None:
        return self.container_info.self_type

    @property
    def has_return(self) -> bool:
        """rustc's syntactic test: anything but no ``->`` and a literal ``-> ()``."""
        return self.return_type is not None and self.return_type != "()"

    @property
    def bare_name(self) -> str:
        return self.name.removeprefix("r#")


@dataclass(frozen=True, slots=True)
class Misplaced:
    """An annotation on something that is not a function."""

    annotation: Annotation
    kind: str
    """In words: ``struct``, ``let statement``, ``function in an extern block``, ..."""
    target_span: Span
    is_expression: bool = False


@dataclass(frozen=True, slots=True)
class Import:
    """A ``use`` that brings an autodiff macro (or the module that holds them) into scope."""

    macro: str
    """``autodiff_forward``, ``autodiff_reverse``, ``autodiff`` (module and old macro) or ``*``."""
    name: str
    """What it is called here."""
    span: Span
    """The leaf of the use tree."""
    scope: Span
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Name:
    """An item's name in the value namespace of a scope."""

    name: str
    span: Span
    scope: Span


_PLAIN = frozenset(
    {"str", "str | None", "bool", "int", "Mode", "Activity | None", "ProblemKind", "Header", "Severity"}
    | {"tuple[str, ...]", "tuple[Generic, ...]"}
)
"""Types of fields that hold no place, as annotated."""


@cache
def _layout(cls: Any) -> tuple[tuple[str, bool], ...]:
    """A class's fields in order, and whether they can hold places."""
    return tuple([(f.name, str(f.type) not in _PLAIN) for f in fields(cls)])


def shifted(value: T, delta: int) -> T:
    """The same facts `delta` bytes further on. Offsets in `Annotation.commas` move too."""
    return value if delta == 0 else cast(T, _shift(value, delta))


def _shift(value: Any, delta: int) -> Any:
    kind = type(value)
    if kind is Span:
        return value if value is FILE_SCOPE else Span(value.start + delta, value.end + delta)
    if kind is tuple:
        return tuple([_shift(v, delta) for v in value]) if value else value
    if not hasattr(kind, "__dataclass_fields__"):
        return value
    moved = [
        _shift(getattr(value, name), delta) if moves else getattr(value, name)
        for name, moves in _layout(cast(Any, kind))
    ]
    result = kind(*moved)
    if kind is Annotation and value.commas:
        return replace(result, commas=tuple([c + delta for c in value.commas]))
    return result
