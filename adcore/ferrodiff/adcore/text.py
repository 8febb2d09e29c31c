"""Numbers that travel as text: written out, read in again, and no derivative with them.

Printing an active number is harmless, and so is reading a constant number. A function that writes an active
number into memory as text and reads a number from text it did not get as it stands may have read the number
that it wrote: the tangent would silently be zero. That pair is refused.
"""

from __future__ import annotations

from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.constants import Constant
from ferrodiff.adcore.ir.instructions import Call, Cast, ExtractValue, GetElementPtr, Load, Phi, Select
from ferrodiff.adcore.ir.values import Argument
from ferrodiff.adcore.rules.mangling import rust_path
from ferrodiff.adcore.rules.runtime import Kind, inactive
from ferrodiff.adcore.session import Session

READERS = frozenset({"strtod", "strtof", "strtold", "atof", "sscanf", "__isoc99_sscanf", "__isoc23_sscanf"})
"""C functions that read numbers from text."""

READING_PATH = ("core", "num", "dec2flt")
"""Where Rust's library does so."""


def watch_text(session: Session, call: Call, handed_active: bool) -> None:
    """Notes a call that turns active numbers into text, or text into numbers; refuses the second of a pair.

    `handed_active` says whether an argument of the call is, or points to, something active. Raises
    `CannotDifferentiate`.
    """
    name = call.callee_name or ""
    if handed_active and inactive(name) is Kind.TEXT:
        role, other = "text written", "text read"
    elif reads_numbers(name) and not all(_is_given(v, 0) for v in _sources(call)):
        role, other = "text read", "text written"
    else:
        return
    session.facts[role] = name
    if other in session.facts:
        raise session.refuse(
            "an active number is written as text, and a number is read from text: its derivative would be lost",
            call,
            help="keep the number itself, or pass the text as a Const argument",
        )


def reads_numbers(symbol: str) -> bool:
    """Whether a function turns text into floats."""
    return symbol in READERS or rust_path(symbol)[: len(READING_PATH)] == READING_PATH


def _sources(call: Call) -> list[Value]:
    """The arguments but for the place of the result."""
    pairs = zip(call.args, call.arg_attributes, strict=True)
    return [value for value, attributes in pairs if not any(word.startswith("sret") for word in attributes)]


def _is_given(value: Value, depth: int) -> bool:
    """Whether text comes from a constant or an argument as it stands; numbers are lengths and always do."""
    if isinstance(value, (Constant, Argument)) or not value.type.text.startswith("ptr"):
        return True
    if isinstance(value, Load):
        return _is_read_only(value.pointer)
    if isinstance(value, (GetElementPtr, ExtractValue, Cast)):
        return depth < 8 and _is_given(value.operands[0], depth + 1)
    if isinstance(value, (Phi, Select)):
        sources = value.operands if isinstance(value, Phi) else value.operands[1:]
        return depth < 8 and all(_is_given(v, depth + 1) for v in sources)
    return False


def _is_read_only(pointer: Value) -> bool:
    """Whether an address points into an argument's memory that the function does not write."""
    while isinstance(pointer, GetElementPtr):
        pointer = pointer.base
    return isinstance(pointer, Argument) and pointer.has_attribute("readonly")
