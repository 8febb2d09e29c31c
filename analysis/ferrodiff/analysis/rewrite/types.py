"""What the written text of a type says, as far as the rewriting needs it. Types are in canonical spelling."""

from __future__ import annotations

import re

_REFERENCE = re.compile(r"&(?:'\w+ )?(?:mut )?")
_FLOAT_ALIAS = re.compile(r"\btype\s+(\w+)\s*=\s*(f16|f32|f64|f128)\s*;")
_FLOATS = frozenset({"f16", "f32", "f64", "f128"})
_INTEGERS = {f"{sign}{bits}" for sign in "ui" for bits in (8, 16, 32, 64, 128, "size")}
_INERT = frozenset({*_INTEGERS, "bool", "char", "str", "String", "()"})
_VEC = re.compile(r"(?:(?:::)?(?:std|alloc)::vec::)?Vec<.*>", re.S)
_BOXED = re.compile(r"(?:(?:::)?(?:std|alloc)::boxed::)?Box<(\[.*\])>", re.S)
_OPEN, _CLOSE = "([{<", ")]}>"


def strip_reference(text: str) -> str:
    """The pointee of a reference type; other types unchanged."""
    return text[found.end() :] if (found := _REFERENCE.match(text)) else text


def is_shared(text: str) -> bool:
    """Whether a type is a shared reference."""
    return text.startswith("&") and re.match(r"&(?:'\w+ )?mut ", text) is None


def is_inert(text: str) -> bool:
    """Whether a type holds integers, flags or text only, behind references, in slices or arrays."""
    text = strip_reference(text.strip())
    if text in _INERT:
        return True
    if element := slice_element(text):
        return is_inert(element)
    if array := array_parts(text):
        return is_inert(array[0])
    return text.startswith("&") and is_inert(text)


def split_top_level(text: str, separator: str = ",") -> list[str]:
    """The parts between separators outside of any bracket, stripped; a last empty part is dropped."""
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        if char in _OPEN:
            depth += 1
        elif char in _CLOSE and not (char == ">" and text[at - 1 : at] in ("-", "=")):
            depth -= 1
        elif char == separator and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    parts.append(text[start:].strip())
    return parts if parts[-1] else parts[:-1]


def slice_element(text: str) -> str | None:
    """`T` of an unsized `[T]`."""
    if not (text.startswith("[") and text.endswith("]")):
        return None
    parts = split_top_level(text[1:-1], ";")
    return parts[0] if len(parts) == 1 else None


def array_parts(text: str) -> tuple[str, str] | None:
    """Element type and length of `[T; N]`."""
    if not (text.startswith("[") and text.endswith("]")):
        return None
    parts = split_top_level(text[1:-1], ";")
    return (parts[0], parts[1]) if len(parts) == 2 else None


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
