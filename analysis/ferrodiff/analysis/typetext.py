"""The written text of a type, taken apart one level at a time. Types are in canonical spelling."""

from __future__ import annotations

import re

_REFERENCE = re.compile(r"&(?:'\w+ )?(?:mut )?")
ELIDED = re.compile(r"&(?!\s*')|'_\b")
"""A lifetime that is not named."""
_OPEN, _CLOSE = "([{<", ")]}>"


def strip_reference(text: str) -> str:
    """The pointee of a reference type; other types unchanged."""
    return text[found.end() :] if (found := _REFERENCE.match(text)) else text


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
