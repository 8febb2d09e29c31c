"""Which activity may stand where, why, and which is best: the tables of rustc, and what types add to them.

rustc decides by mode, by position and by the written type alone (aliases are not looked through). What a
type holds is this package's own knowledge and only ever leads to warnings, suggestions and better orders.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from ferrodiff.analysis.model import Activity, Function, Mode, Parameter
from ferrodiff.analysis.typetext import array_parts, slice_element, split_top_level, strip_reference

A = Activity

INPUTS: Mapping[Mode, frozenset[Activity]] = {
    Mode.FORWARD: frozenset({A.CONST, A.DUAL, A.DUAL_ONLY, A.DUALV, A.DUALV_ONLY}),
    Mode.REVERSE: frozenset({A.CONST, A.ACTIVE, A.ACTIVE_ONLY, A.DUPLICATED, A.DUPLICATED_ONLY}),
}
RETURNS: Mapping[Mode, frozenset[Activity]] = {
    Mode.FORWARD: frozenset({A.CONST, A.DUAL, A.DUAL_ONLY, A.DUALV, A.DUALV_ONLY}),
    Mode.REVERSE: frozenset({A.CONST, A.ACTIVE, A.ACTIVE_ONLY}),
}
BY_INDIRECTION_ONLY = frozenset({A.DUPLICATED, A.DUPLICATED_ONLY})
"""Need a written ``&``, ``&mut``, ``*const`` or ``*mut``."""
BY_VALUE = frozenset({A.ACTIVE, A.ACTIVE_ONLY})
LONG = frozenset({A.DUALV, A.DUALV_ONLY})

REASONS: Mapping[Activity, str] = {
    A.CONST: "not differentiated",
    A.DUAL: "a tangent stands beside it, one for each lane",
    A.DUAL_ONLY: "like Dual; the primal memory is unspecified afterwards, so the function is unsafe",
    A.DUALV: "one long shadow holds the tangents of all lanes",
    A.DUALV_ONLY: "like Dualv; rustc cannot compile it",
    A.ACTIVE: "passed by value, its gradient is returned",
    A.ACTIVE_ONLY: "passed by value, its gradient is computed and dropped",
    A.DUPLICATED: "passed by reference, its gradient is added to a shadow",
    A.DUPLICATED_ONLY: "like Duplicated; the primal memory is unspecified, so the function is unsafe",
    A.NONE: "no activity of use",
}
RETURN_REASONS: Mapping[tuple[Mode, Activity], str] = {
    (Mode.FORWARD, A.DUAL): "the value and its tangent are returned",
    (Mode.FORWARD, A.DUAL_ONLY): "the tangent alone is returned",
    (Mode.FORWARD, A.DUALV_ONLY): "the tangents alone are returned",
    (Mode.FORWARD, A.DUALV): "a pair with room for one tangent",
    (Mode.FORWARD, A.CONST): "returned; a float is replaced by its tangent",
    (Mode.REVERSE, A.ACTIVE): "the value is returned, dret seeds it",
    (Mode.REVERSE, A.ACTIVE_ONLY): "dret seeds it, the value is dropped",
    (Mode.REVERSE, A.CONST): "the value is returned and seeds nothing",
}

_FLOATS = frozenset({"f16", "f32", "f64", "f128"})
# No name that a program might well give to a type of its own, such as Path or Duration.
_WITHOUT = frozenset(
    [
        "bool",
        "char",
        "str",
        "String",
        "OsStr",
        "OsString",
        "PathBuf",
        "CStr",
        "CString",
        "u8",
        "u16",
        "u32",
        "u64",
        "u128",
        "usize",
        "i8",
        "i16",
        "i32",
        "i64",
        "i128",
        "isize",
        "()",
        "!",
    ]
)
_CONTAINERS = frozenset(
    [
        "Vec",
        "Box",
        "Option",
        "Rc",
        "Arc",
        "Cell",
        "RefCell",
        "VecDeque",
        "LinkedList",
        "BTreeSet",
        "HashSet",
        "BTreeMap",
        "HashMap",
        "Mutex",
        "RwLock",
        "Result",
        "Cow",
        "Range",
        "RangeInclusive",
        "ManuallyDrop",
        "MaybeUninit",
        "Pin",
        "Wrapping",
        "NonNull",
        "Reverse",
        "BinaryHeap",
    ]
)
_GENERIC = re.compile(r"((?:::)?(?:\w+::)*)(\w+)<(.*)>", re.DOTALL)
_POINTER = re.compile(r"\*(?:const|mut) ")
_MOST_TYPES = 64


Resolve = Callable[[str], "tuple[str, ...] | None"]
"""The types that a named type is made of; None for an unknown name."""


@lru_cache(maxsize=4096)
def holds_float(written: str) -> bool | None:
    """Whether a type holds floats, itself or behind references; None when its text does not say."""
    return holds_float_in(written, lambda name: None)


def holds_float_in(written: str, resolve: Resolve) -> bool | None:
    """The same where `resolve` knows the fields of types by name."""
    waiting, seen, unknown = [written], 0, False
    resolved: set[str] = set()
    while waiting:
        seen += 1
        if seen > _MOST_TYPES:
            return None
        text = waiting.pop()
        inner = _inside(text)
        if inner is True:
            return True
        if inner is None and text not in resolved:
            resolved.add(text)
            parts = resolve(text)
            unknown = unknown or parts is None
            waiting += parts or ()
        elif isinstance(inner, list):
            waiting += inner
    return None if unknown else False


def _inside(text: str) -> bool | list[str] | None:
    """What one level of a type says: an answer, None, or the types it is made of."""
    stripped = strip_reference(text)
    if stripped != text:
        return [stripped]
    if pointer := _POINTER.match(text):
        return [text[pointer.end() :]]
    bare = text.rpartition("::")[2] if "<" not in text else text
    if bare in _FLOATS:
        return True
    if bare in _WITHOUT:
        return False
    if text.startswith(("fn(", "unsafe fn(", "extern ", "unsafe extern ", "for<")):
        return False
    if (element := slice_element(text)) is not None:
        return [element]
    if (array := array_parts(text)) is not None:
        return [array[0]]
    if text.startswith("(") and text.endswith(")"):
        return list(split_top_level(text[1:-1]))
    generic = _GENERIC.fullmatch(text)
    if generic is not None and generic[2] in _CONTAINERS:
        return [part for part in split_top_level(generic[3]) if not part.startswith("'")]
    return None


def is_indirect(written: str) -> bool:
    """rustc's test for what may be ``Duplicated``: a written reference or raw pointer."""
    return written.startswith(("&", "*"))


def is_slice(written: str) -> bool:
    """``&[T]`` or ``&mut [T]``."""
    return written.startswith("&") and slice_element(strip_reference(written)) is not None


def cannot_be_slice(written: str) -> bool:
    """Whether a type is certainly no reference to a slice: an alias or generic type may be one."""
    if is_slice(written):
        return False
    if is_indirect(written):
        return True
    return holds_float(written) is not None


def allowed_input(activity: Activity, parameter: Parameter, mode: Mode) -> bool:
    """rustc's two tables together."""
    if activity not in INPUTS[mode]:
        return False
    return activity not in BY_INDIRECTION_ONLY or is_indirect(parameter.type_text)


def input_choices(parameter: Parameter, mode: Mode, width: int = 1) -> tuple[Activity, ...]:
    """The activities of use for a parameter, best first."""
    written = parameter.type_text
    if holds_float(written) is False:
        return (A.CONST,)
    if mode is Mode.FORWARD:
        if is_slice(written):
            return (A.DUAL, A.DUALV, A.CONST, A.DUAL_ONLY)
        return (A.DUAL, A.CONST, A.DUAL_ONLY)
    if is_indirect(written):
        return (A.DUPLICATED, A.CONST, A.DUPLICATED_ONLY)
    return (A.ACTIVE, A.CONST)


def return_choices(function: Function, mode: Mode) -> tuple[Activity, ...]:
    """The activities of use for the return value, best first; empty for a unit function."""
    if not function.has_return or function.return_type is None:
        return ()
    if holds_float(function.return_type) is False or function.return_type == "!":
        return (A.CONST,)
    return (A.DUAL, A.DUAL_ONLY) if mode is Mode.FORWARD else (A.ACTIVE, A.ACTIVE_ONLY, A.CONST)


def choices_at(function: Function, mode: Mode, index: int, width: int = 1) -> tuple[Activity, ...]:
    """The choices for place `index` of the activity list: a parameter, or after them the return value."""
    if index < len(function.parameters):
        return input_choices(function.parameters[index], mode, width)
    return return_choices(function, mode) if index == len(function.parameters) else ()


def expected_count(function: Function) -> int:
    return len(function.parameters) + (1 if function.has_return else 0)


def best_list(function: Function, mode: Mode) -> tuple[Activity, ...]:
    """The best activity for every place."""
    return tuple([choices_at(function, mode, i)[0] for i in range(expected_count(function))])
