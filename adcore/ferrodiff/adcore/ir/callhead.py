"""What stands before a call's callee, and the parts of it that function headers share."""

from __future__ import annotations

import re

from ferrodiff.adcore.ir.instructions import FAST_MATH
from ferrodiff.adcore.ir.text import Cursor, closing
from ferrodiff.adcore.ir.types import FunctionType, Type

CONVENTION = re.compile(r"(?:cc \d+|fastcc|coldcc|[a-z0-9_]*cc)(?= )")

CallHead = tuple[str, tuple[str, ...], str, tuple[str, ...], Type, FunctionType | None]
"""Tail kind, flags, convention, return attributes, return type, function type if written out."""


def call_head(text: str) -> CallHead:
    """What stands before a call's callee: ``tail call fast fastcc noundef double``."""
    c = Cursor(text)
    tail = ""
    for word in ("tail", "musttail", "notail"):
        if c.accept_word(word):
            tail = word
    if not (c.accept_word("call") or c.accept_word("invoke")):
        raise c.error("expected a call")
    return call_rest(c, tail)


def call_rest(c: Cursor, tail: str) -> CallHead:
    """The head after the word ``call`` or ``invoke``."""
    flags: list[str] = []
    while not c.at_type():
        word = c.text[c.pos :].split(" ", 1)[0]
        if word not in FAST_MATH:
            break
        flags.append(c.word())
    convention = ""
    match = CONVENTION.match(c.text, c.pos)
    if match is not None:
        convention = match.group()
        c.accept(convention)
    attributes = () if c.at_type() else return_attributes_of(c)
    kind = c.type()
    declared = _declared_type(c, kind) if c.peek("(") else None
    return tail, tuple(flags), convention, attributes, kind, declared


def return_attributes_of(c: Cursor) -> tuple[str, ...]:
    """Return attributes up to the return type."""
    found: list[str] = []
    while not c.at_type():
        start = c.pos
        word = c.word() if not c.peek('"') else c.string()
        if word == "align":
            c.integer()
        elif c.peek("("):
            c.accept(c.text[c.pos : closing(c.text, c.pos) + 1])
        found.append(c.text[start : c.pos].strip())
    return tuple(found)


def _declared_type(c: Cursor, kind: Type) -> FunctionType:
    c.expect("(")
    params: list[Type] = []
    vararg = False
    while not c.accept(")"):
        if c.accept("..."):
            vararg = True
        else:
            params.append(c.type())
        c.accept(",")
    return FunctionType(kind, tuple(params), vararg)
