"""What the written text of a type says, as far as the rewriting needs it. Types are in canonical spelling."""

from __future__ import annotations

import re

from ferrodiff.analysis.typetext import array_parts as array_parts
from ferrodiff.analysis.typetext import slice_element as slice_element
from ferrodiff.analysis.typetext import split_top_level as split_top_level
from ferrodiff.analysis.typetext import strip_reference as strip_reference

_FLOAT_ALIAS = re.compile(r"\btype\s+(\w+)\s*=\s*(f16|f32|f64|f128)\s*;")
_FLOATS = frozenset({"f16", "f32", "f64", "f128"})
_INERT = frozenset({"bool", "char", "str", "String", "()"})
_VEC = re.compile(r"(?:(?:::)?(?:std|alloc)::vec::)?Vec<.*>", re.S)
_BOXED = re.compile(r"(?:(?:::)?(?:std|alloc)::boxed::)?Box<(\[.*\])>", re.S)


def is_shared(text: str) -> bool:
    """Whether a type is a shared reference."""
    return text.startswith("&") and re.match(r"&(?:'\w+ )?mut ", text) is None


def is_inert(text: str) -> bool:
    """Whether a type holds flags or text only, behind references, in slices or arrays.

    Integers may be the bits of a float, or an address: what they are only the core can see.
    """
    text = strip_reference(text.strip())
    if text in _INERT:
        return True
    if element := slice_element(text):
        return is_inert(element)
    if array := array_parts(text):
        return is_inert(array[0])
    return text.startswith("&") and is_inert(text)


def runtime_length(text: str) -> str | None:
    """`"slice"` or `"vec"` for a parameter whose shadow must be as long as it is, else None."""
    pointee = strip_reference(text)
    if pointee != text and slice_element(pointee) is not None:
        return "slice"
    if (boxed := _BOXED.fullmatch(pointee)) and slice_element(boxed.group(1)) is not None:
        return "slice"
    return "vec" if _VEC.fullmatch(pointee) else None


def float_aliases(text: str) -> frozenset[str]:
    """Names that a file declares for a float type (`type Real = f64;`)."""
    return frozenset(found.group(1) for found in _FLOAT_ALIAS.finditer(text))


def is_float_data(text: str, aliases: frozenset[str]) -> bool:
    """Whether a type is a float, or an array or tuple of nothing but floats."""
    text = text.strip()
    if text in _FLOATS or text in aliases:
        return True
    if array := array_parts(text):
        return is_float_data(array[0], aliases)
    if text.startswith("(") and text.endswith(")"):
        parts = split_top_level(text[1:-1])
        return bool(parts) and all(is_float_data(part, aliases) for part in parts)
    return False
