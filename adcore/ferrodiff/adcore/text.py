"""Numbers that travel as text: written out, read in again, and no derivative with them.

Printing an active number is harmless, and so is reading a constant number. A derivative in which an active
number is written into memory as text and a number is read from text that the differentiated function was not
given as it stands may have read the number that it wrote: the tangent would silently be zero. That is refused.
"""

from __future__ import annotations

from ferrodiff.adcore.dispatch import reachable
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.constants import Constant
from ferrodiff.adcore.ir.instructions import Call, Cast, ExtractValue, GetElementPtr, Load, Phi, Select
from ferrodiff.adcore.ir.values import Argument, Function
from ferrodiff.adcore.rules.mangling import rust_path
from ferrodiff.adcore.rules.runtime import Kind, inactive
from ferrodiff.adcore.session import Session

READERS = frozenset({"strtod", "strtof", "strtold", "atof", "sscanf", "__isoc99_sscanf", "__isoc23_sscanf"})
"""C functions that read numbers from text."""

READING_PATH = ("core", "num", "dec2flt")
"""Where Rust's library does so."""

_WRITTEN = "active numbers written as text"
_DEPTH = 8
"""Steps that the way of a text is followed back."""


def watch_text(session: Session, call: Call, handed_active: bool) -> None:
    """Notes a call that turns active numbers into text, under the name of the function it stands in.

    `handed_active` says whether an argument of the call is, or points to, something active.
    """
    if handed_active and inactive(call.callee_name or "") is Kind.TEXT:
        assert call.parent is not None and call.parent.parent is not None
        _written(session).setdefault(call.parent.parent.name, call)


def writers(session: Session) -> frozenset[str]:
    """The functions in which active numbers are known to be written as text so far."""
    return frozenset(_written(session))


def check_text(session: Session, thunk: Function, before: frozenset[str]) -> None:
    """Refuse a derivative that writes active numbers as text and may read them in again.

    `before` is what `writers` said before the thunk was differentiated. Raises `CannotDifferentiate`.
    """
    written = _written(session)
    if not written:
        return
    functions = reachable(session, thunk)
    names = {f.name for f in functions}
    calls = [call for name, call in written.items() if name in names or name not in before]
    if calls and _Readers(thunk, functions).any():
        raise session.refuse(
            "an active number is written as text, and a number is read from text: its derivative would be lost",
            calls[0],
            help="keep the number itself, or pass the text as a Const argument",
        )


def _written(session: Session) -> dict[str, Call]:
    found = session.facts.setdefault(_WRITTEN, {})
    assert isinstance(found, dict)
    return found


def reads_numbers(symbol: str) -> bool:
    """Whether a function turns text into floats."""
    return symbol in READERS or rust_path(symbol)[: len(READING_PATH)] == READING_PATH


def _sources(call: Call) -> list[Value]:
    """The arguments but for the place of the result."""
    pairs = zip(call.args, call.arg_attributes, strict=True)
    return [value for value, attributes in pairs if not any(word.startswith("sret") for word in attributes)]


class _Readers:
    """The functions that a thunk may run, and the text from which they read numbers."""

    def __init__(self, thunk: Function, functions: list[Function]) -> None:
        self.thunk = thunk
        self.calls: dict[str, list[Call]] = {}
        self.names = {id(a): f.name for f in functions for a in f.arguments}
        for function in functions:
            for insn in function.instructions():
                if isinstance(insn, Call) and insn.callee_name is not None:
                    self.calls.setdefault(insn.callee_name, []).append(insn)

    def any(self) -> bool:
        """Whether a number is read from text that the thunk was not given as it stands."""
        reading = [c for name, calls in self.calls.items() if reads_numbers(name) for c in calls]
        return not all(self._is_given(v, _DEPTH) for c in reading for v in _sources(c))

    def _is_given(self, value: Value, depth: int) -> bool:
        """Whether text comes from a constant or the thunk's arguments; numbers are lengths and always do."""
        if isinstance(value, Constant) or not value.type.text.startswith("ptr"):
            return True
        if depth == 0:
            return False
        if isinstance(value, Argument):
            return self._is_handed(value, depth - 1)
        if isinstance(value, Load):
            pointer = value.pointer
            while isinstance(pointer, GetElementPtr):
                pointer = pointer.base
            is_kept = isinstance(pointer, Argument) and (
                pointer in self.thunk.arguments or pointer.has_attribute("readonly")
            )
            return is_kept and self._is_given(pointer, depth - 1)
        if isinstance(value, (GetElementPtr, ExtractValue, Cast)):
            return self._is_given(value.operands[0], depth - 1)
        if isinstance(value, (Phi, Select)):
            sources = value.operands if isinstance(value, Phi) else value.operands[1:]
            return all(self._is_given(v, depth - 1) for v in sources)
        return False

    def _is_handed(self, argument: Argument, depth: int) -> bool:
        """Whether every call of a function hands it text that was given; unknown callers do not."""
        if argument in self.thunk.arguments:
            return True
        calls = self.calls.get(self.names[id(argument)], [])
        fits = [c for c in calls if argument.index < len(c.args)]
        return (
            bool(calls)
            and len(fits) == len(calls)
            and all(self._is_given(c.args[argument.index], depth) for c in fits)
        )
