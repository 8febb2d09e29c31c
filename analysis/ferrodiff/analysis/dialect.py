"""What Rust allows in a function's header and tree-sitter's grammar does not.

The grammar is given something else of the same length that it knows. What is printed always comes from the text
itself, so nobody sees the difference: ``Vec::<f64>`` as a type (which rustc prints without the ``::``), ABIs that
are raw strings, types called ``union`` or ``default``. A ``where`` clause with an unusual type on its left is
taken out, and read by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ferrodiff.analysis.lexemes import CHAR, LINE_COMMENT, STRING
from ferrodiff.analysis.parameter_attributes import turbofish_spans, without
from ferrodiff.analysis.printing import print_node
from ferrodiff.analysis.syntax import parse

_WORDS = rb"\b(?:union|default|raw|auto|safe)\b"
_UNUSUAL = re.compile(rb"::\s*<|\bextern\s+[bc]?r\#|\bwhere\b|" + _WORDS)
_UNUSUAL_WHERE = re.compile(rb"\bdyn\b|!|\bextern\b|\bfor\s*<\s*>")
_WORD = re.compile(_WORDS)
_RAW_ABI = re.compile(rb'\bextern\s+([bc]?r(\#+)"[^"]*"\2)')
_MACRO = re.compile(rb"\w!\s*\Z")
_FUNCTION = re.compile(rb"\bfn\s+(?:r\#)?\w+\s*[<(]")
_TOKEN = re.compile(
    STRING
    + rb"|"
    + CHAR
    + rb"|"
    + LINE_COMMENT
    + rb"|/\*.*?(?:\*/|\Z)"
    + rb"|->|=>|(?P<angle>[<>])|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<end>;)|(?P<where>\bwhere\b)",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Adapted:
    text: bytes
    """As long as the original."""
    wheres: tuple[tuple[int, int], ...] = ()
    """Where clauses that are blank in it."""


def adapted(text: bytes, parts: Sequence[tuple[int, int]]) -> Adapted:
    """`text` as the grammar understands it, as far as `parts` go."""
    if not any(_UNUSUAL.search(text, start, end) for start, end in parts):
        return Adapted(text)
    text = _RAW_ABI.sub(_plain_abi, text)
    wheres: list[tuple[int, int]] = []
    pieces, at = [], 0
    for start, where, end in _headers(text, parts):
        header = plain(text[start:end])
        if where is not None and _UNUSUAL_WHERE.search(text, where, end) is not None:
            wheres.append((where, end))
            header = without(header, [(where - start, end - start)])
        pieces += [text[at:start], header]
        at = end
    return Adapted(b"".join([*pieces, text[at:]]), tuple(wheres))


def plain(types: bytes) -> bytes:
    """A part of a header, the types in which the grammar knows."""
    types = without(types, turbofish_spans(types))
    return _WORD.sub(lambda match: b"X" + match[0][1:], types)


def _plain_abi(match: re.Match[bytes]) -> bytes:
    before = match[0][: match.start(1) - match.start()]
    return before + b'"' + b"x" * (len(match[1]) - 2) + b'"'


def _headers(text: bytes, parts: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int | None, int]]:
    """For each function the end of its name, its ``where``, and where its body or semicolon stands."""
    for start, end in parts:
        at = start
        while (match := _FUNCTION.search(text, at, end)) is not None:
            where, at = _header_end(text, match.end() - 1, end)
            yield match.end() - 1, where, at


def _header_end(text: bytes, at: int, end: int) -> tuple[int | None, int]:
    """The ``where`` of a header, and where its body starts or it ends in another way."""
    depth, where = 0, None
    angles = 0
    for token in _TOKEN.finditer(text, at, end):
        kind, place = token.lastgroup, token.start()
        if kind == "open":
            in_type = angles > 0 or _MACRO.search(text[max(place - 32, 0) : place]) is not None
            if depth == 0 and token[0] == b"{" and not in_type:
                return where, place
            depth += 1
        elif kind == "close":
            depth -= 1
            if depth < 0:
                return where, place
        elif depth == 0:
            if kind == "end":
                return where, place
            if kind == "angle":
                angles += 1 if token[0] == b"<" else -1
            elif kind == "where" and where is None:
                where = place
    return where, end


_CLAUSE_TOKEN = re.compile(
    rb"""//[^\n]*|/\*.*?\*/|"[^"]*"|->|=>|::|(?P<open>[(\[{<])|(?P<close>[)\]}>])|(?P<colon>:)|(?P<comma>,)""",
    re.DOTALL,
)
_BINDER = re.compile(rb"\s*for\s*<([^<>]*)>")


def where_clause(text: bytes) -> str:
    """A ``where`` clause as rustc prints it; `text` starts with the word."""
    predicates = [printed for part in _predicates(text[5:]) if (printed := _predicate(*part))]
    return "where " + ", ".join(predicates) if predicates else "where"


def _predicates(text: bytes) -> Iterator[tuple[bytes, bytes]]:
    """What stands before and after the colon of each predicate."""
    depth, start, colon = 0, 0, -1
    for token in _CLAUSE_TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth -= 1
        elif kind == "colon" and depth == 0 and colon < 0:
            colon = token.start()
        elif kind == "comma" and depth == 0:
            if colon >= 0:
                yield text[start:colon], text[colon + 1 : token.start()]
            start, colon = token.end(), -1
    if colon >= 0:
        yield text[start:colon], text[colon + 1 :]


def _predicate(left: bytes, right: bytes) -> str:
    binder = ""
    if (bound := _BINDER.match(left)) is not None:
        left = left[bound.end() :]
        lifetimes = [name.strip().decode("utf-8", "replace") for name in bound[1].split(b",") if name.strip()]
        binder = f"for<{', '.join(lifetimes)}> " if lifetimes else ""
    bounds = _printed(b"fn f<T: ", right, b">() {}", "type_parameters").removeprefix("<T").removesuffix(">")
    is_lifetime = left.strip().startswith(b"'")
    subject = left.strip().decode("utf-8", "replace") if is_lifetime else _printed(b"fn f(x: ", left, b") {}")
    return f"{binder}{subject}{bounds if bounds.startswith(':') else ':'}" if subject else ""


def _printed(before: bytes, text: bytes, after: bytes, field: str = "") -> str:
    """A type, or the list of type parameters, that `before` and `after` make a function of."""
    data = before + text + after
    function = parse(before + plain(text) + after).root_node.named_child(0)
    if function is None:
        return ""
    if field:
        return print_node(function.child_by_field_name(field), data)
    parameters = function.child_by_field_name("parameters")
    parameter = parameters.named_child(0) if parameters is not None else None
    return print_node(parameter.child_by_field_name("type"), data) if parameter is not None else ""
